"""Room on the disk: a planned run that cannot be kept is refused before a port is opened, with both figures."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from riderless.experiments.cli import app
from riderless.hil.logs.log import RUN_FILE, RunWriter
from riderless.hil.loop.tick_record import TICK
from riderless.hil.rig.file import read_rig
from riderless.hil.runners import session, simulated_run
from riderless.hil.runners.disk_room import log_bytes, require_disk_room
from riderless.models.errors import InputError
from tests.disks import a_disk
from tests.hil.logs.written_logs import HEADER
from tests.hil.machine import gains, rig_of, scenario
from tests.paths import DOCS

SMALL = 2_000_000  # bytes


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a small disk of its own."""
    with a_disk(tmp_path / "disk", SMALL) as folder:
        yield folder


def test_a_run_too_long_for_its_disk_is_refused_before_a_port_is_opened(small_disk):
    rig = rig_of()
    wanted = r"the log may take 3[89]\d MB in .*/disk/runs/one, found 2 MB of room there: make room, plan less time"
    with pytest.raises(InputError, match=wanted):
        session.run_realtime(small_disk / "runs" / "one", rig, gains(rig), "/dev/no-such-port", 3300.0)
    assert list(small_disk.iterdir()) == []


def test_a_virtual_bicycle_is_not_even_started(small_disk, monkeypatch):
    """Told before anybody waits for a twin and its kernels; the log's folder is not made either."""

    def started(*_, **__):
        raise AssertionError("the virtual bicycle was started")

    monkeypatch.setattr("riderless.experiments.emulation.workstand.start_twin", started)
    arguments = ["run", "--emulated", "--duration", "3300", "--out", str(small_disk / "runs")]
    refused = CliRunner().invoke(app, arguments).exception
    assert isinstance(refused, InputError)
    assert "found 2 MB of room there" in str(refused)
    assert list(small_disk.iterdir()) == []


def test_all_runs_together_want_their_room(tmp_path, small_disk):
    slow = rig_of(rate=50.0, watchdog=0.1)
    require_disk_room(small_disk, [(slow, 1.0)])
    with pytest.raises(InputError, match=r"found 2 MB of room there"):
        require_disk_room(small_disk, [(slow, 1.0)] * 2)
    require_disk_room(tmp_path, [(slow, 1.0)] * 2)


def test_a_log_takes_no_more_than_is_said(tmp_path):
    """Of rows that no compression makes smaller."""
    rig, n = rig_of(), 2000
    rng = np.random.default_rng(1)
    rows = np.frombuffer(rng.bytes(n * TICK.itemsize), TICK).copy()
    rows["k"], rows["n_wire"] = np.arange(n), 70
    with RunWriter(tmp_path / "run", HEADER) as writer:
        for part in range(0, n, 10):
            writer.write(rows[part : part + 10], np.frombuffer(rng.bytes(700), np.uint8))
    said = log_bytes(rig, 10.0) - log_bytes(rig, 0.0)  # of 2000 rows
    assert 0.8 * said < (tmp_path / "run" / RUN_FILE).stat().st_size < said + 200_000


@pytest.mark.parametrize("name", ["node", "vectornav-vesc", "vectornav-odrive"])
def test_a_real_log_takes_less_and_not_much_less(tmp_path, name):
    rig = read_rig(DOCS / f"rigs/{name}.toml")
    assert 100e6 < log_bytes(rig, 3600.0) * 200.0 / rig.rate < 600e6
    if name == "node":
        emulated = replace(rig_of(), limits=rig.limits)
        simulated_run.run_lockstep(tmp_path / "run", emulated, gains(emulated), scenario(), 20.0)
        size = (tmp_path / "run" / RUN_FILE).stat().st_size
        assert 0.25 < size / (log_bytes(emulated, 20.0) - log_bytes(emulated, 0.0)) < 1.0
