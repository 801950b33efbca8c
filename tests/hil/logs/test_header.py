"""The run header: what goes in comes out, damage is told in a sentence, newer versions are refused."""

import dataclasses
import math

import pytest

from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.node.layouts import PROTOCOL_VERSION
from riderless.hil.logs.header import SCHEMA_VERSION, RunHeader, header_of, new_header
from riderless.hil.logs.log import RunWriter, read_run
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.observer import MONITOR_RULES
from riderless.hil.loop.reference import Reference
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.rig import RigPort
from riderless.hil.rig.task import Task
from riderless.hil.runners.replay import rebuilt_loop
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from tests.hil.machine import gains, rig_of
from tests.paths import DOCS


@pytest.fixture(scope="module")
def rig():
    ports = (RigPort("/dev/a", carries=("sensors",)), RigPort("/dev/b", carries=("drive",)))
    return rig_of(ports=ports, clock="host", command_delay=0.004, watchdog=0.03, std={"drive_gain": 0.05})


@pytest.fixture(scope="module")
def header(rig):
    return new_header(
        rig,
        gains(rig),
        rig.calibrated(gyro_lsb=2e-5),
        runner="realtime",
        label="a label",
        task=Task(Excitation("sweep", 0.5, 2.0, releases=((1.0, 0.5),))),
        ports=["/dev/a", "/dev/b"],
        devices=[Introduction("node", 200), Introduction("drive")],
        extra={"condition": {"name": "first"}},
    )


def test_every_part_comes_back_as_it_was_given(rig, header, tmp_path):
    with RunWriter(tmp_path / "run", header):
        pass
    found = read_run(tmp_path / "run").header
    assert found == header
    assert (found.schema, found.runner, found.label, found.controller) == (SCHEMA_VERSION, "realtime", "a label", "lqr")
    assert dataclasses.replace(found.rig, calibration={}) == rig
    assert found.calibration == found.rig.calibrated() == rig.calibrated(gyro_lsb=2e-5)
    assert found.bicycle == rig.bicycle
    assert found.schedule.to_toml() == gains(rig).to_toml()
    assert found.excitation == Excitation("sweep", 0.5, 2.0, releases=((1.0, 0.5),))
    assert found.devices == (Introduction("node", 200), Introduction("drive"))
    assert found.ports == ("/dev/a", "/dev/b")
    assert found.condition == {"name": "first"}
    assert found.scenario == found.emulation == {}
    assert found.commit in found.made_by
    assert found.time == "real"


def test_simulated_time_has_no_date_and_no_command(rig):
    simulated = new_header(rig, gains(rig), rig.calibrated(), runner="lockstep", simulated=True)
    assert not {"utc", "command"} & simulated.provenance.keys()
    assert simulated.time == "simulated"
    assert simulated.devices is None
    assert simulated.ports == ()
    assert simulated.excitation == Excitation()


def test_a_newer_version_is_refused_in_one_sentence_with_what_to_do(header, tmp_path):
    newer = RunHeader({**header.to_json(), "schema": SCHEMA_VERSION + 1})
    with RunWriter(tmp_path / "run", newer):
        pass
    with pytest.raises(InputError, match=rf"version {SCHEMA_VERSION} or older, found version .*update riderless"):
        read_run(tmp_path / "run")


def test_what_is_missing_or_wrong_is_told_when_it_is_asked_for(header):
    content = header.to_json()
    without = RunHeader({key: value for key, value in content.items() if key != "schedule"})
    assert without.rig.name == "emulated"
    with pytest.raises(InputError, match=r"without 'schedule'.*commit"):
        _ = without.schedule
    with pytest.raises(InputError, match="found 'bicycle' with Bicycle"):
        _ = RunHeader({**content, "bicycle": {"colour": "red"}}).bicycle


def test_a_run_from_before_a_key_was_there_has_its_default(rig, header):
    content = header.to_json()
    wired = {key: value for key, value in content["rig"].items() if key not in ("std", "command_delay", "clock")}
    older = RunHeader({**content, "rig": wired})
    assert (older.rig.std, older.rig.command_delay, older.rig.clock) == ({}, None, "device")
    assert older.to_json()["rig"] == wired, "an export keeps what was written"


def test_a_header_is_short_in_words_and_holds_what_json_keeps(header):
    assert repr(header) == "RunHeader(a label, realtime, schema 1)"
    assert header_of({"pair": (1, 2)}).to_json() == {"schema": 1, "pair": [1, 2]}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"schema": "1"}, "version 1 or older, found version '1'"),
        ({"schema": None}, "version 1 or older, found version None"),
        ({"label": 3}, "'label' is a text, found 3"),
        ({"ports": "/dev/a"}, "'ports' is a list, found '/dev/a'"),
        ({"provenance": {"git": []}}, r"'provenance.git' is an object, found \[\]"),
        ({"scenario": {"x0": 0.1}}, "'scenario.x0' is a list, found 0.1"),
        ({"scenario": {"x0": [0.0, 1e6]}}, r"'scenario.x0' is a list of numbers in rad and rad/s, found \[0.0, 10"),
        ({"scenario": {"x0": [-1e6]}}, "'scenario.x0' is a list of numbers"),
        ({"scenario": {"x0": [math.nan]}}, "'scenario.x0' is a list of numbers"),
        ({"scenario": {"x0": ["0"]}}, "'scenario.x0' is a list of numbers"),
    ],
)
def test_a_header_of_other_kinds_is_refused(content, told):
    with pytest.raises(InputError, match=told):
        RunHeader.from_json(content)


