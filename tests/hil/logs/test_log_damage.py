"""The log when it goes wrong: killed, cut anywhere, damaged, a full disk."""

import signal
import subprocess
import sys

import numpy as np
import pytest

from riderless.hil.logs.log import RUN_FILE, STOP_KILLED, RunWriter, read_run
from riderless.hil.loop.tick_record import TICK
from riderless.models.errors import InputError
from tests.hil.logs.written_logs import HEADER, assert_same_bits, timed_rows, write_run

LIVE = """
import sys, time
import numpy as np
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import RunWriter
from riderless.hil.loop.tick_record import TICK

with RunWriter(sys.argv[1], RunHeader({})) as writer:
    k, start = 0, time.monotonic()
    while True:
        time.sleep(0.05)
        made = int((time.monotonic() - start) * 200)
        rows = np.zeros(made - k, TICK)
        rows["k"] = np.arange(k, made)
        rows["t_host"] = start + rows["k"] / 200
        print(made, flush=True)  # handed over from here on
        writer.write(rows)
        k = made
"""


@pytest.mark.realtime
def test_kill_9_loses_at_most_a_quarter_of_a_second(tmp_path):
    command = [sys.executable, "-c", LIVE, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        handed_over = 0
        while handed_over < 150:
            handed_over = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        # what it made until the signal arrived counts too
        handed_over = max([handed_over, *map(int, process.stdout.read().split())])
    assert process.returncode == -signal.SIGKILL
    run = read_run(tmp_path / "run")
    assert handed_over - len(run.ticks) <= 0.25 * 200
    assert run.ticks["k"].tolist() == list(range(len(run.ticks)))
    assert run.stop.reason == STOP_KILLED
    assert not run.complete


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run: its rows and its bytes."""
    folder = tmp_path_factory.mktemp("log") / "run"
    rows = timed_rows(60)
    write_run(folder, rows, batch=10)
    return rows, (folder / RUN_FILE).read_bytes()


def test_cut_anywhere_a_run_reads_as_a_beginning_of_itself(tmp_path, finished):
    rows, data = finished
    log = tmp_path / RUN_FILE
    longest = 0
    for cut in [*range(0, 400, 3), *range(400, len(data), 101), *range(len(data) - 60, len(data))]:
        log.write_bytes(data[:cut])
        try:
            run = read_run(tmp_path)
        except InputError:
            assert longest == 0, f"at {cut} of {len(data)} bytes a run vanished that was there before"
            continue
        assert len(run.ticks) >= longest, cut
        longest = len(run.ticks)
        assert_same_bits(run.ticks, rows[:longest])
        assert run.recovered, cut
        assert run.complete == (run.stop.reason == "success")
    assert longest == len(rows)


def test_a_batch_that_was_flushed_survives_every_later_cut(tmp_path, finished):
    rows, data = finished
    with RunWriter(tmp_path / "run", HEADER) as writer:
        writer.write(rows[:30])
        size = (writer.folder / RUN_FILE).stat().st_size
        writer.write(rows[30:])
    data = (tmp_path / "run" / RUN_FILE).read_bytes()
    for cut in (size, size + 1, size + 500):
        (tmp_path / "run" / RUN_FILE).write_bytes(data[:cut])
        assert len(read_run(tmp_path / "run").ticks) == 30


def test_a_damaged_byte_never_raises_anything_but_inputerror_nor_invents_rows(tmp_path, finished):
    rows, data = finished
    known = {row.tobytes() for row in rows}
    rng = np.random.default_rng(7)
    for place in [*range(0, 1400, 5), *rng.integers(1400, len(data), 200)]:
        broken = bytearray(data)
        broken[place] ^= rng.integers(1, 256)
        (tmp_path / RUN_FILE).write_bytes(broken)
        try:
            run = read_run(tmp_path)
        except InputError:
            assert place < 220, "only a run without its header cannot be read"
            continue
        assert run.ticks.dtype == TICK, place
        assert all(row.tobytes() in known for row in run.ticks), place
        assert run.complete <= (len(run.ticks) == len(rows)), place


def test_a_damaged_chunk_costs_its_own_rows_and_is_told(tmp_path, finished):
    rows, data = finished
    broken = bytearray(data)
    broken[data.index(b"\x28\xb5\x2f\xfd") + 300] ^= 1  # zstd's magic number: inside the first chunk
    (tmp_path / RUN_FILE).write_bytes(broken)
    run = read_run(tmp_path)
    assert_same_bits(run.ticks, rows[10:])
    assert not run.complete
    assert "damaged records: 1" in run.recovered
    assert "counts 60" in run.recovered


def test_zeros_that_a_power_cut_left_end_the_reading(tmp_path, finished):
    rows, data = finished
    (tmp_path / RUN_FILE).write_bytes(data[: len(data) // 2] + bytes(4096))
    run = read_run(tmp_path)
    assert 0 < len(run.ticks) < len(rows)
    assert not run.complete


DISK_FULL = """
import resource, sys
import numpy as np
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import RunWriter
from riderless.hil.loop.tick_record import TICK

_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
rng = np.random.default_rng(0)
rows = np.zeros(100, TICK)
rows["T_cmd"] = rng.normal(size=100)
writer = RunWriter(sys.argv[1], RunHeader({}))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
handed_over = 0
try:
    while True:
        rows["k"] = np.arange(handed_over, handed_over + 100)
        handed_over += 100
        writer.write(rows)
except OSError as error:
    print(error.errno, handed_over, flush=True)
if sys.argv[2] == "more room":
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    writer.close("abort", "disk was full")
else:
    try:
        writer.close("abort", "disk is full")
    except OSError as error:
        print(error.errno)
"""


def run_with_a_small_disk(folder, then):
    command = [sys.executable, "-c", DISK_FULL, str(folder), then]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_a_full_disk_is_told_and_what_is_on_it_stays_readable(tmp_path):
    error, handed_over, error_at_close = run_with_a_small_disk(tmp_path / "run", "no more room")
    assert error == error_at_close
    run = read_run(tmp_path / "run")
    assert len(run.ticks) == int(handed_over) - 100
    assert "cut" not in run.recovered  # the torn batch was taken back
    assert run.stop.reason == STOP_KILLED


def test_rows_that_did_not_fit_are_written_when_there_is_room_again(tmp_path):
    _, handed_over = run_with_a_small_disk(tmp_path / "run", "more room")
    run = read_run(tmp_path / "run")
    assert len(run.ticks) == int(handed_over)
    assert run.ticks["k"].tolist() == list(range(int(handed_over)))
    assert run.complete
    assert run.stop.cause == "disk was full"
