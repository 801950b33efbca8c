"""The two records of the emulated machine: what stays constant, and what moves."""

import numpy as np
from numpy.typing import NDArray

from models.coordinates import DELTA, DELTA_DOT
from models.errors import InputError
from models.linear.path import GROUND_STATES
from models.linear.whipple import canonical, input_matrix, system_matrix, totals
from models.nonlinear import nonlinear
from models.nonlinear.nonlinear import PITCH
from models.nonlinear.parameters import Packed
from models.parameters import Bicycle
from models.plant.environment import AIR, CONTACT, SURROUNDINGS, Surroundings, stiff
from models.plant.scenario import KICKS, POINTS, Knock, Scenario
from models.plant.sensors import INSTRUMENTS, INSTRUMENTS_STATE, NOISE, Instruments
from models.plant.steer_drive import DRIVE_SETTINGS, DRIVE_STATE, ROTOR_MIN, SteerDrive

LINEAR, NONLINEAR = 0, 1
MODELS = {"linear": LINEAR, "nonlinear": NONLINEAR}
X_P, V, ROTOR, ROTOR_DOT = 6, 7, 8, 9  # after those of `models.linear.path`
MOTION = (*GROUND_STATES, "x_P", "v", "rotor", "rotor_dot")  # v only where nobody keeps the speed
STEP_MIN, STEP_MAX = 1e-6, 1e-3  # s
MESH, MESH_STEP = 1e3, 1e-4  # rad/s, at which rotor and steer ring tooth on tooth; s, the step that resolves it
KICK_STEPS = 80  # at least, for one kick: RK4 then misses 1e-9 of its impulse

PARAMETERS = np.dtype(
    [
        ("model", "i8"),
        ("M_inv", "f8", (2, 2)),
        ("C1", "f8", (2, 2)),  # M^-1 C1
        ("K0", "f8", (2, 2)),  # M^-1 g K0
        ("K2", "f8", (2, 2)),  # M^-1 K2
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
        ("mesh", CONTACT),  # of the drive's teeth
        ("instruments", INSTRUMENTS),
        ("surroundings", SURROUNDINGS),
        ("speed", "f8", (POINTS + 1, 3)),  # s after release, m/s, m/s^2 from here on
        ("n_speed", "i8"),
        ("kicks", "f8", (KICKS, 6)),  # begin, end (s after release), peak force (N), x, z (m), peak torque (N m)
        ("n_kicks", "i8"),
        ("x0", "f8", (4,)),
        ("floor", "i8"),
        ("release_after", "f8"),
        ("catch_after", "f8"),
        ("torque_noise", "f8"),
    ],
    align=True,
)

