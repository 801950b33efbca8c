"""Records of the emulated machine: parameters and state.

Parameters stay constant, the state moves.
"""

import numpy as np
from numpy.typing import NDArray

from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, Q_THETA, RATE_STATES, T_DELTA
from riderless.models.errors import InputError
from riderless.models.linear.path import GROUND_STATES, LATERAL_STATES
from riderless.models.linear.road_forces import acceleration, effective_mass, rolling, slope, wheel_loads
from riderless.models.linear.whipple import canonical_matrices, input_matrix, system_matrix
from riderless.models.nonlinear.parameters import Packed, pack_bicycle
from riderless.models.parameters import Bicycle, require_bicycle
from riderless.models.plant.environment import AIR_DENSITY, CONTACT, SURROUNDINGS, Surroundings, stiff
from riderless.models.plant.scenario import MAX_SPEED_CORNERS, Knock, Scenario
from riderless.models.plant.sensors import INSTRUMENTS, INSTRUMENTS_STATE, NOISE, Instruments
from riderless.models.plant.side_slip import SLIP_SETTINGS, SLIP_STATE, SideSlip, pack_slip
from riderless.models.plant.steer_drive import DRIVE_SETTINGS, DRIVE_STATE, ROTOR_MIN, SteerDrive
from riderless.models.plant.steer_servo import SERVO_SETTINGS, SERVO_STATE, pack_servo, servo_step
from riderless.models.plant.tyres import TYRE_SETTINGS, FrontTyre, pack_tyre

LINEAR, NONLINEAR = 0, 1
PLANT_MODELS = {"linear": LINEAR, "nonlinear": NONLINEAR}
X_P, V, ROTOR, ROTOR_DOT = 6, 7, 8, 9  # after those of `riderless.models.linear.path`
MOTION_STATES = (*GROUND_STATES, "x_P", "v", "rotor", "rotor_dot")  # v only where nobody keeps the speed
CORNER_TIME, CORNER_SPEED, CORNER_SLOPE = range(3)  # of a corner of the speed profile: s after release, m/s, m/s^2
KICK_VALUES = 6
# s after release, s, N, m, m, N m (peaks)
KICK_BEGIN, KICK_END, KICK_FORCE, KICK_X, KICK_Z, KICK_TORQUE = range(KICK_VALUES)
STEP_MIN, STEP_MAX = 1e-6, 1e-3  # s
MESH_RATE, MESH_STEP = 1e3, 1e-4  # rad/s, at which rotor and steer ring tooth on tooth; s, the step that resolves it
KICK_STEPS = 80  # at least, for one kick: RK4 then misses 1e-9 of its impulse

PLANT_PARAMETERS = np.dtype(
    [
        ("model", "i8"),
        ("M_inv", "f8", (2, 2)),
        ("C1", "f8", (2, 2)),  # M^-1 C1
        ("K0", "f8", (2, 2)),  # M^-1 g K0
        ("K2", "f8", (2, 2)),  # M^-1 K2
        ("Ka", "f8", (2,)),  # kg m, by the steer, of dv/dt; these four as in `riderless.models.linear.road_forces`
        ("Ks", "f8", (2,)),  # kg m, by the steer, of a slope
        ("Ps", "f8", (2,)),  # kg m, by the heading
        ("K_rolling", "f8", (2, 2)),  # N m/rad
        ("nonlinear", "f8", (len(Packed._fields),)),
        ("yaw", "f8"),  # cos(lam) / w, 1/m
        ("tilt", "f8"),
        ("sin_tilt", "f8"),
        ("w", "f8"),
        ("c", "f8"),
        ("g", "f8"),
        ("rR", "f8"),
        ("step", "f8"),  # s, longest step
        ("drive", DRIVE_SETTINGS),
        ("servo", SERVO_SETTINGS),
        ("tyre", TYRE_SETTINGS),
        ("slip", SLIP_SETTINGS),
        ("mesh", CONTACT),  # of the drive's teeth
        ("instruments", INSTRUMENTS),
        ("surroundings", SURROUNDINGS),
        ("speed", "f8", (MAX_SPEED_CORNERS + 1, 3)),  # CORNER_TIME ...; the slope from here on
        ("n_speed", "i8"),
        ("n_kicks", "i8"),
        ("x0", "f8", (4,)),
        ("floor", "i8"),
        ("release_after", "f8"),
        ("catch_after", "f8"),
        ("torque_noise", "f8"),
    ],
    align=True,
)

