"""Predicted windows of a kick, without noise.

They are what a machine that nobody has built yet would record. The motion is that of the theory with which recordings
are compared; what is cut out of it is an `AveragedWindow`, as of a recording. The noise of the sensors is in the
theory, which counts it in the information.
"""

from dataclasses import dataclass, replace

import numpy as np

from riderless.experiments.analysis.identification.forced_windows import BEFORE_KICK
from riderless.experiments.analysis.identification.identifiability import kick_rates
from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.analysis.windows.rules import WindowRules
from riderless.experiments.datatypes import OURS, Response, Segment
from riderless.experiments.dynamics import Theory
from riderless.experiments.recordings.run_response import averaged_samples
from riderless.experiments.theories import open_loop
from riderless.experiments.theory.excited_loop import amplitude_within_limits, excited_loop
from riderless.experiments.theory.free_response import forced_response, propagate_evenly, row_map
from riderless.experiments.theory.run_theory import loop_theory
from riderless.hil.controllers.controller import Controller
from riderless.hil.design.closed_loop import SampledLoop, gyro_readings
from riderless.hil.loop.excitation import Excitation
from riderless.hil.rig.rig import Rig
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI_DOT
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.plant.plant import Kick

OPEN_LOOP_STEP = 0.005  # s, between rows of a recording without a controller
HAND_HEIGHT, HAND_AHEAD, HAND_TIME = -0.8, 0.3, 0.09  # m, m, s: where and how long a hand pushes the rear frame


@dataclass(frozen=True)
class Sensors:
    """Noise of a machine's sensors, white from sample to sample.

    Attributes
    ----------
    gyro : float
        rad/s, each axis.
    steer_step : float
        rad, from one count of the steer's encoder to the next.
    accel : float
        m/s^2.
    wheel : float
        rad/s.
    """

    gyro: float = 0.003
    steer_step: float = 2.0 * np.pi / 20000.0
    accel: float = 0.03
    wheel: float = 0.02

    @property
    def stds(self) -> Array:
        """Standard deviations (4,) in the order of `MEASURED_CHANNELS`."""
        return np.array([self.gyro, self.gyro, self.steer_step / np.sqrt(12.0), self.accel])

    @classmethod
    def of(cls, theory: Theory) -> "Sensors":
        """Sensors as noisy as those of a recording, as its theory knows them; else the usual ones."""
        reading = theory.dynamics().reading
        if not {"phi_dot", "psi_dot", "delta", "a_y"} <= set(reading):
            return cls()
        size = {name: float(np.abs(row).max()) for name, row in reading.items()}
        return cls(
            gyro=float(np.hypot(size["phi_dot"], size["psi_dot"]) / np.sqrt(2.0)),
            steer_step=size["delta"] * float(np.sqrt(12.0)),
            accel=size["a_y"],
        )

    def of_channels(self, samples: int) -> dict[str, float]:
        """Noise of each channel of a recording, in means over so many samples."""
        roll, yaw, steer, _ = self.stds / np.sqrt(samples)
        return {"phi_dot": float(roll), "delta": float(steer), "psi_dot": float(yaw)}


@dataclass(frozen=True)
class PaperKick:
    """Kick "by hand", as strong as its lean rate [rad/s], or "by drive", by a share of the limits; both last [s]."""

    by: str = "drive"
    size: float = 0.2
    duration: float = 0.2

    def __str__(self) -> str:
        return f"{self.by} {self.duration:g} s" if self.by == "drive" else self.by


def paper_theory(rig: Rig, controller: Controller | None, sensors: Sensors) -> Theory:
    """Theory of a rig's bicycle under a controller, whose sensors are so noisy; uncontrolled without one."""
    if controller is None:
        return open_loop(rig.bicycle)
    return loop_theory(rig, controller, controller.method, sensors.stds)


