"""Models of a bicycle: linear, nonlinear, emulated.

Numbers in, numbers out: no clock, no file handle, no port. What a user needs stands here and is imported when it is
first used: the bicycles, the linear (Whipple) and the nonlinear model, and the emulated machine with what happens to
it.
"""

from typing import TYPE_CHECKING

from riderless import lazy

if TYPE_CHECKING:
    from riderless.models.catalogue import bicycle_names, load_bicycle
    from riderless.models.compared.comparison import EquationCheck, compare_equations
    from riderless.models.errors import InputError, UnusualBicycle
    from riderless.models.exchange.files import bicycle_text, read_bicycle
    from riderless.models.exchange.symbrim import SymbrimParts, bicycle_from_symbrim, symbrim_constants
    from riderless.models.linear.lateral_push import lateral_push
    from riderless.models.linear.mode_shapes import ModeShape, mode_shapes
    from riderless.models.linear.modes import CriticalSpeeds, Modes, critical_speeds, eigenvalues, named_modes
    from riderless.models.linear.path import heading_rate, lateral_forces
    from riderless.models.linear.whipple import (
        CanonicalMatrices,
        canonical_matrices,
        input_matrix,
        state_space,
        system_matrix,
    )
    from riderless.models.linear.zero_order_hold import zoh
    from riderless.models.measured.measurement import MeasuredBicycle, measure
    from riderless.models.measured.payloads import add_payload
    from riderless.models.measured.periods import Period, period
    from riderless.models.nonlinear.control_system import nonlinear_system
    from riderless.models.nonlinear.ensemble import Ensemble
    from riderless.models.nonlinear.hands_free import TurnFamily, hands_free_families
    from riderless.models.nonlinear.simulation import Trajectory, initial_state, simulate_nonlinear
    from riderless.models.nonlinear.steady_turns import (
        SteadyTurn,
        steady_turn_from_angles,
        steady_turn_from_speed_and_radius,
    )
    from riderless.models.parameters import Bicycle
    from riderless.models.plant.environment import Surroundings
    from riderless.models.plant.plant import Plant
    from riderless.models.plant.scenario import Kick, Knock, Scenario
    from riderless.models.plant.sensors import Instruments
    from riderless.models.plant.steer_drive import SteerDrive
    from riderless.models.plant.tyres import FrontTyre

__all__ = [
    "Bicycle",
    "CanonicalMatrices",
    "CriticalSpeeds",
    "Ensemble",
    "EquationCheck",
    "FrontTyre",
    "InputError",
    "Instruments",
    "Kick",
    "Knock",
    "MeasuredBicycle",
    "ModeShape",
    "Modes",
    "Period",
    "Plant",
    "Scenario",
    "SteadyTurn",
    "SteerDrive",
    "Surroundings",
    "SymbrimParts",
    "Trajectory",
    "TurnFamily",
    "UnusualBicycle",
    "add_payload",
    "bicycle_from_symbrim",
    "bicycle_names",
    "bicycle_text",
    "canonical_matrices",
    "compare_equations",
    "critical_speeds",
    "eigenvalues",
    "hands_free_families",
    "heading_rate",
    "initial_state",
    "input_matrix",
    "lateral_forces",
    "lateral_push",
    "load_bicycle",
    "measure",
    "mode_shapes",
    "named_modes",
    "nonlinear_system",
    "period",
    "read_bicycle",
    "simulate_nonlinear",
    "state_space",
    "steady_turn_from_angles",
    "steady_turn_from_speed_and_radius",
    "symbrim_constants",
    "system_matrix",
    "zoh",
]

if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__, __dir__ = lazy(__name__, __file__)
