"""Latency test of the real loop.

The loop with the drive off runs beside `cyclictest`, in alternating slices of one run. The two alternate, because on a
computer that others use too, two tests made one after the other compare two different hours. Measured is
`riderless.hil.runners.realtime` itself with its tick and its ports, on the host's clock; it is never armed.
"""

import math
import os
import platform
import subprocess
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np

from riderless.firmware_interface.child_processes import start_python
from riderless.hil.commissioning import cyclictest
from riderless.hil.loop.states import Demand
from riderless.hil.loop.tick import LoopState
from riderless.hil.runners import realtime
from riderless.hil.runners.kept_proofs import utc_now
from riderless.hil.runners.latency_certificate import (
    LatencyResult,
    Lateness,
    WakeUps,
    describe_computer,
    judge_wake_ups,
)
from riderless.hil.runners.operator import Operator
from riderless.hil.runners.scheduling import describe_privileges, require_existing
from riderless.models.errors import InputError

SLICE_DURATION = 1.0  # s of one instrument before it is the other's turn
RATE_RANGE = (10.0, 2000.0)  # Hz
DURATION_RANGE = (0.1, 86400.0)  # s
_BUSY_PROGRAM = (
    "import os\nprint(flush=True)\nparent = os.getppid()\nwhile os.getppid() == parent:\n for _ in range(10**5): pass"
)


@dataclass(frozen=True, kw_only=True)
class LatencyTrial:
    """Settings of one latency trial."""

    rate: float = 200.0  # Hz
    duration: float = 20.0  # s of our own wake-ups; the floor takes as long again
    fifo: int = 0  # real-time priority, 0 for none
    cpu: int | None = None  # the only one to run on
    load: bool = True

    def __post_init__(self) -> None:
        for name, value, (least, most), unit in (
            ("rate", self.rate, RATE_RANGE, "Hz"),
            ("duration", self.duration, DURATION_RANGE, "s"),
        ):
            if not least <= value <= most:
                raise InputError(f"the {name} of a latency test must be {least:g} to {most:g} {unit}, found {value:g}")
        require_existing(self.fifo, self.cpu)

    @property
    def bins(self) -> int:
        """Number of bins of 1 us, up to 10 ms or one period, whichever is more."""
        return max(10_000, math.ceil(1e6 / self.rate)) + 1


@dataclass
class TrialMeasurement:
    """Wake-ups measured in a trial so far."""

    trial: LatencyTrial
    ours: Lateness
    floor: Lateness | None
    floor_note: str
    compute: list[np.ndarray] = field(default_factory=list)  # s, of ticks that decoded a sample
    settings: list[str] = field(default_factory=list)

    def result(self) -> LatencyResult:
        """Figures of the trial with their verdict."""
        trial, compute = self.trial, np.concatenate([*self.compute, np.zeros(0)])
        p50, p99 = np.percentile(compute, [50, 99]).tolist() if compute.size else (None, None)
        ours = WakeUps.of(self.ours, 1 / trial.rate)
        judged, sentence = judge_wake_ups(ours, trial.rate)
        return LatencyResult(
            utc=utc_now(),
            host=platform.node(),
            kernel=platform.release(),
            rate=trial.rate,
            fifo=trial.fifo,
            cpu=trial.cpu,
            load=trial.load,
            settings=(*self.settings, *describe_computer()),
            ours=ours,
            floor=WakeUps.of(self.floor, 1 / trial.rate) if self.floor is not None else None,
            floor_note=self.floor_note,
            compute_p50=p50,
            compute_p99=p99,
            verdict=judged,
            sentence=sentence,
        )


def measure_latency(
    trials: Sequence[LatencyTrial], fds: Sequence[int], loop: LoopState, tell: Callable[[float], None] | None = None
) -> list[TrialMeasurement]:
    """Measure the trials in turn, slice by slice, on open ports that a node answers on.

    Parameters
    ----------
    trials : sequence of LatencyTrial
    fds : sequence of int
        Non-blocking file descriptors of the ports, in the order of ``loop.links``.
    loop : LoopState
        Disarmed, and left so: the drive stays off throughout.
    tell : callable
        Given the part done, 0 to 1, after each slice.

    Raises
    ------
    KeyboardInterrupt
        When it was interrupted; everything it started has ended by then.
    """
    realtime.warm_up_loop(loop)
    measured = [_begin(trial) for trial in trials]
    rounds = max(math.ceil(trial.duration / SLICE_DURATION) for trial in trials)
    for k in range(rounds):
        for i, m in enumerate(measured):
            part = min(SLICE_DURATION, m.trial.duration - k * SLICE_DURATION)
            if part > 0:
                with loaded_computer(m.trial.cpu) if m.trial.load else ExitStack():
                    _our_slice(m, part, fds, loop)
                    _floor_slice(m, part)
            if tell is not None:
                tell((k * len(measured) + i + 1) / (rounds * len(measured)))
    return measured


