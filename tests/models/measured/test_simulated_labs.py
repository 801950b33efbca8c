"""Intervals of the weave in hundreds of simulated labs."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.models.measured.measurement import measure, measured_bicycle, weave, weave_slope
from riderless.models.measured.readings import readings_of
from riderless.models.measured.reduction import plan_of, reduce_readings
from riderless.models.parameter_table import PARAMETERS
from tests.models.measured.labs import lab

LABS = 250
SPEED = 5.0  # m/s
Z = 1.96
BINOMIAL = 0.036  # 99 % bounds of a share of 0.95 among so many


def coverage(case, tools):
    """Shares of labs whose 95 % intervals hold the true weave: (re, im) with correlations, (re, im) without."""
    readings = readings_of({"readings": lab(case), "tools": tools})
    plan = plan_of(list(readings.readings))
    truth = weave(measure(readings).bicycle, SPEED)
    rng = np.random.default_rng(7)
    held = np.zeros((2, 2))
    names = list(PARAMETERS)
    for _ in range(LABS):
        common = dict.fromkeys(readings.readings, 0.0)
        for tool in readings.tools:
            error = rng.standard_normal()
            common = {name: value + error * tool.errors.get(name, 0.0) for name, value in common.items()}
        drawn = {
            name: replace(one, values=(one.mean + common[name] + one.std * rng.standard_normal(),))
            for name, one in readings.readings.items()
        }
        means = {name: one.mean for name, one in drawn.items()}
        bicycle, _ = measured_bicycle(replace(readings, readings=drawn), plan, reduce_readings(means, plan), trust=True)
        off = weave(bicycle, SPEED) - truth
        slope = weave_slope(bicycle, SPEED)
        for i, one in enumerate((bicycle, replace(bicycle, correlations={}))):
            parts = np.array([slope.real, slope.imag])
            std = np.sqrt(np.diag(parts @ one.covariance(names) @ parts.T))
            held[i] += np.abs([off.real, off.imag]) < Z * std
    return held / LABS


TOOLS = {"scale": {"readings": ["m"], "std_g": 10}, "inclinometer": {"readings": ["alpha"], "std_deg": 0.05}}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("case", "tools"), [("A", TOOLS), ("C", {})])
def test_intervals_hold_what_they_promise_with_correlations_alone(case, tools):
    with_them, without = coverage(case, tools)
    assert 0.93 <= with_them.mean() <= 0.97, (with_them, without)
    assert (np.abs(with_them - 0.95) < BINOMIAL).all(), (with_them, without)
    assert without[1] > 0.97, "without correlations the intervals are too wide"