PLANT_STATE = np.dtype(
    [
        ("t", "f8"),
        ("x", "f8", (len(MOTION_STATES),)),
        ("held", "i8"),  # a person has it
        ("fallen", "i8"),  # and why
        ("t_fall", "f8"),  # s, and when
        ("status", "i8"),  # flags of `riderless.models.nonlinear.contact_forces` seen since the release
        ("t_release", "f8"),
        ("enabled_for", "f8"),  # s, the drive without a break
        ("disabled_for", "f8"),
        ("driven", "i8"),  # the drive has been enabled since the release
        ("segment", "i8"),  # of the speed profile
        ("kick", "i8"),  # number of the first that is not over
        ("push", "f8", (KICK_VALUES,)),  # that one, KICK_BEGIN ...
        ("T_noise", "f8"),  # N m, random steer torque at present
        ("tyre_torque", "f8"),  # N m, of the front tyre on the steer at present
        ("slip", SLIP_STATE),  # of the tyres, sideways
        ("gust", "f8"),  # N, random part of the wind at present
        ("drive", DRIVE_STATE),
        ("servo", SERVO_STATE),
        ("instruments", INSTRUMENTS_STATE),
        ("noise", NOISE),  # of the torque
        ("weather", NOISE),  # of the gusts
        ("q", "f8", (8,)),  # coordinates, speeds and accelerations of the nonlinear model
        ("u", "f8", (8,)),
        ("u_dot", "f8", (8,)),
        ("column", "f8", (8,)),  # its scratch
        ("torque", "f8", (3,)),
    ],
    align=True,
)


def pack_plant(
    bicycle: Bicycle,
    scenario: Scenario,
    drive: SteerDrive,
    instruments: Instruments,
    model: str,
    surroundings: Surroundings,
    tyre: FrontTyre = FrontTyre(),
    slip: SideSlip = SideSlip(),
) -> NDArray:
    """Pack everything that stays constant into one ``PLANT_PARAMETERS`` array.

    Parameters
    ----------
    bicycle : Bicycle
    scenario : Scenario
    drive : SteerDrive
    instruments : Instruments
    model : str
        Equations of motion, a name in `PLANT_MODELS`.
    surroundings : Surroundings
    tyre : FrontTyre
    slip : SideSlip

    Raises
    ------
    InputError
        An unknown model, or a rear wheel of no radius.
    """
    if model not in PLANT_MODELS:
        raise InputError(f"no model is called {model!r}; there is {', '.join(PLANT_MODELS)}")
    require_bicycle(bicycle)
    if bicycle.rR <= 0.0:
        raise InputError(
            f"the wheel sensor wants a rear wheel with a radius, found rR = {bicycle.rR} m ({bicycle.name}); "
            "emulate another bicycle"
        )
    array = np.zeros(1, PLANT_PARAMETERS)
    p = array[0]
    _, C1, K0, K2 = canonical_matrices(bicycle)
    M_inv = input_matrix(bicycle)[RATE_STATES]
    p["model"] = PLANT_MODELS[model]
    p["M_inv"], p["C1"], p["K0"], p["K2"] = M_inv, M_inv @ C1, M_inv @ K0 * bicycle.g, M_inv @ K2
    if model == "nonlinear":
        p["nonlinear"] = pack_bicycle(bicycle)
    p["yaw"], p["tilt"], p["sin_tilt"] = np.cos(bicycle.lam) / bicycle.w, bicycle.lam, np.sin(bicycle.lam)
    p["w"], p["c"], p["g"], p["rR"] = bicycle.w, bicycle.c, bicycle.g, bicycle.rR
    p["drive"] = tuple(getattr(drive, name) for name in DRIVE_SETTINGS.names or ())
    pack_servo(p["servo"], drive, 1.0 / M_inv[DELTA, DELTA])
    pack_tyre(p["tyre"], tyre, bicycle)
    pack_slip(p["slip"], slip, bicycle, M_inv, model == "linear")
    play = 0.5 * drive.backlash if drive.backlash > 0.0 else None
    p["mesh"] = stiff(play, M_inv[DELTA, DELTA] + 1.0 / max(drive.rotor, ROTOR_MIN), MESH_RATE)
    instruments.pack(p["instruments"])
    _surround(p["surroundings"], surroundings, scenario, bicycle, M_inv)

    around, on_slope = p["surroundings"], slope(bicycle, 1.0)
    p["Ka"], p["Ks"], p["Ps"] = acceleration(bicycle, 1.0).K[:, DELTA], on_slope.K[:, DELTA], on_slope.P
    p["K_rolling"] = rolling(bicycle, around["rolling_rear"], around["rolling_front"], around["rolling_axis"]).K

    corners = np.asarray(scenario.speed, dtype=float)
    if corners[0, CORNER_TIME] > 0.0:
        corners = np.vstack([(0.0, corners[0, CORNER_SPEED]), corners])
    times, speeds = corners.T
    p["n_speed"] = len(corners)
    p["speed"][: len(corners), :CORNER_SLOPE] = corners
    p["speed"][: len(corners) - 1, CORNER_SLOPE] = np.diff(speeds) / np.diff(times)
    p["n_kicks"] = len(scenario.kicks)
    p["x0"], p["floor"] = scenario.x0, scenario.surface == "floor"
    p["release_after"], p["torque_noise"] = scenario.release_after, scenario.torque_noise
    p["catch_after"] = scenario.catch_after if scenario.catch else np.inf
    p["step"] = longest_step(bicycle, speeds, drive.viscous)
    if play:
        p["step"] = min(p["step"], MESH_STEP)
    if drive.inner_loop:
        p["step"] = min(p["step"], servo_step(drive.inner_loop))
    return array


