"""What a run in real time refuses before it opens a port, and what a drive must say that obeys a rate or an angle."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.messages import COMMAND_KIND_ANGLE, COMMAND_KIND_RATE, COMMAND_KIND_TORQUE
from riderless.hil.design.methods import design
from riderless.hil.guidance.rideable import RideLimits
from riderless.hil.guidance.route import plan_route
from riderless.hil.guidance.shapes import circle
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.limits import RecordedLimits
from riderless.hil.loop.reference import Reference
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.rig import RigPort
from riderless.hil.rig.task import Task
from riderless.hil.runners import session
from riderless.hil.runners.emulation import Emulation
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from tests.hil.machine import gains, rig_of
from tests.paths import ROOT

APART = (RigPort("/dev/imu", carries=("sensors",)), RigPort("/dev/drive", carries=("drive",)))
SENSORS = Introduction("sensors", 200)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run on ports that must not be opened."""

    def opened(*_):
        raise AssertionError("a port was opened")

    monkeypatch.setattr(session, "open_line", opened)
    monkeypatch.setattr(session, "warm_up", lambda rig, schedule: None)

    def run(rig=None, schedule=None, duration=1.0, folder=tmp_path / "run", paths=None, **how):
        rig = rig or rig_of()
        paths = ["/dev/none"] * len(rig.ports) if paths is None else paths
        return session.run_realtime(folder, rig, schedule or gains(rig), paths, duration, **how)

    return run


def test_a_present_operator_must_be_able_to_look_on(run):
    with pytest.raises(InputError, match="asks for a present operator"):
        run(replace(rig_of(), present=True))


@pytest.mark.parametrize("paths", [[], ["/dev/imu", "/dev/drive"]])
def test_there_is_a_path_for_each_port(run, paths):
    with pytest.raises(InputError, match=rf"has ports, 1, found {len(paths)} \(.*give one for each, in the order"):
        run(paths=paths)


def test_a_folder_may_be_a_text(run, tmp_path):
    with pytest.raises(AssertionError, match="a port was opened"):
        run(folder=str(tmp_path / "run"))


def test_a_reference_must_be_followed(run):
    with pytest.raises(InputError, match="follows no reference"):
        run(task=Task(reference=Reference(((0.0, 0.1, 0.0, 0.0),))))


def test_a_speed_can_be_asked_of_a_treadmill_only(run):
    with pytest.raises(InputError, match=r"no \[speed_drive\]"):
        run(task=Task(asked_speeds=((0.0, 5.0),)))


def test_a_drive_that_obeys_a_rate_lets_nothing_go(run):
    rig = rig_of(drive=InnerLoop(kind="rate", bandwidth=50.0, damping=1.0))
    released = Excitation("push", 1.0, 0.2, releases=((1.0, 2.0),))
    with pytest.raises(InputError, match="a release takes the torque off"):
        run(rig, design(rig.bicycle, "lqr", (4.5, 5.0, 5.5), rig.timing, drive=rig.drive), task=Task(released))


def test_a_route_wants_a_controller_that_keeps_it(run):
    rig = rig_of()
    with pytest.raises(InputError, match="lane"):
        run(rig, task=Task(route=plan_route(rig.bicycle, circle(16.0), 5.0, RideLimits())))


def test_the_linear_plant_rides_no_circle(run):
    rig = read_rig(ROOT / "docs" / "rigs" / "rtk.toml")
    lane = gains(rig, "lane", (4.0, 4.5, 5.0))
    circling = Task(route=plan_route(rig.bicycle, circle(12.0), 4.5, RideLimits()))
    with pytest.raises(InputError, match="linear plant knows small headings only"):
        run(rig, lane, task=circling, extra={"emulation": Emulation("linear")})
    for real in ({"emulation": Emulation("nonlinear")}, {}):
        with pytest.raises(AssertionError, match="a port was opened"):
            run(rig, lane, task=circling, extra=real)


def test_gains_must_balance_the_bicycle(run):
    rig = rig_of()
    right = gains(rig)
    with pytest.raises(InputError, match="fall"):
        run(rig, replace(right, K=-np.asarray(right.K)))


def test_the_first_speed_must_be_one_at_which_it_may_be_armed(run):
    with pytest.raises(InputError, match="at 50 m/s the bicycle cannot be armed"):
        run(speeds=(50.0, 5.0))


