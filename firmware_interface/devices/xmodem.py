"""CRC-16/XMODEM: polynomial 0x1021, initial value 0, no reflection; of VectorNav and VESC."""

import numpy as np
from numba import njit


def _table() -> np.ndarray:
    crc = np.arange(256, dtype=np.uint32) << 8
    for _ in range(8):
        crc = (crc << 1) ^ np.where(crc & 0x8000, 0x1021, 0).astype(np.uint32)
    return (crc & 0xFFFF).astype(np.uint16)


_TABLE = _table()


@njit(cache=True, nogil=True)
def crc_xmodem(data, start, stop):
    """CRC of ``data[start:stop]``; over data and their own CRC, high byte first, it is 0. Runs inside the tick."""
    crc = np.uint32(0)
    for i in range(start, stop):
        crc = np.uint32((crc << 8) & 0xFFFF) ^ _TABLE[(crc >> 8) ^ data[i]]
    return crc
