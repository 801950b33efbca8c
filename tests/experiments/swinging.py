"""Uncontrolled linear bicycles near their weave speed, kicked by hand, in gusts or on a rough road."""

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.signal import lfilter

from riderless.experiments.datatypes import Response
from riderless.experiments.theories import open_loop
from riderless.models import catalogue
from riderless.models.coordinates import PHI_DOT
from riderless.models.linear.whipple import canonical_matrices, input_matrix, system_matrix

DT = 0.005  # s
KICK = 0.35  # rad/s of lean rate
GUST_TIME = 0.5  # s over which a gust lasts


def weave(bicycle, v):
    """Eigenvalue of the least damped oscillation [1/s], im > 0."""
    values = np.linalg.eigvals(system_matrix(bicycle, v))
    return max((s for s in values if s.imag > 0.8), key=lambda s: s.real)


def speed_where(bicycle, re):
    """Lowest speed [m/s] above which the weave decays faster than this [1/s]; re > 0 is growth."""
    speeds = np.arange(10.0, 2.0, -0.05)
    slower = next(v for v in speeds if weave(bicycle, v).real > re)
    return brentq(lambda v: weave(bicycle, v).real - re, slower, slower + 0.05)


def swinging(name, re, kicks, length, seed=0, noise=0.003, gusts=0.0, road=0.0):
    """Recording, the times [s] at which the kicks end, and the eigenvalue of the weave.

    ``noise`` [rad/s] is white, ``gusts`` the standard deviation of a lean torque and ``road`` of a steer torque [N m].
    """
    rng, bicycle = np.random.default_rng(seed), catalogue.load_bicycle(name)
    v = speed_where(bicycle, re)
    A, B = system_matrix(bicycle, v), input_matrix(bicycle)
    F = expm(DT * np.block([[A, B], [np.zeros((2, 6))]]))
    t = DT * np.arange(round(length / DT))
    torque, ends = np.zeros((2, len(t))), []
    for i, begin in enumerate(kicks):
        lasts = rng.uniform(0.06, 0.25)
        impulse = (-1) ** i * KICK * canonical_matrices(bicycle).M[0, 0] * rng.uniform(0.85, 1.15)
        on = (t >= begin) & (t < begin + lasts)
        torque[0, on] += impulse * np.pi / (2.0 * lasts) * np.sin(np.pi * (t[on] - begin) / lasts)
        ends.append(begin + lasts)
    keep = np.exp(-DT / GUST_TIME)
    torque[0] += gusts * lfilter([np.sqrt(1.0 - keep**2)], [1.0, -keep], rng.normal(size=len(t)))
    torque[1] += road * rng.normal(size=len(t))
    values, vectors = np.linalg.eig(F[:4, :4])
    driven = np.linalg.inv(vectors) @ F[:4, 4:] @ np.pad(torque, ((0, 0), (1, 0)))[:, :-1]
    modes = np.array([lfilter([1.0], [1.0, -z], u) for z, u in zip(values, driven, strict=True)])
    rate = (vectors @ modes).real[PHI_DOT] + 0.01 + rng.normal(0.0, noise, len(t))
    speed = v + rng.normal(0.0, 0.01, len(t))
    response = Response("swinging", "riderless", t, rate, speed, bicycle=bicycle, theory=open_loop(bicycle))
    return response, ends, weave(bicycle, v)
