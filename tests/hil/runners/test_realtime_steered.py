"""Steer drives that obey a rate or an angle, in real time behind the bytes of real devices."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from riderless.experiments.emulation.workstand import start_twin
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.rig.file import read_rig
from riderless.hil.runners import session
from riderless.hil.runners.replay import replay
from riderless.models import load_bicycle
from riderless.models.linear.prescribed_steer import InnerLoop
from tests.hil.machine import scenario
from tests.paths import ROOT

pytestmark = pytest.mark.realtime

RIGS = ROOT / "docs" / "rigs"
RATE = InnerLoop(kind="rate", bandwidth=50.0, damping=1.0)
ANGLE = InnerLoop(kind="angle", bandwidth=60.0, damping=1.0)
FOLLOWS = 12  # ticks from a command to its estimate: 5 ms of delay, the drive's 20 ms, the line's and the observer's
MORE_SETTINGS = {"vesc": {"pole_pairs": 7}}


def steered_rig(name, drive):
    """Rig of the docs with another kind of drive behind the same ports, and a light bicycle."""
    rig = read_rig(RIGS / f"{name}.toml")
    ports = tuple(replace(port, settings={**port.settings, **MORE_SETTINGS.get(port.device, {})}) for port in rig.ports)
    return replace(rig, drive=drive, ports=ports, bicycle=load_bicycle("Silver"))


def ride(folder, rig, schedule):
    """Ride for 2.5 s with a kick; a machine that was busy for a moment is tried again."""
    for n in range(3):
        with start_twin(rig, scenario(kicks=(0.5,))) as twin:
            outcome = session.run_realtime(folder / str(n), rig, schedule, twin.paths, 2.5)
        if outcome.reason != "fault":
            return read_run(folder / str(n)), outcome
    return pytest.fail(f"three runs failed, the last because: {outcome.cause}")


# Each device once, and each kind of drive; the bytes of all six are compared in the tests of the devices.
QUICK = [("node", RATE), ("vectornav-vesc", RATE), ("vectornav-odrive", ANGLE)]
SLOW = [("node", ANGLE), ("vectornav-vesc", ANGLE), ("vectornav-odrive", RATE)]


@pytest.mark.parametrize(
    ("name", "drive"),
    [*QUICK, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in SLOW)],
    ids=lambda value: getattr(value, "kind", value),
)
def test_a_steer_drive_balances_behind_its_own_bytes(tmp_path: Path, name, drive):
    rig = steered_rig(name, drive)
    run, outcome = ride(tmp_path, rig, design(rig.bicycle, "lqr", (4.5, 5.0, 5.5), rig.timing, drive=drive))
    assert outcome.reason == "success", outcome.cause
    running = run.ticks[run.ticks["state"] == State.RUNNING]
    assert np.abs(running["phi_dot_meas"]).max() > 0.1, "the kick is seen"
    assert np.abs(running["phi_est"][-40:]).max() < 0.05, "and answered"
    moved = running["delta_est" if drive.kind == "angle" else "delta_dot_est"]
    follows = np.corrcoef(running["T_cmd"][:-FOLLOWS], moved[FOLLOWS:])[0, 1]
    assert follows > 0.8, "the steer follows its commands"
    assert replay(run).identical
