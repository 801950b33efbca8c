"""The run header: what goes in comes out, damage is told in a sentence, newer versions are refused."""

import dataclasses

import pytest

from firmware_interface.devices.driver import Introduction
from hil.logs.header import SCHEMA_VERSION, RunHeader, header_of, new_header
from hil.logs.log import RunWriter, read_run
from hil.loop.excitation import Excitation
from hil.rig.rig import RigPort
from models.errors import InputError
from tests.hil.machine import gains, rig_of


@pytest.fixture(scope="module")
def rig():
    ports = (RigPort("/dev/a", carries=("sensors",)), RigPort("/dev/b", carries=("drive",)))
    return rig_of(ports=ports, clock="host", command_delay=0.004, watchdog=0.03, std={"drive_gain": 0.05})


@pytest.fixture(scope="module")
def header(rig):
    return new_header(
        rig,
        gains(rig),
        rig.calibrated(gyro_lsb=2e-5),
        runner="realtime",
        label="a label",
        excitation=Excitation("sweep", 0.5, 2.0, releases=((1.0, 0.5),)),
        ports=["/dev/a", "/dev/b"],
        devices=[Introduction("node", 200), Introduction("drive")],
        extra={"condition": {"name": "first"}},
    )


def test_every_part_comes_back_as_it_was_given(rig, header, tmp_path):
    with RunWriter(tmp_path / "run", header):
        pass
    found = read_run(tmp_path / "run").header
    assert found == header
    assert (found.schema, found.runner, found.label, found.controller) == (SCHEMA_VERSION, "realtime", "a label", "lqr")
    assert dataclasses.replace(found.rig, calibration={}) == rig
    assert found.calibration == found.rig.calibrated() == rig.calibrated(gyro_lsb=2e-5)
    assert found.bicycle == rig.bicycle
    assert found.schedule.to_toml() == gains(rig).to_toml()
    assert found.excitation == Excitation("sweep", 0.5, 2.0, releases=((1.0, 0.5),))
    assert found.devices == (Introduction("node", 200), Introduction("drive"))
    assert found.ports == ("/dev/a", "/dev/b")
    assert found.condition == {"name": "first"}
    assert found.scenario == found.emulation == {}
    assert found.commit in found.made_by


def test_simulated_time_has_no_date_and_no_command(rig):
    simulated = new_header(rig, gains(rig), rig.calibrated(), runner="lockstep", simulated=True)
    assert not {"utc", "command"} & simulated.provenance.keys()
    assert simulated.devices is None
    assert simulated.ports == ()
    assert simulated.excitation == Excitation()


def test_a_newer_version_is_refused_in_one_sentence_with_what_to_do(header, tmp_path):
    newer = RunHeader({**header.to_json(), "schema": SCHEMA_VERSION + 1})
    with RunWriter(tmp_path / "run", newer):
        pass
    with pytest.raises(InputError, match=rf"version {SCHEMA_VERSION} or older, found version .*update riderless"):
        read_run(tmp_path / "run")


def test_what_is_missing_or_wrong_is_told_when_it_is_asked_for(header):
    content = header.to_json()
    without = RunHeader({key: value for key, value in content.items() if key != "schedule"})
    assert without.rig.name == "emulated"
    with pytest.raises(InputError, match=r"without 'schedule'.*commit"):
        _ = without.schedule
    with pytest.raises(InputError, match="found 'bicycle' with"):
        _ = RunHeader({**content, "bicycle": {"colour": "red"}}).bicycle


def test_a_run_from_before_a_key_was_there_has_its_default(rig, header):
    content = header.to_json()
    wired = {key: value for key, value in content["rig"].items() if key not in ("std", "command_delay", "clock")}
    older = RunHeader({**content, "rig": wired})
    assert (older.rig.std, older.rig.command_delay, older.rig.clock) == ({}, None, "device")
    assert older.to_json()["rig"] == wired, "an export keeps what was written"


def test_a_header_is_short_in_words_and_holds_what_json_keeps(header):
    assert repr(header) == "RunHeader(a label, realtime, schema 1)"
    assert header_of({"pair": (1, 2)}).to_json() == {"schema": 1, "pair": [1, 2]}
