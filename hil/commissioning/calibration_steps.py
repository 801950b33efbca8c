"""Steps of a calibration.

Each has instructions to a person, the check that enough was seen, and the sentence of the result. Findings of a step go
into the notes; the rows of a phase are read with the calibration that the phase began with. Phases are made one after
the other, for each needs the findings of those before: the drive is switched on only when lean and steer angle can be
believed.
"""

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from riderless.hil.commissioning import sensor_calibration as c
from riderless.hil.commissioning.calibration_results import TORQUE_CONSTANT_KEY, Notes
from riderless.hil.commissioning.drive_calibration import DRIVE_UNITS, Centring, fit_drive, front_inertia, sweep_rows
from riderless.hil.commissioning.preflight import PREFLIGHT_PUSH
from riderless.hil.commissioning.steps import STEER_BEYOND_STOPS, WHEEL_TURN_RATE, HandPosture, Step, StepResult
from riderless.hil.design.methods import design
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.states import SENTENCES, Cause, Demand, State
from riderless.hil.rig.rig import Rig
from riderless.models.coordinates import DELTA, DELTA_DOT
from riderless.models.errors import InputError
from riderless.models.plant.workstand import FREE_STEER

CALIBRATION_PARTS = ("gyro", "mounting", "steer", "wheel", "drive")
CALIBRATION_LEAN = 0.35  # rad to the right, of a person asked to lean it by 10 to 30 degrees
SWEEP_SWING = 0.15  # rad, amplitude of the bars in the sweep, about
SWEEP_DURATION = 17.0  # s
MIN_NATURAL_FREQUENCY = 2.0 * math.pi  # rad/s, of the bars on their spring
SWEEP_BAND = (0.5, 4.0)  # Hz
_MAX_NATURAL_FREQUENCY = 2.5 * 2.0 * math.pi  # rad/s
_DAMPING_RATIO = 0.35  # of the bars on their spring
_MIN_LEAN, _MIN_STEER, _MIN_WHEEL_TURN = math.radians(8.0), 0.1, 2.0 * math.pi  # rad, of what a person is asked to do
_MIN_PUSHED = 0.03  # rad, of the bars, to know the direction of the drive
_LEAN_TOLERANCE_SHARE, _LEAN_TOLERANCE = 0.15, math.radians(2.0)  # of lean by gyro and by gravity: share and rad
_MAX_GYRO_BIAS = 0.35  # rad/s: 20 deg/s
_GRAVITY_TOLERANCE = 0.03  # share of gravity by which an accelerometer may be wrong
_RADIUS_TOLERANCE = 0.1  # share of the bicycle's radius by which that of the roll-out may differ


@dataclass(frozen=True)
class Phase:
    """Part of a calibration that runs the loop once: its rig, gains, excitation, steps and conclusion.

    ``conclude`` is called when the loop has ended; it returns a last result, or None.
    """

    rig: Rig
    schedule: GainSchedule
    excitation: Excitation
    steps: list[Step]
    conclude: Callable[[], StepResult | None] = lambda: None


def calibration_phases(
    notes: Notes, parts: Collection[str], rollout: float, torque: float | None = None, added: float = 0.0
) -> Iterator[Phase]:
    """Yield the phases of a calibration, each to be gone through before the next is asked for.

    Parameters
    ----------
    notes : Notes
        Of this calibration; filled by the steps.
    parts : collection of str
        Names of `CALIBRATION_PARTS`.
    rollout : float
        m between the marks.
    torque : float
        N m, amplitude of the sweep; by default one that swings the bars by about `SWEEP_SWING`.
    added : float
        kg m^2, inertia about the steer axis that is not in the bicycle's parameters.
    """
    rig = notes.rig
    off = design(rig.bicycle, "off", (5.0,), rig.timing)
    sensors = _Sensors(notes, rollout)
    steps = [step for part in CALIBRATION_PARTS if part in parts and part != "drive" for step in sensors.of(part)]
    if steps:
        yield Phase(notes.sensing(), off, Excitation(), steps)
    if "drive" not in parts:
        return
    inertia = front_inertia(rig.bicycle, added)
    amplitude = sweep_torque(rig, inertia.value, torque)
    push = replace(
        PREFLIGHT_PUSH, amplitude=min(max(PREFLIGHT_PUSH.amplitude, 0.5 * amplitude), rig.limits.torque.value)
    )
    yield Phase(notes.rig, off, push, [_direction_step(notes)])
    centring = centring_of(amplitude, inertia.value, rig)
    K = np.zeros_like(off.K)
    K[:, DELTA], K[:, DELTA_DOT] = centring.stiffness, centring.damping
    sweep = Excitation("sweep", amplitude, SWEEP_DURATION, *SWEEP_BAND)
    swinging = _Swinging(notes, centring, inertia)
    yield Phase(notes.rig, replace(off, K=K), sweep, [swinging.step()], swinging.conclude)


