"""Words about causes of a rejected model.

They tell what would explain it, how much that leaves, and what cannot be decided from it.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc

from riderless.experiments.analysis.verdict.candidate import CandidateCause, indistinguishable
from riderless.experiments.analysis.verdict.pairs import CausePair
from riderless.experiments.analysis.windows.steer_stops import SteerStop
from riderless.experiments.dynamics import plain_name

SIGNIFICANCE = 0.01  # probability of a worse misfit below which a model, or what a cause leaves, is unexplained
IN_DOUBT = 0.05  # likewise of what a cause leaves, below which it is in doubt
MUCH_MORE = 1.5  # times the verdict's chi-square, from where on that with which causes are told apart is said too

MEASURE_NEXT = {  # what tells a cause from the others, without the bicycle's motion
    "drive_gain": "turn the bars against a spring balance, to know the drive's torque",
    "more_delay": "log torque told and torque made in one step of the drive, to know its delay",
    "steer_damping": "turn the bars by hand at even speeds with a spring balance, to know friction per rate",
    "coulomb_friction": "pull the bars slowly with a spring balance both ways, to know what breaks them away",
    "play": "hold the wheel and rock the drive with a dial gauge at the bars, to know its play",
    "dead_band": "command small torques, rising and falling, against a spring balance",
    "hysteresis": "command small torques, rising and falling, against a spring balance",
    "steer_stop": "turn the bars to both ends, to know the steer at which they stop",
    "tyre_twisting": "ride with other tyre pressures: a tyre's torque goes with its contact",
    "tyre_trail": "ride with other tyre pressures: a tyre's torque goes with its contact",
    "tyre_slip": "ride with other tyre pressures: a tyre's slip goes with its contact",
    "speed_scale": "roll out the wheel between two marks, to know its radius under load",
    "imu_pitch": "calibrate the mounting again on level ground, to know how the inertial sensor sits on the frame",
    "gyro_scale": "turn the frame by a known angle, to know the gyros' scale",
    "steer_scale": "photograph the bars at two angles, to know the encoder's scale",
    "steer_lag": "knock the bars and the frame at once, to know the lag between encoder and gyro",
}
SHOWN_IN_DEG = ("imu_pitch",)  # as a mounting is measured
SWING_IT = "measure {name} at rest again (pendulum, balance, ruler)"


def p_text(p: float) -> str:
    """Probability with two digits, or as many as show on which side of `SIGNIFICANCE` it lies."""
    digits = 2
    while float(f"{p:.{digits}g}") == SIGNIFICANCE != p:
        digits += 1
    return f"{p:.{digits}g}"


def measure_next(causes: Sequence[CandidateCause]) -> str:
    """Say what to measure next, to know the cause named from those that cannot be told from it; empty without one."""
    if not causes or not np.isfinite(causes[0].chi2_left):
        return ""
    named = [causes[0], *indistinguishable(causes)][:2]
    steps = [MEASURE_NEXT.get(cause.name, SWING_IT.format(name=plain_name(cause.name))) for cause in named]
    return f"what to measure next: {'; '.join(dict.fromkeys(steps))}"


def what_would_explain(causes: Sequence[CandidateCause], chi2: float, dof: int, untold: str = "") -> str:
    """End of the sentence about a rejected model, from its first punctuation mark on.

    Parameters
    ----------
    causes : sequence of CandidateCause
        The best first.
    chi2 : float
        Chi-square of the model as it is.
    dof : int
        Its degrees of freedom.
    untold : str
        Why no causes could be searched for, if so.
    """
    if untold:
        return f"; {untold}"
    usable = [cause for cause in causes if cause.useful(chi2)]
    if not usable or usable[0] is not causes[0]:
        return f", and no single quantity would{_impossible(causes)}"
    first = usable[0]
    known = "of its standard deviations" if first.measured else "of its usual standard deviations"
    alike = [plain_name(cause.name) for cause in indistinguishable(causes)]
    return (
        f"; with {plain_name(first.name)} at {_with_unit(first, first.moved)} instead of "
        f"{_number(first, first.nominal)}, {abs(first.deviations):.1f} {known}, "
        f"chi-square would be {first.chi2_left:.1f}"
        f"{_told_apart(first, chi2)}"
        f"{_left_unexplained(first, dof)}"
        + (f"; these data cannot tell that from {', '.join(alike)}" if alike else "")
        + _impossible(causes)
    )


def _told_apart(cause: CandidateCause, chi2: float) -> str:
    """Say what a cause is held against, where that is not the verdict's own chi-square."""
    if not cause.chi2_before > MUCH_MORE * chi2:
        return ""
    return f" ({cause.chi2_before:.0f} without it, by the measure that tells causes apart)"


def of_two(pairs: Sequence[CausePair]) -> str:
    """Say what two causes at once would explain; empty where none were tried, or none would explain more than one."""
    if not pairs:
        return ""
    best = pairs[0]
    causes = (best.first, best.second)
    moved = " and ".join(f"{plain_name(cause.name)} at {_with_unit(cause, cause.moved)}" for cause in causes)
    alike = [" with ".join(map(plain_name, pair.names)) for pair in indistinguishable(pairs)]
    chi_square = f"chi-square would be {best.chi2_left:.1f}"
    if best.p_left < SIGNIFICANCE:
        chi_square += f", and that is unexplained too (p = {p_text(best.p_left)})"
    return f"; two causes at once, fitted because one is not enough: with {moved} {chi_square}" + (
        f"; these data cannot tell that pair from {', '.join(alike)}" if alike else ""
    )


def of_stops(stops: Sequence[SteerStop]) -> str:
    """Say which stops the steer met; empty where it met none."""
    if not stops:
        return ""
    met = " and ".join(stop.phrase for stop in stops)
    return f"; the steer met {met}, and windows in which it did are left out: kick less, or give it more way"


def _with_unit(cause: CandidateCause, value: float) -> str:
    """Value of a cause with its unit, "0.9", "0.05 N m" or "0.3 deg"."""
    return f"{_number(cause, value)} {'deg' if cause.name in SHOWN_IN_DEG else cause.unit}".rstrip()


def _number(cause: CandidateCause, value: float) -> str:
    """Value of a cause without its unit, as `_with_unit` writes it."""
    return f"{np.degrees(value) if cause.name in SHOWN_IN_DEG else value:.4g}"


def _left_unexplained(cause: CandidateCause, dof: int) -> str:
    """Say that a cause leaves more than noise would, if it does; it took one of the degrees of freedom."""
    p = float(chdtrc(max(dof - 1, 1), cause.chi2_left))
    if p >= IN_DOUBT:
        return ""
    return f", which {'still leaves the data unexplained' if p < SIGNIFICANCE else 'is in doubt'} (p = {p_text(p)})"


def _impossible(causes: Sequence[CandidateCause]) -> str:
    """Name the quantity that would explain as much, but only at a value that it cannot have."""
    outside = [cause for cause in causes if cause.outside]
    if not outside:
        return ""
    worst = max(outside, key=lambda cause: cause.would_explain)
    return (
        f"; {plain_name(worst.name)} would have to be {_with_unit(worst, worst.best)}, outside what is possible "
        f"({worst.outside})"
    )
