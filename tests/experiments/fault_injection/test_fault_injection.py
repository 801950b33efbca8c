"""The fault campaign: it keeps its promises, it would notice if it did not, and a seed means the same everywhere."""

import json
import math
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from riderless.experiments.fault_injection import campaign
from riderless.experiments.fault_injection.cases import FaultCase, draw_case
from riderless.experiments.fault_injection.judge import (
    REFUSED,
    WRITTEN_EVERY,
    check_written_log,
    is_written,
    judge_case,
)
from riderless.experiments.fault_injection.machines import USUAL_SPACE
from riderless.experiments.fault_injection.promises import RODE_THROUGH
from riderless.experiments.fault_injection.ride_plan import RUN_AT, STOP_AT, FaultOnset
from riderless.experiments.fault_injection.simulate import CASE_LIMITS, Played, play_case
from riderless.experiments.fault_injection.summary_table import (
    SUMMARY_COLUMNS,
    FaultRow,
    campaign_markdown,
    summary_markdown,
    summary_text,
    tally,
)
from riderless.experiments.fault_injection.threats.fault_list import THREATS
from riderless.experiments.fault_injection.threats.fault_spec import AT_ONCE_CAUSES
from riderless.experiments.fault_injection.timeline import describe_case, timeline
from riderless.hil.loop.limits import Limit
from riderless.hil.loop.states import Cause, State
from riderless.hil.loop.transitions import HARD_RULES
from riderless.models.errors import InputError

ROUNDS = 4
LISTED = Path(__file__).parent / "fault_list.json"


@pytest.fixture(scope="module")
def verdicts():
    return campaign.run_cases(ROUNDS * len(THREATS), seed=1, jobs=1)


def case_of(threat: str, moment: FaultOnset = FaultOnset.RUNNING, method: str = "lqr", seed: int = 3) -> FaultCase:
    """The first case of a seed with this threat at this moment, under this controller."""
    place = next(i for i, t in enumerate(THREATS) if t.name == threat)
    cases = (draw_case(seed, place + n * len(THREATS)) for n in range(200))
    return next(case for case in cases if case.moment is moment and case.machine[1] == method)


def as_listed(value):
    """A threat, a fault or a part of one, as `fault_list.json` writes it."""
    if isinstance(value, Enum):
        listed = value.name
    elif isinstance(value, frozenset):
        listed = sorted(cause.name for cause in value)
    elif isinstance(value, tuple | list):
        listed = [as_listed(one) for one in value]
    elif isinstance(value, float) and not math.isfinite(value):
        listed = repr(value)
    elif is_dataclass(value):
        listed = {field.name: as_listed(getattr(value, field.name)) for field in fields(value)}
    else:
        listed = value
    return listed


def test_judge_and_supervisor_agree_on_what_cuts_the_torque_at_once():
    assert {rule.cause for rule in HARD_RULES} | {Cause.OPERATOR_OFF} == AT_ONCE_CAUSES


def test_the_list_of_faults_and_what_is_drawn_of_them_stay_as_they_were():
    """Names, grades, promises and parameters, against a list written when each fault was spelt out."""
    listed = json.loads(LISTED.read_text())
    assert [threat.name for threat in THREATS] == [threat["name"] for threat in listed["threats"]]
    for threat, before in zip(THREATS, listed["threats"], strict=True):
        said = {f.name: as_listed(getattr(threat, f.name)) for f in fields(threat)}
        defaults = {f.name: as_listed(f.default) for f in fields(threat)}
        promise = before.pop("promise")
        assert said == {**defaults, **before}
        assert threat.promise == promise
    for index, before in enumerate(listed["cases of seed 7"]):
        case = draw_case(7, index)
        drawn = [case.threat.name, list(case.machine), case.moment.name, case.onset, case.kick]
        drawn += [case.scenario.speed[0][1], case.scenario.seed, as_listed(case.faults)]
        assert drawn == before


