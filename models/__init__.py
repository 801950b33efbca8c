"""Models of a bicycle: linear, nonlinear, emulated.

Numbers in, numbers out: no clock, no file handle, no port. What a user needs stands here and is imported when it is
first used: the bicycles, the linear (Whipple) and the nonlinear model, and the emulated machine with what happens to
it.
"""

from typing import TYPE_CHECKING

from riderless import lazy

if TYPE_CHECKING:
    from riderless.models.catalogue import bicycle_names as bicycle_names
    from riderless.models.catalogue import load_bicycle as load_bicycle
    from riderless.models.compared.comparison import EquationCheck as EquationCheck
    from riderless.models.compared.comparison import compare_equations as compare_equations
    from riderless.models.errors import InputError as InputError
    from riderless.models.errors import UnusualBicycle as UnusualBicycle
    from riderless.models.exchange.files import bicycle_text as bicycle_text
    from riderless.models.exchange.files import read_bicycle as read_bicycle
    from riderless.models.exchange.symbrim import SymbrimParts as SymbrimParts
    from riderless.models.exchange.symbrim import bicycle_from_symbrim as bicycle_from_symbrim
    from riderless.models.exchange.symbrim import symbrim_constants as symbrim_constants
    from riderless.models.linear.lateral_push import lateral_push as lateral_push
    from riderless.models.linear.mode_shapes import ModeShape as ModeShape
    from riderless.models.linear.mode_shapes import mode_shapes as mode_shapes
    from riderless.models.linear.modes import CriticalSpeeds as CriticalSpeeds
    from riderless.models.linear.modes import Modes as Modes
    from riderless.models.linear.modes import critical_speeds as critical_speeds
    from riderless.models.linear.modes import eigenvalues as eigenvalues
    from riderless.models.linear.modes import named_modes as named_modes
    from riderless.models.linear.path import heading_rate as heading_rate
    from riderless.models.linear.path import lateral_forces as lateral_forces
    from riderless.models.linear.whipple import CanonicalMatrices as CanonicalMatrices
    from riderless.models.linear.whipple import canonical_matrices as canonical_matrices
    from riderless.models.linear.whipple import input_matrix as input_matrix
    from riderless.models.linear.whipple import state_space as state_space
    from riderless.models.linear.whipple import system_matrix as system_matrix
    from riderless.models.linear.zero_order_hold import zoh as zoh
    from riderless.models.measured.measurement import MeasuredBicycle as MeasuredBicycle
    from riderless.models.measured.measurement import measure as measure
    from riderless.models.measured.payloads import add_payload as add_payload
    from riderless.models.measured.periods import Period as Period
    from riderless.models.measured.periods import period as period
    from riderless.models.nonlinear.control_system import nonlinear_system as nonlinear_system
    from riderless.models.nonlinear.ensemble import Ensemble as Ensemble
    from riderless.models.nonlinear.hands_free import TurnFamily as TurnFamily
    from riderless.models.nonlinear.hands_free import hands_free_families as hands_free_families
    from riderless.models.nonlinear.simulation import Trajectory as Trajectory
    from riderless.models.nonlinear.simulation import initial_state as initial_state
    from riderless.models.nonlinear.simulation import simulate_nonlinear as simulate_nonlinear
    from riderless.models.nonlinear.steady_turns import SteadyTurn as SteadyTurn
    from riderless.models.nonlinear.steady_turns import steady_turn_from_angles as steady_turn_from_angles
    from riderless.models.nonlinear.steady_turns import (
        steady_turn_from_speed_and_radius as steady_turn_from_speed_and_radius,
    )
    from riderless.models.parameters import Bicycle as Bicycle
    from riderless.models.plant.environment import Surroundings as Surroundings
    from riderless.models.plant.plant import Plant as Plant
    from riderless.models.plant.scenario import Kick as Kick
    from riderless.models.plant.scenario import Knock as Knock
    from riderless.models.plant.scenario import Scenario as Scenario
    from riderless.models.plant.sensors import Instruments as Instruments
    from riderless.models.plant.steer_drive import SteerDrive as SteerDrive
    from riderless.models.plant.tyres import FrontTyre as FrontTyre

if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__, __dir__ = lazy(__name__, __file__)
