"""Peterson's robot bicycle (2013) with his controllers, of numbers that lie beside the repository and are not ours.

His law is a regulator, a current estimator and a PI on the yaw rate.
With y the steer angle and the roll rate of this sample, e the sum of the yaw rate's errors and K with its minus sign::

    x^[k] = (I - L H) x-[k] + L y[k]           x-[k+1] = A x^[k] + b u[k]
    u[k] = K x^[k] + r[k]                      r[k] = kp (psi_dot_ref - psi_dot) + ki e[k]

ERRATUM: in the loop that he published (``A_yr_cl``) the readings miss the torque r of the sample before, so the filter
answers r with an innovation of its own; in a machine r moves the plant, and the filter knows it.
"""

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from riderless.hil.controllers.controller import LinearLaw
from riderless.hil.controllers.lti import LTIController
from riderless.hil.controllers.timing import LoopTiming
from riderless.models.array_types import Array
from riderless.models.parameters import Bicycle
from tests.hil.gyrostats import Gyrostat, bicycle_of_gyrostats
from tests.paths import ROOT

FILE = ROOT.parent / "shared/reference/peterson_robot_bicycle.json"
DT = 0.005
ESTIMATOR_INPUTS = ("delta_meas", "phi_dot_meas", "psi_dot_meas", "psi_dot_ref")
YAW_SUM = "yaw_sum"
STATES = ("phi_filter", "delta_filter", "phi_dot_filter", "delta_dot_filter", YAW_SUM)

needs_numbers = pytest.mark.skipif(
    not FILE.exists(), reason=f"{FILE.name} is somebody else's and not beside this repository"
)


@cache
def published() -> dict[str, Any]:
    """All his numbers; `rows` of 21 speeds."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def arrays(row: dict[str, Any]) -> dict[str, np.ndarray]:
    """Matrices of a row."""
    return {name: np.array(value) for name, value in row.items() if isinstance(value, list)}


def robot() -> Bicycle:
    """His bicycle, by our conversion of its gyrostats."""
    given = published()["bicycle"]

    def body(end: str) -> Gyrostat:
        return Gyrostat(**{name: value for name, value in given[end].items() if name != "r"})

    return bicycle_of_gyrostats(body("rear"), body("front"), given["ls"], given["g"], "Robot")


def current_estimator_law(A: Array, b: Array, H: Array, K: Array, L: Array, kp: float, ki: float) -> LinearLaw:
    """Law on `ESTIMATOR_INPUTS` with the states x- (n) and e.

    Parameters
    ----------
    A, b : (n, n) and (n,)
        Plant from sample to sample.
    H : (2, n)
        Readings of steer angle and roll rate.
    K : (n,)
        Regulator, u = K x.
    L : (n, 2)
        Estimator's gain on the readings of the same sample.
    kp, ki : float
        Of the yaw rate [N m s/rad]; ki per sample.
    """
    n = len(A)
    keep = np.eye(n) - L @ H
    wish = np.append(K @ keep, ki)
    error = np.array([0.0, 0.0, -1.0, 1.0])
    direct = np.append(K @ L, [0.0, 0.0]) + kp * error
    estimate = np.column_stack([L, np.zeros((n, 2))])
    own = np.block([[A @ keep, np.zeros((n, 1))], [np.zeros((1, n)), np.ones((1, 1))]])
    acted = np.append(b, 0.0)
    A_law = own + np.outer(acted, wish)
    B_law = np.vstack([A @ estimate, error]) + np.outer(acted, direct)
    return LinearLaw(ESTIMATOR_INPUTS, A_law, B_law, wish, direct)


def his_law(loop: LoopTiming | None = None) -> LTIController:
    """All 21 of his controllers as one state space over speed; made for a loop without delay unless another is said."""
    laws = []
    for row in published()["rows"]:
        r = arrays(row)
        laws.append(
            current_estimator_law(
                r["A"], r["B"][:, -1], r["C_m"], r["K_c"].ravel(), r["K_e"], row["Kp_fit"], row["Ki_fit"] * DT
            )
        )
    A, B, C, D = (np.array([getattr(law, name) for law in laws]) for name in "ABCD")
    told = np.array([np.append(np.array(row["B"])[:, -1], 0.0) for row in published()["rows"]])
    return LTIController(
        method="Peterson",
        bicycle=robot(),
        loop=loop or LoopTiming(rate=200.0, delay=0, drive_lag=0.0),
        v=np.array([row["v"] for row in published()["rows"]]),
        A=A,
        B=B,
        C=C,
        D=D,
        inputs=ESTIMATOR_INPUTS,
        states=STATES,
        waits=(YAW_SUM,),
        anti_windup=told,
    )