def sweep_torque(rig: Rig, inertia: float, wanted: float | None) -> float:
    """Amplitude [N m] of the sweep; raises InputError for one that the rig's limit leaves no room for."""
    most = 0.5 * rig.limits.torque.value
    if wanted is None:
        return min(most, _swing(rig) * inertia * MIN_NATURAL_FREQUENCY**2)
    if not 0.0 < wanted <= most:
        raise InputError(
            f"the torque of the sweep must be above 0 and at most half the rig's limit of {2.0 * most:g} N m, for the "
            f"bars are held as well; found {wanted:g} N m: give at most {most:g}"
        )
    return wanted


def centring_of(amplitude: float, inertia: float, rig: Rig) -> Centring:
    """Choose spring and damper so that the sweep swings the bars by about `SWEEP_SWING`."""
    omega = min(max(MIN_NATURAL_FREQUENCY, math.sqrt(amplitude / (_swing(rig) * inertia))), _MAX_NATURAL_FREQUENCY)
    return Centring(inertia * omega**2, 2.0 * _DAMPING_RATIO * omega * inertia, rig.observer.steer_bandwidth)


def _swing(rig: Rig) -> float:
    """Amplitude [rad] of the bars that the sweep aims at, well within the rig's limit."""
    return min(SWEEP_SWING, rig.limits.steer.value / 3.0)


