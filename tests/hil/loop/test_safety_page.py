"""docs/safety.md names every event that the supervisor knows, and its table never leads to torque by itself."""

from riderless.hil.loop.limits import MACHINE_LIMITS
from riderless.hil.loop.transitions import NEXT_STAGE, OBSTACLES, RULES, STAY, Stage
from tests.paths import DOCS


def test_the_page_names_what_switches_off_and_what_ramps_down():
    page = " ".join((DOCS / "safety.md").read_text(encoding="utf-8").split())
    lists = {Stage.FAULT: "**Off at once.**", Stage.RAMPDOWN: "**Ramp, then off.**", Stage.DISARMED: "**Not armed.**"}
    for rule in RULES:
        stage = rule.goes.get(Stage.RUNNING)
        if stage is None and rule.goes.get(Stage.CLEAR) is Stage.DISARMED and rule.event in OBSTACLES:
            stage = Stage.DISARMED
        elif rule.event == "off" or stage is Stage.RUNNING:
            continue
        if stage in lists:
            assert rule.event in page.partition(lists[stage])[2].partition("**")[0], rule.event
    assert all(f"`{name}`" in page for name in MACHINE_LIMITS)


def test_the_table_never_leads_to_torque_but_by_an_operator_who_wants_to_run():
    for stage in Stage:
        for i, rule in enumerate(RULES):
            if NEXT_STAGE[stage, i] == Stage.RUNNING:
                assert (stage, rule.event) == (Stage.ARMED, "go")
            if stage is Stage.FAULT and NEXT_STAGE[stage, i] != STAY:
                assert rule.event == "acknowledged"
            if stage is Stage.DISARMED and NEXT_STAGE[stage, i] != STAY:
                assert rule.event == "arm"


def test_off_comes_first_and_is_heeded_wherever_the_drive_may_be_on():
    assert RULES[0].event == "off"
    assert {Stage(s) for s in Stage if NEXT_STAGE[s, 0] == Stage.DISARMED} == set(Stage) - {Stage.DISARMED, Stage.FAULT}


def test_what_is_hard_under_torque_is_in_the_way_before_it():
    for rule in RULES:
        if rule.goes.get(Stage.RUNNING) is Stage.FAULT and rule.event not in OBSTACLES:
            assert rule.event in ("stale sample", "watchdog tripped", "drive went off", "off the belt")