def _begin(trial: LatencyTrial) -> TrialMeasurement:
    """Prepare an empty measurement, with a note on the floor it will have."""
    nothing = Lateness(np.zeros(trial.bins, np.int64), 0.0)
    settings = describe_privileges(trial.fifo, trial.cpu)
    if cyclictest.cyclictest_installed():
        turns = f"in turns of {SLICE_DURATION:g} s"
        note = f"{cyclictest.CYCLICTEST} in the same run, {turns}, with the same timer slack and priority"
        return TrialMeasurement(trial, nothing, nothing, note, settings=settings)
    return TrialMeasurement(trial, nothing, None, cyclictest.HOW_TO_GET_IT, settings=settings)


def _our_slice(m: TrialMeasurement, part: float, fds: Sequence[int], loop: LoopState) -> None:
    """Run the loop for ``part`` s and add its wake-ups."""
    for fd in fds:
        termios.tcflush(fd, termios.TCIFLUSH)  # what piled up meanwhile would be one long first tick
    trial, onlooker = m.trial, _Onlooker(part)
    batches: list[np.ndarray] = []
    recorder = realtime.run_loop(
        fds,
        loop,
        trial.rate,
        onlooker,
        lambda rows, tape: batches.append(rows[["t_host", "t_due", "compute", "valid"]]),
        clock="host",
        fifo=trial.fifo,
        cpu=trial.cpu,
    )
    realtime.require_loop(recorder)
    if onlooker.interrupted:
        raise KeyboardInterrupt(onlooker.interrupted)
    error = int(recorder.flow[realtime.PORT_ERROR])
    if error:
        raise InputError(f"the port failed during the latency test ({os.strerror(error)}): was the cable pulled?")
    for rows in batches:
        m.ours = m.ours + Lateness.of(rows["t_host"] - rows["t_due"], trial.bins)
        m.compute.append(rows["compute"][rows["valid"] == 1])


def _floor_slice(m: TrialMeasurement, part: float) -> None:
    """Let cyclictest make as many wake-ups as we did in ``part`` s; without it there is no floor."""
    if m.floor is None:
        return
    trial = m.trial
    n = max(1, round(part * trial.rate))
    try:
        m.floor = m.floor + cyclictest.run_cyclictest(trial.rate, n, trial.bins, trial.fifo, trial.cpu)
    except InputError as refusal:
        m.floor, m.floor_note = None, str(refusal)


class _Onlooker(Operator):
    """Operator that demands nothing for ``duration`` s."""

    def __init__(self, duration: float) -> None:
        super().__init__(duration)
        self.demand = Demand.OFF
        self._since: float | None = None

    def watch(self, row: np.void) -> None:
        if self._since is None:
            self._since = float(row["t_host"])

    def finished(self, t: float) -> bool:
        return bool(self.interrupted) or (self._since is not None and t - self._since >= self.duration)


@contextmanager
def loaded_computer(cpu: int | None = None) -> Iterator[list[int]]:
    """Keep every other CPU busy with a process, and the interpreter with a thread that never lets go of it.

    Parameters
    ----------
    cpu : int, optional
        Where the loop runs, left free of the processes; by default one CPU is, whichever.

    Yields
    ------
    list of int
        The processes' ids.
    """
    everywhere = sorted(os.sched_getaffinity(0))
    places = [{c} for c in everywhere if c != cpu] if cpu is not None else [set(everywhere)] * (len(everywhere) - 1)
    over = threading.Event()
    thread = threading.Thread(target=_hold_the_interpreter, args=(over,), name="load", daemon=True)
    with ExitStack() as stack:
        processes = [stack.enter_context(_busy_process()) for _ in places]
        for process, place in zip(processes, places, strict=True):
            os.sched_setaffinity(process.pid, place)
        thread.start()
        try:
            yield [process.pid for process in processes]
        finally:
            over.set()
            thread.join()


@contextmanager
def _busy_process() -> Iterator["subprocess.Popen[bytes]"]:
    """Start a busy process, which ends with us however we end."""
    with start_python("-I", "-S", "-c", _BUSY_PROGRAM, stdout=subprocess.PIPE, process_group=0) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # it is busy from here on
            yield process
        finally:
            process.kill()


def _hold_the_interpreter(over: threading.Event) -> None:
    """Keep the interpreter's lock busy until the event is set."""
    while not over.is_set():
        for _ in range(100_000):
            pass
