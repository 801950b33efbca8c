"""Free responses of known dynamics, for the tests of prediction, comparison and report."""

from dataclasses import replace

import numpy as np
from scipy.linalg import expm

from riderless.experiments.datatypes import Dynamics, Marker, Response, Window
from riderless.experiments.theories import open_loop
from riderless.models import catalogue
from riderless.models.coordinates import PHI_DOT, STATES
from riderless.models.linear.road_forces import acceleration
from riderless.models.linear.whipple import canonical_matrices, input_matrix, system_matrix

DT = 0.005  # s


def coast(A, v, dt, x0, by_acceleration=0.0):
    """States (n, 4) from x0 by RK4 on x' = (A(v) + v' A') x, v linear between samples: not the package's route."""
    x = np.empty((len(v), 4))
    x[0] = x0
    for k in range(len(v) - 1):
        slowing = (v[k + 1] - v[k]) / dt * by_acceleration
        first, middle, last = (A(s) + slowing for s in (v[k], 0.5 * (v[k] + v[k + 1]), v[k + 1]))
        k1 = first @ x[k]
        k2 = middle @ (x[k] + 0.5 * dt * k1)
        k3 = middle @ (x[k] + 0.5 * dt * k2)
        k4 = last @ (x[k] + dt * k3)
        x[k + 1] = x[k] + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def by_acceleration(bicycle):
    """Change of the system matrix (4, 4) per m/s^2."""
    change = np.zeros((4, 4))
    change[2:, :2] = -np.linalg.solve(canonical_matrices(bicycle).M, acceleration(bicycle, 1.0).K)
    return change


def quadratic(A):
    """A(v) from three of its values: without control it is a quadratic in v, with lean feedback too."""
    values = np.array([A(v) for v in (0.0, 3.0, 6.0)])
    c = np.linalg.solve(np.vander([0.0, 3.0, 6.0]), values.reshape(3, -1)).reshape(values.shape)
    return lambda v: (c[0] * v + c[1]) * v + c[2]


def with_response(comparison, **changes):
    """Make a comparison whose recording has other fields."""
    segment = comparison.segment
    return replace(comparison, segment=replace(segment, response=replace(segment.response, **changes)))


def with_window(comparison, **changes):
    """Make a comparison whose window has other fields."""
    segment = comparison.segment
    return replace(comparison, segment=replace(segment, window=replace(segment.window, **changes)))


def recording(v, x0=(0.0, 0.0, 0.6, 0.0), noise=0.0, seed=0, bicycle="Silver", offset=0.02, kind="riderless", **extra):
    """A free response at the speeds v (n,), 200 Hz, and the window that holds all of it."""
    bicycle = catalogue.load_bicycle(bicycle) if isinstance(bicycle, str) else bicycle
    v = np.asarray(v, dtype=float)
    t = np.arange(len(v)) * DT
    x = coast(quadratic(lambda s: system_matrix(bicycle, s)), v, DT, np.array(x0), by_acceleration(bicycle))
    phi_dot = x[:, PHI_DOT] + offset + noise * np.random.default_rng(seed).standard_normal(len(v))
    source = extra.pop("source", f"run-{seed}")
    if kind == "riderless":  # what moves here is linear, however far it leans
        extra.setdefault("theory", replace(open_loop(bicycle), linear=True))
    response = Response(
        source=source,
        kind=kind,
        t=t,
        phi_dot=phi_dot,
        v=v,
        bicycle=bicycle,
        markers=(Marker(0.0, "kick"),),
        **extra,
    )
    slope, middle = float(np.polyfit(t, v, 1)[0]), float(v.mean())
    half = 0.5 * slope * float(t[-1])
    return response, Window(
        source, 0, len(v), 0.0, float(t[-1]), middle, middle - half, middle + half, "after kick at 0.00 s"
    )


def sampled_lean_feedback(bicycle, k=2.0, v0=6.5, dt=DT):
    """Dynamics of steer into the lean through a zero-order hold, with one sample of delay."""
    B = input_matrix(bicycle)[:, 1]

    def matrix(v):
        hold = np.zeros((5, 5))
        hold[:4, :4], hold[:4, 4] = system_matrix(bicycle, v), B
        step = expm(hold * dt)  # (x, u) -> x
        step[4] = 0.0
        step[4, PHI_DOT] = k * max(v0 - v, 0.0)  # u for the next sample
        return step

    return Dynamics(
        "whole sampled loop, lean",
        (*STATES, "u_prev"),
        matrix,
        np.eye(5)[PHI_DOT],
        lambda v: np.vstack([np.eye(4), np.eye(4)[PHI_DOT] * k * max(v0 - v, 0.0)]),
        dt,
    )