def pack_kicks(scenario: Scenario) -> NDArray:
    """Pack the kicks of a scenario, (n, 6) with KICK_BEGIN ...; beside the parameters, whose size is fixed."""
    kicks = np.zeros((len(scenario.kicks), KICK_VALUES))
    for row, kick in zip(kicks, scenario.kicks, strict=True):
        peak = np.pi / (2.0 * kick.duration)  # of a half sine whose integral is one
        row[KICK_BEGIN], row[KICK_END] = kick.t, kick.t + kick.duration
        if isinstance(kick, Knock):
            row[KICK_TORQUE] = peak * kick.twist
        else:
            row[KICK_FORCE], row[KICK_X], row[KICK_Z] = peak * kick.impulse, kick.x, kick.z
    return kicks


def _surround(p: np.void, given: Surroundings, scenario: Scenario, bicycle: Bicycle, M_inv: NDArray) -> None:
    """Write the surroundings of a bicycle into a record.

    Parameters
    ----------
    p : SURROUNDINGS record
        Written.
    given : Surroundings
    scenario : Scenario
    bicycle : Bicycle
    M_inv : (2, 2) array
        Inverse of its mass matrix, 1/(kg m^2).

    Raises
    ------
    InputError
        Surroundings that do not go with the scenario.
    """
    if given.coasting and (scenario.surface != "floor" or len(scenario.speed) > 1):
        raise InputError(
            f"a bicycle coasts on the floor from one given speed, found a {scenario.surface} and "
            f"{len(scenario.speed)} corners of the speed profile; a belt or a profile keeps the speed"
        )
    if given.belt_width is not None and scenario.surface != "treadmill":
        raise InputError(f"belt_width belongs to a treadmill, found the surface {scenario.surface!r}; leave it out")
    rear, front = wheel_loads(bicycle)
    p["wheels"] = stiff(given.training_wheels, M_inv[PHI, PHI])
    p["stops"] = stiff(given.steer_stops, M_inv[DELTA, DELTA])
    p["half_belt"] = np.inf if given.belt_width is None else 0.5 * given.belt_width
    p["coasting"], p["rolling"] = given.coasting, given.rolling * (rear + front)
    p["rolling_rear"], p["rolling_front"] = given.rolling * rear * bicycle.rR, given.rolling * front * bicycle.rF
    p["air"] = 0.5 * AIR_DENSITY * given.drag_area if scenario.surface == "floor" else 0.0
    p["mass"] = effective_mass(bicycle)
    for name in ("rolling_axis", "grip", "wind", "gusts", "gust_time", "x_wind", "z_wind"):
        p[name] = getattr(given, name)
    p["frame_moment"] = bicycle.mB * bicycle.g * given.frame_offset
    p["handlebar_moment"] = bicycle.mH * bicycle.g * given.handlebar_offset


def longest_step(bicycle: Bicycle, speeds: NDArray, viscous: float) -> float:
    """Step (s) at which RK4 errs by 3e-11 of the state at most: |eigenvalue| h <= 0.02; at most 1 ms."""
    fastest = 1.0
    for v in (speeds.min(), speeds.max()):
        A = system_matrix(bicycle, v)
        A[:, DELTA_DOT] -= viscous * input_matrix(bicycle)[:, T_DELTA]
        fastest = max(fastest, np.abs(np.linalg.eigvals(A)).max())
    if fastest > 0.02 / STEP_MIN:
        raise InputError(
            f"the plant wants eigenvalues below {0.02 / STEP_MIN:g} 1/s, found {fastest:.3g} 1/s; "
            "lower the viscous friction, or give the steer more inertia"
        )
    return min(STEP_MAX, 0.02 / fastest)


def initial_plant_state(bicycle: Bicycle, scenario: Scenario) -> NDArray:
    """State before anything has happened, as one ``PLANT_STATE`` array."""
    array = np.zeros(1, PLANT_STATE)
    s = array[0]
    s["held"] = scenario.held
    if not scenario.held:
        s["x"][LATERAL_STATES] = scenario.x0
        s["x"][V], s["x"][ROTOR] = scenario.speed[0][CORNER_SPEED], scenario.x0[DELTA]
    words = np.random.SeedSequence(scenario.seed).generate_state(3, np.uint64)
    s["instruments"]["noise"]["word"], s["noise"]["word"], s["weather"]["word"] = words
    s["q"][Q_THETA] = bicycle.lam
    return array
