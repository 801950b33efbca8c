"""Preflight checks of sensors, signs and drive.

They come before a machine is trusted, one step each. The checks are pure functions of the rows of a step; a person does
what is asked and need not read any number.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.messages import STATUS_ENABLED, STATUS_STOP_BUTTON, STATUS_WATCHDOG
from riderless.hil.commissioning.sensor_calibration import EARTH_GRAVITY
from riderless.hil.commissioning.steps import (
    STEER_BEYOND_STOPS,
    WHEEL_TURN_RATE,
    HandPosture,
    Step,
    StepResult,
    check_armed,
)
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.hil.loop.resting import describe_rest
from riderless.hil.loop.states import SENTENCES, Cause, Demand, State, Verdict
from riderless.hil.rig.rig import LAGS_TO_NOTHING, Rig
from riderless.hil.runners.assembly import POLLED_NEWS, SAMPLED_NEWS
from riderless.models.plant.workstand import FREE_STEER

REST_DURATION = 2.0  # s of rows for what is measured at rest
PLACE_PUSH = "place by hand"  # name of that step
HARDWARE_STOP = "hardware stop"  # and of this
PREFLIGHT_LEAN = 0.2  # rad to the right, of a person asked to lean it about 10 degrees
_MIN_MOTION = 0.1  # rad, of lean or steer, to know its direction
_STILL = 0.5  # s for which what was turned is held
_MIN_WHEEL_SPEED = 0.5  # m/s
_MIN_PUSHED = 0.03  # rad
_MAX_GYRO_REST = 0.05  # rad/s, a gyro that reads more at rest wants calibration
PUSHED_SIDEWAYS = 0.2  # m to the right, of a person asked to push it so far
_PUSHED_WITHIN = 0.25  # of that, by eye and a mark on the floor
_SEEN_MOVING = 0.08  # m, to be a push
_PLACE_STILL = 0.03  # m, within which a place is held
_MAX_DRIFT = 0.08  # m in `REST_DURATION`, of a place that nobody moves: a receiver's jumps by 5 cm
_MAX_TILT = math.radians(5.0)  # off the vertical; more wants a mounting

_CUT = 0.8  # of the supply before: less, and the stop has cut it
_SILENT = 0.3  # s, for which a drive without supply has said nothing
_LATEST = 0.1  # s, by which a torque that follows its command is sought

PREFLIGHT_PUSH = Excitation("push", amplitude=0.4, duration=0.4, f_low=1.0, f_high=5.0)
_GENTLE = {"torque": 0.4, "rate": 0.4, "angle": 0.1}  # N m, rad/s, rad


def preflight_steps(rig: Rig, devices: Sequence[Introduction]) -> list[Step]:
    """Make the steps of a rig's preflight, without the push of the drive."""
    right, left = "upright again; turn the bars right to the stop and hold", "turn the bars left to the stop and hold"
    lifted = "lift the front wheel, hold the bars straight: the drive is switched on, at zero torque"
    return [
        Step("stream", _stream_of(rig), "stand back: nobody touches the bicycle", longest=10.0),
        Step("supply", _supply_of(rig), longest=5.0),
        *([Step("place", _place_of(rig.place), longest=5.0)] if rig.place else []),
        Step("at rest", _at_rest_of(rig), "hold the bicycle upright and still", longest=10.0),
        *([_place_push()] if rig.place and rig.place.belt_width is not None else []),
        Step(
            "lean",
            check_lean,
            "lean it to the right, about 10 degrees, and hold",
            longest=30.0,
            posture=HandPosture(lean=PREFLIGHT_LEAN),
        ),
        Step("steer right", _stop_of(rig, 1), right, longest=30.0, posture=HandPosture(steer=STEER_BEYOND_STOPS)),
        Step("steer left", _stop_of(rig, -1), left, longest=30.0, posture=HandPosture(steer=-STEER_BEYOND_STOPS)),
        Step(
            "wheel",
            check_wheel,
            "bars straight; turn the rear wheel forward",
            longest=30.0,
            posture=HandPosture(wheel_rate=WHEEL_TURN_RATE),
        ),
        Step("drive and watchdog", check_armed, lifted, longest=25.0, demand=Demand.ARM),
    ]


def preflight_push(drive_kind: str) -> Excitation:
    """Gentle push to the right, in the unit of what the drive obeys: "torque", "rate" or "angle"."""
    return replace(PREFLIGHT_PUSH, amplitude=_GENTLE[drive_kind])