class _Sensors:
    """Steps with the drive off; their rows are read with the calibration at the beginning."""

    def __init__(self, notes: Notes, rollout: float) -> None:
        self._notes, self._rollout = notes, rollout
        self._read_with = notes.rig.calibrated()
        self._upright: np.ndarray | None = None
        self._straight: np.ndarray | None = None
        self._right: np.ndarray | None = None

    def of(self, part: str) -> list[Step]:
        """Make the steps of a part."""
        level = "both wheels on level floor: hold it upright by a spirit level, still"
        over = "lean it to the right, 10 to 30 deg, and hold it still"
        right, left = (f"turn the bars {side} to the stop and hold them" for side in ("right", "left"))
        ahead = "upright again: hold the front wheel exactly straight ahead"
        mark = f"put the rear wheel on the first of two marks {self._rollout:g} m apart, straight ahead"
        roll = "roll it onto the second mark without a stop on the way, and hold it there"
        steps = {
            "gyro": [Step("gyro", self._gyro, "put it on its stand and touch nothing", longest=40.0, waits=True)],
            "mounting": [
                Step("upright", self._stand, level, longest=40.0, waits=True),
                Step("lean", self._lean, over, longest=60.0, posture=HandPosture(lean=CALIBRATION_LEAN)),
            ],
            "steer": [
                Step("straight", self._ahead, ahead, longest=40.0, waits=True),
                Step(
                    "right stop", self._turn_right, right, longest=40.0, posture=HandPosture(steer=STEER_BEYOND_STOPS)
                ),
                Step("left stop", self._turn_left, left, longest=40.0, posture=HandPosture(steer=-STEER_BEYOND_STOPS)),
            ],
            "wheel": [
                Step("first mark", self._mark, mark, longest=60.0, waits=True),
                Step("roll-out", self._roll, roll, longest=180.0, posture=HandPosture(wheel_rate=WHEEL_TURN_RATE)),
            ],
        }
        return steps[part]

    def _gyro(self, rows: np.ndarray, over: bool) -> StepResult | None:
        still = c.still_rows(rows, 5.0)
        if still is None:
            return StepResult(False, "it never stood still for 5 s") if over else None
        bias = c.find_gyro_bias(still, self._read_with)
        read = f"at rest the gyros read ({', '.join(f'{x:+.4f}' for x in bias.value)}) rad/s, to {bias.error.max():.4f}"
        if np.abs(bias.value).max() > _MAX_GYRO_BIAS:
            return StepResult(False, f"{read}: more than {_MAX_GYRO_BIAS:g} is no offset; is the sensor broken?")
        self._notes.calibrate("gyro_offset", bias.value.tolist(), bias.error.tolist(), "rad/s")
        return StepResult(True, read)

    def _stand(self, rows: np.ndarray, over: bool) -> StepResult | None:
        still = c.still_rows(rows, 3.0)
        if still is None:
            return StepResult(False, "it was never held still for 3 s") if over else None
        self._upright = still
        size = float(np.linalg.norm(self._gravity(still)))
        if abs(size / c.EARTH_GRAVITY - 1.0) > _GRAVITY_TOLERANCE:
            return StepResult(
                False, f"gravity reads {size:.2f} m/s^2, wanted {c.EARTH_GRAVITY:g}: scale or offsets are wrong"
            )
        return StepResult(True, f"gravity reads {size:.2f} m/s^2")

    def _lean(self, rows: np.ndarray, over: bool) -> StepResult | None:
        if self._upright is None:
            return StepResult(False, "it was not held upright before")
        still = c.still_rows(rows, 3.0)
        if still is None or c.angle_between(self._gravity(self._upright), self._gravity(still)) < _MIN_LEAN:
            return StepResult(False, f"no lean of {math.degrees(_MIN_LEAN):.0f} deg or more was held") if over else None
        notes, way = self._notes, c.usable_rows(rows)
        bias = np.array(notes.rig.calibrated().gyro_offset)
        lean = c.find_mounting(self._upright, still, self._read_with, way, bias)
        summary = f"leant by {math.degrees(lean.lean):.1f} deg, by gyro {math.degrees(lean.lean_by_gyro):.1f} deg"
        if abs(lean.gravity[1] / c.EARTH_GRAVITY - 1.0) > _GRAVITY_TOLERANCE:
            return StepResult(False, f"{summary}; gravity reads {lean.gravity[1]:.2f} m/s^2 there: its scale is wrong")
        began_upright = c.angle_between(self._gravity(self._upright), self._gravity(way[:20])) < 0.3 * lean.lean
        if began_upright and abs(lean.lean_by_gyro - lean.lean) > max(
            _LEAN_TOLERANCE_SHARE * lean.lean, _LEAN_TOLERANCE
        ):
            return StepResult(False, f"{summary}: they must agree; the gyro's axes are not the accelerometer's")
        old = np.array(notes.rig.calibrated().mounting)
        changed = notes.calibrate("mounting", lean.rotation.tolist(), lean.error.tolist(), "rad")
        notes.measure("lean", lean.lean, math.nan, "rad")
        apart = math.degrees(c.rotation_angle(lean.rotation @ old.T))
        summary += f"; turned by {apart:.1f} deg from the rig's mounting, to {math.degrees(lean.error.max()):.2f}"
        if changed and apart > 150.0 and lean.rotation[2] @ old[2] > 0.9:
            summary += "; that is half a turn: was it leant to the right?"
        return StepResult(True, summary)

    def _ahead(self, rows: np.ndarray, over: bool) -> StepResult | None:
        self._straight = c.held_rows(rows, 2.0)
        if self._straight is None:
            return StepResult(False, "the bars were never held still for 2 s") if over else None
        return StepResult(True, f"the encoder read {np.mean(self._straight['delta_meas']):+.4f} rad")

    def _turn_right(self, rows: np.ndarray, over: bool) -> StepResult | None:
        held = c.held_rows(rows, 1.0)
        if self._straight is None:
            return StepResult(False, "they were not held straight before")
        if held is None or abs(_apart(held, self._straight)) < _MIN_STEER:
            return StepResult(False, "no turn of the bars was seen") if over else None
        self._right = held
        return StepResult(True, f"at {_apart(held, self._straight):+.3f} rad from straight, by the encoder")

    def _turn_left(self, rows: np.ndarray, over: bool) -> StepResult | None:
        held, straight, right = c.held_rows(rows, 1.0), self._straight, self._right
        if straight is None or right is None:
            return StepResult(False, "straight and right must be known before")
        side = _apart(right, straight)
        if held is None or abs(_apart(held, straight)) < _MIN_STEER or _apart(held, straight) * side > 0.0:
            return StepResult(False, "no turn of the bars to the other side was seen") if over else None
        notes, steer = self._notes, c.find_steer(straight, right, held, self._read_with)
        notes.calibrate("steer_sign", steer.sign, 0.0, "")
        notes.calibrate("steer_offset", steer.offset.value, steer.offset.error, "rad")
        notes.measure("stop_right", steer.right, math.nan, "rad")
        notes.measure("stop_left", steer.left, math.nan, "rad")
        stops = f"{math.degrees(steer.right):+.1f} and {math.degrees(steer.left):+.1f} deg"
        summary = f"zero at {steer.offset.value:+.4f} rad, right counts {steer.sign:+d}, stops at {stops}"
        if min(steer.right, -steer.left) < notes.rig.limits.steer.value:
            summary += (
                f"; the rig's limit is {math.degrees(notes.rig.limits.steer.value):.1f} deg: lower it below the stops"
            )
        return StepResult(True, summary)

    def _mark(self, rows: np.ndarray, over: bool) -> StepResult | None:
        if not c.wheel_at_rest(rows, self._read_with, 1.0):
            return StepResult(False, "the wheel never stood for 1 s") if over else None
        return StepResult(True, "the wheel stands")

    def _roll(self, rows: np.ndarray, over: bool) -> StepResult | None:
        new = c.usable_rows(rows)
        if (
            len(new) < 2
            or abs(c.wheel_angle(new, self._read_with)) < _MIN_WHEEL_TURN
            or not c.wheel_at_rest(new, self._read_with, 2.0)
        ):
            return StepResult(False, "the wheel was not seen to turn once or more, and stand") if over else None
        notes, wheel = self._notes, c.find_wheel(new, self._read_with, self._rollout)
        summary = (
            f"{wheel.angle / (2.0 * math.pi):.2f} turns: radius {wheel.radius.value:.4f} m, forward {wheel.sign:+d}"
        )
        wanted = notes.rig.bicycle.rR
        if abs(wheel.radius.value / wanted - 1.0) > _RADIUS_TOLERANCE:
            return StepResult(
                False, f"{summary}; the bicycle's rear wheel has {wanted:.3f} m: did it stop at the mark?"
            )
        notes.calibrate("wheel_sign", wheel.sign, 0.0, "")
        notes.calibrate("wheel_radius", *wheel.radius, "m")
        return StepResult(True, summary)

    def _gravity(self, rows: np.ndarray) -> c.Array:
        """Mean specific force [m/s^2] in the sensor's axes."""
        return c.sensor_axes(rows, self._read_with)[1].mean(axis=0) - self._read_with.accel_offset


