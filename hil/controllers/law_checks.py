"""Checks of a user's compiled law before arming.

They look at what its machine code calls, and at 10 000 steps. Its code may call mathematics and itself: no allocation,
no interpreter, no random numbers, nothing behind a pointer. Then it rides: random motions inside twice the rig's
limits, first with a check of every index, then as it flies. It may not raise, be slow, lose finiteness, write where it
may only read, or keep anything but in its state.
"""

import math
import re
import time
from collections.abc import Iterator
from functools import lru_cache
from threading import Event, Thread
from typing import TYPE_CHECKING

import numpy as np

from riderless.hil.controllers.law_file import LawFile, law_code
from riderless.hil.controllers.law_trials import FORGETS_NOT, WRITES, Trial, try_law
from riderless.hil.controllers.lti import LTI_INPUTS
from riderless.hil.loop.law import LAW_INPUTS, Law
from riderless.models.array_types import Array
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.hil.controllers.compiled import CompiledController
    from riderless.hil.loop.limits import Limits

LAW_STEPS, LAW_RIDE = 10_000, 100  # steps in all, and of one ride, which starts from a state of zero
BEYOND_LIMITS = 2.0  # times the rig's limits
LONGEST_LAW_STEP = 50e-6  # s, on the mean of a ride: a hundredth of a period at 200 Hz; gains take 0.04e-6
FAR_TOO_SLOW = 5.0  # times that, with a check of every index; no more rides are wanted then
LAW_PATIENCE = 30.0  # s, for all steps, which take half a second at the longest
_RATE, _FORCE = 10.0, 20.0  # 1/s, a fast motion's rate per angle; m/s^2, that an accelerometer may read
_HEADING, _PLACE = 0.3, 0.5  # rad, m off the lane
_HELD = 20  # steps of a ride in which a person holds the bicycle
_LOST = 0.05  # share of steps without a fresh sample
_WHY = {  # beginning of what is called -> what it means
    "NRT_": "allocates memory",
    "Py": "calls the interpreter",
    "numba_gil": "calls the interpreter",
    "numba_unpickle": "calls the interpreter",
    "numba_rnd": "draws random numbers",
    "numba_get_np_random": "draws random numbers",
}
_MATHEMATICS = re.compile(
    r"llvm\.|mem(set|cpy|move)$|numba\.math\.|numba_(ldexp|frexp|fixed|modf)|(a?(sin|cos|tan)h?|atan2|exp|exp2|expm1|log|"
    r"log2|log10|log1p|pow|sqrt|cbrt|hypot|fmod|remainder|floor|ceil|trunc|round|rint|fabs|copysign|nextafter|erfc?|"
    r"[lt]gamma|ldexp|frexp|modf|fmin|fmax|fma)f?$"
)
_DEFINED = re.compile(r'^define [^@\n]*@("[^"]+"|[\w.$]+)\(.*?^\}', re.S | re.M)
_CALL = re.compile(r"^ *(?:%\S+ = )?(?:tail |musttail |notail )?(?:call|invoke) (.*)$", re.M)
_CALLED = re.compile(r'[^@%(]*@("[^"]+"|[\w.$]+)\(')


def require_sound(controller: "CompiledController", limits: "Limits") -> None:
    """Refuse a law that may not fly.

    Parameters
    ----------
    controller : CompiledController
    limits : Limits
        Of the rig.

    Raises
    ------
    InputError
        One sentence: what it does, and what it may not do.
    """
    record = limits.as_record(controller.drive.kind if controller.drive else "torque")
    key = tuple(float(record[name]) for name in ("lean", "steer", "command", "speed_max"))
    made = (*controller.settings.values(),), len(controller.states), controller.inputs
    problem = _problem(controller.known_file, *made, key)
    if problem:
        raise InputError(f"the law {controller.file} {problem}; docs/controllers.md says what a law may do")