def push_step(rig: Rig) -> Step:
    """Make the step in which the drive pushes a little to the right, with `preflight_push` as the excitation.

    It tells the stop time as well, measured in the same push.
    """
    ask = "front wheel still lifted, hands off the bars: the drive pushes them to the right, gently"

    def look(rows: np.ndarray, over: bool) -> StepResult | None:
        finding = check_push(rows, over)
        return check_stop_time(rig, rows, over, finding.sentence) if finding and finding.good else finding

    posture = HandPosture(steer=FREE_STEER)
    return Step("drive's direction", look, ask, longest=25.0, demand=Demand.RUN, posture=posture)


def hardware_stop_step() -> Step:
    """Make the step in which a person presses and releases the hardware stop while the drive is on."""
    ask = "front wheel still lifted: press the hardware stop, wait for a second, and release it"
    return Step(HARDWARE_STOP, check_hardware_stop, ask, longest=60.0, demand=Demand.ARM)


def check_stop_time(rig: Rig, rows: np.ndarray, over: bool, before: str) -> StepResult | None:
    """Check the stop time by watchdog and lateness of the drive as measured, against that of the rig.

    The torque of a drive that obeys a rate or an angle does not show how late it is: of it the watchdog alone counts.

    Parameters
    ----------
    rig : Rig
        As agreed with its devices.
    rows : (n,) of TICK
        From the first demand on, so that the proof of the watchdog is among them.
    over : bool
        Nothing more comes.
    before : str
        Words that stand before the sentence.
    """
    running = rows[rows["state"] == State.RUNNING]
    pushed = running["t_host"][-1] - running["t_host"][0] > PREFLIGHT_PUSH.duration + _LATEST
    ended = over or rows["state"][-1] != State.RUNNING
    if rig.drive is None and not pushed and not ended:
        return None
    stated = f"the rig says {1e3 * rig.stop_time:.0f} ms"
    stated_lateness = rig.obeyed_after + rig.input_delay + rig.drive_lag
    trip, late = measured_trip(rows), measured_lateness(running) if rig.drive is None else stated_lateness
    if trip is None or late is None:
        missing = "its watchdog was not seen to trip" if trip is None else "its torque is not seen to follow"
        return StepResult(False, f"{before}; stop time not measured, {stated}: {missing}")
    ramp = rig.limits.ramp.value
    took = ramp + trip + rig.dt + late + (LAGS_TO_NOTHING - 1.0) * rig.drive_lag
    sentence = (
        f"{before}; torque gone {1e3 * took:.0f} ms after a stop at the latest, {stated} (ramp {1e3 * ramp:.0f}, "
        f"watchdog {1e3 * trip:.0f}, drive {1e3 * late:.0f} ms late)"
    )
    if took > rig.stop_time + max(POLLED_NEWS, SAMPLED_NEWS * rig.dt):  # the news of a trip may be late
        return StepResult(False, f"{sentence}: correct watchdog_s, drive_lag_s or input_delay_s of the rig")
    return StepResult(True, sentence)


def measured_trip(rows: np.ndarray) -> float | None:
    """Time from the last command to a watchdog that has tripped [s, device's clock]; None where it was not proven."""
    on, tripped = rows["status"] & STATUS_ENABLED != 0, rows["status"] & STATUS_WATCHDOG != 0
    withheld = np.flatnonzero((rows["state"] == State.CHECK) & on & (rows["verdict"] & Verdict.WITHHELD != 0))
    if not len(withheld):
        return None
    after = np.flatnonzero(tripped & ~on & (np.arange(len(rows)) > withheld[0]))
    return float(rows["t"][after[0]] - rows["t"][withheld[0]]) if len(after) else None


def measured_lateness(rows: np.ndarray) -> float | None:
    """Time by which the reported torque follows the commands [s]: the shift at which both agree best.

    None where the drive reports none of the torque. The time is one from the sample that a command answers, as
    `Rig.obeyed_after` is.
    """
    command, t = rows["T_cmd"], rows["t"]
    reported, t_reported = rows["T_meas"], rows["t"] - rows["drive_age"]
    if np.abs(command).max() < _GENTLE["torque"] / 2 or np.abs(reported).max() < np.abs(command).max() / 4:
        return None
    shifts = np.arange(0.0, _LATEST, 0.001)
    errors = [float(np.mean((reported - np.interp(t_reported - shift, t, command)) ** 2)) for shift in shifts]
    return float(shifts[int(np.argmin(errors))])


