"""docs/safety.md holds the very tables the code runs."""

from riderless.hil.loop.limits import Limits
from riderless.hil.loop.transitions import NEXT_STAGE, OBSTACLES, RULES, STAY, Stage
from tests.tools.safety_page import PAGE, page


def test_the_page_is_what_the_code_is():
    text = PAGE.read_text(encoding="utf-8")
    assert page(PAGE) == text, "run `python -m tests.tools.safety_page`"
    for name in Limits().as_dict():
        assert f"`{name}`" in text


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