@lru_cache(maxsize=32)
def _problem(
    file: LawFile, settings: tuple[float, ...], m: int, inputs: tuple[str, ...], limits: tuple[float, ...]
) -> str:
    """Name what a law does that it may not do; empty if nothing."""
    if called := _meaning(set(calls(law_code(file).inspect_llvm()))):
        return called
    signals = _random_rides(*limits)
    watched, flown = (
        Law(int(law_code(file, each).address), np.array(settings, float), m, 0.0, np.inf) for each in (True, False)
    )
    rides = _patiently(watched, m, signals)
    if not rides:
        return f"does not come back from its step within {LAW_PATIENCE:g} s"
    safe = Trial(*(np.concatenate(each) for each in zip(*rides, strict=True)))
    if problem := _fault(safe, signals):
        return problem
    if len(safe.wishes) < LAW_STEPS:
        return f"takes more than {1e6 * LONGEST_LAW_STEP:g} us a step: make it quicker"
    trial = try_law(flown, np.zeros((LAW_STEPS, m)), signals, LAW_RIDE)
    if problem := _fault(trial, signals) or _unnamed(flown, m, inputs, signals, trial):
        return problem
    took = _longest(flown, m, signals)
    if took > LONGEST_LAW_STEP:
        return f"takes {1e6 * took:.0f} us a step, wanted at most {1e6 * LONGEST_LAW_STEP:g} us: make it quicker"
    return ""


def _unnamed(law: Law, m: int, inputs: tuple[str, ...], signals: Array, trial: Trial) -> str:
    """Name an input that the law uses and does not list; empty if there is none."""
    for name in LTI_INPUTS:
        if name not in inputs:
            without = signals.copy()
            without[:, LAW_INPUTS.index(name)] = 0.0
            if (try_law(law, np.zeros((LAW_STEPS, m)), without, LAW_RIDE).wishes != trial.wishes).any():
                return f"uses {name}, which is not among its inputs ({', '.join(inputs)}): add it to LAW"
    return ""


def _fault(trial: Trial, signals: Array) -> str:
    """Name what went wrong in a trial; empty if nothing."""
    if (trial.wrong == WRITES).any():
        return "writes into its settings, signals or reference, which are there to be read: keep numbers in its state"
    if (trial.wrong == FORGETS_NOT).any():
        return "answers the same state and signals differently, by the wish it left before: keep numbers in its state"
    bad = ~np.isfinite(trial.wishes)
    if bad.any():
        return (
            "raises an error, reads beyond the end of an array, or gives a torque or a state that is not finite "
            f"({_place(signals[int(np.argmax(bad))])}, inside twice the rig's limits): guard it there"
        )
    return ""


def _place(row: Array) -> str:
    """Name the place where a step went wrong, in words."""
    shown = ("v", "m/s"), ("phi", "rad"), ("delta", "rad"), ("phi_dot", "rad/s")
    return ", ".join(f"{name} {row[LAW_INPUTS.index(name)]:.3g} {unit}" for name, unit in shown)