def _apart(rows: np.ndarray, straight: np.ndarray) -> float:
    """Steer angle [rad] of rows from that of the bars held straight."""
    return float(np.median(rows["delta_meas"]) - np.median(straight["delta_meas"]))


_ASK_TO_LIFT = (
    "lift the front wheel, hold the frame upright and the bars straight; let them go when the drive takes them: "
)


def _direction_step(notes: Notes) -> Step:
    """Make the step that finds the sign of the drive's torque, by a push to the right."""

    def look(rows: np.ndarray, over: bool) -> StepResult | None:
        running = rows[rows["state"] == State.RUNNING]
        turned = float(running["delta_meas"][-1] - running["delta_meas"][0]) if len(running) else 0.0
        if abs(turned) > _MIN_PUSHED:
            sign = notes.rig.calibrated().torque_sign * (1 if turned > 0.0 else -1)
            notes.calibrate("torque_sign", sign, 0.0, "")
            side = "right" if turned > 0.0 else "left: the sign of its torque is wrong"
            return StepResult(True, f"told to push to the right, it pushed to the {side}")
        why = _ended(rows)
        if why or over:
            return StepResult(
                False, why or "the bars did not move: is the wheel lifted, is the drive wired? try --sweep-torque"
            )
        return None

    ask = f"{_ASK_TO_LIFT}it pushes them to the right, gently"
    return Step(
        "direction",
        look,
        ask,
        longest=30.0,
        demand=Demand.RUN,
        posture=HandPosture(steer=FREE_STEER),
        waits=True,
        lets_go=True,
    )


