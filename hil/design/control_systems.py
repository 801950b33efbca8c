"""Models and loops as python-control systems.

Open and closed, continuous and sampled; signals have names.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from riderless.hil.controllers.controller import Controller
from riderless.hil.design.closed_loop import MEASURED_CHANNELS, LoopHardware, SampledLoop
from riderless.hil.design.sampled_plant import U_PREV, LoopTiming, SampledModel, sampled_model
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.design.steered.sampled_steer import sampled_steer
from riderless.hil.design.whole_margins import opened_loop
from riderless.models.array_types import Array
from riderless.models.coordinates import STATES, T_DELTA
from riderless.models.errors import InputError
from riderless.models.linear.path import GROUND_STATES, extended_matrix
from riderless.models.linear.prescribed_steer import COMMAND_NAMES, InnerLoop
from riderless.models.linear.whipple import input_matrix, state_space, system_matrix

if TYPE_CHECKING:
    import control  # type: ignore[import-untyped,unused-ignore]

ADDED = "added"  # to the command, such as a torque that is played
_SAME_RATE = 1e-6  # of a rate


class ControlSystems(NamedTuple):
    """One bicycle under one controller at one speed, as python-control systems.

    Attributes
    ----------
    bicycle : control.StateSpace
        Continuous, uncontrolled: T_phi, T_delta to the four states.
    plant : control.StateSpace
        Sampled: bicycle with drive and delay, from the command to its states.
    controller : control.StateSpace
        Sampled: what the controller is told, to the command.
    loop_gain : control.StateSpace
        Sampled, whole, broken at the command, for margins: the loop is closed by negative feedback of 1.
    closed_loop : control.StateSpace
        Sampled, whole: with observer, instruments and waiting commands. Inputs are what is ``added`` to the command
        and the noise of each instrument; outputs are the bicycle's states, the command and the readings.
    without_sampling : control.StateSpace or None
        Continuous: bicycle and drive's lag under the same gains on true states, as if sampled infinitely fast and
        obeyed at once. None for a controller other than gains of a torque.
    """

    bicycle: "control.StateSpace"
    plant: "control.StateSpace"
    controller: "control.StateSpace"
    loop_gain: "control.StateSpace"
    closed_loop: "control.StateSpace"
    without_sampling: "control.StateSpace | None"


def control_systems(rig: LoopHardware, controller: Controller, v: float) -> ControlSystems:
    """Make python-control systems of a rig's bicycle under a controller at speed ``v`` [m/s].

    Signals carry the names of this project, all in SI units. Lean, steer and torque are positive to the right.

    Parameters
    ----------
    rig : Rig
        Bicycle, observer, timing, drive, place of the inertial sensor; ``Rig(load_bicycle("Silver"))`` is the emulated
        one.
    controller : Controller
        Such as `design` makes.
    v : float
        Forward speed [m/s].

    Raises
    ------
    InputError
        The speed is no speed, or the controller has another rate than the rig, or commands something else than its
        drive obeys.
    """
    if not np.isfinite(v) or v < 0.0:
        raise InputError(f"control systems want a speed of 0 m/s or more, found {v} m/s")
    if rig.drive_lag <= 0.0:
        raise InputError(
            "control systems want a drive with a lag, found 0 s: give the rig a small one, such as 0.0005 s"
        )
    if abs(controller.loop.dt - rig.dt) > _SAME_RATE * rig.dt:
        raise InputError(
            f"the controller was designed for {controller.loop.rate:g} Hz and the rig runs at {1.0 / rig.dt:g} Hz: "
            "design it for the rig's timing, or give a rig of that rate"
        )
    loop = SampledLoop.of_rig(rig, controller)
    model = _model(rig, controller, v)
    torque_gains = controller if isinstance(controller, GainSchedule) and rig.drive is None else None
    return ControlSystems(
        bicycle=state_space(rig.bicycle, v),
        plant=_plant_system(model, _command(rig.drive)),
        controller=_controller_system(controller, v),
        loop_gain=_loop_gain_system(loop, v),
        closed_loop=_closed_loop_system(loop, v),
        without_sampling=_without_sampling(rig, torque_gains, v) if torque_gains is not None else None,
    )


def _plant_system(model: SampledModel, command: str = "T_delta_cmd") -> "control.StateSpace":
    """Sampled bicycle with drive and delay as a python-control system, from the command to its states."""
    n = len(model.states)
    return _system(
        "plant", model.F, model.G[:, None], np.eye(n), np.zeros((n, 1)), model.states, [command], model.states, model.dt
    )


def _loop_gain_system(loop: SampledLoop, v: float) -> "control.StateSpace":
    """Loop of `riderless.hil.design.whole_margins` as a python-control system: L(z), broken at the command.

    The controller goes on knowing what it commanded: its u_prev, and T of a torque drive, do not pass the break.
    """
    A, b, c = opened_loop(loop, v)
    known = [f"x{i + 1}_known" for i in range(len(A) - len(loop.states))]
    command = _command(loop.drive)
    names = [*loop.states, *known], [command], [f"{command}_wished"]
    return _system("loop gain", A, b[:, None], -c[None], np.zeros((1, 1)), *names, loop.dt)


def _controller_system(controller: Controller, v: float) -> "control.StateSpace":
    """Controller at speed ``v`` [m/s] as a python-control system: what it is told, to its command."""
    law = controller.linearised(v)
    command = _command(getattr(controller, "drive", None))
    states, dt = controller.states, 1.0 / controller.loop.rate
    return _system("controller", law.A, law.B, law.C[None], law.D[None], states, law.inputs, [command], dt)


def _closed_loop_system(loop: SampledLoop, v: float) -> "control.StateSpace":
    """Whole sampled loop at speed ``v`` [m/s] as a python-control system.

    Inputs: ``added`` to the command at a sample (N m, or rad/s or rad of such a drive), and the noise of each
    instrument, as ``phi_dot_meas_noise``. Outputs: phi, delta, phi_dot, delta_dot, the command of the sample before,
    and what the instruments read, without the noise.
    """
    rows = np.vstack([np.eye(len(loop.states))[[*range(len(STATES)), U_PREV]], loop.instruments(v)])
    B = np.column_stack([loop.input_vector(v), loop.noise(v, np.ones(len(MEASURED_CHANNELS)))])
    inputs = [ADDED, *(f"{name}_noise" for name in MEASURED_CHANNELS)]
    outputs = [*STATES, "cmd_before", *(f"{name}_read" for name in MEASURED_CHANNELS)]
    D = np.zeros((len(rows), len(inputs)))
    return _system("closed loop", loop.matrix(v), B, rows, D, loop.states, inputs, outputs, loop.dt)


def _model(rig: LoopHardware, controller: Controller, v: float) -> SampledModel:
    """Sampled model of the plant, with heading and place where the controller keeps a lane."""
    timing = LoopTiming(controller.loop.rate, controller.loop.delay, controller.loop.drive_lag)
    if rig.drive is not None:
        return sampled_steer(rig.bicycle, v, timing, rig.drive, in_lane="y_P" in controller.inputs)
    if "y_P" in controller.inputs:
        from riderless.hil.design.lane import lane_loop

        return lane_loop(rig.bicycle, v, timing)
    return sampled_model(rig.bicycle, v, timing)


def _without_sampling(rig: LoopHardware, gains: GainSchedule, v: float) -> "control.StateSpace":
    """Bicycle with its drive's lag under the gains, continuous, the command before being the command now."""
    K, lag = gains.gains(v), rig.drive_lag
    of_x, of_drive, of_command, of_place = K[:4], K[4], K[5], K[6:]
    names = GROUND_STATES if len(of_place) else STATES
    n = len(names)
    A, b = system_matrix(rig.bicycle, v), input_matrix(rig.bicycle)[:, T_DELTA]
    if n > len(STATES):
        A, b = extended_matrix(rig.bicycle, v), np.concatenate([b, np.zeros(n - len(STATES))])
    k = np.concatenate([of_x, of_place])[:n]
    whole = np.zeros((n + 1, n + 1))
    whole[:n, :n], whole[:n, n] = A, b
    # u = -(k x + k_T T + k_u u) + added, and lag T' = u - T
    whole[n] = -np.concatenate([k, [of_drive]]) / (1.0 + of_command) / lag
    whole[n, n] -= 1.0 / lag
    entry = np.zeros(n + 1)
    entry[n] = 1.0 / (1.0 + of_command) / lag
    out = (*names, "T_drive")
    D = np.zeros((n + 1, 1))
    return _system("without sampling", whole, entry[:, None], np.eye(n + 1), D, out, [ADDED], out, 0)


def _command(drive: InnerLoop | None) -> str:
    """Name of what the controller commands."""
    return f"{COMMAND_NAMES[drive.kind if drive else 'torque']}_cmd"


def _system(
    name: str, A: Array, B: Array, C: Array, D: Array, states: Any, inputs: Any, outputs: Any, dt: float
) -> "control.StateSpace":
    """State space of python-control with all names."""
    import control

    labels = {"states": list(states), "inputs": list(inputs), "outputs": list(outputs)}
    return control.ss(A, B, C, D, dt, name=name, remove_useless_states=False, **labels)