def check_hardware_stop(rows: np.ndarray, over: bool) -> StepResult | None:
    """Check that the hardware stop takes the drive off or its supply away, and that it is released again."""
    armed = np.flatnonzero(rows["state"] == State.ARMED)
    if not len(armed):
        why = SENTENCES[Cause(int(rows["cause"][-1]))] if rows["cause"][-1] else "the drive was not on"
        return StepResult(False, why) if over or rows["state"][-1] == State.FAULT else None
    since = rows[armed[0] :]
    status, bus, full = since["status"], since["bus_meas"], float(np.median(rows["bus_meas"][armed[:20]]))
    off = (status & STATUS_ENABLED == 0) & (status & STATUS_WATCHDOG == 0)
    cut = (bus < _CUT * full) | (since["drive_age"] > _SILENT)
    pressed = np.flatnonzero(off | cut | (status & STATUS_STOP_BUTTON != 0))
    if not len(pressed):
        return StepResult(False, "no stop was seen: neither drive nor supply changed") if over else None
    what = "cut the supply" if cut.any() else "switched the drive off"
    after = since[since["t_host"] > since["t_host"][-1] - _STILL]
    still = (after["status"] & STATUS_STOP_BUTTON != 0) | (after["bus_meas"] < _CUT * full)
    released = since["t_host"][-1] - since["t_host"][pressed[0]] > 2 * _STILL and not still.any()
    if not released or after["drive_age"].max() > _SILENT:
        return StepResult(False, f"it {what}, and was not released") if over else None
    return StepResult(True, f"it {what}, supply {full:.1f} V, at least {bus[pressed[0] :].min():.1f} V; released")


def _stream_of(rig: Rig) -> Callable[[np.ndarray, bool], StepResult | None]:
    """Make the check of rate, losses and jitter of the samples."""

    def look(rows: np.ndarray, over: bool) -> StepResult | None:
        if rows["t_host"][-1] - rows["t_host"][0] < REST_DURATION and not over:
            return None
        new = rows[rows["valid"] == 1]
        if len(new) < 0.1 * REST_DURATION * rig.rate:
            return StepResult(
                False, f"{len(new)} usable samples in {REST_DURATION:g} s, wanted {REST_DURATION * rig.rate:.0f}"
            )
        passed = rows["t_host"][-1] - rows["t_host"][0]
        rate = (len(new) - 1) / passed
        apart = np.diff(new["t_host"])
        lost = int(rows["samples_lost"][-1] - rows["samples_lost"][0])
        broken = sum(
            int(rows[name][-1]) - int(rows[name][0])
            for name in ("frames_bad_crc", "frames_bad_length", "frames_bad_version")
        )
        sentence = (
            f"{rate:.1f} samples/s of {rig.rate:g}; host sees them {1e3 * np.median(apart):.2f} ms apart, jitter "
            f"{1e3 * np.std(apart):.2f} ms, oldest {1e3 * new['age'].max():.1f} ms, steer "
            f"{1e3 * new['steer_age'].max():.1f} ms older; {lost} lost, {broken} broken"
        )
        return StepResult(bool(abs(rate / rig.rate - 1.0) < 0.03 and lost == 0 and broken == 0), sentence)

    return look


def _supply_of(rig: Rig) -> Callable[[np.ndarray, bool], StepResult | None]:
    """Make the check of the supply voltage against the rig's limits."""
    low, high = rig.limits.bus_min.value, rig.limits.bus_max.value

    def look(rows: np.ndarray, over: bool) -> StepResult | None:
        new = rows["bus_meas"][rows["valid"] == 1]
        if len(new) < 0.2 * rig.rate and not over:
            return None
        if not len(new):
            return StepResult(False, "no usable sample")
        bus = float(np.median(new))
        return StepResult(low <= bus <= high, f"{bus:.1f} V, wanted {low:g} to {high:g} V")

    return look


