"""Controller in C99 for a microcontroller: observer and law of one rig.

The text does the tick's arithmetic in the tick's order (`riderless.hil.loop.observer`, `riderless.hil.controllers`),
so that in double precision its bits are the tick's. What depends on no sample is computed here, by the functions that
the tick uses. What the observer knows for the limits' sake stays with the computer, and so do the limits. On board of
our node a third file calibrates its readings.
"""

import hashlib
import math
import re
from collections.abc import Sequence
from importlib import metadata, resources
from pathlib import Path
from string import Template

import numpy as np

from riderless.firmware_interface.devices.driver import Introduction
from riderless.hil.controllers.controller import Controller
from riderless.hil.controllers.lti import LTIController
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.loop.law import ESTIMATED_SIGNALS
from riderless.hil.rig.certified import require_certificate
from riderless.hil.rig.fitting import require_fitting
from riderless.hil.rig.on_board import why_not_on_board
from riderless.hil.rig.rig import Rig
from riderless.models.array_types import Array
from riderless.models.errors import InputError

HEADER_FILE, SOURCE_FILE, NODE_FILE = "riderless_controller.h", "riderless_controller.c", "riderless_node.c"
_SETTINGS = {  # of the observer: name in C, and unit
    "dt": ("PERIOD", "s"),
    "lean_bandwidth": ("LEAN_BANDWIDTH", "rad/s"),
    "yaw_bandwidth": ("YAW_BANDWIDTH", "rad/s"),
    "steer_bandwidth": ("STEER_BANDWIDTH", "rad/s"),
    "speed_bandwidth": ("SPEED_BANDWIDTH", "rad/s"),
    "held_factor": ("HELD_FACTOR", "-, by which lean and yaw are learnt faster while a person holds the bicycle"),
    "x_imu": ("X_IMU", "m, inertial sensor forward of the rear contact"),
    "z_imu": ("Z_IMU", "m, and down"),
    "w": ("WHEELBASE", "m"),
    "c": ("TRAIL", "m"),
    "cos_lam": ("COS_TILT", "-, of the steer axis"),
    "g": ("GRAVITY", "m/s^2"),
}
_SCALES = ("gyro_lsb", "accel_lsb", "steer_counts_per_turn")
_CONSTANTS = (  # of a calibration
    *("wheel_radius", "steer_gear_ratio", "steer_offset", "steer_sign", "wheel_sign", "torque_sign"),
    *("max_rate", "max_acceleration", "max_steer", "max_speed"),
)


def controller_in_c(controller: Controller, rig: Rig) -> dict[str, str]:
    """Write a controller in C; texts by the names of their files.

    Parameters
    ----------
    controller : Controller
        Gains or a state space.
    rig : Rig
        Machine whose observer is written too.

    Returns
    -------
    dict
        Header and source; and what brings them on board of a node, where they can be there.

    Raises
    ------
    InputError
        It is neither, does not fit the rig, or the rig wants a certificate of another loop.
    """
    words = _words(controller, rig)
    files = (HEADER_FILE, SOURCE_FILE) if why_not_on_board(controller, rig) else (HEADER_FILE, SOURCE_FILE, NODE_FILE)
    return {name: Template(_text(name)).substitute(words) for name in files}


def name_on_board(controller: Controller, rig: Rig) -> str:
    """Name that a node says in HELLO, which has this controller on board; raises InputError as `controller_in_c`."""
    if why := why_not_on_board(controller, rig):
        raise InputError(f"the controller {controller.method} cannot be on board of a node: {why}")
    return _words(controller, rig)["name"]


def require_on_board(rig: Rig, controller: Controller, devices: Sequence[Introduction]) -> None:
    """Refuse a node that closes the loop with another controller, observer or calibration; raises InputError."""
    if rig.closed_by == "computer":
        return
    wanted, found = name_on_board(controller, rig), [device.name for device in devices]
    if wanted not in found:
        raise InputError(
            f"the node should have '{wanted}' on board, that is {controller.method} for {controller.bicycle.name} with "
            f"observer and calibration of the rig '{rig.name}', found '{', '.join(found)}': export it again with "
            "`riderless export --to c`, and flash it"
        )


def _words(controller: Controller, rig: Rig) -> dict[str, str]:
    """Words of the texts."""
    if isinstance(controller, LTIController):
        tables, step = _state_space(controller), "state_space.c"
    elif isinstance(controller, GainSchedule):
        tables, step = {"K[SPEEDS][INPUTS]": controller.K}, "gains.c"
    else:
        raise InputError(
            f"wanted gains or a state space, found {controller.method}, which is neither: nothing here writes a law in "
            "Python or a network in C; bring it into a state space, or write it in C by hand"
        )
    require_fitting(rig, controller)
    require_certificate(rig, controller)
    lag = f"lag {1e3 * rig.drive_lag:.4g} ms" if rig.drive is None else f"bandwidth {rig.drive.bandwidth:.4g} rad/s"
    words = {  # names come from files, and may not end the comment
        "version": metadata.version("riderless"),
        "bicycle": rig.bicycle.name,
        "rig": rig.name,
        "method": controller.method,
        "drive": f"{rig.drive_kind} drive, {lag}",
        "rate": f"{rig.rate:g}",
        "delay": f"{rig.timing.delay:.4g} {'sample' if rig.timing.delay == 1 else 'samples'}",
        "unit": rig.drive.unit if rig.drive else "N m",
        "proof": Path(rig.certificate).name if rig.certificate else "none asked for by the rig",
        "sha256": hashlib.sha256(controller.to_toml().encode()).hexdigest(),
        "slowest": repr(float(controller.v[0])),
        "fastest": repr(float(controller.v[-1])),
        "states": str(max(len(controller.states), 1)),
    }
    words = {key: re.sub(r"[^\w .,:+/-]", "_", word) for key, word in words.items()}
    waits = [name in (getattr(controller, "waits", None) or ()) for name in controller.states]
    words |= {
        "observer": _observer(rig),
        "sent": _steered(rig) if rig.drive else _torque(rig),
        "n": str(len(controller.v)),
        "p": str(len(controller.inputs)),
        "names": ", ".join(controller.inputs),
        "inputs": _inputs(controller.inputs),
        "waits": ", ".join("01"[each] for each in waits or [True]),
        "tables": "\n".join(_table(*each) for each in {"speeds[SPEEDS]": controller.v, **tables}.items()),
        "calibration": _calibration(rig),
    }
    words["step"] = Template(_text(step)).substitute(words).rstrip()
    whole = "".join(Template(_text(name)).substitute(words) for name in (SOURCE_FILE, NODE_FILE))
    words["name"] = f"law {hashlib.sha256(whole.encode()).hexdigest()[:11]}"
    return words


