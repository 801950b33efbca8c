"""Many runs at once give what they give one at a time."""

import gc
import os

import pytest

from riderless.experiments.campaigns import sweeps
from riderless.experiments.campaigns.sweeps import SweepCase, cores, simulate_all, spread
from riderless.hil.design.methods import design
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.emulation import Emulation
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.plant.plant import Scenario
from tests.experiments.campaigns.workers import busy, root


def cases(n=3):
    rig = Rig(catalogue.load_bicycle("Benchmark"))
    schedule = design(rig.bicycle, "off", (4.0, 5.0, 6.0))
    emulation = Emulation("nonlinear")
    scenarios = [Scenario(speed=((0.0, 5.0),), seed=seed, torque_noise=0.1) for seed in range(n)]
    return [SweepCase(rig, schedule, s, emulation, 0.7, f"seed {s.seed}") for s in scenarios]


def logs(folder):
    return [path.read_bytes() for path in sorted(folder.iterdir())]


@pytest.fixture(scope="module")
def one_at_a_time(tmp_path_factory):
    out = tmp_path_factory.mktemp("one")
    folders = [out / str(i) for i in range(3)]
    return [logs(result.folder) for result in simulate_all(cases(), folders, jobs=1)]


@pytest.fixture
def no_collector():
    """Nothing is collected but where it is asked for."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_processes_give_the_same_bytes(tmp_path, one_at_a_time):
    folders = [tmp_path / str(i) for i in range(3)]
    results = {result.folder: result for result in simulate_all(cases(), folders, jobs=2)}
    assert [logs(folder) for folder in folders] == one_at_a_time
    assert all(result.outcome.reason == "success" for result in results.values())
    assert results[folders[1]].condition.scenario.seed == 1


def test_a_single_case_runs_here_and_can_be_watched(tmp_path):
    seen = []
    (result,) = simulate_all(cases(1), [tmp_path / "run"], watch=lambda case, row: seen.append(case.label))
    assert result.outcome.reason == "success"
    assert set(seen) == {"seed 0"}


def test_every_piece_comes_back_with_its_index():
    assert sorted(spread(root, [1.0, 4.0, 9.0], jobs=2)) == [(0, 1.0), (1, 2.0), (2, 3.0)]
    assert list(spread(root, [], jobs=2)) == []
    assert list(spread(root, [16.0])) == [(0, 4.0)]
    assert cores() >= 1


def test_an_error_in_a_worker_reaches_the_caller():
    with pytest.raises(ValueError, match="domain"):
        list(spread(root, [1.0, -1.0, 4.0], jobs=2))


def test_several_processes_share_the_work():
    assert len({pid for _, pid in spread(busy, [0.2] * 6, jobs=2)} - {os.getpid()}) == 2


@pytest.mark.parametrize("jobs", [0, -3])
def test_no_jobs_are_refused(jobs):
    with pytest.raises(InputError, match="found"):
        list(spread(root, [1.0, 2.0], jobs=jobs))


def test_no_jobs_are_refused_for_a_single_run_too(tmp_path):
    with pytest.raises(InputError, match="the number of jobs must be 1 or more, found -2"):
        list(sweeps.simulate_all([None], [tmp_path], jobs=-2))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense"])
def test_a_cluster_that_does_not_answer_is_named_and_leaves_no_client_to_be_collected_later(
    address, monkeypatch, no_collector
):
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    monkeypatch.setattr(sweeps, "CONNECT_TIMEOUT", 0.5)
    with pytest.raises(InputError, match=f"no Dask scheduler answers at {address}"):
        list(spread(root, [1.0], cluster=address))
    assert not [found for found in gc.get_objects() if type(found) is distributed.Client]


def test_a_local_cluster_gives_the_same_bytes(tmp_path, one_at_a_time):
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        folders = [tmp_path / str(i) for i in range(3)]
        list(simulate_all(cases(), folders, cluster=address))
        assert [logs(folder) for folder in folders] == one_at_a_time
        with pytest.raises(ValueError, match="domain"):
            list(spread(root, [-1.0], cluster=address))