def test_the_outcomes_of_a_seed_stay_as_they_were(verdicts):
    listed = json.loads(LISTED.read_text())["outcomes of seed 1"]
    found = [[v.outcome, None if math.isnan(v.to_zero) else round(1e3 * v.to_zero)] for v in verdicts]
    assert found[: len(listed)] == listed


def test_every_promise_is_kept(verdicts):
    assert [verdict for verdict in verdicts if verdict.complaints] == []


def test_every_threat_is_met_and_most_ends_are(verdicts):
    assert [v.threat for v in verdicts] == ROUNDS * [threat.name for threat in THREATS]
    outcomes = {verdict.outcome for verdict in verdicts}
    assert {
        RODE_THROUGH,
        REFUSED,
        "STALE_SAMPLE",
        "DRIVE_WATCHDOG",
        "DEVICE_FAULT",
        "STOP_BUTTON",
        "BUS_VOLTAGE",
    } <= outcomes
    assert {"OPERATOR_STOP", "OPERATOR_OFF", "CHECK_STREAM"} <= outcomes


def test_a_case_is_shown_in_one_line():
    assert repr(draw_case(1, 0)).startswith("<FaultCase 0 of seed 1: one bit flipped, once, ")
    assert repr(play_case(draw_case(1, 0))) == "<Played: 880 ticks>"


def test_cases_are_drawn_from_everything():
    cases = [draw_case(1, index) for index in range(600)]
    assert {case.machine for case in cases} == set(USUAL_SPACE.machines)
    assert {case.moment for case in cases} == set(FaultOnset)
    assert {np.sign(case.kick) for case in cases} == {-1.0, 1.0}
    speeds = [case.scenario.speed[0][1] for case in cases]
    assert max(speeds) - min(speeds) > 1.5


def test_a_moment_is_the_state_it_is_called_after():
    rows = play_case(case_of("one bit flipped, once", FaultOnset.RAMPDOWN)).rows  # a case in which nothing is delayed
    states = {
        FaultOnset.BEFORE: State.DISARMED,
        FaultOnset.CHECK: State.CHECK,
        FaultOnset.ARMED: State.ARMED,
        FaultOnset.RUNNING: State.RUNNING,
        FaultOnset.IN_A_KICK: State.RUNNING,
        FaultOnset.RAMPDOWN: State.RAMPDOWN,
    }
    for index in range(100):
        case = draw_case(5, index)
        if case.onset > 0.0:
            at = int(np.searchsorted(rows["t_host"], case.onset)) - 1
            assert rows["state"][at] == states[case.moment], f"case {index} at {case.onset} s"


def test_the_same_seed_gives_the_same_verdicts_on_any_number_of_processes(monkeypatch):
    monkeypatch.setattr(campaign, "CASES_PER_BATCH", 5)

    def rows(jobs: int, seed: int = 2) -> list[tuple]:
        return [
            (v.index, v.threat, v.outcome, v.complaints, str(v.to_zero))
            for v in campaign.run_cases(16, seed=seed, jobs=jobs)
        ]

    alone = rows(1)
    assert alone == rows(2)
    assert alone != rows(1, seed=4)


@pytest.mark.parametrize(
    ("threat", "limits", "value"),
    [
        ("no samples", ("stale", "seldom"), 10.0),
        ("low supply", ("bus_min",), 0.1),
        ("high supply", ("bus_max",), 100.0),
        ("gyro or accelerometer axis stuck", ("stuck",), 10.0),
        ("torque reading biased badly", ("torque_error",), 100.0),
        ("accelerometer biased badly", ("lean_error",), 100.0),
        ("steer encoder slips far", ("steer_jump", "steer_error"), 100.0),
        ("wheel sensor reversed", ("speed_min",), -100.0),
        ("drive reverses", ("torque_error", "lean", "steer", "lean_error", "steer_error"), 100.0),
    ],
)
def test_a_monitor_that_sleeps_is_found_out(threat, limits, value):
    def sleep(loop):
        for limit in limits:
            loop.limits[limit] = value if limit != "seldom" else 0.0

    case = case_of(threat)
    case = replace(case, faults=(replace(case.faults[0], stop=math.inf),))
    assert judge_case(case, play_case(case)).complaints == ()
    assert judge_case(case, play_case(case, sleep)).complaints != ()


