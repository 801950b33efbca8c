"""Models of a bicycle: numbers in, numbers out. No clock, no file handle, no port.

What a user needs stands here and is imported when it is first used: the bicycles, the linear (Whipple) and the
nonlinear model, and the emulated machine with what happens to it.
"""

from typing import TYPE_CHECKING

from models.lazy_door import lazy

if TYPE_CHECKING:
    from models.catalogue import bicycle_names, load_bicycle
    from models.errors import InputError, UnusualBicycle
    from models.exchange.files import bicycle_text, read_bicycle
    from models.exchange.symbrim import SymbrimParts, bicycle_from_symbrim, symbrim_constants
    from models.linear.mode_shapes import ModeShape, mode_shapes
    from models.linear.modes import CriticalSpeeds, Modes, critical_speeds, eigenvalues, named_modes
    from models.linear.path import heading_rate, lateral_forces
    from models.linear.whipple import (
        CanonicalMatrices,
        canonical_matrices,
        input_matrix,
        state_space,
        system_matrix,
    )
    from models.linear.zero_order_hold import zoh
    from models.nonlinear.control_system import nonlinear_system
    from models.nonlinear.ensemble import Ensemble
    from models.nonlinear.hands_free import TurnFamily, hands_free_families
    from models.nonlinear.simulation import Trajectory, initial_state, simulate_nonlinear
    from models.nonlinear.steady_turns import (
        SteadyTurn,
        steady_turn_from_angles,
        steady_turn_from_speed_and_radius,
    )
    from models.parameters import Bicycle
    from models.plant.environment import Surroundings
    from models.plant.plant import Plant
    from models.plant.scenario import Kick, Knock, Scenario
    from models.plant.sensors import Instruments
    from models.plant.steer_drive import SteerDrive
    from models.plant.tyres import FrontTyre

__all__ = [
    "Bicycle",
    "CanonicalMatrices",
    "CriticalSpeeds",
    "Ensemble",
    "FrontTyre",
    "InputError",
    "Instruments",
    "Kick",
    "Knock",
    "ModeShape",
    "Modes",
    "Plant",
    "Scenario",
    "SteadyTurn",
    "SteerDrive",
    "Surroundings",
    "SymbrimParts",
    "Trajectory",
    "TurnFamily",
    "UnusualBicycle",
    "bicycle_from_symbrim",
    "bicycle_names",
    "bicycle_text",
    "canonical_matrices",
    "critical_speeds",
    "eigenvalues",
    "hands_free_families",
    "heading_rate",
    "initial_state",
    "input_matrix",
    "lateral_forces",
    "load_bicycle",
    "mode_shapes",
    "named_modes",
    "nonlinear_system",
    "read_bicycle",
    "simulate_nonlinear",
    "state_space",
    "steady_turn_from_angles",
    "steady_turn_from_speed_and_radius",
    "symbrim_constants",
    "system_matrix",
    "zoh",
]

_PLACES = {
    "models.catalogue": ("bicycle_names", "load_bicycle"),
    "models.errors": ("InputError", "UnusualBicycle"),
    "models.exchange.files": ("bicycle_text", "read_bicycle"),
    "models.exchange.symbrim": ("SymbrimParts", "bicycle_from_symbrim", "symbrim_constants"),
    "models.linear.mode_shapes": ("ModeShape", "mode_shapes"),
    "models.linear.modes": ("CriticalSpeeds", "Modes", "critical_speeds", "eigenvalues", "named_modes"),
    "models.linear.path": ("heading_rate", "lateral_forces"),
    "models.linear.whipple": (
        "CanonicalMatrices",
        "canonical_matrices",
        "input_matrix",
        "state_space",
        "system_matrix",
    ),
    "models.linear.zero_order_hold": ("zoh",),
    "models.nonlinear.control_system": ("nonlinear_system",),
    "models.nonlinear.ensemble": ("Ensemble",),
    "models.nonlinear.hands_free": ("TurnFamily", "hands_free_families"),
    "models.nonlinear.simulation": ("Trajectory", "initial_state", "simulate_nonlinear"),
    "models.nonlinear.steady_turns": (
        "SteadyTurn",
        "steady_turn_from_angles",
        "steady_turn_from_speed_and_radius",
    ),
    "models.parameters": ("Bicycle",),
    "models.plant.environment": ("Surroundings",),
    "models.plant.plant": ("Plant",),
    "models.plant.scenario": ("Kick", "Knock", "Scenario"),
    "models.plant.sensors": ("Instruments",),
    "models.plant.steer_drive": ("SteerDrive",),
    "models.plant.tyres": ("FrontTyre",),
}
if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__, __dir__ = lazy(__name__, {name: module for module, names in _PLACES.items() for name in names})
