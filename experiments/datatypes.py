"""Data types of the analysis.

They are Response -> Segment -> Fit -> Prediction -> Comparison. Each is frozen and says where a number came from.
`repr` is one line, a notebook shows a small table, without arrays.
"""

import mmap
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from riderless.experiments.dynamics import Dynamics, Theory
from riderless.experiments.notebook import eigenvalue_with_unit, plus_minus, value_table
from riderless.experiments.theories import published_bicycle, published_theory
from riderless.hil.logs.log import Marker
from riderless.hil.loop.states import State
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

AGREEMENT = 3.0  # joint standard deviations within which measured and predicted agree
OURS = "riderless"  # kind of a recording of a run of ours

__all__ = [
    "AGREEMENT",
    "Array",
    "Comparison",
    "Dynamics",
    "Fit",
    "Marker",
    "Note",
    "Prediction",
    "ProcessNoise",
    "Rejected",
    "Response",
    "Segment",
    "StateSpan",
    "Theory",
    "Window",
]


@dataclass(frozen=True)
class Note:
    """Request of a person about one window: veto, move or add; with its place in a file, for errors and the report."""

    verb: str  # "veto", "move", "add"
    at: float | None  # s, a time within the window meant; None to add one
    span: tuple[float, float] | None  # s, where it is to be; None for a veto
    reason: str
    where: str  # "line 3 of windows.txt"


@dataclass(frozen=True)
class StateSpan:
    """Time [s, device's clock] during which the supervisor stayed in one state."""

    t_start: float
    t_end: float
    state: State


@dataclass(frozen=True)
class ProcessNoise:
    """Random torques on lean and steer, as of wind, belt or road: a first-order Gauss-Markov process."""

    covariance: Array  # (2, 2) of the torques on lean and steer [N^2 m^2]
    time: float  # s, over which they forget themselves: their correlation is exp(-t / time)

    @property
    def root(self) -> Array:
        """Matrix (2, 2) whose product with its transpose is the covariance [N m]."""
        sizes, vectors = np.linalg.eigh(self.covariance)
        return np.asarray(vectors * np.sqrt(np.maximum(sizes, 0.0)))

    @property
    def lean_torque(self) -> float:
        """Standard deviation of the torque on the lean [N m]."""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def steer_torque(self) -> float:
        """Standard deviation of the torque on the steer [N m]."""
        return float(np.sqrt(self.covariance[1, 1]))


@dataclass(frozen=True, eq=False)
class LanePath:
    """Path over a belt, to the right of its middle; arrays are (n,)."""

    t: Array  # s
    rear: Array  # m, contact of the rear wheel
    front: Array  # m, of the front wheel
    half_belt: float  # m, from the middle to the edge; infinite without one

    @property
    def farthest(self) -> float:
        """Largest distance of a wheel from the middle [m]."""
        return float(max(np.abs(self.rear).max(), np.abs(self.front).max()))


