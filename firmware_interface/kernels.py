"""Numba decorators of all rooms.

Also for drivers and laws in other packages. What they compile with ``cache=True`` lies in a folder of this state of the
sources: see `riderless.firmware_interface.kernel_folder`.
"""

from numba import cfunc, config, njit

from riderless.firmware_interface.kernel_folder import kernel_folder

__all__ = ["cfunc", "njit"]

config.CACHE_DIR = kernel_folder()  # type: ignore[attr-defined]  # numba may have read its settings before