def test_a_slow_ramp_is_found_out():
    case = case_of("low supply", FaultOnset.IN_A_KICK)
    complaints = judge_case(case, play_case(case, lambda loop: loop.limits.__setitem__("ramp", 1.0))).complaints
    assert any("torque for" in complaint for complaint in complaints), complaints


def test_lax_limits_are_found_out():
    case = case_of("one bit flipped, once", FaultOnset.IN_A_KICK)
    strict = replace(CASE_LIMITS, torque=Limit(0.1, "N m", "stricter than it was played with"))
    assert any("was asked for" in complaint for complaint in judge_case(case, play_case(case), strict).complaints)
    strict = replace(CASE_LIMITS, torque_rate=Limit(5.0, "N m/s", "stricter than it was played with"))
    assert any("asked to change" in complaint for complaint in judge_case(case, play_case(case), strict).complaints)


def altered(played: Played, **changes) -> Played:
    """The same, with columns of the diary (``d_``) or the rows set to other values from a row on."""
    rows, diary = played.rows.copy(), played.diary.copy()
    for name, (first, value) in changes.items():
        (diary if name.startswith("d_") else rows)[name.removeprefix("d_")][first:] = value
    return replace(played, rows=rows, diary=diary)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": (-1, State.RUNNING)}, "ended in RUNNING"),
        ({"d_on": (-1, 1)}, "the drive is on at the end"),
        ({"d_T": (-3, 0.5)}, "torque at the end"),
        ({"d_T_asked": (-1, 0.5)}, "outside RUNNING and RAMPDOWN"),
        ({"d_phi": (430, 1.0)}, "beyond the limit of lean"),
        ({"k": (500, 0)}, "rows are missing"),
        ({"n_wire": (500, 0)}, "bytes are missing"),
        ({"cause": (450, Cause.LEAN_LIMIT)}, "ended by LEAN_LIMIT, should have been ridden through"),
        ({"cause": (450, Cause.LEAN_LIMIT), "state": (450, State.FAULT)}, "after LEAN_LIMIT, allowed"),
        ({"cause": (5, Cause.LEAN_LIMIT)}, "before the fault began"),
    ],
)
def test_what_the_records_show_is_judged(changes, words):
    case = case_of("one bit flipped, once")
    played = play_case(case)
    assert judge_case(case, played).complaints == ()
    complaints = judge_case(case, altered(played, **changes)).complaints
    assert any(words in complaint for complaint in complaints), complaints


def test_a_wrong_name_is_judged():
    case = case_of("stop button")
    played = play_case(case)
    k = int(np.argmax(played.rows["cause"] > 0))
    complaints = judge_case(case, altered(played, cause=(k, Cause.LEAN_LIMIT))).complaints
    assert any("LEAN_LIMIT, which does not name it" in complaint for complaint in complaints), complaints


def test_a_session_that_begins_with_nonsense_is_refused():
    case = draw_case(3, [threat.name for threat in THREATS].index("hello without a scale"))
    played = play_case(case)
    assert "gyro_lsb" in played.refused
    assert judge_case(case, played).outcome == REFUSED
    assert (
        judge_case(case, play_case(replace(case, faults=()))).complaints[-1]
        == "was armed, and should have been refused"
    )


def test_logs_go_to_disk_and_come_back(verdicts):
    assert sum(is_written(draw_case(1, verdict.index)) for verdict in verdicts) >= len(verdicts) // WRITTEN_EVERY
    case = case_of("frames doubled")
    played = play_case(case)
    assert check_written_log(case, played) == []
    other = played.rows.copy()
    other["T_cmd"][500] += 1e-9
    assert any("replay differs at tick 501" in wrong for wrong in check_written_log(case, replace(played, rows=other)))


