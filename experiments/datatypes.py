"""What travels through the analysis: Response -> Window -> Fit -> Prediction -> Comparison.

Each is frozen and carries enough to say where a number came from.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from experiments.dynamics import Array, Dynamics, Theory
from hil.logs.log import Marker
from models.parameters import Bicycle

__all__ = [
    "Array",
    "Comparison",
    "Dynamics",
    "Fit",
    "Marker",
    "Note",
    "Prediction",
    "Rejected",
    "Response",
    "Theory",
    "Window",
]


@dataclass(frozen=True)
class Note:
    """What a person wants done with one window: veto, move or add; where it says so, for errors and the report."""

    verb: str  # "veto", "move", "add"
    at: float | None  # s, a time within the window meant; None to add one
    span: tuple[float, float] | None  # s, where it is to be; None for a veto
    reason: str
    where: str  # "line 3 of windows.txt"


@dataclass(frozen=True)
class Response:
    """One recording, evenly sampled, whoever made it. Arrays are (n,); None where not measured."""

    source: str  # file name or run folder name
    kind: str  # "riderless", "kooijman", "delft-sbw"
    t: Array  # s
    phi_dot: Array  # rad/s, or sensor units when phi_dot_unit says so
    v: Array  # m/s
    phi_dot_unit: str = "rad/s"
    phi: Array | None = None  # rad
    delta: Array | None = None  # rad, steer
    psi_dot: Array | None = None  # rad/s, yaw rate
    T_delta: Array | None = None  # N m, steer torque applied or commanded
    v_read: Array | None = None  # m/s, speed that the controller went by
    free: NDArray[np.bool_] | None = None  # where a free (unsteered or closed-loop) response may be sought
    markers: tuple[Marker, ...] = ()
    bicycle: Bicycle | None = None
    theory: Theory | None = None  # what theory says moves here
    label: str = ""  # condition, for grouping in the report: "Benchmark lqr 5.0 m/s"
    remarks: tuple[str, ...] = ()  # what was found wrong or doubtful in the recording, one sentence each
    notes: tuple[Note, ...] = ()  # what a person wants done with its windows

    @property
    def dt(self) -> float:
        """Sampling interval [s]."""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))


@dataclass(frozen=True)
class Window:
    """A part of a response thought to be one free decay (or growth)."""

    source: str
    start: int  # first row
    stop: int  # one past the last row
    t_start: float  # s
    t_end: float  # s
    v_mean: float  # m/s; speeds from a straight line fitted over the window
    v_start: float
    v_end: float
    rule: str  # why it was cut so: "after kick at 12.31 s, until next kick"

    @property
    def deceleration(self) -> float:
        """How fast the speed falls over the window [m/s^2]."""
        return (self.v_start - self.v_end) / (self.t_end - self.t_start)


@dataclass(frozen=True)
class Rejected:
    """A part of a response that looked like a window and was refused, with the reason."""

    source: str
    t_start: float
    t_end: float
    reason: str


@dataclass(frozen=True)
class Fit:
    """A mode estimated from one window: eigenvalue re +- i im with its covariance (2, 2)."""

    estimator: str
    re: float  # 1/s
    im: float  # rad/s, >= 0; 0 for the real-mode form
    covariance: Array  # (2, 2) of (re, im)
    r2: float
    rms: float  # of the residual, in the unit of the signal
    ok: bool  # may it be compared?
    status: str  # one sentence
    curve: Array = field(default_factory=lambda: np.empty(0))  # fitted signal on the window's rows
    coefficients: dict[str, float] = field(default_factory=dict)
    sensitivity: Array = field(default_factory=lambda: np.empty((2, 0)))  # (2, n) d(re, im) / d signal
    dof: float = float("inf")  # effective degrees of freedom of the covariance

    @property
    def re_std(self) -> float:
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def im_std(self) -> float:
        return float(np.sqrt(self.covariance[1, 1]))

    def interval(self, level: float = 0.95) -> tuple[tuple[float, float], tuple[float, float]]:
        """Intervals (lo, hi) of re and of im that hold the truth with this probability, by Student's t."""
        tail = 0.5 + 0.5 * level
        k = float(ndtri(tail) if np.isinf(self.dof) else stdtrit(self.dof, tail))
        re, im = k * self.re_std, k * self.im_std
        return (self.re - re, self.re + re), (self.im - im, self.im + im)


@dataclass(frozen=True)
class Prediction:
    """What theory says a fit should find: frozen eigenvalue, and the same fit on a simulation."""

    mode: str  # which mode of the model: "weave", "capsize", ...
    frozen: complex  # eigenvalue at the window's mean speed, im >= 0
    like: complex  # the estimator applied to the model driven by the measured speed trace
    difference_std: tuple[float, float]  # of (re, im) measured minus like, from the noise of the window
    status: str = ""


@dataclass(frozen=True)
class Comparison:
    """One window: measured minus like for like, in units of that difference's standard deviation."""

    window: Window
    fit: Fit
    prediction: Prediction
    z_re: float
    z_im: float
    label: str = ""

    @property
    def agrees(self) -> bool:
        """Both parts within three joint standard deviations."""
        return abs(self.z_re) <= 3.0 and abs(self.z_im) <= 3.0
