"""The room's door: what it offers, how late it imports, and that `design` is the function in any order of imports."""

import inspect
import subprocess
import sys

import pytest

from riderless import hil
from tests.paths import ROOT

HEAVY = ("numpy", "numba", "scipy", "control", "pandas", "pydantic", "matplotlib", "serial")


def python(code):
    """What a fresh interpreter prints for ``code``."""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_everything_that_is_named_is_there():
    offered = {name: getattr(hil, name) for name in hil.__all__}
    assert all(callable(thing) for thing in offered.values())
    assert set(hil.__all__) <= set(dir(hil))
    with pytest.raises(AttributeError, match="no attribute 'desing'"):
        _ = hil.desing


def test_the_door_imports_nothing_heavy():
    found = python(f"import sys, riderless.hil; print([name for name in {HEAVY} if name in sys.modules])")
    assert found.strip() == "[]"
    assert (
        python(
            "import sys, riderless.hil; print(sorted(m for m in sys.modules if m.startswith('riderless.hil.')))"
        ).strip()
        == "[]"
    )


def test_a_run_without_a_path_waits_for_no_scientific_library():
    """The signal library alone takes most of a second, half of what there was before a warm first tick."""
    libraries = ("scipy.linalg", "scipy.signal", "scipy.optimize", "scipy.interpolate", "scipy.stats")
    code = f"print([name for name in {libraries} if name in sys.modules])"
    assert python(f"import sys, riderless.hil.runners.warmup, riderless.hil.runners.session; {code}") == "[]\n"


CALL = "design(load_bicycle('Silver'), 'lqr', [5.0])"


@pytest.mark.parametrize(
    "code",
    [
        f"from riderless.hil import design; print({CALL}.method)",
        pytest.param(f"from riderless import hil; print(hil.{CALL}.method)", marks=pytest.mark.slow),
        f"import riderless.hil.design.lqr; from riderless.hil import design; print({CALL}.method)",
        pytest.param(
            "from riderless.hil.design.schedule import GainSchedule; from riderless import hil; "
            f"print(hil.{CALL}.method)",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            f"from riderless import hil; g = hil.{CALL}; import riderless.hil.design.methods as m; "
            f"print(m.{CALL}.method)",
            marks=pytest.mark.slow,
        ),
        "from riderless.hil import design; import riderless.hil.design.margins; from riderless.hil import design; "
        f"print({CALL}.method)",
        pytest.param(f"from riderless.hil import *; print({CALL}.method)", marks=pytest.mark.slow),
    ],
)
def test_design_is_the_function_whatever_was_imported_before(code):
    assert python(f"from riderless.models.catalogue import load_bicycle; {code}").strip() == "lqr"


def test_design_shows_the_signature_of_the_function():
    from riderless.hil.design.methods import design

    assert inspect.signature(hil.design) == inspect.signature(design)
