"""Work for other processes, in a file of its own: it is imported in each of them, and nothing heavy with it."""

import math
import os
import time


def busy(seconds):
    """Work for so long in processor time; who did it."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        math.sqrt(2.0)
    return os.getpid()


def root(x):
    """For the workers: a function that can fail."""
    return math.sqrt(x)