def _text(name: str) -> str:
    """Text of a file in which words stand for what differs."""
    return (resources.files(__package__) / "c" / name).read_text(encoding="utf-8")


def _observer(rig: Rig) -> str:
    """Settings of the observer, a line each."""
    record = _record(rig)
    return "\n".join(f"#define {name} {_number(record[key])} /* {unit} */" for key, (name, unit) in _SETTINGS.items())


def _calibration(rig: Rig) -> str:
    """Calibration of the rig, a line each; a scale that it does not state is what the node says of itself."""
    calibration = rig.calibrated()
    lines = []
    for name in (*_SCALES, *_CONSTANTS):
        of_node = name in _SCALES and name not in rig.calibration
        text = f"R(identity->{name})" if of_node else _number(getattr(calibration, name))
        lines.append(f"#define {name.upper()} {text}")
    lines.append(_table("mounting[3][3]", np.array(calibration.mounting)))
    for name in ("gyro_offset", "accel_offset"):
        lines.append(_table(f"{name}[3]", np.array(getattr(calibration, name))))
    return "\n".join(lines)


def _torque(rig: Rig) -> str:
    """Torque of the drive until the next sample: under the command before, then under the new one."""
    record = _record(rig)
    old, new, lag = (float(record[name]) for name in ("command_delay", "dt", "drive_lag"))
    new -= old
    lines = ["    (void)mode;"]
    for time, command in ((old, "c->u_prev"), (new, "command")):
        if time > 0.0:
            keep = _number(math.exp(-time / lag) if lag > 0.0 else 0.0)
            lines.append(f"    c->T = {keep} * c->T + (1 - {keep}) * {command}; /* in {1e3 * time:.6g} ms */")
    return "\n".join(lines)


def _steered(rig: Rig) -> str:
    """Steer rate or angle until the next sample, of a drive that obeys such a command."""
    record = _record(rig)
    lines = [
        "    if (mode != RIDERLESS_STEERED) { /* a person holds the bars: the drive starts from where they are */",
        f"        c->T = c->{'delta' if rig.drive_kind == 'angle' else 'delta_dot'};",
        "        c->T_dot = 0;",
        "        c->u_prev = command;",
        "        return;",
        "    }",
        "    real short_of, rate;",
    ]
    steps = [("follow_old", "c->u_prev"), ("follow_new", "command")]
    for name, command in steps if record["command_delay"] < record["dt"] else steps[:1]:
        (a, b), (c, d) = ([_number(x) for x in row] for row in record[name])
        lines += [
            f"    short_of = c->T - {command};",
            "    rate = c->T_dot;",
            f"    c->T = {command} + {a} * short_of + {b} * rate;",
            f"    c->T_dot = {c} * short_of + {d} * rate;",
        ]
    return "\n".join(lines)


def _record(rig: Rig) -> np.void:
    """Settings of the observer, as the tick has them."""
    return rig.observer.as_record(
        rig.bicycle, rig.dt, rig.drive_lag, rig.x_imu, rig.z_imu, rig.command_delay, rig.drive, rig.rules
    )


def _state_space(law: LTIController) -> dict[str, Array]:
    """Tables of a state space over speed; C knows no empty array, so without a state it has one that stays zero."""
    n, p = law.D.shape
    A, B, C, L = law.A, law.B, law.C, np.asarray(law.anti_windup)
    if not law.states:
        A, B, C, L = (np.zeros((n, *shape)) for shape in ((1, 1), (1, p), (1,), (1,)))
    return {
        "A[SPEEDS][STATES][STATES]": A,
        "B[SPEEDS][STATES][INPUTS]": B,
        "C[SPEEDS][STATES]": C,
        "D[SPEEDS][INPUTS]": law.D,
        "L[SPEEDS][STATES]": L,
    }


def _inputs(names: tuple[str, ...]) -> str:
    """Inputs of a law where C finds them: in the estimate, or in what its caller tells."""
    return ", ".join(f"c->{name}" if name in ESTIMATED_SIGNALS else f"s->{name}" for name in names)


def _table(name: str, values: Array) -> str:
    return f"static const real {name} = {_braced(values, 1)};"


def _braced(values: Array, depth: int) -> str:
    """Numbers of an array in braces, a line for each row."""
    if values.ndim == 1:
        return f"{{{', '.join(_number(x) for x in values)}}}"
    indent = "    " * depth
    return "{\n" + "".join(f"{indent}{_braced(each, depth + 1)},\n" for each in values) + indent[4:] + "}"


def _number(value: float) -> str:
    """Write a number so that a compiler reads the same bits, in the precision that it is told."""
    return f"R({float(value)!r})"
