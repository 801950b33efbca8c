"""First words with the node: each failure has its own sentence."""

import os
import pty
import tty

import pytest

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.node.hello import ask_hello
from riderless.firmware_interface.port import open_port
from tests.firmware_interface.listener import device

HELLO = reference_codec.HelloFrame(0, b"demo".ljust(16, b"\0"), 200, 7000, 25, 2.0**-13, 2.0**-10, 20000, 5)
SAMPLE = reference_codec.Sample(*range(18))


def test_hello(terminal):
    master, path = terminal
    requests = []

    def answer(data: bytes) -> bytes:
        requests.append(data)
        number = reference_codec.decode(data.strip(b"\0")).seq
        # the end of a sample cut in two, a good one, the answer
        return (
            reference_codec.encode(SAMPLE)[20:]
            + reference_codec.encode(SAMPLE)
            + reference_codec.encode(HELLO._replace(seq=number))
        )

    with device(master, answer), open_port(path) as port:
        told = ask_hello(port, timeout=60.0)
    assert requests[0] == b"\0" + reference_codec.encode(reference_codec.HelloRequest(0, 0))
    assert told.name == "demo"
    assert (told.rate_hz, told.steer_counts_per_turn) == (200, 20000)
    assert (told.torque_limit, told.watchdog) == (7.0, 0.025)
    assert (told.gyro_lsb, told.accel_lsb) == (2.0**-13, 2.0**-10)


def test_silent_device(terminal):
    with (
        open_port(terminal[1]) as port,
        pytest.raises(DeviceError, match=r"within 0.3 s, but nothing came; is it powered"),
    ):
        ask_hello(port, timeout=0.3)


@pytest.mark.parametrize(
    ("says", "words"),
    [
        (b"$GPGGA,123519\r\n", r"bytes of something else came \(0 frames rejected\); is it another device"),
        (b"\x11\x00\x22\x33\x00", "frames rejected\\); is it another device, or is 921600 not its baud rate"),
        (reference_codec.encode(SAMPLE), "other good frames came and no HELLO"),
        *(
            (
                reference_codec.frame(bytes([version]) + b"\x01\0\0abc"),  # a sample, as an old node sends them unasked
                f"version 4, but it speaks version {version}; load the firmware of this riderless "
                r"\(make flash in firmware_interface/firmware\)$",
            )
            for version in (1, 2, 3)
        ),
        (reference_codec.frame(b"\x05\x03\0\0abc"), "version 4, but it speaks version 5; update riderless$"),
    ],
)
def test_device_that_says_something_else(terminal, says, words):
    master, path = terminal
    with device(master, lambda _: says), open_port(path) as port, pytest.raises(DeviceError, match=words):
        ask_hello(port, timeout=1.5)  # time for the device's thread to be given a processor


@pytest.mark.parametrize("prompt", [b"", b"\r\nbike login: "])
def test_a_port_that_echoes_is_recognised(terminal, prompt):
    master, path = terminal
    words = "only what was sent to it came back: are transmit and receive wired together, or is a login prompt"
    with device(master, lambda said: said + prompt), open_port(path) as port, pytest.raises(DeviceError, match=words):
        ask_hello(port, timeout=1.5)


def test_a_path_is_no_port():
    with pytest.raises(DeviceError, match=r"^wanted an open port, found '/dev/ttyACM0': open it with open_port$"):
        ask_hello("/dev/ttyACM0")


def test_cable_pulled():
    master, slave = pty.openpty()
    tty.setraw(slave)
    path = os.ttyname(slave)
    os.close(slave)
    with open_port(path) as port:
        os.close(master)
        with pytest.raises(DeviceError, match=f"port {path} should stay open, but failed"):
            ask_hello(port, timeout=0.5)


@pytest.mark.parametrize("occupied_for", [0, 2])
def test_session_is_that_of_the_answer_to_our_own_request(terminal, occupied_for):
    master, path = terminal
    requests = []

    def answer(data: bytes) -> bytes:
        (request,) = [reference_codec.decode(frame) for frame in data.split(b"\0") if frame]
        requests.append(request)
        stale = HELLO._replace(seq=(request.seq - 1000) % 65536, session=99)  # asked for by somebody before us
        granted = HELLO._replace(seq=request.seq, session=77 if len(requests) > occupied_for else 0)
        return reference_codec.encode(stale) + reference_codec.encode(granted)

    with device(master, answer), open_port(path) as port:
        assert ask_hello(port, timeout=60.0, nonce=0xFFFF_FFFF).session == 77
    assert len(requests) == occupied_for + 1
    assert {request.nonce for request in requests} == {0xFFFF_FFFF}
    assert [request.seq for request in requests] == [(0xFFFF + k) % 65536 for k in range(len(requests))]


def test_drive_that_stays_enabled_for_somebody_else(terminal):
    master, path = terminal

    def answer(data: bytes) -> bytes:
        requests = [reference_codec.decode(frame) for frame in data.split(b"\0") if frame]
        return b"".join(reference_codec.encode(HELLO._replace(seq=r.seq, session=0)) for r in requests)

    with (
        device(master, answer),
        open_port(path) as port,
        pytest.raises(DeviceError, match="its drive is enabled for another program: end that one, or switch the node"),
    ):
        ask_hello(port, timeout=1.5, nonce=9)


def test_a_node_says_what_it_obeys_and_is_refused_for_anything_else(terminal):
    master, path = terminal

    def answer(data: bytes) -> bytes:
        (request,) = [reference_codec.decode(frame) for frame in data.split(b"\0") if frame]
        able = HELLO._replace(seq=request.seq, obeys=0b011, rate_limit_mrad_s=6000, kind=request.kind)
        return reference_codec.encode(able if request.kind == 1 else able._replace(session=0))

    with device(master, answer), open_port(path) as port:
        told = ask_hello(port, timeout=60.0, nonce=9, kind=1)
        assert (told.session, told.obeys, told.rate_limit, told.angle_limit) == (5, 0b011, 6.0, None)
        assert told.name == "demo"
        words = "'demo' on .* should obey a steer angle, as the rig's drive does, but it obeys a torque or rate: "
        with pytest.raises(DeviceError, match=words):
            ask_hello(port, timeout=60.0, nonce=9, kind=2)
