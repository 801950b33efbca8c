"""Logs as Peterson's robot bicycle wrote them, of a linear bicycle whose truth is known, under a Kalman filter and LQR.

An integration of its own: the bicycle of Meijaard et al. (2007), eq. (5.3), exactly over a sample, torque held.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import expm, solve_discrete_are

from riderless.models import catalogue
from riderless.models.linear.whipple import input_matrix, system_matrix

DT = 0.005  # s
NOISE = {"steer": 2 * np.pi / 20000, "gyro": 0.005, "v": 0.005}  # rad of one count, rad/s, m/s
LEAST_TORQUE = 0.25  # N m, of steps that shake the bicycle


def sampled(bicycle, v):
    """Matrices over one sample, from steer torque and from a white lean moment."""
    whole = np.zeros((6, 6))
    whole[:4, :4], whole[:4, 4:] = system_matrix(bicycle, v), input_matrix(bicycle)[:, ::-1]
    whole = expm(whole * DT)
    return whole[:4, :4], whole[:4, 4], whole[:4, 5]


def ride(name="Benchmark", v=3.0, seconds=60.0, seed=0, changes=None, gust=0.0, shaken=1.0):
    """Their columns, SI: the nominal bicycle's controller on a bicycle with ``changes`` of its parameters."""
    nominal = catalogue.load_bicycle(name)
    F, b, w = sampled(replace(nominal, **(changes or {})), v)
    A, B, _ = sampled(nominal, v)
    C = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    Q, R = np.diag([(np.pi / 18) ** -2.0] * 4), np.eye(1)
    P = solve_discrete_are(A, B[:, None], Q, R)
    K = np.linalg.solve(R + B[:, None].T @ P @ B[:, None], B[:, None].T @ P @ A)
    V = np.diag([NOISE["steer"] ** 2, NOISE["gyro"] ** 2])
    S = solve_discrete_are(A.T, C.T, np.diag([0.0, 0.0, 1e-6, 1e-6]) + 1e-12 * np.eye(4), V)
    L = S @ C.T @ np.linalg.inv(C @ S @ C.T + V)
    rng, n = np.random.default_rng(seed), round(seconds / DT)
    x, found, torque, rows = np.zeros(4), np.zeros(4), 0.0, np.empty((n, 4))
    step = 0.0
    for i in range(n):
        steer = np.round(x[1] / NOISE["steer"]) * NOISE["steer"]
        gyro = x[2] + NOISE["gyro"] * rng.standard_normal()
        found = A @ found + B * torque
        found = found + L @ (np.array([steer, gyro]) - C @ found)
        if i % round(0.6 / DT) == 0:
            step = shaken * LEAST_TORQUE * rng.choice([-1.0, 0.0, 1.0])
        torque = float(-(K @ found)[0]) + step
        rows[i] = torque, gyro, steer, v + NOISE["v"] * rng.standard_normal()
        x = F @ x + b * torque + w * gust / np.sqrt(DT) * rng.standard_normal()
        assert abs(x[0]) < 0.7, f"{name} fell at {i * DT:.1f} s"
    return {"time": DT * np.arange(n), **dict(zip(("T_s", "gyro_x", "steer", "v"), rows.T, strict=True))}


def write_log(path, table):
    """Write one of their files."""
    lines = ["# Generated from run.dat", " ".join(table)]
    lines += ["  ".join(f"{value:.9g}" for value in row) for row in zip(*table.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
