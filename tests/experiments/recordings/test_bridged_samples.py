"""Samples that are no good now and then are bridged, and told with their share: the controller answered late there."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.recordings import run_response
from experiments.recordings.run_response import response_of_run
from hil.logs import log
from hil.logs.log import read_run
from tests.tools.long_log import write_long_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_long_log(tmp_path_factory.mktemp("log") / "run", 25.0, 200.0)


def failing(run, spoilt, of):
    """Run with so many samples of so many that are no good."""
    ticks = np.array(run.ticks[:])
    ticks["valid"][np.arange(len(ticks)) % of < spoilt] = 0
    return replace(run, ticks=ticks)


def told(response):
    return [remark for remark in response.remarks if "missing or no good" in remark]


@pytest.mark.parametrize(("spoilt", "of", "said"), [(1, 20, "5 %"), (3, 17, "18 %"), (1, 50, "2 %")])
def test_samples_that_fail_now_and_then_are_told_with_their_share(folder, spoilt, of, said):
    (remark,) = told(response_of_run(failing(read_run(folder), spoilt, of)))
    assert f"t: {said} of the samples under control are missing or no good" in remark


@pytest.mark.parametrize(("spoilt", "of"), [(0, 20), (1, 200), (80, 2000)])
def test_single_ones_and_a_long_gap_with_a_remark_of_its_own_are_not(folder, spoilt, of):
    assert told(response_of_run(failing(read_run(folder), spoilt, of))) == []


def test_a_long_run_tells_them_once(folder, monkeypatch, tmp_path):
    saved = failing(read_run(folder), 1, 20).save(tmp_path / "failing")
    monkeypatch.setattr(log, "LONG_LOG_BYTES", 0)
    monkeypatch.setattr(run_response, "STRETCH_ROWS", 2000)
    assert len(told(response_of_run(read_run(saved, everything=False, stored=True)))) == 1
