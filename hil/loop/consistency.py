"""Consistency checks of sensors over seconds.

They find a sensor whose error grows slowly. The observer takes any slow change for bias, so its innovations stay small.
Four relations see through that, all of the bicycle under control:

* a gyro's bias does not move: what the observer has learnt of it since the machine was RUNNING is a sensor that
  drifts, or an encoder that slips (the yaw gyro's bias is learnt from steer). What is not learnt yet counts too, as a
  bias is 2.5 s behind a yaw gyro that drifts fast;
* the lateral force of a bicycle that does not fall averages out, in a turn too: gravity and the turn cancel. Only
  wind, or a mass out of place, leaves some, and leans the bicycle by that much;
* one that does not fall leans as its turn wants it, whatever the accelerometer says: by v psi_dot / g, and by up to a
  tenth more for wheels that spin and a trail that moves the front sideways (Meijaard et al. 2007, eq. 5.3, first row).
  An encoder that is off from the start is learnt as a bias of the yaw gyro and takes as much off every turn. So the
  turn counts from what that gyro read while a person held the bicycle as well, which knows nothing of the encoder;
* in a balanced turn the specific force is g / cos(lean), along the frame. It needs no gyro, no wheel and no encoder,
  and counts from what it was at rest. A vibration, a kick and a belt that pulses leave no mean.
"""

import math

from riderless.firmware_interface.kernels import njit
from riderless.hil.loop.states import Symptom

GAP_TIME = 0.5  # s, time constant of yaw rate by the gyro against rolling, since it is RUNNING
FORCE_TIME = 1.0  # s, time constant of the mean lateral force
TURN_TIME = 0.5  # s, time constant between lean by the turn and lean by the roll gyro
HELD_TIME = 0.5  # s, time constant of the gyros' biases at rest, while a person holds the bicycle;
RIDDEN_TIME = 20.0  # s, and of the roll gyro's under control, where it may warm up
LEARNT_TIME = 2.0  # s, over which specific force and learnt roll bias are averaged while a person holds the bicycle
WEIGHT_TIME = 0.5  # s, time constant of the specific force under control
STIR_TIME = 0.2  # s, over which what a push stirs is smoothed: a steer thrown against it is no lean
SHOWN_SHARE = 0.96  # of the lean limit: an accelerometer 0.2 m/s^2 off hides 1.2 deg, and a turn stays where it is
TURN_SHARE = 0.94  # of the lean limit: the turn is late, and a steer thrown against a push is ahead of the lean
WEIGHT_SHARE = 0.9  # of the lean limit: the specific force is late, and says little of a small lean

_SLOW = 1.0  # m/s, below it yaw says little about lean
_DISAGREE = int(Symptom.SENSORS_DISAGREE)


@njit(cache=True, nogil=True)
def look_at_drift(limits, m, sample, e, running, dt):
    """Compare the learnt biases, and the mean lateral force, with what they may be. Runs inside the tick.

    Parameters
    ----------
    limits : record of LIMITS.
    m : record of MONITOR, changed in place.
    sample, e : records of SAMPLE and ESTIMATE.
    running : bool
        The controller's torque is on; before, biases are being learnt and a person holds the bicycle.
    dt : float
        Time since the last tick [s].
    """
    if not running:
        m.gyro_bias, m.yaw_bias, m.yaw_gap, m.side_force = e.gyro_bias, e.yaw_bias, 0.0, 0.0
        return 0
    m.side_force += (1.0 - math.exp(-dt / FORCE_TIME)) * (sample.a_y_meas - m.side_force)
    m.yaw_gap += (1.0 - math.exp(-dt / GAP_TIME)) * (e.yaw_bias + e.yaw_error - m.yaw_bias - m.yaw_gap)
    yaw_drifted = max(abs(e.yaw_bias - m.yaw_bias), abs(m.yaw_gap)) > limits.gyro_drift
    # vibration stirs what is learnt fast in a hand: from there it may go to what it was in the mean
    held_bias = e.held_bias if e.rest_weight > 0.0 else m.gyro_bias
    low, high = min(m.gyro_bias, held_bias), max(m.gyro_bias, held_bias)
    roll_drifted = max(e.gyro_bias - high, low - e.gyro_bias) > limits.roll_drift
    return _DISAGREE if yaw_drifted or roll_drifted or abs(m.side_force) > limits.side_force else 0