def _place_of(place: PlaceSettings) -> Callable[[np.ndarray, bool], StepResult | None]:
    """Make the check of the sensor of place: fixes that agree come often enough, and on the belt."""

    def look(rows: np.ndarray, over: bool) -> StepResult | None:
        lately = rows["place_age"][-max(1, len(rows) // 4) :]
        if not len(rows) or rows["t_host"][-1] - rows["t_host"][0] < REST_DURATION or not np.isfinite(lately).all():
            return StepResult(False, "no fixes that agree with each other") if over else None
        y, oldest = float(np.median(rows["y_meas"][-len(lately) :])), float(lately.max())
        apart = f"fixes up to {1e3 * oldest:.0f} ms apart, wanted {1e3 * place.lost_after:.0f} ms"
        sentence = f"{y:+.3f} m to the right, {apart}"
        reported = rows["y_meas"][np.isfinite(rows["y_meas"])]
        drift = float(np.median(reported[-len(reported) // 4 :]) - np.median(reported[: max(1, len(reported) // 4)]))
        if abs(drift) > _MAX_DRIFT:
            return StepResult(False, f"{sentence}; it drifts by {drift:+.2f} m while nobody moves the bicycle")
        if abs(y) > place.edge:
            return StepResult(False, f"{sentence}; it stands on the belt: correct the sensor's zero in the rig")
        return StepResult(oldest < place.lost_after, sentence)

    return look


def _place_push() -> Step:
    """Make the step in which a person pushes the bicycle to the side: sign and scale of the sensor of place."""
    return Step(
        PLACE_PUSH,
        check_place_push,
        f"push it {PUSHED_SIDEWAYS:g} m straight to the right and hold it there (mark that on the floor before)",
        longest=40.0,
        posture=HandPosture(sideways=PUSHED_SIDEWAYS),
    )


def check_place_push(rows: np.ndarray, over: bool) -> StepResult | None:
    """Check that a push to the right is one by the sensor of place, as far as the person was asked to."""
    y = rows["y_est"]  # in a person's hands that of the fixes, smoothed
    moved = float(y[-1] - y[0])
    if abs(moved) < _SEEN_MOVING or not _settled(y, rows["t_host"], _PLACE_STILL):
        return StepResult(False, "no push was seen: the sensor stands still, or it was not pushed") if over else None
    sentence = f"moved {moved:+.2f} m, pushed {PUSHED_SIDEWAYS:+.2f} m"
    if moved < 0.0:
        remedy = "mm_per_unit, y_to_the_right or lane_deg of its port has the wrong sign"
        return StepResult(False, f"{sentence}: to the right must be positive; {remedy}")
    if abs(moved / PUSHED_SIDEWAYS - 1.0) > _PUSHED_WITHIN:
        return StepResult(False, f"{sentence}: correct the scale of the sensor, or push it as far as the mark")
    return StepResult(True, sentence)


def _at_rest_of(rig: Rig) -> Callable[[np.ndarray, bool], StepResult | None]:
    """Make the check of gyros and accelerometer at rest: first what a run would not be armed with, in its words."""

    def look(rows: np.ndarray, over: bool) -> StepResult | None:
        finding = _check_at_rest(rows, over)
        new = _quiet(rows, 1.0)
        if finding is None or new is None:
            return finding
        complaints = describe_rest(rig.limits, rig.bicycle.g, *_means(new))
        return StepResult(False, "; ".join(complaints.values())) if complaints else finding

    return look


def _means(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean readings of the gyros [rad/s] and of the accelerometers [m/s^2], each (3,)."""
    gyros = np.array([rows[f"{axis}_dot_meas"].mean() for axis in ("phi", "theta", "psi")])
    return gyros, np.array([rows[f"a_{axis}_meas"].mean() for axis in "xyz"])


def _check_at_rest(rows: np.ndarray, over: bool) -> StepResult | None:
    """Check that at rest the gyros read nothing and the accelerometer gravity, straight up."""
    new = _quiet(rows, 1.0)
    if new is None:
        return StepResult(False, "it never stood still for a second") if over else None
    gyros, force = _means(new)
    size = float(np.linalg.norm(force))
    tilt = math.acos(max(-1.0, min(1.0, -float(force[2]) / size))) if size > 0 else math.pi
    upright = f"gravity {size:.2f} m/s^2, {math.degrees(tilt):.1f} deg off the vertical"
    sentence = f"gyros read {np.abs(gyros).max():.3f} rad/s, {upright}"
    if np.abs(gyros).max() > _MAX_GYRO_REST:
        return StepResult(False, f"{sentence}: calibrate the gyros")
    if abs(size / EARTH_GRAVITY - 1.0) > 0.03:
        return StepResult(False, f"{sentence}: the accelerometer's scale is wrong")
    if tilt > _MAX_TILT:
        return StepResult(
            False, f"{sentence}: the sensor is mounted otherwise than the rig says; calibrate the mounting"
        )
    return StepResult(True, sentence)


def check_lean(rows: np.ndarray, over: bool) -> StepResult | None:
    """Check a lean to the right: positive by the gyro and by gravity, and by as much."""
    new = rows[rows["valid"] == 1]
    if len(new) < 2:
        return StepResult(False, "no usable sample") if over else None
    by_gyro = float(np.trapezoid(new["phi_dot_meas"], new["t"]))
    by_gravity = -float(np.median(new["a_y_meas"][-20:]) - np.median(new["a_y_meas"][:20])) / EARTH_GRAVITY
    if max(abs(by_gyro), abs(by_gravity)) < _MIN_MOTION or not _settled(new["phi_dot_meas"], new["t"], 0.1):
        return StepResult(False, "no lean was seen") if over else None
    sentence = f"by the gyro {math.degrees(by_gyro):+.1f} deg, by gravity {math.degrees(by_gravity):+.1f} deg"
    if by_gyro < 0 and by_gravity < 0:
        return StepResult(False, f"{sentence}: to the right must be positive; the sensor's x and y point backwards")
    if by_gyro * by_gravity < 0 or abs(by_gyro - by_gravity) > 0.5 * max(abs(by_gyro), abs(by_gravity)):
        return StepResult(False, f"{sentence}: they must agree; the mounting or an axis is wrong")
    return StepResult(True, sentence)


def _stop_of(rig: Rig, side: int) -> Callable[[np.ndarray, bool], StepResult | None]:
    """Make the check of the steer at its stop on one side (1: right): sign, and a limit that comes first."""
    limit, word = rig.limits.steer.value, "right" if side > 0 else "left"

    def look(rows: np.ndarray, over: bool) -> StepResult | None:
        new = rows[rows["valid"] == 1]
        if len(new) < 2:
            return StepResult(False, "no usable sample") if over else None
        delta = float(np.median(new["delta_meas"][-10:]))
        turned = delta - float(np.median(new["delta_meas"][:10]))
        if abs(turned) < _MIN_MOTION or not _settled(new["delta_meas"], new["t"], 0.01):
            return StepResult(False, f"no turn of the bars was seen (encoder at {delta:+.3f} rad)") if over else None
        sentence = f"stop at {math.degrees(delta):+.1f} deg, limit {math.degrees(limit):.1f} deg"
        if turned * side < 0:
            return StepResult(
                False, f"{sentence}: the encoder turned the other way; set steer_sign = -1, or turn it over"
            )
        if abs(delta) < limit:
            return StepResult(
                False, f"{sentence}: the stop comes before the limit; lower limits.steer, or set the zero"
            )
        return StepResult(True, f"{word} is {'positive' if side > 0 else 'negative'}; {sentence}")

    return look


def check_wheel(rows: np.ndarray, over: bool) -> StepResult | None:
    """Check that the rear wheel turned forward reads a positive speed."""
    v = rows["v_meas"][rows["valid"] == 1]
    if not len(v) or np.abs(v).max() < _MIN_WHEEL_SPEED:
        return StepResult(False, f"the wheel was not seen turning at {_MIN_WHEEL_SPEED} m/s") if over else None
    fastest = float(v[np.argmax(np.abs(v))])
    if fastest < 0:
        return StepResult(False, f"{fastest:+.2f} m/s: forward must be positive; set wheel_sign = -1")
    return StepResult(True, f"{fastest:+.2f} m/s at the rim")


def check_push(rows: np.ndarray, over: bool) -> StepResult | None:
    """Check that a torque to the right turns the bars to the right."""
    state, cause = State(int(rows["state"][-1])), Cause(int(rows["cause"][-1]))
    running = rows[rows["state"] == State.RUNNING]
    if len(running):
        since = rows[rows["k"] >= running["k"][0]]
        turned = float(since["delta_meas"][-1] - since["delta_meas"][0])
        if abs(turned) > _MIN_PUSHED:
            moved = f"the bars turned {math.degrees(turned):+.1f} deg"
            if turned < 0:
                return StepResult(
                    False, f"{moved}: a torque to the right must turn them right; set torque_sign the other way"
                )
            return StepResult(True, f"{moved}, to the right")
    if state is State.FAULT:
        return StepResult(False, SENTENCES[cause])
    if over:
        return StepResult(False, "the bars did not move: is the wheel lifted, is the drive wired?")
    return None


def _quiet(rows: np.ndarray, seconds: float) -> NDArray | None:
    """Select the last ``seconds`` of usable rows; None if something moved in them."""
    new = rows[rows["valid"] == 1]
    new = new[new["t"] > new["t"][-1] - seconds] if len(new) else new
    if len(new) < 10 or new["t"][-1] - new["t"][0] < 0.9 * seconds:
        return None
    return new if max(float(np.std(new[f"{axis}_dot_meas"])) for axis in ("phi", "theta", "psi")) < 0.03 else None


def _settled(values: NDArray, t: NDArray, within: float) -> bool:
    """Tell whether the values have stayed within a band for the last `_STILL`."""
    last = values[t > t[-1] - _STILL]
    return bool(t[-1] - t[0] > _STILL and np.ptp(last) < within)