def test_story_tells_the_fault_and_its_end():
    case = case_of("no samples")
    words = [line[0] for line in timeline(case, play_case(case))]
    assert any("FAULT BEGINS" in word for word in words)
    assert any("cause STALE_SAMPLE" in word and "state FAULT" in word for word in words)
    assert "no samples, RUNNING" in describe_case(case)


def test_tally_counts_and_names_the_command_that_replays(verdicts):
    broken = [replace(v, complaints=("a promise",) if v.index == 3 else ()) for v in reversed(verdicts)]
    rows = tally(broken, seed=8)
    assert [row.fault for row in rows] == [threat.name for threat in THREATS]
    assert sum(row.cases for row in rows) == len(verdicts)
    assert all(sum(n for _, n in row.outcomes) == row.cases for row in rows)
    assert [v for row in rows for v in row.violations] == [
        f"{THREATS[3].name}: a promise: riderless faults --seed 8 --case 3"
    ]


ROW = FaultRow("a fault", 3, (("rode through", 2), ("LEAN_LIMIT", 1)), 0.0421, "either", False)


def test_tables():
    assert (
        summary_markdown([ROW]).splitlines()[2]
        == "| a fault | 3 | 42 ms | either | NO | rode through 2, LEAN_LIMIT 1 |"
    )
    assert summary_text([replace(ROW, worst=math.nan, log_intact=True)]).splitlines()[1].split() == [
        *("a", "fault", "3", "-", "either", "yes", "rode", "through", "2,", "LEAN_LIMIT", "1")
    ]
    assert len(summary_markdown([ROW]).splitlines()[0].split("|")) == len(SUMMARY_COLUMNS) + 2


def test_document():
    text = campaign_markdown([ROW], 6)
    assert text.startswith("# Faults: `riderless faults --seed 6`\n\n3 cases, 0 broken promises.\n")
    assert summary_markdown([ROW]) in text
    assert all(threat.why in text for threat in THREATS)
    assert "Promises" not in campaign_markdown([ROW], 6, real_time=True)


def test_a_document_that_is_there_is_kept(tmp_path):
    page = tmp_path / "faults.md"
    assert command("--count", "2", "--jobs", "1", "--doc", str(page)).exit_code == 0
    kept = page.read_text()
    assert "2 cases, 0 broken promises" in kept
    assert command("--count", "1", "--jobs", "1", "--doc", str(page)).exit_code != 0
    assert page.read_text() == kept


@pytest.mark.parametrize(("count", "seed", "words"), [(0, 1, "1 or more, found 0"), (5, -1, "found -1")])
def test_campaigns_of_nonsense_are_refused(count, seed, words):
    with pytest.raises(InputError, match=words):
        campaign.run_cases(count, seed, jobs=1)


def command(*arguments: str):
    import typer

    from riderless.experiments.commands.faults import faults

    app = typer.Typer()
    app.command()(faults)
    return CliRunner().invoke(app, arguments)


def test_command_prints_a_table():
    shown = command("--count", "8", "--jobs", "1")
    assert shown.exit_code == 0, shown.output
    assert "every promise was kept" in shown.output
    assert THREATS[7].name in shown.output


def test_command_in_json_and_one_case():
    told = json.loads(command("--count", "3", "--jobs", "1", "--json").stdout)
    assert told["violations"] == []
    assert [row["cases"] for row in told["rows"]] == [1, 1, 1]
    one = command("--seed", "1", "--case", "2")
    assert one.exit_code == 0
    assert "FAULT BEGINS" in one.output
    assert command("--case", "-1").exit_code != 0


def test_command_fails_when_a_promise_is_broken(monkeypatch):
    monkeypatch.setattr("riderless.experiments.fault_injection.judge.QUIET_TIME", 10.0)  # no torque at all is allowed
    shown = command("--count", "1", "--jobs", "1")
    assert shown.exit_code == 1
    assert "riderless faults --seed 1 --case 0" in shown.output.replace("\n", " ")


def test_plan_fits_the_moments():
    assert RUN_AT < STOP_AT
    assert all(threat.why for threat in THREATS), "each promise has its reason"
    names = [threat.name for threat in THREATS]
    assert len(names) == len(set(names))
