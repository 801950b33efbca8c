"""Limits: what is refused, with which sentence, and that each keeps its number, unit and reason."""

import dataclasses
import itertools
import math

import pytest

from riderless.hil.loop.limits import LIMITS, MACHINE_LIMITS, ORDER, RANGES, Limit, Limits, RecordedLimits
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.session import open_devices
from riderless.models import catalogue
from riderless.models.errors import InputError

STATED = {name: {"value": getattr(Limits(), name).value, "reason": "as always"} for name in MACHINE_LIMITS}


def test_every_limit_has_a_value_a_unit_and_a_reason_and_reaches_the_compiled_code():
    limits = Limits()
    record = limits.as_record()
    assert set(LIMITS.names) == {*limits.as_dict(), "kind", "command", "command_change", "node_step"}
    assert (record["kind"], record["command"], record["command_change"]) == (0, record["torque"], record["torque_rate"])
    for name, entry in limits.as_dict().items():
        assert record[name] == entry["value"]
        assert entry["unit"]
        assert len(entry["reason"]) > 10


@pytest.mark.parametrize(("kind", "number"), [("torque", 0), ("rate", 1), ("angle", 2)])
def test_the_record_knows_the_kind_of_drive(kind, number):
    assert Limits().as_record(kind)["kind"] == number


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_limit_has_a_reason(reason):
    with pytest.raises(InputError, match="'lean' has no reason"):
        Limits(lean=Limit(0.5, "rad", reason))


@pytest.mark.parametrize("value", [0.0, -5.0, math.nan])
def test_what_a_log_says_is_a_positive_number_too(value):
    assert Limits.of_log({"lean": {"value": 7.0, "reason": "once"}}).lean.value == 7.0  # no machine has that today
    with pytest.raises(InputError, match="'lean' must be a positive number"):
        Limits.of_log({"lean": {"value": value, "reason": "once"}})


def test_limits_show_those_of_the_machine():
    limits = Limits(torque=Limit(6.5, "N m", "a small motor"))
    assert "torque 6.5 N m" in repr(limits)
    assert all(f"{name} " in repr(limits) for name in MACHINE_LIMITS)


def test_a_rig_states_its_own_and_the_rest_keeps_its_default():
    limits = Limits.of_machine(STATED | {"lean": {"value": 0.3, "unit": "rad", "reason": "a low roof"}})
    assert limits.lean == Limit(0.3, "rad", "a low roof")
    assert limits.ramp == Limits().ramp
    for name in MACHINE_LIMITS:
        less = {key: entry for key, entry in STATED.items() if key != name}
        with pytest.raises(InputError, match=f"the limits {name} are missing"):
            Limits.of_machine(less)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_limit_is_a_positive_number(value):
    with pytest.raises(InputError, match=r"'torque' must be a positive number"):
        Limits(torque=Limit(value, "N m", "because"))


NUMBERS = (0.0, -1.0, math.nan, math.inf, -math.inf)
NO_NUMBERS = (True, False, "0.3", "low", None, [0.3], 1j)
DEFAULTS = {name: entry["value"] for name, entry in Limits().as_dict().items()}
NARROWED = {  # what must move along where a limit is at an edge of its own range
    "lean": {0.05: {"lean_arm": 0.02}},
    "lean_arm": {0.3: {}},
    "steer": {0.05: {"steer_arm": 0.02}},
    "speed_min": {},
    "speed_max": {0.5: {"speed_min": 0.3}},
    "bus_min": {100.0: {"bus_max": 110.0}},
    "bus_max": {5.0: {"bus_min": 4.0}},
    "check": {60.0: {"check_timeout": 100.0}},
    "check_timeout": {2.0: {"check": 1.0}},
}


def in_python(**values):
    units = {name: getattr(Limits(), name).unit for name in values}
    return Limits(**{name: Limit(value, units[name], "because") for name, value in values.items()})


def in_a_changed_copy(**values):
    return dataclasses.replace(
        Limits(), **{n: dataclasses.replace(getattr(Limits(), n), value=value) for n, value in values.items()}
    )


def in_a_table(**values):
    return Limits.of_machine(machine_table(**values))


