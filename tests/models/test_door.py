"""The room's door: what it offers, how late it imports, and how its objects show themselves."""

import builtins
import importlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from riderless import models
from riderless.models import Kick, named_modes
from riderless.models.errors import InputError
from riderless.models.tables import html_table

SPEEDS = np.linspace(0.0, 10.0, 41)
HEAVY = ("numpy", "numba", "scipy", "control", "pandas", "matplotlib")
PANDAS = pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")


def run(code):
    """Run Python in a fresh interpreter, as it would be at a user's."""
    root = Path(models.__file__).parents[1]
    return subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout


def results():
    """One of every large object of the door."""
    bicycle = models.load_bicycle("Benchmark")
    q, u = models.initial_state(bicycle, roll=0.1, v=5.0)
    turn = models.steady_turn_from_angles(bicycle, 0.2, 0.1)
    scenario = models.Scenario(speed=tuple((0.1 * k, 5.0) for k in range(1000)))
    return [
        bicycle,
        models.canonical_matrices(bicycle),
        named_modes(bicycle, SPEEDS),
        turn,
        models.TurnFamily("straight", "reversed", (turn,) * 300),
        models.simulate_nonlinear(bicycle, q, u, 0.5),
        models.Ensemble.starting([bicycle] * 20, v=5.0),
        scenario,
        models.Plant(bicycle, scenario),
    ]


def test_everything_that_is_named_is_there():
    offered = {name: getattr(models, name) for name in models.__all__}
    assert all(callable(thing) for thing in offered.values())
    assert set(models.__all__) <= set(dir(models))


AT_REST = np.zeros(4)
ASKED_OF_A_BICYCLE = {  # with the rest of the arguments
    "bicycle_text": ("toml",),
    "canonical_matrices": (),
    "critical_speeds": (),
    "eigenvalues": (5.0,),
    "hands_free_families": (),
    "heading_rate": (5.0, AT_REST),
    "initial_state": (),
    "input_matrix": (),
    "lateral_forces": (5.0, AT_REST, AT_REST),
    "mode_shapes": (5.0,),
    "named_modes": (SPEEDS,),
    "nonlinear_system": (),
    "simulate_nonlinear": (np.zeros(8), np.zeros(8), 1.0),
    "state_space": (5.0,),
    "steady_turn_from_angles": (0.1, 0.1),
    "steady_turn_from_speed_and_radius": (5.0, 10.0),
    "symbrim_constants": (),
    "system_matrix": (5.0,),
}


@pytest.mark.parametrize("name", ASKED_OF_A_BICYCLE)
def test_the_name_of_a_bicycle_is_no_bicycle(name):
    with pytest.raises(InputError, match=r"^wanted a Bicycle, found 'Silver': get one with load_bicycle$"):
        getattr(models, name)("Silver", *ASKED_OF_A_BICYCLE[name])


@pytest.mark.parametrize("wrong", ["5", None, [5.0, 6.0], np.nan])
def test_what_is_no_speed_of_a_turn_is_refused_in_a_sentence(wrong):
    with pytest.raises(InputError, match=r"^the speed of a turn is a positive number of m/s; found "):
        models.steady_turn_from_speed_and_radius(models.load_bicycle("Silver"), wrong, 10.0)


def test_rates_of_a_state_are_four_too():
    with pytest.raises(InputError, match=r"^wanted rates of the states \(\.\.\., 4\)"):
        models.lateral_forces(models.load_bicycle("Silver"), 5.0, np.zeros(4), np.zeros(2))


def test_no_name_of_the_door_is_that_of_a_module():
    inside = {path.stem for path in Path(models.__file__).parent.iterdir()}
    assert not inside.intersection(models.__all__)


