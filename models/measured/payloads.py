"""Payloads put on a bicycle or taken off.

Each body has deviations of its own. A body of mass m at (x, z), its tensor pitched by th about y, on a frame of mass M:

    m' = M + m, centre by the masses, I' = I + R i R^T + parallel axes of both

On a wheel a body is concentric and spins with it. What is known of the bicycle stays correlated; what is known of the
body comes on top.
"""

import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_number, shortened, unknown_keys
from riderless.models.correlations import deviations_of
from riderless.models.errors import InputError, UnusualBicycle
from riderless.models.file_format import load_toml
from riderless.models.measured.reduction import complex_step_jacobian
from riderless.models.parameter_table import PARAMETERS
from riderless.models.parameters import Bicycle
from riderless.models.plausibility.parameter_units import UNITS
from riderless.models.text_file import read_text_file, why_unreadable

PLACES = {"B": "rear frame", "H": "front frame", "R": "rear wheel", "F": "front wheel"}
SHAPES = {
    "point": (),
    "box": ("length", "width", "height"),
    "cylinder": ("radius", "length"),
    "cylinder_y": ("radius", "length"),
    "tensor": ("Ixx", "Iyy", "Izz", "Ixz"),
}
_DIMENSIONS = {
    **dict.fromkeys(("x", "y", "z", "length", "width", "height", "radius"), "m"),
    **dict.fromkeys(("Ixx", "Iyy", "Izz", "Ixz", "Ixy", "Iyz"), "kg m^2"),
    "mass": "kg",
    "pitch": "rad",
}
_KEYS = ("on", "shape", "name", "note", "std", "size", "com", "pitch_deg", "tensor")
MOST_MASS = 300.0  # kg of a payload
MOST_LENGTH = 5.0  # m


@dataclass(frozen=True)
class Payload:
    """Body on a bicycle; SI, in the bicycle's axes.

    Attributes
    ----------
    on : str
        "B" or "H", a frame; "R" or "F", a wheel.
    shape : str
        Of `SHAPES`; a cylinder's axis is its own x, a cylinder_y's the y axis.
    values : mapping of str to float
        mass, x, y, z of its centre, pitch about y, and the shape's own.
    std : mapping of str to float
        Standard deviation of some of them.
    """

    on: str
    shape: str
    values: Mapping[str, float]
    std: Mapping[str, float] = field(default_factory=dict)
    name: str = "payload"

    def asymmetry(self) -> str:
        """Say in what a bicycle with this body is no bicycle of the theory; "" where it is symmetric."""
        off = [key for key in ("y", "Ixy", "Iyz") if self.values.get(key, 0.0)]
        if not off:
            return ""
        offsets = " and ".join(f"{key} = {self.values[key]:g} {_DIMENSIONS[key]}" for key in off)
        return (
            f"{self.name} is not symmetric: {offsets}; theory puts it into the plane of symmetry: balance it "
            "by a like body on the other side"
        )


def payloads_of(document: Mapping[str, Any]) -> list[Payload]:
    """Payloads of a mapping: one, or a list of them in ``payload`` (in TOML ``[[payload]]``).

    Raises
    ------
    InputError
        A key is unknown or absent, or a number none that a body can have.
    """
    if not isinstance(document, Mapping):
        raise InputError(f"wanted a payload, a table with on, shape and mass_kg, found {shortened(document)}")
    entries = document.get("payload", document.get("loads"))
    if entries is None:
        entries = [document]
    if not isinstance(entries, list) or not entries or not all(isinstance(each, Mapping) for each in entries):
        raise InputError(f"payload = {shortened(entries)} must be tables, each under [[payload]]")
    return [_payload(entry) for entry in entries]


def read_payloads(path: str | Path) -> list[Payload]:
    """Read payloads from a TOML file. Raises InputError as `payloads_of`, or where it cannot be read."""
    try:
        return payloads_of(load_toml(read_text_file(path)))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; give the TOML file of a payload") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}; put that line right") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {why_unreadable(error)}; give a TOML file") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def add_payload(bicycle: Bicycle, body: Payload | Mapping[str, Any] | Sequence[Any], remove: bool = False) -> Bicycle:
    """Put bodies on a bicycle, or take them off again.

    Parameters
    ----------
    bicycle : Bicycle
    body : Payload, mapping or sequence of these
        As `payloads_of` takes it.
    remove : bool
        Take it off: the bicycle as it was before.

    Raises
    ------
    InputError
        There is no such body, or no bicycle with or without it.
    """
    if isinstance(body, Mapping):
        bodies = payloads_of(body)
    elif isinstance(body, Payload):
        bodies = [body]
    else:
        bodies = [payload for each in body for payload in ([each] if isinstance(each, Payload) else payloads_of(each))]
    for payload in bodies:
        if remark := payload.asymmetry():
            warnings.warn(remark, UnusualBicycle, stacklevel=2)
        bicycle = _with(bicycle, payload, remove)
    return bicycle


