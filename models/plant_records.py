"""The two records of the emulated machine: what stays constant, and what moves."""

import numpy as np
from numpy.typing import NDArray

from models.actuator import DRIVE, DRIVE_STATE, Drive
from models.coordinates import DELTA_DOT
from models.errors import InputError
from models.parameters import Bicycle
from models.scenario import KICKS, POINTS, Scenario
from models.sensors import INSTRUMENTS, INSTRUMENTS_STATE, NOISE, Instruments
from models.whipple import canonical, input_matrix, system_matrix

LINEAR = 0
MODELS = {"linear": LINEAR}  # a new model: its name here, its branch in `plant.accelerations`
STEP_MIN, STEP_MAX = 1e-6, 1e-3  # s
KICK_STEPS = 80  # at least, for one kick: RK4 then misses 1e-9 of its impulse

PARAMETERS = np.dtype(
    [
        ("model", "i8"),
        ("M_inv", "f8", (2, 2)),
        ("C1", "f8", (2, 2)),  # M^-1 C1
        ("K0", "f8", (2, 2)),  # M^-1 g K0
        ("K2", "f8", (2, 2)),  # M^-1 K2
        ("yaw", "f8"),  # cos(lam) / w, 1/m
        ("c", "f8"),
        ("g", "f8"),
        ("rR", "f8"),
        ("step", "f8"),  # s, longest step
        ("drive", DRIVE),
        ("instruments", INSTRUMENTS),
        ("speed", "f8", (POINTS + 1, 3)),  # s after release, m/s, m/s^2 from here on
        ("n_speed", "i8"),
        ("kicks", "f8", (KICKS, 4)),  # begin, end (s after release), peak T_phi, peak T_delta (N m)
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
        ("x", "f8", (6,)),  # phi, delta, phi_dot, delta_dot, psi, y_P
        ("held", "i8"),  # a person has it
        ("fallen", "i8"),
        ("t_release", "f8"),
        ("enabled_for", "f8"),  # s, the drive without a break
        ("disabled_for", "f8"),
        ("driven", "i8"),  # the drive has been enabled since the release
        ("segment", "i8"),  # of the speed profile
        ("kick", "i8"),  # the first that is not over
        ("T_noise", "f8"),  # N m, random steer torque at present
        ("drive", DRIVE_STATE),
        ("instruments", INSTRUMENTS_STATE),
        ("noise", NOISE),  # of the torque
    ],
    align=True,
)


def pack(bicycle: Bicycle, scenario: Scenario, drive: Drive, instruments: Instruments, model: str) -> NDArray:
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
    p["yaw"], p["c"], p["g"], p["rR"] = np.cos(bicycle.lam) / bicycle.w, bicycle.c, bicycle.g, bicycle.rR
    p["drive"] = tuple(getattr(drive, name) for name in DRIVE.names or ())
    instruments.pack(p["instruments"])

    corners = np.asarray(scenario.speed, dtype=float)
    if corners[0, 0] > 0.0:
        corners = np.vstack([(0.0, corners[0, 1]), corners])
    p["n_speed"] = len(corners)
    p["speed"][: len(corners), :2] = corners
    p["speed"][: len(corners) - 1, 2] = np.diff(corners[:, 1]) / np.diff(corners[:, 0])
    p["n_kicks"] = len(scenario.kicks)
    for row, kick in zip(p["kicks"], scenario.kicks, strict=False):
        peak = kick.impulse * np.pi / (2.0 * kick.duration)
        row[:] = kick.t, kick.t + kick.duration, -kick.z * peak, kick.x * p["c"] * p["yaw"] * peak

    p["x0"], p["floor"] = scenario.x0, scenario.surface == "floor"
    p["release_after"], p["torque_noise"] = scenario.release_after, scenario.torque_noise
    p["catch_after"] = scenario.catch_after if scenario.catch else np.inf
    p["step"] = longest_step(bicycle, corners[:, 1], drive.viscous)
    return array


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


def initial(scenario: Scenario) -> NDArray:
    """The state before anything has happened, as one ``STATE`` array."""
    array = np.zeros(1, STATE)
    s = array[0]
    s["held"] = scenario.held
    if not scenario.held:
        s["x"][:4] = scenario.x0
    words = np.random.SeedSequence(scenario.seed).generate_state(2, np.uint64)
    s["instruments"]["noise"]["word"], s["noise"]["word"] = words
    return array