STATE = np.dtype(
    [
        ("t", "f8"),
        ("x", "f8", (len(MOTION),)),
        ("held", "i8"),  # a person has it
        ("fallen", "i8"),  # and why
        ("status", "i8"),  # flags of `models.nonlinear.contact_forces` seen since the release
        ("t_release", "f8"),
        ("enabled_for", "f8"),  # s, the drive without a break
        ("disabled_for", "f8"),
        ("driven", "i8"),  # the drive has been enabled since the release
        ("segment", "i8"),  # of the speed profile
        ("kick", "i8"),  # the first that is not over
        ("T_noise", "f8"),  # N m, random steer torque at present
        ("gust", "f8"),  # N, random part of the wind at present
        ("drive", DRIVE_STATE),
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


def pack(
    bicycle: Bicycle,
    scenario: Scenario,
    drive: SteerDrive,
    instruments: Instruments,
    model: str,
    surroundings: Surroundings,
) -> NDArray:
    """Everything that stays constant, as one ``PARAMETERS`` array."""
    if model not in MODELS:
        raise InputError(f"no model is called {model!r}; there is {', '.join(MODELS)}")
    if bicycle.rR <= 0.0:
        raise InputError(
            f"the wheel sensor wants a rear wheel with a radius, found rR = {bicycle.rR} m ({bicycle.name}); "
            "emulate another bicycle"
        )
    array = np.zeros(1, PARAMETERS)
    p = array[0]
    _, C1, K0, K2 = canonical(bicycle)
    M_inv = input_matrix(bicycle)[2:]
    p["model"] = MODELS[model]
    p["M_inv"], p["C1"], p["K0"], p["K2"] = M_inv, M_inv @ C1, M_inv @ K0 * bicycle.g, M_inv @ K2
    if model == "nonlinear":
        p["nonlinear"] = nonlinear.pack(bicycle)
    p["yaw"], p["tilt"], p["sin_tilt"] = np.cos(bicycle.lam) / bicycle.w, bicycle.lam, np.sin(bicycle.lam)
    p["w"], p["c"], p["g"], p["rR"] = bicycle.w, bicycle.c, bicycle.g, bicycle.rR
    p["drive"] = tuple(getattr(drive, name) for name in DRIVE_SETTINGS.names or ())
    play = 0.5 * drive.backlash if drive.backlash > 0.0 else None
    p["mesh"] = stiff(play, M_inv[1, 1] + 1.0 / max(drive.rotor, ROTOR_MIN), MESH)
    instruments.pack(p["instruments"])
    surround(p["surroundings"], surroundings, scenario, bicycle, M_inv)

    corners = np.asarray(scenario.speed, dtype=float)
    if corners[0, 0] > 0.0:
        corners = np.vstack([(0.0, corners[0, 1]), corners])
    p["n_speed"] = len(corners)
    p["speed"][: len(corners), :2] = corners
    p["speed"][: len(corners) - 1, 2] = np.diff(corners[:, 1]) / np.diff(corners[:, 0])
    p["n_kicks"] = len(scenario.kicks)
    for row, kick in zip(p["kicks"], scenario.kicks, strict=False):
        peak = np.pi / (2.0 * kick.duration)  # of a half sine whose integral is one
        row[:2] = kick.t, kick.t + kick.duration
        if isinstance(kick, Knock):
            row[5] = peak * kick.twist
        else:
            row[2:5] = peak * kick.impulse, kick.x, kick.z

    p["x0"], p["floor"] = scenario.x0, scenario.surface == "floor"
    p["release_after"], p["torque_noise"] = scenario.release_after, scenario.torque_noise
    p["catch_after"] = scenario.catch_after if scenario.catch else np.inf
    p["step"] = longest_step(bicycle, corners[:, 1], drive.viscous)
    if play:
        p["step"] = min(p["step"], MESH_STEP)
    return array


def surround(p: np.void, given: Surroundings, scenario: Scenario, bicycle: Bicycle, M_inv: NDArray) -> None:
    """Write the surroundings of a bicycle of inverse mass matrix `M_inv` into a record of ``SURROUNDINGS``."""
    if given.coasting and (scenario.surface != "floor" or len(scenario.speed) > 1):
        raise InputError(
            f"a bicycle coasts on the floor from one given speed, found a {scenario.surface} and "
            f"{len(scenario.speed)} corners of the speed profile; a belt or a profile keeps the speed"
        )
    if given.belt_width is not None and scenario.surface != "treadmill":
        raise InputError(f"belt_width belongs to a treadmill, found the surface {scenario.surface!r}; leave it out")
    mass = totals(bicycle).mT
    p["wheels"], p["stops"] = stiff(given.training_wheels, M_inv[0, 0]), stiff(given.steer_stops, M_inv[1, 1])
    p["half_belt"] = np.inf if given.belt_width is None else 0.5 * given.belt_width
    p["coasting"], p["rolling"] = given.coasting, given.rolling * mass * bicycle.g
    p["air"] = 0.5 * AIR * given.drag_area
    spin_front = bicycle.IFyy / bicycle.rF**2 if bicycle.rF > 0.0 else 0.0
    p["mass"] = mass + bicycle.IRyy / bicycle.rR**2 + spin_front
    for name in ("grip", "wind", "gusts", "gust_time", "x_wind", "z_wind"):
        p[name] = getattr(given, name)
    p["frame_moment"] = bicycle.mB * bicycle.g * given.frame_offset
    p["handlebar_moment"] = bicycle.mH * bicycle.g * given.handlebar_offset


def longest_step(bicycle: Bicycle, speeds: NDArray, viscous: float) -> float:
    """Step (s) at which RK4 errs by 3e-11 of the state at most: |eigenvalue| h <= 0.02; at most 1 ms."""
    fastest = 1.0
    for v in (speeds.min(), speeds.max()):
        A = system_matrix(bicycle, v)
        A[:, DELTA_DOT] -= viscous * input_matrix(bicycle)[:, 1]
        fastest = max(fastest, np.abs(np.linalg.eigvals(A)).max())
    if fastest > 0.02 / STEP_MIN:
        raise InputError(
            f"the plant wants eigenvalues below {0.02 / STEP_MIN:g} 1/s, found {fastest:.3g} 1/s; "
            "lower the viscous friction, or give the steer more inertia"
        )
    return min(STEP_MAX, 0.02 / fastest)


def initial(bicycle: Bicycle, scenario: Scenario) -> NDArray:
    """The state before anything has happened, as one ``STATE`` array."""
    array = np.zeros(1, STATE)
    s = array[0]
    s["held"] = scenario.held
    if not scenario.held:
        s["x"][:4] = scenario.x0
        s["x"][V], s["x"][ROTOR] = scenario.speed[0][1], scenario.x0[DELTA]
    words = np.random.SeedSequence(scenario.seed).generate_state(3, np.uint64)
    s["instruments"]["noise"]["word"], s["noise"]["word"], s["weather"]["word"] = words
    s["q"][PITCH] = bicycle.lam
    return array
