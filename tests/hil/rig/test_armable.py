"""What can be known beforehand to keep a machine from being armed is refused before anything is opened or asked."""

from dataclasses import replace

import pytest

from riderless.hil.design.methods import design
from riderless.hil.loop.limits import Limit, Limits, RecordedLimits
from riderless.hil.rig.armable import require_armable
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.emulation import emulated_node, emulated_supply
from riderless.models import catalogue
from riderless.models.errors import InputError

SILVER = catalogue.load_bicycle("Silver")
GAINS = design(SILVER, "lqr", (4.0, 5.0, 6.0))
GAINS_REACH = 0.5  # m/s beyond the speeds of the gains
OFF = design(SILVER, "off", (5.0,))


def limited(**values):
    units = {name: vars(Limits())[name].unit for name in values}
    return RecordedLimits(**{name: Limit(value, units[name], "test") for name, value in values.items()})


def rig(**values):
    return Rig(SILVER, **values)


# each line: what can never come true, its rig, gains and speed, and what the sentence must tell
HOPELESS = {
    "a watchdog shorter than two periods": (rig(watchdog=0.009), GAINS, None, ("watchdog_s", "9 ms", "10 ms", "raise")),
    "samples too old at once": (
        rig(rate=100.0, watchdog=0.05, limits=limited(stale=0.012)),
        GAINS,
        None,
        ("'stale'", "12 ms", "20 ms"),
    ),
    "a check longer than its time-out": (
        rig(limits=limited(check=12.0)),
        GAINS,
        None,
        ("'check'", "'check_timeout'", "12 and 10 s"),
    ),
    "a supply of no volts": (
        rig(limits=limited(bus_min=30.0, bus_max=20.0)),
        GAINS,
        None,
        ("'bus_min'", "'bus_max'", "30 and 20 V"),
    ),
    "gains faster than the rig": (
        rig(limits=limited(speed_max=3.0)),
        GAINS,
        None,
        ("4 to 6 m/s", "0.3 to 3 m/s", "design"),
    ),
    "gains slower than the rig": (rig(limits=limited(speed_min=6.5)), GAINS, None, ("4 to 6 m/s", "6.5 to 10 m/s")),
    "a speed above the rig's": (rig(), OFF, 50.0, ("50 m/s", "0.3 to 10 m/s", "choose a speed within")),
    "a speed below the rig's": (rig(), OFF, 0.1, ("0.1 m/s", "0.3 to 10 m/s")),
    "a speed above the gains'": (rig(), GAINS, 8.0, ("4 to 6 m/s", "8 m/s", "--speeds 4:8:0.5")),
    "a speed below the gains'": (rig(), GAINS, 2.0, ("4 to 6 m/s", "2 m/s", "--speeds 2:6:0.5")),
    "no speed at all": (rig(), OFF, float("nan"), ("nan m/s",)),
}


@pytest.mark.parametrize("case", HOPELESS)
def test_what_can_never_be_armed_is_refused_in_one_sentence(case):
    machine, gains, speed, told = HOPELESS[case]
    with pytest.raises(InputError) as refusal:
        require_armable(machine, gains, speed)
    for words in told:
        assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("speed", [None, 4.0 - GAINS_REACH, 5.0, 6.0 + GAINS_REACH])
def test_what_can_be_armed_is_not_refused(speed):
    require_armable(rig(), GAINS, speed)


def test_without_torque_any_speed_of_the_rig_will_do():
    require_armable(rig(), OFF, 9.0)


@pytest.mark.parametrize(("lowest", "highest", "supply"), [(20.0, 30.0, 24.0), (36.0, 50.4, 43.2), (9.0, 14.0, 11.5)])
def test_an_emulated_battery_suits_the_rig(lowest, highest, supply):
    machine = replace(rig(), limits=limited(bus_min=lowest, bus_max=highest))
    assert emulated_supply(machine) == pytest.approx(supply)
    assert emulated_node(machine).bus == pytest.approx(supply)
