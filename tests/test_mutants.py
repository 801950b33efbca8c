"""The mutation tests themselves: which changes they make, and that what is named and argued is there."""

import ast
import subprocess
import sys

import pytest

from tests.paths import ROOT
from tests.tools.mutation.changes import TABLE, changes, numbered, source_mutants
from tests.tools.mutation.equivalent import EQUIVALENT
from tests.tools.mutation.plan import LONG, TESTS
from tests.tools.mutation.whole import users_of


def changed(statement):
    """Everything that may become of a statement, as text."""
    tree = ast.parse(statement)
    return {
        ast.unparse(ast.fix_missing_locations(instead))
        for node in numbered(tree.body[0])
        for _, instead in changes(node)
    }


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("raw.faults |= part.faults", {"raw.faults = part.faults", "raw.faults &= part.faults", "pass"}),
        ("x += y", {"x -= y", "x = y", "pass"}),
        ("abs(x) > limit", {"abs(x) >= limit", "x"}),
        ("a == 0 and b", {"a == 0 or b", "a == 0", "b", "a != 0", "1"}),
        ("a or b or c", {"a and b and c", "a or b", "a or c", "b or c"}),
        ("max(a, b)", {"min(a, b)", "pass"}),
        ("observe(x)", {"pass"}),
        ("-x", {"x"}),
        ("y if x else z", {"z if x else y"}),
        ("seen = True", {"False", "pass"}),
        ("return 0.2", {"1.2", "pass"}),
    ],
)
def test_what_becomes_of_a_statement(statement, wanted):
    assert changed(statement) == wanted


def test_a_mutant_is_the_source_with_one_change():
    path = "hil/loop/tick.py"
    (mutant,) = (m for m in source_mutants(path) if "overwritten: raw.faults |= part.faults & ~absent" in m.words)
    assert mutant.words.startswith("_merge_readings: ")
    before, after = ast.unparse(ast.parse((ROOT / path).read_text())).splitlines(), mutant.text().splitlines()
    assert [(a.strip(), b.strip()) for a, b in zip(before, after, strict=True) if a != b] == [
        ("raw.faults |= part.faults & ~absent", "raw.faults = part.faults & ~absent")
    ]


def test_types_are_no_code():
    assert not [m for m in source_mutants("hil/runners/operator.py") if "float & None" in m.words]


@pytest.mark.parametrize("path", TESTS)
def test_modules_and_their_tests_are_there(path):
    assert (ROOT / path).is_file()
    for test in TESTS[path]:
        assert (ROOT / "tests" / test).is_file()


def test_what_is_left_out_is_there():
    texts = "".join((ROOT / "tests" / test).read_text() for tests in TESTS.values() for test in tests)
    assert not [name for name in LONG if name not in texts]


@pytest.mark.parametrize("path", EQUIVALENT)
def test_an_argument_is_about_a_mutant_that_is_there(path):
    words = [] if path == TABLE else [mutant.words for mutant in source_mutants(path)]
    assert path in TESTS
    assert not [key for key in EQUIVALENT[path] if not any(key in each for each in words)]


def test_who_sees_a_module_is_who_imports_it_and_who_imports_those():
    users = users_of("hil/loop/observer.py")
    assert {"riderless.hil.loop.observer", "riderless.hil.loop.tick", "riderless.hil.runners.lockstep"} <= users
    assert not users & {
        "riderless.models.parameters",
        "riderless.hil.loop.limits",
        "riderless.firmware_interface.calibration",
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", TESTS)
def test_the_tests_of_a_module_pass_in_plain_python(path):
    """Where a function by address took other arguments than its plain twin, no mutant of the tick was judged."""
    program = f"from tests.tools.mutation.whole import plain, run_tests; plain(); exit(not run_tests({path!r}))"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
