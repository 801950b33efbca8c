"""Labs whose readings tests measure a bicycle by."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.paths import REFERENCE


@cache
def reference() -> dict[str, Any]:
    """Read `measured_labs.json`."""
    found: dict[str, Any] = json.loads((REFERENCE / "measured_labs.json").read_text(encoding="utf-8"))
    return found


def with_units(readings: Mapping[str, Any]) -> dict[str, Any]:
    """Readings whose angles are in deg, as `riderless.models.measured` wants their keys."""
    return {f"{name}_deg" if name.startswith(("alpha", "gamma")) else name: value for name, value in readings.items()}


def lab(case: str = "A", **changes: Any) -> dict[str, Any]:
    """Readings of a lab without noise, some of them changed; None leaves one out."""
    readings = {**with_units(reference()["cases"][case]["readings"]), **changes}
    return {name: value for name, value in readings.items() if value is not None}