def _random_rides(lean: float, steer: float, command: float, speed_max: float) -> Array:
    """Signals and references (LAW_STEPS, k) of rides at random, columns as `LAW_INPUTS`.

    The first one stands still and upright. Each other has a size of its own, so that small motions come too; a
    sample is missing now and then, and a person holds the bicycle at first.

    Parameters
    ----------
    lean, steer, command, speed_max : float
        Limits of the rig [rad, rad, N m (or rad/s, rad, as its drive obeys), m/s].
    """
    rng = np.random.default_rng(20)
    sizes = {
        "phi": lean,
        "delta": steer,
        **dict.fromkeys(("phi_dot", "delta_dot", "psi_dot"), _RATE * steer),
        "a_y": _FORCE,
        **dict.fromkeys(("T", "u_prev", "T_cut"), command),
        "psi": _HEADING,
        "y_P": _PLACE,
    }  # of what is measured, estimated and followed alike
    signals = np.zeros((LAW_STEPS, len(LAW_INPUTS)))
    scale = np.repeat(np.append(0.0, rng.choice([1.0, 0.1, 0.001], LAW_STEPS // LAW_RIDE - 1)), LAW_RIDE)
    for column, name in enumerate(LAW_INPUTS):
        size = BEYOND_LIMITS * sizes.get(name.removesuffix("_meas").removesuffix("_ref"), 0.0)
        signals[:, column] = size * scale * rng.uniform(-1.0, 1.0, LAW_STEPS)
    speed = np.repeat(np.append(0.0, rng.uniform(0.0, BEYOND_LIMITS * speed_max, LAW_STEPS // LAW_RIDE - 1)), LAW_RIDE)
    signals[:, LAW_INPUTS.index("v")] = signals[:, LAW_INPUTS.index("v_meas")] = speed
    signals[:, LAW_INPUTS.index("dt")] = 0.005
    signals[:, LAW_INPUTS.index("fresh")] = rng.uniform(size=LAW_STEPS) >= _LOST
    signals[:, LAW_INPUTS.index("steered")] = np.arange(LAW_STEPS) % LAW_RIDE >= _HELD
    return signals


def _patiently(law: Law, m: int, signals: Array) -> list[Trial]:
    """Ride with a law that may never come back, in a thread that is left behind if it does not.

    No ride where it never came back; not all of them where one was far too slow.
    """
    trials: list[Trial] = []
    ended = Event()
    try_law(law, np.zeros((0, m)), signals[:0], LAW_RIDE)  # no step: the compiler's seconds are not the law's

    def ride() -> None:
        took = 0.0
        while took < FAR_TOO_SLOW * 2.0 * LAW_RIDE * LONGEST_LAW_STEP and len(trials) < LAW_STEPS // LAW_RIDE:
            rows, began = signals[len(trials) * LAW_RIDE : (len(trials) + 1) * LAW_RIDE], time.thread_time()
            trials.append(try_law(law, np.zeros((LAW_RIDE, m)), rows, LAW_RIDE))
            took = time.thread_time() - began
        ended.set()

    Thread(target=ride, daemon=True).start()
    return trials if ended.wait(LAW_PATIENCE) else []


def _longest(law: Law, m: int, signals: Array) -> float:
    """Mean time of a step [s] in the ride that takes longest, the best of three; of the processor's, not the wall's."""
    best = np.full(LAW_STEPS // LAW_RIDE, math.inf)
    for _ in range(3):
        for ride in range(len(best)):
            rows = signals[ride * LAW_RIDE : (ride + 1) * LAW_RIDE]
            began = time.thread_time()
            try_law(law, np.zeros((LAW_RIDE, m)), rows, LAW_RIDE)
            best[ride] = min(best[ride], time.thread_time() - began)
    return float(best.max()) / (2.0 * LAW_RIDE)  # each step is taken twice


def calls(llvm: str) -> Iterator[str]:
    """List what the machine code of a law calls, itself left out; an empty name for a call through a pointer.

    The wrapper that numba puts around an entry has the interpreter in it, for errors that a guarded entry never hands
    on; so the search begins at the entry itself.
    """
    bodies = {each[1].strip('"'): each[0] for each in _DEFINED.finditer(llvm)}
    wrapper = next(name for name in bodies if name.startswith("cfunc."))
    seen, waiting = set[str](), [wrapper.removeprefix("cfunc.")]
    while waiting:
        name = waiting.pop()
        if name in seen or _MATHEMATICS.match(name):
            continue
        seen.add(name)
        if name not in bodies or name.startswith("NRT_"):
            yield name
            continue
        matches = [_CALLED.match(call) for call in _CALL.findall(bodies[name])]
        waiting += [each[1].strip('"') if each else "" for each in matches]


def _meaning(called: set[str]) -> str:
    """Say what it means to call these, in words; empty for none."""
    for beginning, meaning in _WHY.items():
        if any(name.startswith(beginning) for name in called):
            return f"{meaning}, which no law may"
    if "" in called:
        return "calls something behind a pointer, of which nobody knows what it does"
    return f"calls {min(called)}, which is not mathematics" if called else ""