def _payload(entry: Mapping[str, Any]) -> Payload:
    faults = list(unknown_keys([key for key in entry if key.partition("_")[0] not in _DIMENSIONS], _KEYS, "key"))
    on, shape = entry.get("on"), entry.get("shape", "tensor" if "tensor" in entry else None)
    if on not in PLACES:
        faults.append(f"on = {shortened(on)} must be {', '.join(f'{key} ({name})' for key, name in PLACES.items())}")
    if shape not in SHAPES:
        faults.append(f"shape = {shortened(shape)} must be {', '.join(SHAPES)}")
    if faults:
        raise InputError("; ".join(faults))
    values = _si(_plain({key: value for key, value in entry.items() if key.partition("_")[0] in _DIMENSIONS}), faults)
    size, com = entry.get("size"), entry.get("com")
    if size is not None:
        values |= _numbers("size", SHAPES["box"], size, faults)
    if com is not None:
        values |= _numbers("com", ("x", "z"), com, faults)
    if "tensor" in entry:
        tensor = entry["tensor"]
        diagonal = tensor if isinstance(tensor, list | tuple) else [tensor]
        values |= _numbers("tensor", ("Ixx", "Iyy", "Izz"), diagonal[:3], faults)
    wanted = ["mass", *(() if on in ("R", "F") else ("x", "z")), *(key for key in SHAPES[shape] if key != "Ixz")]
    if on in ("R", "F"):
        wanted = [key for key in wanted if key != "Izz"]
        odd = [key for key in ("x", "z", "pitch") if values.get(key)]
        if odd:
            faults.append(f"a body on a wheel spins about its axle: leave out {', '.join(odd)}")
    faults += [f"it lacks {key} ({_DIMENSIONS[key]})" for key in wanted if key not in values]
    for key in ("mass", *SHAPES[shape]):
        if values.get(key, 0.0) < 0.0 and key != "Ixz":
            faults.append(f"{key} = {values[key]:g} {_DIMENSIONS[key]} must not be negative")
    if values.get("z", -1.0) > 0.0:
        faults.append(f"z = {values['z']:g} m is below the ground: z points down, so z = {-values['z']:g}")
    if values.get("mass", 0.0) > MOST_MASS:
        faults.append(f"mass = {values['mass']:g} kg looks like grams: write mass_g = {values['mass']:g}")
    for key in ("length", "width", "height", "radius"):
        if values.get(key, 0.0) > MOST_LENGTH:
            faults.append(f"{key} = {values[key]:g} m looks like millimetres: write {key}_mm = {values[key]:g}")
    std = _si(entry.get("std", {}), faults)
    faults += [f"std has {key}, which the body has not" for key in std if key not in values]
    if faults:
        raise InputError("; ".join(faults))
    return Payload(str(on), str(shape), values, std, str(entry.get("name", "payload")))


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Entries whose numbers may be written as text, as "3.2"."""
    plain: dict[str, Any] = {}
    for key, value in entry.items():
        try:
            plain[key] = float(value) if isinstance(value, str) else value
        except ValueError:
            plain[key] = value
    return plain


def _numbers(what: str, keys: Sequence[str], given: Any, faults: list[str]) -> dict[str, float]:
    """Numbers of a list by name."""
    numbers = list(_plain(dict(zip(keys, given, strict=False))).values()) if isinstance(given, list | tuple) else []
    if not numbers or len(given) != len(keys) or not all(is_number(value) for value in numbers):
        faults.append(f"{what} = {shortened(given)} must be {', '.join(keys)}")
        return {}
    return {key: float(value) for key, value in zip(keys, numbers, strict=True)}


def _si(entry: Any, faults: list[str]) -> dict[str, float]:
    """Numbers by name, in SI, of keys that may carry a unit."""
    values: dict[str, float] = {}
    if not isinstance(entry, Mapping):
        faults.append(f"{shortened(entry)} must be a table")
        return values
    for key, value in entry.items():
        name, _, suffix = str(key).partition("_")
        if name not in _DIMENSIONS:
            faults.append(f"unknown key {key!r}")
            continue
        units = UNITS[_DIMENSIONS[name]]
        if suffix and suffix not in units:
            faults.append(f"{key} has the unknown unit {suffix!r}: write {', '.join(f'{name}_{u}' for u in units)}")
        elif name in values:
            faults.append(f"{name} is given twice: keep one of them")
        elif not is_number(value):
            faults.append(f"{key} = {shortened(value)} must be a number")
        else:
            values[name] = float(value) / (units[suffix][0] if suffix else 1.0)
    return values


def _tensor(body: Payload, q: Mapping[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Ixx, Ixz, Iyy, Izz of a body about its own centre, in the bicycle's axes."""
    m = q["mass"]
    Ixz: Any = 0.0
    if body.shape == "box":
        Ixx = m * (q["width"] ** 2 + q["height"] ** 2) / 12.0
        Iyy = m * (q["length"] ** 2 + q["height"] ** 2) / 12.0
        Izz = m * (q["length"] ** 2 + q["width"] ** 2) / 12.0
    elif body.shape in ("cylinder", "cylinder_y"):
        along = m * q["radius"] ** 2 / 2.0
        across = m * (3.0 * q["radius"] ** 2 + q["length"] ** 2) / 12.0
        Ixx, Iyy, Izz = (along, across, across) if body.shape == "cylinder" else (across, along, across)
    elif body.shape == "tensor":
        Ixx, Iyy, Izz, Ixz = q["Ixx"], q["Iyy"], q.get("Izz", q["Ixx"]), q.get("Ixz", 0.0)
    else:
        Ixx = Iyy = Izz = 0.0 * m
    c, s = np.cos(q.get("pitch", 0.0)), np.sin(q.get("pitch", 0.0))
    # a turn about y takes own x to (c, -s) in (x, z)
    return (
        c * c * Ixx + 2.0 * s * c * Ixz + s * s * Izz,
        (c * c - s * s) * Ixz + s * c * (Izz - Ixx),
        Iyy,
        s * s * Ixx - 2.0 * s * c * Ixz + c * c * Izz,
    )