class _Swinging:
    """Sweep of the drive: rows are kept while it lasts; the fit is made when the machine is off again."""

    def __init__(self, notes: Notes, centring: Centring, inertia: c.Estimate) -> None:
        self._notes, self._centring, self._inertia = notes, centring, inertia
        self._rows: np.ndarray | None = None

    def step(self) -> Step:
        """Make the step in which a person holds the bars, then lets them go."""
        ask = f"{_ASK_TO_LIFT}it swings them for {SWEEP_DURATION:.0f} s"
        return Step(
            "sweep",
            self._look,
            ask,
            longest=45.0,
            demand=Demand.RUN,
            posture=HandPosture(steer=FREE_STEER),
            waits=True,
            lets_go=True,
        )

    def _look(self, rows: np.ndarray, over: bool) -> StepResult | None:
        running = rows[rows["state"] == State.RUNNING]
        if len(running) and running["t_host"][-1] - running["t_host"][0] >= SWEEP_DURATION:
            self._rows = sweep_rows(rows)
            return StepResult(True, f"the bars swung by up to {np.abs(self._rows['delta_meas']).max():.2f} rad")
        why = _ended(rows)
        return StepResult(False, why or "it did not come to its end") if why or over else None

    def conclude(self) -> StepResult | None:
        """Fit gain, friction and delay, and note them; None if there was no sweep."""
        if self._rows is None:
            return None
        notes = self._notes
        try:
            drive = fit_drive(self._rows, self._inertia, notes.rig.drive_lag, self._centring)
        except ValueError as problem:
            return StepResult(False, f"{problem}: hands off? friction may want more --sweep-torque")
        gain = drive.found["gain"]
        summary = (
            f"makes {_pm(gain, 3)} of the torque asked for, {1e3 * drive.found['delay'].value:.1f} ms after it; "
            f"friction {_pm(drive.found['friction'], 3)} N m, damping {_pm(drive.found['damping'], 3)} N m s/rad"
        )
        if drive.residual > 0.25 * drive.motion or gain.error > 0.1 * gain.value:
            return StepResult(
                False, f"{summary}; but the bars moved {drive.residual:.3f} rad otherwise: did something touch?"
            )
        for name, estimate in drive.found.items():
            notes.measure(f"drive_{name}", *estimate, DRIVE_UNITS[name])
        written = notes.correct_torque(*gain)
        if written is None and abs(gain.value - 1.0) > max(2.0 * gain.error, 0.01):
            lacks = f"the rig has no {TORQUE_CONSTANT_KEY} for this drive"
            summary += f"; {lacks}: multiply its own torque constant by {gain.value:.3f}"
        most, limit = notes.torque_limit, notes.rig.limits.torque.value
        if written and most is not None and gain.value * most < limit:
            summary += f"; that is {gain.value * most:.2f} N m at most: lower limits.torque from {limit:g} N m below it"
        return StepResult(True, summary)


def _ended(rows: np.ndarray) -> str:
    """Reason that the machine is not, or no longer, on its way to RUNNING; empty if it is."""
    state, cause = State(int(rows["state"][-1])), Cause(int(rows["cause"][-1]))
    tried = bool((rows["state"] != State.DISARMED).any())
    over = state in (State.FAULT, State.RAMPDOWN) or (state is State.DISARMED and tried)
    return SENTENCES[cause] if over and cause else ""


def _pm(estimate: c.Estimate, digits: int) -> str:
    """Value and standard error for a sentence."""
    return f"{estimate.value:.{digits}f} ± {estimate.error:.{digits}f}"
