"""Lowest speed of survival: the boundary is where rides end, and a stronger motor goes slower."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.campaigns.envelope import envelope
from riderless.experiments.emulation.hand import hand_kick
from riderless.experiments.reports.envelope import plot_envelope
from riderless.hil.design.methods import design
from riderless.hil.design.stabilisability import uncontrollable_speeds
from riderless.hil.loop.limits import Limit
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.simulated_run import simulate
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from tests.experiments.commands.test_cli import riderless  # noqa: F401

SPEEDS = (2.0, 3.0, 4.0, 5.0)
KICK = 0.4  # rad/s


def test_rides_end_below_the_boundary_and_not_on_it():
    rig = Rig(load_bicycle("Silver"))
    found = envelope(rig, {"torque": [0.5, 7.0], "kick": [KICK]}, speeds=SPEEDS, jobs=1)
    assert found.varied == ("torque",)
    weak, strong = found.lowest.ravel()
    assert strong < weak
    weak_rig = replace(rig, limits=replace(rig.limits, torque=Limit(0.5, "N m", "a weak motor")))
    gains = design(rig.bicycle, "lqr", SPEEDS)

    def ends(v):
        reasons = set()
        for seed, side in enumerate((1, -1)):
            kick = hand_kick(rig.bicycle, 0.6, side, np.random.default_rng(seed), "nonlinear", KICK)
            run = simulate(rig.bicycle, gains, speed=v, kicks=[kick], duration=4.6, seed=seed, rig=weak_rig)
            reasons.add(run.stop.reason)
        return reasons

    assert ends(weak) == {"success"}
    assert "fault" in ends(SPEEDS[SPEEDS.index(weak) - 1])


def test_the_command_prints_a_table_and_draws_a_map(riderless, tmp_path):  # noqa: F811
    figure = tmp_path / "motor.png"
    words = ("--torque", "0.5,7", "--kick-rate", "0.2,0.4", "--speeds", "4,5", "--jobs", "1", "--plot", str(figure))
    code, text, _ = riderless("envelope", "Silver", *words)
    assert code == 0
    assert "lowest speed [m/s] at which a kick is survived" in text
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"torque": [0.0]}, "wanted torque from 0.1 to 50 N m"),
        ({"power": [1.0]}, "wanted a quantity among torque, kick"),
        ({"torque": np.linspace(1, 7, 30), "noise": np.linspace(1, 7, 30)}, "wanted at most 400 machines"),
    ],
)
def test_what_no_machine_has_is_refused(values, sentence):
    with pytest.raises(InputError, match=sentence):
        envelope(Rig(load_bicycle("Silver")), values, speeds=SPEEDS)


@pytest.mark.parametrize("quantities", [1, 2])
def test_the_picture_marks_the_speeds_at_which_no_motor_helps_and_says_so(quantities):
    stuck = uncontrollable_speeds(load_bicycle("Silver"))
    lowest, axes = np.array([[np.nan, 4.0], [2.0, 3.0]]), {"torque [N m]": (1.0, 4.0), "kick [rad/s]": (0.2, 0.4)}
    figure = plot_envelope(
        "t", dict([*axes.items()][:quantities]), lowest if quantities == 2 else lowest[1], stuck=stuck
    )
    lines = [line for plot in figure.axes for line in plot.lines if line.get_linestyle() == "--"]
    assert [line.get_ydata()[0] for line in lines] == [mode.v for mode in stuck]
    assert all(low <= mode.v <= high for mode in stuck for low, high in [lines[0].axes.get_ylim()])
    words = figure.get_supxlabel()
    assert "red, 0.042 m/s: steer torque cannot move the mode that falls" in words
    assert "black, 2.42 m/s" in words
