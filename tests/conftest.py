"""Shared fixtures: others' real logs, one cache for compiled kernels, a floor beside real-time tests."""

import gc
import multiprocessing
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

from riderless.firmware_interface.kernel_folder import everything_compiled
from riderless.hil.commissioning.floor import measured_floor
from tests.paths import SHARED

everything_compiled().touch()  # in a folder that what tests start finds too: each compiles what it needs
gc.set_threshold(50_000, 20, 20)  # of what tests import and make little is garbage, and looking for it took a twentieth
# Started in the background by a shell, the tests would hand a SIGINT that is ignored on to the programs they interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

TRIES = 4  # of a real-time test whose machine was starved
GIVEN_UP = 1  # real-time test of a process may be skipped, for its machine was starved each time; more are a failure
# Nice value of real-time tests and their floor, where the machine gives it: other work of it comes after. Not less, for
# the bytes of a terminal pass through a thread of the kernel at 0: two that begin at -15 keep it waiting for 0.3 s.
AHEAD = -3


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of others' logs beside the checkout; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the folder of others' logs is not beside the checkout")
    return SHARED


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files without real-time tests unread where only those are wanted: to import all takes a quarter minute."""
    if not config.option.markexpr.startswith("realtime") or not collection_path.name.startswith("test_"):
        return None
    return True if "realtime" not in collection_path.read_text(encoding="utf-8") else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let real-time tests go before other work, and fork their twins from a process that has imported their needs."""
    if any(item.get_closest_marker("realtime") for item in session.items):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, AHEAD)
            if "PYTEST_XDIST_WORKER" in os.environ:  # Linux weighs sessions first: a worker makes one of its own
                os.setsid()
                Path("/proc/self/autogroup").write_text(str(AHEAD), encoding="ascii")
        from riderless.firmware_interface.twins import virtual_node

        multiprocessing.set_forkserver_preload(["pytest", "riderless.experiments.emulation.workstand"])
        virtual_node.CONTEXT = multiprocessing.get_context("forkserver")


_given_up: list[str] = []


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a real-time test beside a floor, and again where the floor was starved too.

    Where it was starved each time, and not by chance alone, nothing is known of the loop: it is skipped with the proof.
    """
    if item.get_closest_marker("realtime") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(1, TRIES + 1):
        with measured_floor() as floor:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failed = any(report.failed for report in reports)
        if not (failed and floor.starved and attempt < TRIES):
            break
        item._initrequest()  # fixtures of the function anew; wider ones were made well or failed with it
    if failed and floor.kept_waiting and len(_given_up) < GIVEN_UP:
        _given_up.append(item.name)
        for report in (one for one in reports if one.failed):
            why = f"the computer starved it {attempt} times, at last the floor too: {floor}"
            report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1], f"Skipped: {why}")
    for report in reports:
        if report.failed:
            report.sections.append(("floor", f"attempt {attempt}: {floor}"))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
