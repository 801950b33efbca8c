"""Opening ports: each failure has its own sentence."""

import os

import pytest
import serial

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.port import open_port


def test_open_port(terminal):
    master, path = terminal
    os.write(master, b"stale")
    with open_port(path, 115200) as port:
        assert port.path == path
        assert port.low_latency is False  # a pseudo-terminal has no such mode
        assert not os.get_blocking(port.fd)
        with pytest.raises(BlockingIOError):
            os.read(port.fd, 10)
        os.write(port.fd, bytes(range(256)))
        assert os.read(master, 1000) == bytes(range(256))
    port.close()


def test_closing_unlocks(terminal):
    _, path = terminal
    open_port(path).close()
    open_port(path).close()


def test_busy_port(terminal):
    _, path = terminal
    with open_port(path), pytest.raises(DeviceError, match=f"port {path} is held by another program"):
        open_port(path)


def test_missing_port():
    with pytest.raises(DeviceError, match=r"no port /dev/ttyNONE; (ports here: |there is no serial port)"):
        open_port("/dev/ttyNONE")


def test_no_permission(monkeypatch):
    def refuse(*_, **__):
        raise serial.SerialException(13, "could not open port")

    monkeypatch.setattr(serial, "Serial", refuse)
    with pytest.raises(DeviceError, match="no permission to open port /dev/ttyACM0; add yourself to the group"):
        open_port("/dev/ttyACM0")


def test_not_a_serial_port(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    for path in (file, tmp_path, "/dev/null"):
        with pytest.raises(DeviceError, match=f"{path} is not a usable serial port"):
            open_port(str(path))


def test_impossible_baud_rate(terminal):
    with pytest.raises(DeviceError, match="cannot run at -1 baud; give the rate of the node"):
        open_port(terminal[1], -1)


def test_driver_that_fails_at_low_latency(terminal, monkeypatch):
    def fail(_device, _on):
        try:
            raise OSError(5, "Input/output error")
        except OSError as problem:
            raise ValueError("Failed to update") from problem

    monkeypatch.setattr(serial.Serial, "set_low_latency_mode", fail)
    with pytest.raises(DeviceError, match=r"low-latency mode, but its driver failed: .*Input/output error"):
        open_port(terminal[1])
    monkeypatch.undo()
    open_port(terminal[1]).close()  # and the lock is gone
