"""The compiled firmware as a library: what is told when it cannot be made or loaded."""

import pytest

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.node.firmware_state import new_firmware
from riderless.firmware_interface.twins import c_node
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.virtual_node import NodeConfig
from tests.firmware_interface.firmware.test_c_firmware import CALIBRATION


def test_no_compiler(monkeypatch):
    monkeypatch.setattr(c_node.shutil, "which", lambda name: None)
    with pytest.raises(DeviceError, match="needs a C compiler, found none of cc, gcc, clang: install one"):
        c_node.build_library()


def test_compiler_that_refuses(monkeypatch, tmp_path):
    (tmp_path / "cc").write_text("#!/bin/sh\necho no such luck >&2\nexit 3\n")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setattr(c_node.shutil, "which", lambda name: str(tmp_path / "cc"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DeviceError, match=r"should build with .*/cc, which said: no such luck"):
        c_node.build_library()


def test_cache_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(DeviceError, match=r"should be kept in .*: .*; set XDG_CACHE_HOME to another folder"):
        c_node.build_library()


def test_library_that_is_none(tmp_path):
    with pytest.raises(DeviceError, match="should be a library of the node's C core, but: "):
        c_node.load_library(tmp_path / "absent.so")


def test_library_of_another_version(monkeypatch):
    monkeypatch.setattr(c_node, "_LAYOUT", c_node._LAYOUT[:-1])
    with pytest.raises(DeviceError, match=r"was built from another version of node.h: build it again"):
        c_node.load_library.__wrapped__(c_node.build_library())


def test_faults_that_only_python_plays_are_refused():
    with pytest.raises(DeviceError, match="plays faults of the line and STOP_BUTTON, DRIVE_TRIPS, BUS, found RESET: "):
        c_node.new_c_node(new_firmware(CALIBRATION), (Fault(Kind.DROP), Fault(Kind.RESET)))


def test_unknown_core_is_refused():
    with pytest.raises(DeviceError, match="core of a virtual node must be one of python, c, found 'rust'"):
        NodeConfig(core="rust")
