"""One slow cause behind several readings: they agree with each other by routes of their own, and rides are judged."""

from itertools import pairwise

import numpy as np
import pytest

from riderless.experiments.fault_injection.cases import CaseOptions, draw_case
from riderless.experiments.fault_injection.danger import LEANING_TIME
from riderless.experiments.fault_injection.judge import judge_case
from riderless.experiments.fault_injection.machines import rig_and_gains
from riderless.experiments.fault_injection.simulate import play_case
from riderless.experiments.fault_injection.threats.fault_list import ThreatPool, threats_of
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.models.coordinates import DELTA
from riderless.models.linear.path import heading_rate
from tests.paths import ROOT

COUPLED = CaseOptions(pool=ThreatPool.COUPLED)
CASES = [draw_case(7, index, COUPLED) for index in range(10)]


def by_channel(case):
    return {fault.channel: fault for fault in case.faults}


@pytest.mark.parametrize("case", [case for case in CASES if "bracket" in case.name], ids=str)
def test_gyro_and_accelerometer_on_a_bracket_tell_one_angle(case):
    force, rate = by_channel(case)["a_y"], by_channel(case)["phi_dot"]
    assert (force.kind, rate.kind) == (Kind.DRIFT, Kind.BIAS)
    assert (force.start, force.stop) == (rate.start, rate.stop)
    turned = rate.size * (rate.stop - rate.start)  # rad, and to the right: its axis points down, a force to the left
    assert -9.81 * turned == pytest.approx(force.size, rel=1e-3)


@pytest.mark.parametrize("case", [case for case in CASES if "encoder" in case.name], ids=str)
def test_yaw_gyro_and_encoder_roll_without_slip(case):
    bicycle = rig_and_gains(*case.machine)[0].bicycle
    v = case.scenario.speed[0][1]
    steer, yaw = by_channel(case)["delta"], by_channel(case)["psi_dot"]
    x = np.zeros(4)
    x[DELTA] = steer.size
    assert heading_rate(bicycle, v, x) == pytest.approx(yaw.size, rel=1e-9)


def test_supply_and_torque_go_down_together_and_the_supply_stays_in_its_window():
    case = next(case for case in CASES if "supply" in case.name)
    weaker = [fault for fault in case.faults if fault.kind is Kind.DRIVE_CLAMP]
    supply = [fault for fault in case.faults if fault.kind is Kind.BUS]
    assert len(weaker) == len(supply) == 60
    assert [(f.start, f.stop) for f in weaker] == [(f.start, f.stop) for f in supply]
    for values in (weaker, supply):
        assert all(a.size > b.size for a, b in pairwise(values))
    assert 20.0 < supply[-1].size < supply[0].size < 24.0


def test_gyros_warm_up_alike():
    case = next(case for case in CASES if "warm" in case.name)
    assert set(by_channel(case)) == {"phi_dot", "theta_dot", "psi_dot"}
    assert len({fault.size for fault in case.faults}) == 1


def test_of_what_nothing_aboard_tells_the_page_tells():
    page = (ROOT / "docs/safety.md").read_text(encoding="utf-8")
    told = page.partition("## What cannot be seen from aboard")[2].partition("\n## ")[0]
    for pool in ThreatPool:
        for threat in threats_of(pool):
            if threat.unseen or threat.deaf:
                words = {"wheel sensor drifts": "wheel sensor that drifts", "drive deaf": "(deaf)"}
                words |= {"IMU turns on its bracket": "IMU that turns", "place drifts": "place that drifts"}
                words |= {"yaw gyro and steer encoder drift alike": "yaw gyro and encoder that drift"}
                assert words.get(threat.name, threat.name) in told, threat.name


def test_a_bracket_that_turns_far_is_found_too_late_and_that_is_counted():
    """Found by a campaign: torque beyond a true lean of 30 deg for longer than is promised elsewhere."""
    case = draw_case(58011, 251, COUPLED)
    result = judge_case(case, play_case(case))
    assert result.danger.leaning > LEANING_TIME
    assert result.declared
    assert not result.complaints