@njit(cache=True, nogil=True)
def follow_turn(o, e, phi_dot_meas, held, h):
    """Follow the leans [rad] that turn, roll gyro and accelerometer tell. Runs inside the tick.

    The roll gyro counts from its bias at rest. The observer's own is learnt within 0.3 s while a person holds the
    bicycle: an accelerometer that jumps just before the release has put its lie into it. What the yaw gyro reads at
    rest stays as it was at the release: the bias learnt later may be the encoder's.

    Parameters
    ----------
    o : record of OBSERVER.
    e : record of ESTIMATE, changed in place: its biases at rest, turn, sway, both together, and lean_shown.
    phi_dot_meas : float
        rad/s.
    held : bool
        A person holds the bicycle.
    h : float
        Time since the last sample [s].
    """
    if held:
        e.rest_yaw += (1.0 - math.exp(-h / HELD_TIME)) * (e.psi_dot + e.yaw_bias - e.rest_yaw)
    e.rest_bias += (1.0 - math.exp(-h / (HELD_TIME if held else RIDDEN_TIME))) * (e.gyro_bias - e.rest_bias)
    part = 1.0 - math.exp(-h / TURN_TIME)
    balanced = o.lean_by_speed * e.v + o.lean_by_trail / max(e.v, _SLOW)  # rad per rad/s
    balanced = max(balanced, e.v / o.g)
    e.turn += part * (balanced * e.psi_dot - e.turn)
    e.turn_hidden += part * (balanced * (e.yaw_bias - e.rest_yaw) - e.turn_hidden)
    e.sway += part * (TURN_TIME * (phi_dot_meas - e.rest_bias) - e.sway)
    part = 1.0 - math.exp(-h / STIR_TIME)
    e.turn_sway += part * (e.turn + e.sway - e.turn_sway)
    e.lean_shown += part * (e.lean_error - e.lean_shown)


@njit(cache=True, nogil=True)
def follow_weight(o, e, sample, held, h):
    """Follow the specific force [m/s^2] across the frame, and in a hand what it is at rest. Runs inside the tick.

    A log of before these rules has none of it.

    Parameters
    ----------
    o, e, sample : records of OBSERVER, ESTIMATE (changed in place) and SAMPLE.
    held : bool
        A person holds the bicycle.
    h : float
        Time since the last sample [s].
    """
    if o.rules < 2:
        return
    part = 1.0 - math.exp(-h / WEIGHT_TIME)
    e.weight_y += part * (sample.a_y_meas - e.weight_y)
    e.weight_z += part * (sample.a_z_meas - e.weight_z)
    e.weight = math.sqrt(e.weight_y * e.weight_y + e.weight_z * e.weight_z)
    if not held:
        e.held_for = 0.0
        return
    e.held_for = min(e.held_for + h, LEARNT_TIME)
    part = h / e.held_for  # a plain mean until then
    size = math.sqrt(sample.a_y_meas * sample.a_y_meas + sample.a_z_meas * sample.a_z_meas)
    e.rest_weight += part * (size - e.rest_weight)
    e.held_bias += part * (e.gyro_bias - e.held_bias)


@njit(cache=True, nogil=True)
def leans_too_far(e, limit):
    """Decide whether any lean passes the limit [rad]: estimate, accelerometer, turn, or force. Runs inside the tick.

    The turn knows nothing of the accelerometer, with the roll gyro or without, nor of the encoder, where the yaw gyro
    counts from its bias at rest.
    """
    turn = max(abs(e.turn), abs(e.turn_sway), abs(e.turn + e.turn_hidden), abs(e.turn_sway + e.turn_hidden))
    shown = abs(e.phi + e.lean_shown)
    doubted = shown > abs(e.phi) and shown > SHOWN_SHARE * limit
    heavy = e.rest_weight > 0.0 and e.weight * math.cos(WEIGHT_SHARE * limit) > e.rest_weight
    return abs(e.phi) > limit or doubted or turn > TURN_SHARE * limit or heavy