def test_the_disk_must_have_room(run):
    with pytest.raises(InputError, match="room"):
        run(duration=1e9)


def test_limits_of_an_old_log_open_no_port():
    lax = replace(rig_of(), limits=RecordedLimits(lean=replace(rig_of().limits.lean, value=30.0)))
    with pytest.raises(InputError, match="'lean' must lie between"), session.open_devices(lax, ["/dev/none"]):
        pass


# what a drive must say


def steered(kind):
    return rig_of(ports=APART, drive=InnerLoop(kind=kind, damping=1.0 if kind == "angle" else None))


@pytest.mark.parametrize(("kind", "number"), [("rate", COMMAND_KIND_RATE), ("angle", COMMAND_KIND_ANGLE)])
def test_a_drive_must_obey_the_kind_of_the_rig(kind, number):
    rig = steered(kind)
    session.agree_with_devices(rig, [SENSORS, Introduction("drive", obeys=1 << number)])
    for obeys in (1 << COMMAND_KIND_TORQUE, 0):
        with pytest.raises(InputError, match=f"obeys a steer {kind}, and 'drive' does not"):
            session.agree_with_devices(rig, [SENSORS, Introduction("drive", obeys=obeys)])


@pytest.mark.parametrize(
    ("kind", "number", "name"),
    [("rate", COMMAND_KIND_RATE, "rate_limit"), ("angle", COMMAND_KIND_ANGLE, "angle_limit")],
)
def test_a_drive_must_reach_what_the_rig_allows_to_the_rounding_of_its_counts(kind, number, name):
    rig = steered(kind)
    allowed = float(rig.limits.as_record(kind)["command"])

    def agreed(greatest):
        return session.agree_with_devices(rig, [SENSORS, Introduction("drive", obeys=1 << number, **{name: greatest})])

    for greatest in (None, allowed + 1.0, allowed, allowed - 1e-3):
        agreed(greatest)
    with pytest.raises(InputError, match=f"allows a steer {kind} of"):
        agreed(allowed - 1.1e-3)


def test_a_weak_torque_is_no_matter_of_a_drive_that_obeys_a_rate_nor_the_other_way_round():
    session.agree_with_devices(steered("rate"), [SENSORS, Introduction("d", obeys=1 << 1, torque_limit=0.1)])
    session.agree_with_devices(rig_of(ports=APART), [SENSORS, Introduction("d", rate_limit=0.01, angle_limit=0.01)])


def test_every_device_gets_a_number_of_its_own_and_the_drive_its_kind(monkeypatch):
    told = []

    def introduce(port, wants):
        told.append(wants)
        return Introduction(port)

    monkeypatch.setattr(session, "device", lambda name: SimpleNamespace(introduce=introduce, settled=dict))
    for _ in range(50):
        session.introduce_devices(steered("angle"), ["A", "B"])
    assert [(a.kind, b.kind) for a, b in zip(told[::2], told[1::2], strict=True)] == 50 * [
        (COMMAND_KIND_TORQUE, COMMAND_KIND_ANGLE)
    ]
    numbers = {wants.nonce for wants in told}
    assert len(numbers) == len(told)
    assert all(0 < number < 2**32 for number in numbers)
    assert max(numbers) > 2**30  # of 32 bits: below that a hundred numbers are once in 10^12 times


def test_numbers_of_devices_are_all_that_fit_in_32_bits_but_zero(monkeypatch):
    told, drawn, asked = [], iter((0, 2**32 - 2)), []
    driver = SimpleNamespace(introduce=lambda port, wants: told.append(wants.nonce), settled=dict)
    monkeypatch.setattr(session, "device", lambda name: driver)
    monkeypatch.setattr(session.secrets, "randbelow", lambda most: asked.append(most) or next(drawn))
    session.introduce_devices(rig_of(ports=APART), ["A", "B"])
    assert asked == [2**32 - 1] * 2
    assert told == [1, 2**32 - 1]


def test_a_port_too_few_is_no_set_of_devices(monkeypatch):
    monkeypatch.setattr(session, "device", lambda name: SimpleNamespace(introduce=lambda *_: SENSORS, settled=dict))
    with pytest.raises(ValueError, match="zip"):
        session.introduce_devices(rig_of(ports=APART), ["A"])
