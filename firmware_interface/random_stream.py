"""Stream of random numbers in a record.

The record holds its state, so that a copied twin carries on identically. The record has a field ``word`` (u8), and one
seed gives one stream: splitmix64 (Steele, Lea and Flood 2014), made normal by Box and Muller's transform.
`riderless.models.plant.sensors` has the same generator, for no room imports another's.
"""

import numpy as np

from riderless.firmware_interface.kernels import njit


@njit(cache=True, nogil=True)
def draw_uniform(s):
    """Next number of the stream, from 0 to below 1."""
    s.word += np.uint64(0x9E3779B97F4A7C15)
    z = s.word
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def draw_normal(s):
    """Next number of the stream as one of the standard normal distribution, made of two."""
    return np.sqrt(-2.0 * np.log(1.0 - draw_uniform(s))) * np.cos(2.0 * np.pi * draw_uniform(s))
