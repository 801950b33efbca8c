"""Neural network as a controller: a file of numbers, never code.

    T_req = (f(s, v) - f(-s, v)) / 2
    f = W_n tanh(... tanh(W_1 [s, v] + b_1) ...) + b_n

s are the chosen inputs, v is the speed. The difference makes the law odd: upright riding asks for no torque, and it
does to the left what it does to the right, as the bicycle does.
"""

import tomllib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.hil.controllers.controller import LinearLaw
from riderless.hil.controllers.file_values import (
    numbers_of,
    require_known_keys,
    require_speed_range,
    speeds_between,
)
from riderless.hil.controllers.lti import require_inputs
from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.loop.law import LAW_INPUTS, REFERENCES, Law, law_entry
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.file_format import dump_toml, load_toml
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle

NETWORK_FORMAT = "riderless network 1"
MOST_NEURONS = 256  # of a layer, so that a step takes microseconds
MOST_LAYERS = 8
_KEYS = ("format", "method", "inputs", "speeds", "layer", "loop", "drive", "bicycle")
_V, _N_SIGNALS = LAW_INPUTS.index("v"), LAW_INPUTS.index(REFERENCES[0])
_HEAD = 2  # layers, inputs; then the places of the inputs, the size of each layer, and its W and b


@njit(cache=True, nogil=True)
def network_step(settings, state, signals, reference, out):
    """Wish what the network answers. Runs inside the tick.

    Parameters
    ----------
    settings : (n,) array
        As `NetworkController.law` lays it out.
    state : (2 m,) array
        Room for two layers of at most m neurons; nothing is remembered.
    signals, reference : arrays in the order of LAW_INPUTS
    out : record of WISH
    """
    layers, p, v = int(settings[0]), int(settings[1]), signals[_V]
    half = state.size // 2
    T = 0.0
    for sign in (1.0, -1.0):
        for k in range(p):
            place = int(settings[_HEAD + k])
            value = signals[place] if place < _N_SIGNALS else reference[place - _N_SIGNALS]
            state[k] = sign * value
        state[p] = v
        width, at, given, made = p + 1, _HEAD + p + layers, 0, half
        for layer in range(layers):
            neurons = int(settings[_HEAD + p + layer])
            for row in range(neurons):
                total = settings[at + neurons * width + row]
                for k in range(width):
                    total += settings[at + row * width + k] * state[given + k]
                state[made + row] = total if layer == layers - 1 else np.tanh(total)
            at += neurons * (width + 1)
            width, given, made = neurons, made, given
        T += 0.5 * sign * state[given]
    out.T_req = T


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NetworkController:
    """Network with tanh in its hidden layers.

    Parameters
    ----------
    method : str
        Name for tables and logs.
    bicycle : Bicycle
        Bicycle it was trained on.
    loop : LoopTiming
    speeds : (2,)
        Slowest and fastest it was trained at [m/s].
    inputs : tuple of p str
        Signals and references; the speed [m/s] follows them as the last input of the first layer.
    layers : tuple of (W, b)
        (neurons, inputs) and (neurons,) of each layer; the last one has one neuron, the torque [N m], or what else the
        drive obeys.
    drive : InnerLoop or None
        Of a drive that obeys a steer rate or angle; None: a torque.

    Raises
    ------
    InputError
        Layers that do not fit together, numbers that are not finite, or an input that no loop knows.
    """

    bicycle: Bicycle
    loop: LoopTiming
    speeds: tuple[float, float]
    inputs: tuple[str, ...]
    layers: tuple[tuple[Array, Array], ...]
    method: str = "network"
    drive: InnerLoop | None = None

    def __post_init__(self) -> None:
        require_inputs("an input of a network", self.inputs, self.drive)
        if not self.inputs or len(set(self.inputs)) < len(self.inputs):
            raise InputError(f"a network wants inputs, each once, found {list(self.inputs)}: name them")
        require_speed_range(self.speeds)
        if not 1 <= len(self.layers) <= MOST_LAYERS:
            raise InputError(f"a network has 1 to {MOST_LAYERS} layers, found {len(self.layers)}: correct its file")
        width = len(self.inputs) + 1
        for number, (W, b) in enumerate(self.layers, 1):
            neurons = b.size if number < len(self.layers) else 1
            if W.shape != (neurons, width) or b.shape != (neurons,) or not 1 <= neurons <= MOST_NEURONS:
                raise InputError(
                    f"layer {number} wants W ({neurons}, {width}) and b ({neurons},), at most {MOST_NEURONS} neurons "
                    f"and one in the last layer, found {W.shape} and {b.shape}: the last input of the first is v"
                )
            if not (np.isfinite(W).all() and np.isfinite(b).all()):
                raise InputError(f"layer {number} wants finite numbers, found nan or inf: train it again")
            width = neurons

    def __repr__(self) -> str:
        sizes = "-".join(str(size) for size in (len(self.inputs) + 1, *(b.size for _, b in self.layers)))
        slowest, fastest = self.speeds
        return f"<NetworkController: {sizes} for {self.bicycle.name}, {slowest:g} to {fastest:g} m/s>"

    @cached_property
    def v(self) -> Array:
        """Speeds at which it is looked at (n,) [m/s], from the slowest to the fastest."""
        return speeds_between(*self.speeds)

    @property
    def is_off(self) -> bool:
        """True if it never asks for torque."""
        return not np.any(self.layers[-1][0])

    @property
    def states(self) -> tuple[str, ...]:
        """Names of what it remembers: nothing."""
        return ()

    def law(self) -> Law:
        """Lay the network out for the tick."""
        places = [LAW_INPUTS.index(name) for name in self.inputs]
        sizes = [b.size for _, b in self.layers]
        numbers = [part.ravel() for layer in self.layers for part in layer]
        settings = np.concatenate([[len(sizes), len(places)], places, sizes, *numbers]).astype(float)
        room = 2 * max(len(places) + 1, *sizes)
        return Law(law_entry(network_step, by_number=True), settings, room, *self.speeds)

    def linearised(self, v: float) -> LinearLaw:
        """Law near upright riding at speed ``v`` [m/s]: the product of the layers' Jacobians at rest."""
        jacobian = np.eye(len(self.inputs) + 1)
        y = np.append(np.zeros(len(self.inputs)), v)
        for number, (W, b) in enumerate(self.layers, 1):
            y, jacobian = W @ y + b, W @ jacobian
            if number < len(self.layers):
                y = np.tanh(y)
                jacobian = (1.0 - y**2)[:, None] * jacobian
        p = len(self.inputs)
        return LinearLaw(self.inputs, np.zeros((0, 0)), np.zeros((0, p)), np.zeros(0), jacobian[0, :p])

    def to_toml(self) -> str:
        """Text of its file; reads back to the last bit."""
        return dump_toml(
            {
                "format": NETWORK_FORMAT,
                "method": self.method,
                "inputs": list(self.inputs),
                "speeds": list(self.speeds),
                "loop": self.loop.as_table(),
                **({"drive": self.drive.as_table()} if self.drive else {}),
                "bicycle": self.bicycle.as_dict(),
                "layer": [{"W": W.tolist(), "b": b.tolist()} for W, b in self.layers],
            }
        )

    @classmethod
    def from_text(cls, text: str, where: str = "the text given") -> Self:
        """Read a network from the text of its file.

        Raises
        ------
        InputError
            It is none.
        """
        try:
            data = load_toml(text)
            require_known_keys(data, _KEYS, "a network")
            slowest, fastest = numbers_of(data["speeds"], "speeds")
            return cls(
                method=str(data.get("method", "network")),
                bicycle=Bicycle(**data["bicycle"]),
                loop=LoopTiming(**data["loop"]),
                drive=InnerLoop(**data["drive"]) if "drive" in data else None,
                speeds=(float(slowest), float(fastest)),
                inputs=tuple(str(name) for name in data["inputs"]),
                layers=tuple(_layer(table, number) for number, table in enumerate(data["layer"], 1)),
            )
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{where} is no network ({error}): see docs/controllers.md") from None


def _layer(table: dict[str, Any], number: int) -> tuple[Array, Array]:
    return numbers_of(table["W"], f"W of layer {number}"), numbers_of(table["b"], f"b of layer {number}")