def test_a_header_of_the_right_kinds_is_taken():
    start = [0, 0.1, -999_999.0, 999_999.0]
    assert RunHeader.from_json({"schema": 1, "label": "", "scenario": {"x0": start}}).scenario["x0"] == start


def test_who_made_a_run_is_told_as_far_as_it_is_known():
    origin = {"packages": {"riderless": "9.8"}, "git": {"commit": "abc", "dirty": True}}
    assert RunHeader({"provenance": origin}).made_by == "riderless 9.8, commit abc with changes"
    assert RunHeader({"provenance": {**origin, "git": {"commit": "abc"}}}).made_by == "riderless 9.8, commit abc"
    assert RunHeader({}).made_by == "riderless unknown, commit unknown"
    assert repr(RunHeader({})) == "RunHeader(no label, no runner, schema 1)"


def test_a_push_that_no_run_can_have_played_is_refused_with_its_rig_and_without(header):
    push = {"kind": "push", "amplitude": 1.0, "duration": 2.0}
    assert RunHeader({"excitation": push}).excitation == Excitation("push", 1.0, 2.0)
    with pytest.raises(InputError, match="ends within 86400 s, found 86401 s"):
        _ = RunHeader({"excitation": {**push, "duration": 86_401.0}}).excitation
    fast = {**header.content["rig"], "rate": 2000.0, "command_delay": None}
    with pytest.raises(InputError, match="at 2000 Hz in its header"):
        _ = RunHeader({**header.content, "rig": fast, "excitation": {**push, "duration": 86_400.0}}).excitation


def test_nobody_who_was_asked_is_not_the_same_as_nobody_asked(header):
    assert RunHeader({**header.content, "devices": []}).devices == ()
    with pytest.raises(InputError, match="1 introductions at 2 ports"):
        _ = RunHeader({**header.content, "devices": header.content["devices"][:1]}).devices


def test_bytes_are_read_where_node_and_loop_spoke_todays_protocol(header):
    """A loop of today may have served a node of yesterday, which its introduction alone tells."""

    def understood(wired, loop=PROTOCOL_VERSION, node=PROTOCOL_VERSION):
        said = [Introduction("it", 200, protocol=node) for _ in wired.ports]
        made = new_header(wired, gains(wired), wired.calibrated(), runner="realtime", devices=said)
        return RunHeader({**made.content, "protocol": loop}).node_is_understood

    wired = rig_of(ports=(RigPort("/dev/a"),))
    assert understood(wired)
    assert understood(wired, 3, 3), "that differs by its number alone"
    assert not understood(wired, 2, 2)
    assert not understood(wired, node=PROTOCOL_VERSION - 1)
    assert not understood(wired, loop=PROTOCOL_VERSION - 1)
    others = read_rig(DOCS / "rigs/vectornav-odrive.toml")
    assert understood(others, PROTOCOL_VERSION - 1, PROTOCOL_VERSION - 1), "where no node is, there is nothing to read"


def test_a_reference_is_kept_where_there_is_one(rig):
    def made(*reference):
        told = {"task": Task(reference=reference[0])} if reference else {}
        return new_header(rig, gains(rig), rig.calibrated(), runner="lockstep", simulated=True, **told)

    step = Reference(((1.0, 0.1, 0.0, 0.0),))
    assert made(step).reference == step
    for nothing in (made(), made(Reference())):
        assert "reference" not in nothing.content
        assert nothing.reference == Reference()


def test_a_header_from_before_a_key_was_there_has_what_was_meant_then():
    bare = RunHeader({})
    assert (bare.schema, bare.protocol, bare.excitation_clock, bare.drive_kind) == (1, 1, "ticks", "torque")
    assert (bare.asked_speeds, bare.unattended, bare.reference, bare.devices) == ((), False, Reference(), None)
    assert (bare.route.rows, bare.route.name) == ((), "")
    assert RunHeader({"route": None, "reference": None}).route.rows == ()


def test_a_header_with_those_keys_tells_them(rig):
    row = [0.0] * 10
    told = RunHeader(
        {
            "protocol": 7,
            "excitation_clock": "device",
            "unattended": True,
            "asked_speeds": [[0, 4], [3.0, 4.5]],
            "route": {"name": "circle", "speed": 4.0, "rows": [row, [1.0, *row[1:]]]},
        }
    )
    assert (told.protocol, told.excitation_clock, told.unattended) == (7, "device", True)
    assert told.asked_speeds == ((0.0, 4.0), (3.0, 4.5))
    assert (told.route.name, told.route.speed, len(told.route.rows)) == ("circle", 4.0, 2)
    rate = dataclasses.replace(rig, drive=InnerLoop(kind="rate"))
    assert new_header(rate, gains(rig), rig.calibrated(), runner="lockstep", simulated=True).drive_kind == "rate"


@pytest.mark.parametrize("wired", [{}, [1], None], ids=str)
def test_a_rig_that_cannot_be_read_still_tells_that_its_drive_obeyed_a_torque(wired):
    assert RunHeader({"rig": wired}).drive_kind == "torque"


def test_a_log_without_rules_of_the_monitor_replays_with_those_of_before(header):
    content = header.to_json()
    assert (content["rig"]["rules"], content["rig"]["stop_time"]) == (header.rig.rules, header.rig.stop_time)
    assert rebuilt_loop(header).observer["rules"] == MONITOR_RULES
    old = RunHeader({**content, "rig": {name: x for name, x in content["rig"].items() if name != "rules"}})
    assert old.rig.rules == 1
    assert rebuilt_loop(old).observer["rules"] == 1
