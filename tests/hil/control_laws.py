"""Controllers as a control engineer makes them with python-control: a cascade, and an H-infinity design."""

import control
import numpy as np

from riderless.hil.controllers.lti import LTIController
from riderless.hil.controllers.timing import LoopTiming
from riderless.models.linear.whipple import state_space
from riderless.models.parameters import Bicycle


def cascade(bicycle: Bicycle, speeds: list[float], loop: LoopTiming) -> LTIController:
    """Lean to steer angle to torque: delta_ref = k phi + d phi_dot, T = p (delta_ref - delta) - r delta_dot."""
    systems = []
    for v in speeds:
        to_angle = control.ss([[-40.0]], [[0.0, 40.0]], [[2.0 / v]], [[8.0 / v, 0.0]])  # of phi, phi_dot
        to_torque = control.ss([], [], [], [[15.0, -15.0, -1.5]])  # of delta_ref, delta, delta_dot
        both = control.append(to_angle, control.ss([], [], [], np.eye(2)))
        systems.append(control.series(both, to_torque))
    inputs = ["phi", "phi_dot", "delta", "delta_dot"]
    how = {"discretisation": "tustin", "states": ("lean_rate",)}
    return LTIController.from_statespace(systems, speeds, inputs, bicycle, loop, method="cascade", **how)


def lane_cascade(bicycle: Bicycle, speeds: list[float], loop: LoopTiming) -> LTIController:
    """Place to heading to lean around that cascade: psi_ref = -0.3/s y / v, phi_ref = 0.8/s v (psi_ref - psi) / g."""
    systems = []
    for v in speeds:
        turn = 8.0 * 0.8 / bicycle.g  # steer of lean, times lean of heading, which a lag of 0.2 s smooths
        to_steer = control.ss([[-5.0]], [[5.0 * turn, 5.0 * turn * 0.3 / v]], [[1.0]], [[0.0, 0.0]])  # of psi, y_P
        to_angle = control.ss([[-40.0]], [[0.0, 40.0]], [[2.0 / v]], [[8.0 / v, 0.0]])  # of phi, phi_dot
        to_torque = control.ss([], [], [], [[15.0, 15.0, -15.0, -1.5]])  # of both, delta, delta_dot
        systems.append(control.series(control.append(to_steer, to_angle, control.ss([], [], [], np.eye(2))), to_torque))
    inputs = ["psi", "y_P", "phi", "phi_dot", "delta", "delta_dot"]
    how = {"discretisation": "tustin", "states": ("steer_ref", "lean_rate")}
    return LTIController.from_statespace(systems, speeds, inputs, bicycle, loop, method="lane cascade", **how)


def h_infinity(bicycle: Bicycle, speeds: list[float], loop: LoopTiming) -> LTIController:
    """Loop shaping of McFarlane and Glover (1992) by two Riccati equations: robust to coprime factor uncertainty."""
    systems = []
    for v in speeds:
        lag = loop.drive_lag + 0.5 * loop.dt + loop.delay * loop.dt  # of drive, hold and delay together
        drive = control.ss([[-1.0 / lag]], [[1.0 / lag]], [[1.0]], [[0.0]])
        motion = control.series(drive, state_space(bicycle, v)[:, 1])
        shaped = np.array([[40.0, 0.0], [0.0, 20.0]]) @ motion.C[:2]  # N m per rad of lean and steer
        A, B, C = motion.A, motion.B, shaped
        X = control.care(A, B, C.T @ C)[0]
        Z = control.care(A.T, C.T, B @ B.T)[0]
        gamma = 1.1 * np.sqrt(1.0 + np.max(np.linalg.eigvals(X @ Z).real))
        H = gamma**2 * np.linalg.solve(((1.0 - gamma**2) * np.eye(len(A)) + X @ Z).T, Z @ C.T)
        weights = np.diag([40.0, 20.0])
        systems.append(control.ss(A - B @ B.T @ X + H @ C, H @ weights, B.T @ X, np.zeros((1, 2))))
    how = {"discretisation": "tustin"}
    return LTIController.from_statespace(systems, speeds, ["phi", "delta"], bicycle, loop, method="H-infinity", **how)