@dataclass(frozen=True, repr=False, eq=False)
class Response:
    """One recording, evenly sampled, whoever made it. Arrays are (n,); None where not measured."""

    source: str  # file name or run folder name
    kind: str  # `OURS`, "kooijman", "delft-sbw"
    t: Array  # s
    phi_dot: Array  # rad/s, or sensor units when phi_dot_unit says so
    v: Array  # m/s
    phi_dot_unit: str = "rad/s"
    phi: Array | None = None  # rad
    delta: Array | None = None  # rad, steer
    psi_dot: Array | None = None  # rad/s, yaw rate
    T_delta: Array | None = None  # steer torque applied or commanded, or what else the drive was commanded
    T_played: Array | None = None  # N m, known torque that was added to the controller's, as a hand at the bars does
    v_read: Array | None = None  # m/s, speed that the controller went by
    free: NDArray[np.bool_] | None = None  # where a free (unsteered or closed-loop) response may be sought
    markers: tuple[Marker, ...] = ()
    bicycle: Bicycle | None = None
    theory: Theory | None = None  # which theory predicts the motion recorded here
    label: str = ""  # condition, for grouping in the report: "Benchmark lqr 5.0 m/s"
    remarks: tuple[str, ...] = ()  # what was found wrong or doubtful in the recording, one sentence each
    notes: tuple[Note, ...] = ()  # what a person wants done with its windows
    states: tuple[StateSpan, ...] = ()  # of the supervisor, in a run of ours
    lane: LanePath | None = None  # of a run of ours with a sensor of place
    bends: tuple[tuple[float, float], ...] = ()  # s, between which its path led it through a bend: not free
    command_unit: str = "N m"  # of T_delta; rad/s or rad of a drive that obeys a steer rate or angle
    steer_late: float = 0.0  # s, by which the steer follows such a command late
    unpredicted: str = ""  # why theory may not judge its motion, as where another law was in force than the stated one
    process_noise: ProcessNoise | None = None  # that drove the motion; None for none, or as long as nobody asked

    @property
    def dt(self) -> float:
        """Sampling interval [s]."""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))

    @property
    def key(self) -> tuple[str, str]:
        """Source and label, by which its windows find it."""
        return self.source, self.label or self.source

    @cached_property
    def own_bicycle(self) -> Bicycle:
        """Bicycle that was recorded: the one given, else the published one of the recording's kind."""
        return self.bicycle or published_bicycle(self.kind, self.source)

    @cached_property
    def own_theory(self) -> Theory:
        """Theory of the recorded motion: the one given, else what was published for the recording's kind."""
        return self.theory or published_theory(self.kind, self.own_bicycle)

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the signals that were measured."""
        names = ("phi_dot", "v", "phi", "delta", "psi_dot", "T_delta", "T_played", "v_read")
        return tuple(name for name in names if getattr(self, name) is not None)

    def release_memory(self) -> None:
        """Release the memory of signals that are mapped from files, as those of a long run; they are read again."""
        for value in vars(self).values():
            held = value.base if isinstance(value, np.ndarray) else None
            pages = held.obj if isinstance(held, memoryview) else None
            if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                pages.madvise(mmap.MADV_DONTNEED)

    def __repr__(self) -> str:
        return (
            f"Response({self.source!r}, {self.kind}, {self.t[0]:.2f} to {self.t[-1]:.2f} s, "
            f"{len(self.t)} samples of {', '.join(self.channels)})"
        )

    def _repr_html_(self) -> str:
        return value_table(
            f"Response {self.source}",
            {
                "kind": self.kind,
                "condition": self.label or "-",
                "time": f"{self.t[0]:.2f} to {self.t[-1]:.2f} s, every {1e3 * self.dt:.4g} ms ({len(self.t)} samples)",
                "speed": f"{np.nanmin(self.v):.2f} to {np.nanmax(self.v):.2f} m/s",
                "channels": ", ".join(self.channels),
                "bicycle": self.bicycle.name if self.bicycle else "-",
                "theory": self.theory.name if self.theory else "-",
                "remarks": " ".join(self.remarks) or "-",
            },
        )


@dataclass(frozen=True, repr=False)
class Window:
    """Part of a response thought to be one free decay (or growth)."""

    source: str
    start: int  # first row
    stop: int  # one past the last row
    t_start: float  # s
    t_end: float  # s
    v_mean: float  # m/s; speeds from a straight line fitted over the window
    v_start: float
    v_end: float
    rule: str  # why it was cut so: "after kick at 12.31 s, until next kick"
    v_std: float = 0.0  # m/s, standard deviation of v_mean by the noise of the speed

    @property
    def rows(self) -> slice:
        """Rows of the window in its response."""
        return slice(self.start, self.stop)

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return self.t_end - self.t_start

    @property
    def deceleration(self) -> float:
        """Mean rate at which the speed falls over the window [m/s^2]."""
        return (self.v_start - self.v_end) / self.duration

    def __repr__(self) -> str:
        return (
            f"Window({self.source!r}, {self.t_start:.2f} to {self.t_end:.2f} s, {self.v_mean:.2f} m/s, "
            f"{self.stop - self.start} rows)"
        )

    def _repr_html_(self) -> str:
        return value_table(
            f"Window of {self.source}",
            {
                "time": f"{self.t_start:.2f} to {self.t_end:.2f} s ({self.stop - self.start} rows)",
                "speed": f"{self.v_start:.2f} to {self.v_end:.2f} m/s, mean {self.v_mean:.2f}",
                "rule": self.rule,
            },
        )


@dataclass(frozen=True, repr=False, eq=False)
class Segment:
    """One window of a recording with the theory of its motion: what is fitted, predicted and compared."""

    response: Response  # that it was cut from
    window: Window

    @property
    def theory(self) -> Theory:
        """Theory of what moves in it."""
        return self.response.own_theory

    @property
    def dynamics(self) -> Dynamics:
        """Dynamics that this theory predicts."""
        return self.theory.dynamics()

    @property
    def t(self) -> Array:
        """Time (n,) [s]."""
        return self.response.t[self.window.rows]

    @property
    def phi_dot(self) -> Array:
        """Lean rate (n,) [rad/s, or in sensor units as the recording has it]."""
        return self.response.phi_dot[self.window.rows]

    @property
    def v(self) -> Array:
        """Speed (n,) [m/s] as measured."""
        return self.response.v[self.window.rows]

    @property
    def v_read(self) -> Array | None:
        """Speed (n,) [m/s] that the controller went by; None where it was not logged."""
        return None if self.response.v_read is None else self.response.v_read[self.window.rows]

    @property
    def delta(self) -> Array | None:
        """Steer angle (n,) [rad]; None where it was not measured."""
        return None if self.response.delta is None else self.response.delta[self.window.rows]

    @property
    def dt(self) -> float:
        """Sampling interval [s]."""
        return self.response.dt

    def __len__(self) -> int:
        return self.window.stop - self.window.start

    def __repr__(self) -> str:
        return f"Segment({self.window!r})"


@dataclass(frozen=True)
class Rejected:
    """Part of a response that looked like a window and was refused, with the reason."""

    source: str
    t_start: float
    t_end: float
    reason: str


@dataclass(frozen=True, repr=False, eq=False)
class Fit:
    """Mode estimated from one window: eigenvalue re +- i im with its covariance (2, 2)."""

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
    influence: Array = field(default_factory=lambda: np.empty((2, 0)))  # (2, n) d(re, im) / d signal
    dof: float = float("inf")  # effective degrees of freedom of the covariance

    @classmethod
    def refused(cls, estimator: str, status: str) -> "Fit":
        """Fit that could not be made: no numbers, and the reason as its status."""
        nan = float("nan")
        return cls(estimator, nan, nan, np.full((2, 2), nan), nan, nan, False, status, dof=nan)

    @property
    def eigenvalue(self) -> complex:
        """Estimated eigenvalue [1/s], im >= 0."""
        return complex(self.re, self.im)

    @property
    def re_std(self) -> float:
        """Standard deviation of re [1/s]."""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def im_std(self) -> float:
        """Standard deviation of im [rad/s]."""
        return float(np.sqrt(self.covariance[1, 1]))

    def interval(self, level: float = 0.95) -> tuple[tuple[float, float], tuple[float, float]]:
        """Intervals (lo, hi) of re and of im that hold the truth with this probability, by Student's t."""
        if not 0.0 < level < 1.0:
            raise InputError(f"the level of an interval lies between 0 and 1, found {level:g}: 0.95 is usual")
        tail = 0.5 + 0.5 * level
        k = float(ndtri(tail) if np.isinf(self.dof) else stdtrit(self.dof, tail))
        re, im = k * self.re_std, k * self.im_std
        return (self.re - re, self.re + re), (self.im - im, self.im + im)

    def __repr__(self) -> str:
        if not np.isfinite(self.re):
            return f"Fit({self.estimator}, refused: {self.status})"
        refused = "" if self.ok else f", refused: {self.status}"
        re, im = plus_minus(self.re, self.re_std, "1/s"), plus_minus(self.im, self.im_std, "rad/s")
        return f"Fit({self.estimator}, re {re}, im {im}, r2 {self.r2:.4f}{refused})"

    def _repr_html_(self) -> str:
        return value_table(
            f"Fit by {self.estimator}",
            {
                "re": plus_minus(self.re, self.re_std, "1/s"),
                "im": plus_minus(self.im, self.im_std, "rad/s"),
                "degrees of freedom": f"{self.dof:.4g}",
                "r2": f"{self.r2:.4f}",
                "may be compared": "yes" if self.ok else "no",
                "status": self.status,
            },
        )


