"""ASCII text among bytes, compiled.

A message is put together from fixed words.
"""

import numpy as np

from riderless.firmware_interface.kernels import njit


def ascii_bytes(words: str) -> np.ndarray:
    """Encode a text for `append_text`, (n,) uint8."""
    return np.frombuffer(words.encode("ascii"), np.uint8)


@njit(cache=True, nogil=True)
def append_text(out, n, words):
    """Write a text at ``n``; returns where it ends. Runs inside the tick."""
    for i in range(words.size):
        out[n + i] = words[i]
    return n + words.size
