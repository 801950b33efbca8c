"""Rows that a page is sent, read from the memory that a run shares."""

import fcntl
import json
import mmap
import multiprocessing
import os
import time

import numpy as np
import pytest

from riderless.experiments.live.rows import SharedRun
from riderless.hil.live import layout
from tests.experiments.live.shared_memory import areas, make_rows, new_feed


@pytest.fixture
def shared():
    feed = new_feed()
    found = areas()
    run = SharedRun(found.rows, found.orders)
    yield feed, run, found
    run.close()


def columns_of(text):
    return json.loads(text)


def test_a_page_is_sent_every_second_row_of_a_loop_at_200_hz_once(shared):
    feed, run, _ = shared
    make_rows(feed, 101)
    first = columns_of(run.batch())
    assert first["t"] == pytest.approx([0.01 * i for i in range(51)])
    assert first["phi"] == pytest.approx([0.002 * i for i in range(51)])
    assert first["y"] == [None] * 51
    assert run.batch() == ""
    make_rows(feed, 7)
    assert columns_of(run.batch())["t"] == pytest.approx([0.51, 0.52, 0.53])


def test_of_several_feeds_in_one_process_the_newest_is_found_and_stop_reaches_it():
    """Whatever the numbers of their descriptors: the newer one may well have lower ones, which another file left."""
    in_the_way = [os.open(os.devnull, os.O_RDONLY) for _ in range(8)]
    older = new_feed()
    for fd in in_the_way:
        os.close(fd)
    newer = new_feed()
    found = areas()
    run = SharedRun(found.rows, found.orders)
    make_rows(newer, 3)
    run.stop()
    assert (run.made, int(newer.presses[layout.STOP_PRESSES]), int(older.presses[layout.STOP_PRESSES])) == (3, 1, 0)
    run.close()


def test_memory_of_a_feed_that_is_gone_is_found_no_more():
    feed = new_feed()
    before = areas()
    del feed
    after = layout.areas_of(os.getpid())
    assert after != before
    with pytest.raises(OSError, match="No such file"):
        SharedRun(before.rows, before.orders)


def test_whoever_is_far_behind_misses_the_oldest_and_keeps_the_time(shared):
    feed, run, _ = shared
    make_rows(feed, 3 * len(feed.ring))
    feed.tell({"t_zero": 100.0})
    times = columns_of(run.batch())["t"]
    assert times[-1] == pytest.approx((3 * len(feed.ring) - 2) / 200.0)
    assert np.diff(times) == pytest.approx(0.01)


def test_a_row_that_the_loop_is_writing_over_is_not_shown(shared, monkeypatch):
    feed, run, _ = shared
    make_rows(feed, 200)
    real, overtaken = run._value, []

    def slow(name, at):
        value = real(name, at)
        if name == "psi_est" and not overtaken:  # the loop comes round the ring while the first row is read
            overtaken.append(at)
            make_rows(feed, len(feed.ring))
        return value

    monkeypatch.setattr(run, "_value", slow)
    assert run.batch() == "", "all 200 rows were written over"
    assert columns_of(run.batch())["t"][0] > 1.0


def test_another_run_of_the_process_begins_at_zero_again(shared):
    feed, run, _ = shared
    make_rows(feed, 400)
    run.batch()
    feed.begin({"folder": "/nowhere", "rate": 1000.0, "header": {}})
    make_rows(feed, 100, rate=1000.0)
    assert columns_of(run.batch())["t"] == pytest.approx([0.01 * i for i in range(10)])


def test_nobody_else_can_write_or_shrink_what_the_loop_relies_on(shared):
    _, _, found = shared
    fd = os.open(found.rows, os.O_RDWR)
    try:
        with pytest.raises(PermissionError):
            mmap.mmap(fd, 4096, access=mmap.ACCESS_WRITE)
        with pytest.raises(PermissionError):
            os.ftruncate(fd, 0)
        assert fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK
    finally:
        os.close(fd)
    orders = os.open(found.orders, os.O_RDWR)
    try:
        with pytest.raises(PermissionError):
            os.ftruncate(orders, 0)
    finally:
        os.close(orders)


def test_stop_presence_and_wishes_reach_the_run(shared):
    feed, run, _ = shared
    assert feed.presses[layout.STOP_PRESSES] == 0
    run.stop()
    run.stop()
    assert feed.presses[layout.STOP_PRESSES] == 2
    assert feed.beheld(time.monotonic()) == float("inf")
    run.here()
    assert 0.0 <= feed.beheld(time.monotonic()) < 5.0
    for strength in (0.5, 1.5):
        run.ask(json.dumps({"type": "kick", "side": "left", "strength": strength}))
    assert [wish["strength"] for wish in feed.wishes()] == [0.5, 1.5]
    assert list(feed.wishes()) == []


def _write_texts(rows):
    memory = layout.open_area(rows, writable=True)
    letters = "abcdefgh"
    for i in range(1500):
        layout.write_shared_text(memory, (0, 4096), json.dumps({"text": letters[i % 8] * (100 + 30 * (i % 7))}))


def test_a_text_is_read_whole_or_not_at_all():
    fd = os.memfd_create("text-of-a-test")
    os.ftruncate(fd, 4096)
    memory = mmap.mmap(fd, 4096)
    writer = multiprocessing.get_context("spawn").Process(target=_write_texts, args=(f"/proc/{os.getpid()}/fd/{fd}",))
    writer.start()
    read = 0
    while writer.is_alive():
        _, text = layout.read_shared_text(memory, (0, 4096))
        if text:
            assert len(set(json.loads(text)["text"])) == 1
            read += 1
    writer.join()
    assert read > 10