@dataclass(frozen=True, repr=False, eq=False)
class Prediction:
    """Values that theory says a fit should find: frozen eigenvalue, and the same fit on a simulation."""

    mode: str  # which mode of the model: "weave", "capsize", ...
    frozen: complex  # eigenvalue at the window's mean speed, im >= 0
    like: complex  # the estimator applied to the model driven by the measured speed trace
    difference_std: tuple[float, float]  # of (re, im) measured minus like, from the noise of the window
    status: str = ""
    difference_correlation: float = 0.0  # of the two parts of that difference
    nonlinear: bool = False  # is like for like through the nonlinear bicycle?
    lean_rate: float = float("nan")  # rad/s, greatest in the motion like is of
    linear_gain: float = 0.0  # of the log likelihood, had the motion been a linear one; 0 where it is

    @property
    def difference_covariance(self) -> Array:
        """Covariance (2, 2) of measured minus like, real and imaginary part [1/s^2]."""
        re, im = self.difference_std
        cross = self.difference_correlation * re * im
        return np.array([[re * re, cross], [cross, im * im]])

    @property
    def bias(self) -> complex:
        """Known bias of a fit in this window: like for like minus frozen [1/s]."""
        return self.like - self.frozen

    def __repr__(self) -> str:
        frozen, like = eigenvalue_with_unit(self.frozen), eigenvalue_with_unit(self.like)
        return f"Prediction({self.mode}, frozen {frozen}, like {like})"

    def _repr_html_(self) -> str:
        re, im = self.difference_std
        return value_table(
            f"Prediction of {self.mode}",
            {
                "frozen": eigenvalue_with_unit(self.frozen),
                "like for like": eigenvalue_with_unit(self.like),
                "std of measured minus like": f"{re:.2g} 1/s, {im:.2g} rad/s",
                "status": self.status or "-",
            },
        )


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """One window: measured minus like for like, in units of that difference's standard deviation."""

    segment: Segment
    fit: Fit
    prediction: Prediction
    z_re: float
    z_im: float
    label: str = ""  # of the recording
    at_speed: str = ""  # name of its condition where that is not the label: "two at 4.50 m/s"

    @property
    def window(self) -> Window:
        """Window that was compared."""
        return self.segment.window

    @property
    def condition(self) -> str:
        """Name of its condition, by which windows are pooled."""
        return self.at_speed or self.label

    @property
    def key(self) -> tuple[str, str]:
        """`Response.key` of the recording that it was cut from."""
        return self.window.source, self.label

    @property
    def residual(self) -> complex:
        """Measured minus like for like [1/s]."""
        return self.fit.eigenvalue - self.prediction.like

    @property
    def corrected(self) -> complex:
        """Eigenvalue at the window's mean speed: the fit less its known bias [1/s].

        Its standard deviations are those of measured minus like, ``prediction.difference_std``.
        """
        return self.fit.eigenvalue - self.prediction.bias

    @property
    def comparable(self) -> bool:
        """Are both z known?"""
        return bool(np.isfinite([self.z_re, self.z_im]).all())

    @property
    def agrees(self) -> bool:
        """Both parts within `AGREEMENT` joint standard deviations."""
        return abs(self.z_re) <= AGREEMENT and abs(self.z_im) <= AGREEMENT

    def __repr__(self) -> str:
        return (
            f"Comparison({self.label or self.window.source!r}, {self.window.t_start:.2f} to {self.window.t_end:.2f} s, "
            f"measured {eigenvalue_with_unit(self.fit.eigenvalue)}, like {eigenvalue_with_unit(self.prediction.like)}, "
            f"z {self.z_re:+.1f}, {self.z_im:+.1f})"
        )

    def _repr_html_(self) -> str:
        return value_table(
            f"Comparison, {self.label or self.window.source}",
            {
                "window": f"{self.window.t_start:.2f} to {self.window.t_end:.2f} s, {self.window.v_mean:.2f} m/s",
                "measured": eigenvalue_with_unit(self.fit.eigenvalue),
                "like for like": eigenvalue_with_unit(self.prediction.like),
                "frozen": eigenvalue_with_unit(self.prediction.frozen),
                "z": f"{self.z_re:+.2f} (re), {self.z_im:+.2f} (im)",
                "agrees": "yes" if self.agrees else "no",
            },
        )
