"""Child processes live through SIGINT, whenever it comes; who started them sees it."""

import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

from riderless.firmware_interface.child_processes import QUIET_SPAWN


@pytest.mark.parametrize("wait", [0.0, 0.02, 0.1])
def test_an_interrupt_while_it_imports_does_not_end_it(capfd, wait):
    process = QUIET_SPAWN.Process(target=print, args=("it ran",))
    process.start()
    time.sleep(wait)
    os.kill(process.pid, signal.SIGINT)
    process.join(60.0)
    assert process.exitcode == 0
    assert capfd.readouterr() == ("it ran\n", "")


def test_the_processes_of_a_pool_do_not_see_it_either():
    with ProcessPoolExecutor(1, mp_context=QUIET_SPAWN) as pool:
        answer = pool.submit(abs, -2)
        for process in QUIET_SPAWN.active_children():
            os.kill(process.pid, signal.SIGINT)
        assert answer.result(60.0) == 2


def test_who_starts_one_is_interrupted_as_before():
    process = QUIET_SPAWN.Process(target=print)
    process.start()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    process.join(60.0)


def test_it_can_be_ended():
    process = QUIET_SPAWN.Process(target=time.sleep, args=(60.0,))
    process.start()
    process.terminate()
    process.join(60.0)
    assert process.exitcode == -signal.SIGTERM