def as_toml(value):
    """A value as TOML has it; what it has no word for is an empty list."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float | str | list) else "[]"


def in_a_rig_file(folder):
    """Reader of a whole rig file, as a person writes it."""

    def read(**values):
        text = "name = 'mine'\nbicycle = 'Silver'\n"
        for name, entry in machine_table(**values).items():
            text += f"[limits.{name}]\nvalue = {as_toml(entry['value'])}\nreason = 'because'\n"
        path = folder / "rig.toml"
        path.write_text(text, encoding="utf-8")
        return read_rig(path).limits

    return read


@pytest.fixture(params=["python", "copy", "table", "file"])
def made(request, tmp_path):
    """Every way to limits of a machine."""
    ways = {"python": in_python, "copy": in_a_changed_copy, "table": in_a_table, "file": in_a_rig_file(tmp_path)}
    return ways[request.param]


def test_every_limit_has_a_range_with_a_reason():
    assert set(RANGES) == set(DEFAULTS)
    for name, (least, most, why) in RANGES.items():
        assert 0.0 < least <= DEFAULTS[name] < most < math.inf
        assert len(why) > 10


def test_the_edges_of_its_range_are_taken_and_nothing_beyond(made):
    for name, (least, most, why) in RANGES.items():
        for value in (least, most):
            along = NARROWED.get(name, {}).get(value, {})
            assert getattr(made(**{name: value, **along}), name).value == value
        wanted = rf"'{name}' must lie between {least:g} and {most:g} .*found"
        for value in (0.999 * least, 1.001 * most, 1e9, 1e12):
            with pytest.raises(InputError, match=wanted) as refusal:
                made(**{name: value})
            assert f"({why})" in str(refusal.value)


def test_what_is_no_positive_number_is_refused(made):
    for name, value in itertools.product(RANGES, NUMBERS):
        with pytest.raises(InputError, match=f"'{name}' must be a positive number, found"):
            made(**{name: value})


def test_what_is_no_number_is_refused(made):
    for name, value in itertools.product(RANGES, NO_NUMBERS):
        with pytest.raises(InputError, match=f"'{name}' needs a number in "):
            made(**{name: value})


@pytest.mark.parametrize(("lower", "upper"), [*ORDER, ("speed_min", "speed_max")])
def test_contradictions_are_refused(lower, upper, made):
    common = max(RANGES[lower][0], RANGES[upper][0])
    for low, high in ((common, common), (min(RANGES[lower][1], 1.01 * RANGES[upper][0] + common), RANGES[upper][0])):
        with pytest.raises(InputError, match=f"'{lower}' must lie below '{upper}'|speed window is empty"):
            made(**{lower: low, upper: high})


@pytest.mark.parametrize("limit", [7.0, None, "7", (7.0, "N m", "because")])
def test_what_is_no_limit_is_refused(limit):
    with pytest.raises(InputError, match=r"'torque' wants a Limit\(value, unit, reason\)"):
        Limits(torque=limit)


def test_another_unit_is_refused():
    with pytest.raises(InputError, match="'lean' is in rad, found 'deg': convert the value"):
        Limits(lean=Limit(0.3, "deg", "because"))


def test_limits_of_an_old_log_are_read_but_reach_no_machine():
    lax = Limits.of_log(machine_table(lean=30.0))
    assert isinstance(lax, RecordedLimits)
    assert type(Limits.of_log(Limits().as_dict())) is Limits
    rig = Rig(catalogue.load_bicycle("Silver"), limits=lax)
    with pytest.raises(InputError, match="'lean' must lie between"), open_devices(rig, ["/dev/no-port"]):
        pass


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_a_limit_without_a_reason_is_refused(reason):
    with pytest.raises(InputError, match=r"'lean' has no reason: write in the rig why it is 0.3 rad"):
        Limits(lean=Limit(0.3, "rad", reason))


def test_an_empty_speed_window_is_refused():
    for most in (4.0, 5.0):
        with pytest.raises(InputError, match="the speed window is empty"):
            Limits(speed_min=Limit(5.0, "m/s", "too fast"), speed_max=Limit(most, "m/s", "too slow"))


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"jerk": {"value": 1.0, "reason": "because"}}, "unknown limit 'jerk': the limits are torque, "),
        ({"leen": {"value": 1.0, "reason": "because"}}, r"unknown limit 'leen': did you mean lean\?"),
        ({"lean": {"value": 1.0}}, "limit 'lean' needs a value in rad and a reason"),
        ({"lean": {"reason": "because"}}, "limit 'lean' needs a value in rad and a reason"),
        ({"lean": 0.3}, "limit 'lean' needs a value in rad and a reason"),
        ({"lean": {"value": 20, "unit": "deg", "reason": "because"}}, "limit 'lean' is in rad, found 'deg'"),
        ({"lean": {"value": "low", "reason": "because"}}, "limit 'lean' needs a number in rad, found 'low'"),
        ({"lean": {"value": None, "reason": "because"}}, "limit 'lean' needs a number in rad, found None"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(table, sentence):
    with pytest.raises(InputError, match=sentence):
        Limits.of_log(table)


def machine_table(**changed):
    """Limits of a machine as a rig file states them."""
    table = {name: {"value": getattr(Limits(), name).value, "reason": "because"} for name in MACHINE_LIMITS}
    return {**table, **{name: {"value": value, "reason": "because"} for name, value in changed.items()}}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"lean": 30.0}, "'lean' must lie between 0.05 and 0.8 rad, found 30 rad .*degrees"),
        ({"steer": 45.0}, "'steer' must lie between 0.05 and 1.4 rad, found 45 rad"),
        ({"torque": 30.0}, "'torque' must lie between 0.1 and 20 N m, found 30 N m"),
        ({"lean": 1e9}, "found 1e[+]09 rad"),
        ({"torque_rate": 1e12}, "'torque_rate' must lie between 5 and 5000 N m/s"),
        ({"speed_max": 36000.0}, "'speed_max' must lie between 0.5 and 30 m/s, found 36000 m/s"),
        ({"bus_min": 40.0, "bus_max": 30.0}, "'bus_min' must lie below 'bus_max', found 40 and 30 V"),
        ({"lean": 0.08}, "'lean_arm' must lie below 'lean', found 0.09 and 0.08 rad"),
        ({"torque": True}, "'torque' needs a number in N m, found True"),
    ],
)
def test_a_rig_whose_limits_nobody_can_mean_is_refused(changed, sentence):
    with pytest.raises(InputError, match=sentence):
        Limits.of_machine(machine_table(**changed))


def test_what_a_log_of_before_had_is_read():
    assert Limits.of_log(machine_table(lean=30.0)).lean.value == 30.0


def test_a_check_that_outlasts_its_own_time_out_is_found_when_the_file_is_read():
    with pytest.raises(InputError, match=r"'check' must lie below 'check_timeout', found 12 and 10 s"):
        Limits.of_machine({**STATED, "check": {"value": 12.0, "reason": "a long one"}})