def _loaded(p: Mapping[str, Any], body: Payload, q: Mapping[str, Any], sign: float) -> dict[str, Any]:
    """Parameters of a bicycle with a body on it (sign 1), or without one that is on it (-1)."""
    part, m = body.on, sign * q["mass"]
    Ixx, Ixz, Iyy, Izz = (sign * element for element in _tensor(body, q))
    loaded = dict(p)
    loaded[f"m{part}"] = p[f"m{part}"] + m
    if part in ("R", "F"):
        loaded[f"I{part}xx"] = p[f"I{part}xx"] + Ixx
        loaded[f"I{part}yy"] = p[f"I{part}yy"] + Iyy
        return loaded
    x0, z0, M = p[f"x{part}"], p[f"z{part}"], p[f"m{part}"]
    total = loaded[f"m{part}"]
    if np.real(total) == 0.0:
        raise InputError(f"nothing is left of the {PLACES[part]} without {body.name}")
    x, z = (M * x0 + m * q["x"]) / total, (M * z0 + m * q["z"]) / total
    loaded[f"x{part}"], loaded[f"z{part}"] = x, z
    steiner = [(M, x0 - x, z0 - z), (m, q["x"] - x, q["z"] - z)]
    loaded[f"I{part}xx"] = p[f"I{part}xx"] + Ixx + sum(w * dz**2 for w, _, dz in steiner)
    loaded[f"I{part}zz"] = p[f"I{part}zz"] + Izz + sum(w * dx**2 for w, dx, _ in steiner)
    loaded[f"I{part}xz"] = p[f"I{part}xz"] + Ixz - sum(w * dx * dz for w, dx, dz in steiner)
    loaded[f"I{part}yy"] = p[f"I{part}yy"] + Iyy + sum(w * (dx**2 + dz**2) for w, dx, dz in steiner)
    return loaded


def _jacobian(before: Mapping[str, float], body: Payload, sign: float) -> tuple[dict[str, Any], Array, Array]:
    """Parameters with a body more (sign 1) or less (-1), and their derivatives by the bicycle's and the body's."""
    names, keys = list(PARAMETERS), list(body.values)

    def loaded(values: Any) -> Any:
        p = dict(zip(names, values[: len(names)], strict=True))
        q = dict(zip(keys, values[len(names) :], strict=True))
        loaded_values = _loaded(p, body, q, sign)
        return np.array([loaded_values[name] for name in names])

    nominal = np.array([before[name] for name in names] + [body.values[key] for key in keys])
    J = complex_step_jacobian(loaded, nominal)
    return dict(zip(names, map(float, loaded(nominal)), strict=True)), J[:, : len(names)], J[:, len(names) :]


def _with(bicycle: Bicycle, body: Payload, remove: bool) -> Bicycle:
    """Bicycle with one body more, or less."""
    names = list(PARAMETERS)
    here = {name: getattr(bicycle, name) for name in names}
    values, own, of_body = _jacobian(here, body, -1.0 if remove else 1.0)
    spread = np.diag([body.std.get(key, 0.0) ** 2 for key in body.values])
    covariance = bicycle.covariance(names)
    notes = [part for part in bicycle.note.split("; ") if part]
    mark = f"{body.name} ({body.shape} of {body.values['mass']:g} kg on {body.on})"
    put_on_here = remove and f"with {mark}" in notes
    if put_on_here:  # its errors are in the bicycle's: they go with it
        notes.remove(f"with {mark}")
        brought = _jacobian(values, body, 1.0)[2]
        covariance = own @ (covariance - brought @ spread @ brought.T) @ own.T
    else:
        notes.append(f"{'without' if remove else 'with'} {mark}")
        covariance = own @ covariance @ own.T + of_body @ spread @ of_body.T
    try:
        return replace(bicycle, **values, **deviations_of(covariance, names, bicycle.missing), note="; ".join(notes))
    except InputError as error:
        what = "it is lighter than that, or was never on it" if remove else "correct the body"
        raise InputError(f"{body.name} {'off' if remove else 'on'} {bicycle.name}: {error}; {what}") from None
