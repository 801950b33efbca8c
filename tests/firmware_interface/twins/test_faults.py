"""Faults as they are described: silly ones refused, and packed for compiled code."""

import math

import pytest

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.twins.faults import BOTH_WAYS, READING_NAMES, Fault, pack_faults
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.models.plant.sensors import READINGS as OF_THE_PLANT


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Fault(Kind.DROP, chance=1.5), "chance of a fault must be a probability from 0 to 1, found 1.5"),
        (lambda: Fault(Kind.BURST, -1.0), "size of fault BURST must be from 0.0001 to 0.1 s, found -1.0"),
        (lambda: Fault(Kind.FLIP), "size of fault FLIP must be from 1 to 2000 bits, found 0.0"),
        (lambda: Fault(Kind.DROP, 3.0), "size of fault DROP must be 0: it has none, found 3.0"),
        (lambda: Fault(Kind.BIAS, math.nan), "size of fault BIAS must be"),
        (lambda: Fault(Kind.DROP, start=2.0, stop=1.0), "start at 0 s or later and not stop before, found 2.0 to 1.0"),
        (lambda: Fault(Kind.DROP, start=-1.0), "start at 0 s or later"),
        (lambda: Fault(Kind.DROP, start=math.nan), "start at 0 s or later"),
        (
            lambda: Fault(Kind.DRIFT, 0.5, start=1.0),
            "DRIFT must say when it has grown to its size of 0.5",
        ),
        (lambda: Fault(Kind.STUCK, channel="roll"), "channel must be one of phi_dot, .* found 'roll'"),
        (lambda: Fault(Kind.DROP, way=4), "way must be 1 .up., 2 .down. or 3 .both., found 4"),
        (lambda: Fault(Kind.DROP, seed=-1), "seed must be a whole number from 0, found -1"),
    ],
)
def test_silly_faults_are_refused(make, words):
    with pytest.raises(DeviceError, match=words):
        make()


def test_a_reading_may_be_missing():
    assert math.isnan(pack_faults((Fault(Kind.READS, math.nan),))["size"][0])


def test_channels_are_the_readings_of_a_plant_in_their_order():
    assert OF_THE_PLANT.names == READING_NAMES


def test_packed_as_described():
    faults = (
        Fault(Kind.STUCK, channel="delta", start=1.0),
        Fault(Kind.DROP, chance=0.5, way=BOTH_WAYS, stop=2.0, seed=7),
    )
    packed = pack_faults(faults)
    assert packed["kind"].tolist() == [Kind.STUCK, Kind.DROP]
    assert packed["channel"][0] == 6
    assert packed["start"].tolist() == [1.0, 0.0]
    assert packed["stop"].tolist() == [math.inf, 2.0]
    assert packed["chance"].tolist() == [1.0, 0.5]
    assert packed["way"][1] == BOTH_WAYS
    assert packed["word"][0] != packed["word"][1]
    assert pack_faults(faults)["word"].tolist() == packed["word"].tolist()


def test_numbers_of_the_kinds_never_change():
    """Logs and lists of before carry them."""
    assert (Kind.FLIP, Kind.SLOWING, Kind.SLIP, Kind.DRIVE_HOLDS, Kind.DRIFT) == (0, 11, 24, 30, 31)


def test_told_on_one_line():
    assert str(Fault(Kind.FLIP, 3, start=1.5)) == "FLIP, size 3, start 1.5"
