"""Faults of what keeps the speed: promises kept, and broken where the loop's judgement is put out of action."""

from riderless.experiments.fault_injection.campaign import run_cases
from riderless.experiments.fault_injection.cases import CaseOptions, draw_case
from riderless.experiments.fault_injection.judge import judge_case
from riderless.experiments.fault_injection.machines import PACED_SPACE
from riderless.experiments.fault_injection.simulate import play_case
from riderless.experiments.fault_injection.threats.fault_list import ThreatPool
from riderless.experiments.fault_injection.threats.fault_spec import SpeedKind
from riderless.experiments.fault_injection.threats.speed_faults import SPEED_THREATS
from riderless.firmware_interface.twins.speed.belt import BELT_FAULTS

SPEED = CaseOptions(pool=ThreatPool.SPEED)
NAMES = [threat.name for threat in SPEED_THREATS]


def test_every_fault_of_a_twin_is_a_threat():
    assert {threat.what.value for threat in SPEED_THREATS} == set(BELT_FAULTS) == {kind.value for kind in SpeedKind}


def test_promises_are_kept_also_by_the_replay_of_a_written_log():
    results = run_cases(len(NAMES), seed=5, jobs=1, options=SPEED)
    assert [result.complaints for result in results if result.complaints] == []
    outcomes = {name: {result.outcome for result in results if result.threat == name} for name in NAMES}
    assert outcomes["speed drive silent"] == outcomes["speed drive runs away"] == {"SPEED_DRIVE"}
    assert outcomes["speed drive silent for a moment"] == outcomes["nothing wrong with the speed"] == {"rode through"}
    assert {draw_case(5, index, SPEED).machine for index in range(200)} == set(PACED_SPACE.machines)


def test_a_loop_that_judges_nothing_breaks_them():
    def trust(loop):
        loop.pace["lost_after"] = loop.pace["follow_error"] = 1e6

    for name in ("speed drive silent", "speed drive stands still"):
        case = draw_case(5, NAMES.index(name), SPEED)
        assert judge_case(case, play_case(case)).complaints == ()
        assert judge_case(case, play_case(case, trust)).complaints
