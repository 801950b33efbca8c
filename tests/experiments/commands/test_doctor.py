"""`riderless doctor`: what a report of a fault needs, and nothing opened for it."""

import json
import platform
import sys
from importlib.metadata import version

import numpy as np
import pytest

import riderless
from riderless.experiments import cli


def test_versions_system_and_real_time_are_named(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["riderless", "doctor", "--json"])
    with pytest.raises(SystemExit, match=r"^0$"):
        cli.main()
    facts = json.loads(capsys.readouterr().out)
    assert facts["riderless"].startswith(version("riderless"))
    assert f"numpy {np.__version__}" in facts["packages"]
    assert facts["python"].startswith(platform.python_version())
    assert any("kernel" in line for line in facts["real time"])


def test_door_knows_its_version():
    assert riderless.__version__ == version("riderless")
