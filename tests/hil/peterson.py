"""Peterson's robot bicycle (2013) with his controllers, of numbers that lie beside the repository and are not ours."""

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from riderless.hil.controllers.lti import LTIController
from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.compensators.current_estimator import ESTIMATOR_INPUTS, YAW_SUM, current_estimator_law
from riderless.models.linear.gyrostats import Gyrostat, bicycle_of_gyrostats
from riderless.models.parameters import Bicycle
from tests.paths import ROOT

FILE = ROOT.parent / "shared/reference/peterson_robot_bicycle.json"
DT = 0.005
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
