"""Python twin without a line: behind a port in memory, and as a device of simulated time.

Compiled code of simulated time calls its devices by address. These addresses may be those of Python functions as well:
four times slower than a compiled twin (`quick.Quick`), but any twin will do.
"""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from riderless.firmware_interface.devices.driver import DeviceRequirements, Introduction
from riderless.firmware_interface.devices.link import RX_SIZE
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.port import SerialPort
from riderless.firmware_interface.twins.machine import new_twin
from riderless.firmware_interface.twins.quick import OWN_FILE, QUICK_TWIN
from riderless.firmware_interface.twins.twin import STEP_RATE, Twin, TwinConfig

_AT_REST = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -9.81, 0.0, 0.0, 0.0])  # readings of a bicycle that stands
_MADE = np.dtype(QUICK_TWIN).fields["made"][1]  # type: ignore[index]  # bytes, where a record has what its drive follows
_SOON = 1e-9  # s, below which a step is not one more
_Whole, _Real = ctypes.c_int64, ctypes.c_double
_Pointer = ctypes.c_void_p


class TwinPort(SerialPort):
    """Port in memory with a twin behind it; whoever listens lets the twin's time pass.

    Parameters
    ----------
    twin : Twin
    name : str
        Of the device.
    baud : int
        Of its line, which takes no time.
    readings : (9,) ndarray
        What its sensors measure, as for ``calibration.to_counts``.
    """

    def __init__(self, twin: Twin, name: str, baud: int, readings: np.ndarray) -> None:
        self.path, self.baud, self.low_latency = f"memory:{name}", baud, True
        self.twin, self.k = twin, 0  # steps so far
        self._readings = readings

    def step(self, data: bytes = b"") -> bytes:
        """Let one step of the twin pass, at whose beginning ``data`` arrives; returns what it says."""
        t = self.k / STEP_RATE
        answer = self.twin.hear(data, t) if data else b""
        self.k += 1
        return answer + self.twin.instant(t, self._readings.copy())

    def ask_and_listen(self, request: Callable[[int], bytes], timeout: float, again: float) -> Iterator[bytes]:
        """Ask, and yield what comes in, in the twin's time."""
        every = max(1, round(again * STEP_RATE))
        for k in range(round(timeout * STEP_RATE)):
            answer = self.step(request(k // every) if k % every == 0 else b"")
            if answer:
                yield answer


class HostedTwin:
    """Python twin as a device of simulated time, introduced by its driver.

    Attributes
    ----------
    record : record of QUICK_TWIN
        With the addresses of this object's functions: it must not outlive the object.
    introduction : Introduction
    """

    def __init__(self, name: str, port: int, config: TwinConfig, wants: DeviceRequirements) -> None:
        self._name, self._twin = name, new_twin(name, config)
        in_memory = TwinPort(self._twin, name, int(config.settings["baud"]), _AT_REST)
        self.introduction: Introduction = device(name).introduce(in_memory, wants)
        self._begin = in_memory.k / STEP_RATE  # s, of the twin's time when simulated time begins
        self._next, self._pending = 0.0, b""  # s, of its next step; what it has said since it was last listened to
        self._readings = _AT_REST
        self._error: Exception | None = None
        self.record = np.zeros(1, QUICK_TWIN)[0]
        self.record["kind"], self.record["port"] = OWN_FILE, port
        hear = ctypes.CFUNCTYPE(_Whole, _Pointer, _Pointer, _Whole, _Real, _Pointer)(self._hear)
        tell = ctypes.CFUNCTYPE(_Whole, _Pointer, _Real, _Pointer, _Pointer)(self._tell)
        output = ctypes.CFUNCTYPE(_Whole, _Pointer, _Real)(self._output)
        self._kept = hear, tell, output
        for field, function in zip(("hear", "tell", "output"), self._kept, strict=True):
            self.record[field] = ctypes.cast(function, _Pointer).value

    def require_no_error(self) -> None:
        """Raise DeviceError where the twin stopped: an error cannot pass through compiled code."""
        if self._error is not None:
            raise DeviceError(f"the twin of {self._name} stops: {self._error!r}; correct it") from self._error

    def _hear(self, record: int, data: int, n: int, t: float, readings: int) -> int:
        if n > 0 and self._error is None:
            self._try(lambda: self._twin.hear(ctypes.string_at(data, n), self._begin + t))
        return 0

    def _tell(self, record: int, t: float, readings: int, out: int) -> int:
        self._step_until(t)
        self._readings = np.frombuffer(ctypes.string_at(readings, 8 * len(_AT_REST))).copy()
        self._step(t)
        message, self._pending = self._pending[:RX_SIZE], self._pending[RX_SIZE:]
        ctypes.memmove(out, message, len(message))
        return len(message)

    def _output(self, record: int, t: float) -> int:
        self._step_until(t)
        _Real.from_address(record + _MADE).value = self._twin.T
        return int(self._twin.enabled and self._error is None)

    def _step_until(self, t: float) -> None:
        """Step as the machine in real time does, with the readings of the latest sample, to just before ``t`` [s]."""
        while self._next < t - _SOON:
            self._step(self._next)

    def _step(self, t: float) -> None:
        self._next = t + 1.0 / STEP_RATE
        if self._error is None:
            self._try(lambda: self._twin.instant(self._begin + t, self._readings.copy()))

    def _try(self, speak: Callable[[], Any]) -> None:
        try:
            self._pending += speak()
        except Exception as error:  # whatever a person wrote
            self._error = error
