"""Objects of the design as a notebook shows them, and as data frames."""

import sys
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest

from riderless.hil.design.margins import Margins
from riderless.hil.design.methods import design
from riderless.hil.design.sampled_plant import LOOP_STATES, LoopTiming, sampled_model
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.design.stabilisability import uncontrollable_speeds
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.tables import html_table


@pytest.fixture(scope="module")
def schedule():
    return design(load_bicycle("Benchmark"), "lean", [2.0, 5.0, 6.5], allow_unstable=True)


def test_a_schedule_says_in_one_line_what_it_is(schedule):
    says = "<GainSchedule: lean for Benchmark, 3 speeds from 2 to 6.5 m/s, 200 Hz, unstable at 2, 6.5 m/s>"
    assert repr(schedule) == says
    one = design(load_bicycle("Silver"), "lqr", [4.0], LoopTiming(rate=100.0))
    assert repr(one) == "<GainSchedule: lqr for Silver, 1 speed, 4 m/s, 100 Hz, stable>"


def test_margins_models_and_stuck_modes_say_in_one_line_what_they_are():
    assert repr(Margins((0.25, np.inf), np.pi / 4, 0.087)) == "<Margins: gain 0.25 to inf, phase 45 deg, delay 87 ms>"
    assert repr(Margins((0.0, 8.0), np.inf, np.inf)) == "<Margins: gain 0.00 to 8.0, phase - deg, delay - ms>"
    model = sampled_model(load_bicycle("Silver"), 4.0, LoopTiming(drive_lag=0.0))
    assert repr(model) == "<SampledModel: 200 Hz, states phi, delta, phi_dot, delta_dot, u_prev>"
    slow, fast = uncontrollable_speeds(load_bicycle("Benchmark"))
    assert repr(slow) == "<StuckMode: unstable at 0.025 m/s, +3.13 1/s>"
    assert repr(fast) == "<StuckMode: stable at 1.411 m/s, -3.13 1/s>"


def test_tables_have_a_row_per_speed(schedule):
    html = schedule._repr_html_()
    assert html.count("<tr>") == 1 + len(schedule.v)
    assert all(f"<th>K {name}</th>" in html for name in LOOP_STATES)
    assert "<td>6.5</td>" in html
    assert "<td>no torque from 6.5 m/s up</td>" in html
    assert schedule.margins[0]._repr_html_().count("<tr>") == 2
    assert uncontrollable_speeds(schedule.bicycle)[0]._repr_html_().count("<tr>") == 2


def test_tables_escape_what_they_show():
    assert "<td>a &lt; b</td>" in html_table("t", ["h"], [["a < b"]])


class FrameOfColumns(dict):
    """Stand-in for ``pandas.DataFrame``: its columns by name."""

    def __init__(self, columns):
        super().__init__(columns)
        self.attrs = {}


def test_a_data_frame_has_a_row_per_speed(schedule, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=FrameOfColumns))
    frame = schedule.to_frame()
    assert all(len(column) == len(schedule.v) for column in frame.values())
    np.testing.assert_array_equal(frame["v"], schedule.v)
    np.testing.assert_array_equal(np.column_stack([frame[f"K_{name}"] for name in LOOP_STATES]), schedule.K)
    np.testing.assert_array_equal(np.array(frame["slowest_pole"]) < 0.0, frame["stable"])
    assert frame["phase_margin"] == [margins.phase for margins in schedule.margins]
    assert frame["note"] == list(schedule.notes)


def test_a_data_frame_of_the_real_pandas(schedule):
    pandas = pytest.importorskip("pandas")
    frame = schedule.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(schedule.v)
    assert frame["v"].tolist() == schedule.v.tolist()


def test_without_pandas_a_sentence_says_what_to_do(schedule, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="needs pandas, which is not installed"):
        schedule.to_frame()


def test_the_keys_of_a_schedule_in_a_report_stand():
    """`report.json` holds a schedule by the names of its fields."""
    names = [item.name for item in fields(GainSchedule)]
    assert names == ["method", "options", "bicycle", "loop", "v", "K", "closed_loop", "margins", "notes", "drive"]