def test_the_door_imports_nothing_heavy():
    loaded = run(f"import sys, riderless.models; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_bicycles_and_modes_need_no_compiler():
    code = "import sys; from riderless import models; models.named_modes(models.load_bicycle('Benchmark'), [5.0]); "
    assert run(code + "print('numba' in sys.modules, 'control' in sys.modules)").split() == ["False", "False"]


def test_an_unknown_name_is_refused_like_any_other():
    with pytest.raises(AttributeError, match=r"module 'riderless\.models' has no attribute 'wheelbarrow'"):
        models.wheelbarrow  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("riderless.models.wheelbarrow")


def test_a_name_is_imported_once():
    assert models.__getattr__("Bicycle") is vars(models)["Bicycle"]
    assert "Bicycle" in dir(models)


def test_a_kick_needs_no_more_than_its_time_and_impulse():
    assert Kick(0.6, impulse=4.0) == Kick(t=0.6, impulse=4.0, duration=0.08, x=0.3, z=-0.8)


def test_modes_over_speed_by_name():
    modes = named_modes(models.load_bicycle("Silver"), SPEEDS)
    assert modes.all.shape == (len(SPEEDS), 4)
    np.testing.assert_array_equal(modes.v, SPEEDS)


def test_large_objects_are_compared_without_a_complaint_of_numpy():
    for thing, other in zip(results(), results(), strict=True):
        same = thing
        assert thing == same
        assert (thing != same) is False
        assert (thing == other) is not (thing != other)
        assert thing in [thing, other]
        assert other in [thing, other]


def test_matrices_and_modes_may_be_kept_in_sets():
    bicycle = models.load_bicycle("Benchmark")
    for make in (models.canonical_matrices, lambda b: named_modes(b, SPEEDS)):
        kept = {make(bicycle), make(bicycle)}
        assert len(kept) == 2


def test_large_objects_show_themselves_in_one_line():
    for thing in results():
        text = repr(thing)
        assert text.startswith(type(thing).__name__ + "(")
        assert "\n" not in text
        assert len(text) < 250, text


@pytest.mark.parametrize(
    ("thing", "shown"),
    [
        (lambda b: b, "Bicycle('Benchmark', w=1.02 m, c=0.08 m, lam=0.3142 rad, mass=94 kg)"),
        (lambda b: named_modes(b, SPEEDS), "Modes(weave, capsize, caster at 41 speeds, 0 ... 10 m/s)"),
        (lambda b: named_modes(b, 5.0), "Modes(weave, capsize, caster at 1 speed, 5 m/s)"),
        (lambda b: named_modes(b, []), "Modes(weave, capsize, caster at 0 speeds)"),
        (lambda b: models.Plant(b), "Plant(linear, t=0 s, v=5 m/s, held)"),
        (lambda b: models.Scenario(), "Scenario(5 m/s, 0 kicks, treadmill, held at first)"),
    ],
)
def test_the_line_says_what_matters(thing, shown):
    assert repr(thing(models.load_bicycle("Benchmark"))) == shown


def test_notebooks_get_a_small_table():
    for thing in results():
        if hasattr(thing, "_repr_html_"):
            html = thing._repr_html_()
            assert html.startswith("<table>")
            assert html.endswith("</table>")
            assert html.count("<tr>") <= 30


def test_html_is_escaped_and_long_tables_lose_their_middle():
    html = html_table("<b>", ("a & b",), [(k,) for k in range(100)])
    assert "<caption>&lt;b&gt;</caption>" in html
    assert "<th>a &amp; b</th>" in html
    assert html.count("<tr>") == 1 + 6 + 1 + 6
    assert "<td>99</td>" in html
    assert "<td>50</td>" not in html


def test_a_missing_pandas_is_said_in_one_sentence(monkeypatch):
    real = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    for thing in results():
        if hasattr(thing, "to_frame"):
            with pytest.raises(InputError, match="a data frame needs pandas, which is not installed"):
                thing.to_frame()


class FrameOfColumns:
    """Stand-in for ``pandas.DataFrame`` where pandas is not installed."""

    def __init__(self, columns):
        self.columns, self.attrs = columns, {}

    def set_index(self, name):
        """Check that the index is one of the columns, and keep its name."""
        assert name in self.columns
        self.index = name
        return self


def test_data_frames_are_made_of_columns_of_one_length(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=FrameOfColumns))
    frames = [thing.to_frame() for thing in results() if hasattr(thing, "to_frame")]
    assert [frame.index for frame in frames] == ["parameter", "v", "turn", "t"]
    for frame, length in zip(frames, (26, len(SPEEDS), 300, 501), strict=True):
        assert {len(column) for column in frame.columns.values()} == {length}
    parts = frames[1].columns
    modes = named_modes(models.load_bicycle("Benchmark"), SPEEDS)
    np.testing.assert_array_equal(parts["weave_real"] + 1j * parts["weave_imag"], modes.weave[:, 0])
    np.testing.assert_array_equal(parts["weave_twin_real"] + 1j * parts["weave_twin_imag"], modes.weave[:, 1])
    np.testing.assert_array_equal(parts["capsize_real"] + 1j * parts["capsize_imag"], modes.capsize)
    np.testing.assert_array_equal(parts["caster_real"] + 1j * parts["caster_imag"], modes.caster)


@PANDAS
def test_modes_become_a_data_frame_of_one_row_a_speed():
    modes = named_modes(models.load_bicycle("Benchmark"), SPEEDS)
    frame = modes.to_frame()
    assert frame.attrs["units"]["weave_real"] == "1/s"
    assert frame.index.name == "v"
    np.testing.assert_array_equal(frame.index, SPEEDS)
    np.testing.assert_array_equal(frame["weave_real"] + 1j * frame["weave_imag"], modes.weave[:, 0])
    np.testing.assert_array_equal(frame["caster_real"], modes.caster.real)


@PANDAS
def test_tabular_results_become_data_frames():
    lengths = [len(thing.to_frame()) for thing in results() if hasattr(thing, "to_frame")]
    assert lengths == [26, len(SPEEDS), 300, 501]
