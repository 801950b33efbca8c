"""The bicycle of the Delft logs under their law, pushed by hand at times that are known to the step."""

import numpy as np

from riderless.experiments.datatypes import Response
from riderless.models import catalogue
from riderless.models.array_types import Array
from riderless.models.coordinates import PHI_DOT
from riderless.models.plant.plant import Kick
from tests.experiments.synthetic import coloured
from tests.models.plant.riding import DT, free

PUSHES = (2.0, 7.0, 12.0)  # s
LASTS = (0.08, 0.14, 0.2)  # s, each push longer than the one before
IMPULSES = (6.0, -5.0, 7.0)  # N s
END = 16.0  # s


def pushed(v: float, noise: float, seed: int = 0) -> tuple[Response, Array]:
    """Lean rate under the law, and the times (3,) [s] at which it first turns back after each push.

    ``noise`` is the standard deviation of the lean rate's [rad/s], of lag-1 autocorrelation 0.44 as measured.
    """
    kicks = tuple(Kick(*push) for push in zip(PUSHES, IMPULSES, LASTS, strict=True))
    plant = free(catalogue.load_bicycle("DelftSbW2024"), v, x0=(0.0, 0.0, 0.0, 0.0), kicks=kicks)
    clean = [0.0]
    for _ in range(round(END / DT)):
        plant.advance(2.0 * max(6.5 - v, 0.0) * clean[-1], True, DT)
        clean.append(float(plant.state[PHI_DOT]))
    rate, t = np.array(clean), DT * np.arange(len(clean))
    turns = []
    for kick in kicks:
        begin = round(kick.t / DT) + 2
        turns.append(begin + int(np.argmax(np.diff(np.sign(kick.impulse) * rate[begin:]) < 0.0)))
    noisy = rate + 0.02 + coloured(np.random.default_rng(seed), len(rate), noise, 0.44)
    return Response("pushed", "riderless", t, noisy, np.full(len(t), v)), t[turns]
