"""Clock of a device that runs another way than the host's is told with its size; a busy host is no drift."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.recordings import run_response
from riderless.experiments.recordings.run_response import response_of_run
from riderless.hil.logs import log
from riderless.hil.logs.log import read_run
from tests.tools.long_log import write_long_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_long_log(tmp_path_factory.mktemp("log") / "run", 25.0, 200.0)


def by_clock(run, drift, jitter):
    """Run whose host counts more seconds than its device by a share ``drift``, and takes samples late by chance."""
    ticks, rng = np.array(run.ticks[:]), np.random.default_rng(5)
    late = rng.exponential(jitter, len(ticks)) + 10.0 * jitter * (rng.random(len(ticks)) < 0.01)
    ticks["t_host"] = (1.0 + drift) * ticks["t"] + late
    return replace(run, ticks=ticks)


def told(response):
    return [remark for remark in response.remarks if "clock" in remark]


@pytest.mark.parametrize(("drift", "said"), [(1e-3, "0.1 % too slow"), (-2e-2, "2 % too fast")])
def test_a_clock_that_is_off_is_told_with_its_size(folder, drift, said):
    (remark,) = told(response_of_run(by_clock(read_run(folder), drift, 1e-3)))
    assert f"the device's clock is {said} by the host's" in remark


@pytest.mark.parametrize(("drift", "jitter"), [(0.0, 0.0), (1e-4, 0.0), (0.0, 1e-3), (-1e-4, 1e-3), (0.0, 2e-2)])
def test_quartz_and_a_busy_host_are_not(folder, drift, jitter):
    assert told(response_of_run(by_clock(read_run(folder), drift, jitter))) == []


def test_a_long_run_tells_it_once(folder, monkeypatch, tmp_path):
    slow = by_clock(read_run(folder), 1e-3, 1e-4).save(tmp_path / "slow")
    monkeypatch.setattr(log, "LONG_LOG_BYTES", 0)
    monkeypatch.setattr(run_response, "STRETCH_ROWS", 2000)
    response = response_of_run(read_run(slow, everything=False, stored=True))
    assert len(told(response)) == 1
