"""What several of these tests need: records made in one line, and bytes put through the decoder."""

import numpy as np

from riderless.firmware_interface.framing import FRAME_OVERHEAD, MAX_FRAME, close_frame, next_frame
from riderless.firmware_interface.messages import COMMAND, RAW
from riderless.firmware_interface.node.protocol import encode_command, encode_sample

SESSION = 0x5A2B10C3  # of the nodes in these tests, as the document works it out


def record(dtype: np.dtype, **values) -> np.void:
    made = np.zeros(1, dtype)[0]
    for name, value in values.items():
        made[name] = value
    return made


def as_bytes(data: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(data), np.uint8)


def framed(payload: bytes) -> bytes:
    """Frame of a payload, by the compiled codec."""
    out = as_bytes(b"\0" + payload + bytes(FRAME_OVERHEAD))
    return out[: close_frame(out, len(payload))].tobytes()


def encoded(encode, message) -> bytes:
    out = np.full(MAX_FRAME, 0xAA, np.uint8)
    return out[: encode(message, out)].tobytes()


def sample_frame(seq: int, **values) -> bytes:
    return encoded(encode_sample, record(RAW, seq=seq % 65536, **values))


def command_frame(
    seq: int, T: float = 0.0, flags: int = 0, expiry_ms: int = 1000, sample_seq: int = 0, session: int = SESSION
) -> bytes:
    numbers = {"seq": seq % 65536, "sample_seq": sample_seq % 2**32, "session": session}
    return encoded(encode_command, record(COMMAND, T_cmd=T, flags=flags, expiry_ms=expiry_ms, **numbers))


def payloads(decoder: np.void, *chunks: bytes) -> list[bytes]:
    """Payloads of all good frames in the chunks, fed one after the other."""
    found = []
    for chunk in chunks:
        rx, i = as_bytes(chunk), 0
        while i < len(rx):
            i = next_frame(decoder, rx, i, len(rx))
            if decoder["size"] > 0:
                found.append(decoder["payload"][: decoder["size"]].tobytes())
    return found