def kick_amplitude(rig: Rig, controller: Controller, v: float, kick: PaperKick, most_lean: float = np.inf) -> float:
    """Find the size [N m, rad/s or rad] of a kick by the drive that uses its share of the limits; raises InputError.

    Parameters
    ----------
    rig : Rig
    controller : Controller
    v : float
        Speed [m/s].
    kick : PaperKick
    most_lean : float
        rad, by theory.
    """
    excitation = Excitation("kicks", 1.0, 4.0, f_low=0.1, f_high=0.5 / kick.duration)
    lean = excited_loop(rig, controller, v).peaks(excitation.samples(rig.rate))["lean"]
    return min(amplitude_within_limits(rig, controller, v, excitation, kick.size), most_lean / lean)


def wheel_excursion(rig: Rig, controller: Controller, v: float, played: Array) -> float:
    """Largest distance [m] of either wheel from the middle of its lane, from rest there.

    Parameters
    ----------
    rig : Rig
    controller : Controller
        Keeps a lane.
    v : float
        Speed [m/s].
    played : (n,) array
        On top of the controller's command at each sample, in its unit.
    """
    loop, states = excited_loop(rig, controller, v), SampledLoop.of_rig(rig, controller).states
    place, heading = states.index("y_P"), states.index("psi")
    x, farthest = np.zeros(len(loop.B)), 0.0
    for torque in played:
        rear = float(x[place])
        farthest = max(farthest, abs(rear), abs(rear + rig.bicycle.w * float(x[heading])))
        x = loop.W @ x + loop.B * torque
    return farthest


def paper_window(
    theory: Theory, v: float, spacing: float, kick: PaperKick, amplitude: float = 0.0, sensors: Sensors = Sensors()
) -> AveragedWindow:
    """Cut the window of one kick at speed ``v`` [m/s], the next one ``spacing`` s later.

    Parameters
    ----------
    theory : Theory
    v : float
    spacing : float
    kick : PaperKick
    amplitude : float
        Of a kick by the drive [N m, rad/s or rad].
    sensors : Sensors
        Whose wheel tells the speed; the others' noise is in the theory.
    """
    dynamics = theory.dynamics()
    dt = OPEN_LOOP_STEP if dynamics.dt is None else dynamics.dt * averaged_samples(dynamics.dt)
    rules = WindowRules()
    quiet = round(BEFORE_KICK / dt)
    n = quiet + round(min(spacing, kick.duration + rules.longest) / dt)
    played, first = np.zeros(n), round((kick.duration + rules.settle) / dt) + quiet
    if kick.by == "drive":
        since = dt * (np.arange(n) - quiet)
        on = (since >= 0.0) & (since < kick.duration)
        played[on] = amplitude * np.sin(np.pi * since[on] / kick.duration)
        states, first = forced_response(row_map(dynamics, v, dt), np.zeros(n), played), 0
    else:
        blow = np.zeros((n, len(dynamics.states)))
        blow[quiet, [PHI_DOT, DELTA_DOT]] = _rates_by_hand(theory, kick)
        states = propagate_evenly(row_map(dynamics, v, dt).F, np.zeros((blow.shape[1], 1)), n, blow)[..., 0]
    response = Response(
        source="paper",
        kind=OURS,
        t=dt * np.arange(n, dtype=np.float64),
        phi_dot=states @ dynamics.lean_rate_read(v),
        v=np.full(n, v),
        delta=states[:, DELTA],
        psi_dot=states[:, :4] @ gyro_readings(theory.variant({})[0], v)[1],
        T_played=played if kick.by == "drive" else None,
        bicycle=theory.bicycle,
        theory=theory,
    )
    averaged = AveragedWindow.of(Segment(response, make_window(response, first, n, str(kick))))
    return replace(averaged, v_std=sensors.wheel * theory.bicycle.rR / np.sqrt(n - first))


def _rates_by_hand(theory: Theory, kick: PaperKick) -> Array:
    """Lean and steer rate (2,) [rad/s] after a push by hand."""
    impulse = kick.size * float(canonical_matrices(theory.bicycle).M[0, 0]) / abs(HAND_HEIGHT)
    push = Kick(t=0.0, impulse=impulse, duration=HAND_TIME, x=HAND_AHEAD, z=HAND_HEIGHT)
    return np.asarray(kick_rates(theory.bicycle, [push], np.linspace(0.0, 2.0 * HAND_TIME, 50)).sum(axis=0))
