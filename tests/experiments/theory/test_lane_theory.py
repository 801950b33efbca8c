"""Motion of an emulated bicycle in a lane under stiff gains, beside the closed loop of theory."""

from dataclasses import replace
from functools import partial

import numpy as np

from riderless.experiments.campaigns.file import plan_campaign
from riderless.experiments.recordings.runs import played_torque
from riderless.experiments.theory.excited_loop import excited_loop
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.rig.task import Task
from riderless.hil.runners import emulation
from riderless.hil.runners.simulated_run import run_lockstep
from tests.studies.chosen_runs import USUAL_STUDY

STIFF = "Silver stiff 7.0 m/s kicked 0.4 s"
PITCH_BIAS = -0.06  # rad/s, of the emulated gyro: three times the usual


def test_a_stiff_lane_answers_a_kick_as_theory_says_whatever_the_bias_of_the_pitch_gyro(tmp_path, monkeypatch):
    """What is left are the steps of encoder and fixes: noise and starts are the same in both runs, and go with one."""
    monkeypatch.setattr(
        emulation, "Instruments", partial(_with_gyro_bias, emulation.Instruments, (0.01, PITCH_BIAS, 0.015))
    )
    stiff = next(one for one in plan_campaign({**USUAL_STUDY, "seed": 1}).conditions if one.label == STIFF)
    found = []
    for share in (1.0, 0.1):
        kicked = replace(stiff.excitation, amplitude=share * stiff.excitation.amplitude)
        quiet = replace(stiff.emulation, noise=0.05)
        folder = tmp_path / str(share)
        run_lockstep(
            folder, stiff.rig, stiff.schedule, stiff.scenario, stiff.duration, STIFF, None, quiet, Task(kicked)
        )
        run = read_run(folder)
        ticks = run.ticks[run.ticks["state"] == State.RUNNING]
        found.append((ticks, played_torque(run, ticks)))
    (large, T_large), (small, T_small) = found
    loop = excited_loop(stiff.rig, stiff.schedule, stiff.v)
    told = loop.response(T_large - T_small)
    for shown, measured, within in (("phi_dot", "phi_dot_meas", 0.01), ("delta", "delta_meas", 0.022)):
        left = large[measured] - small[measured] - told[shown]
        assert np.std(left) < within * np.std(told[shown]), shown  # 0.026 and 0.029 before the bias was left out


def _with_gyro_bias(of, bias, **others):
    return of(**{**others, "gyro_bias": bias})
