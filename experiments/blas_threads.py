"""Restriction of BLAS to one thread.

Matrices here are small, and threads that wait for one another cost more than they save. Beside a busy processor an
exponential of four by four takes 37 ms instead of 0.07, and a verdict twice the time of a processor on an idle machine.
"""

import os
import sys

THREADS = "OPENBLAS_NUM_THREADS"


def use_one_blas_thread() -> None:
    """Limit BLAS to one thread, in this process and in those it starts; who has set `OPENBLAS_NUM_THREADS` keeps his.

    A program that wants more for its own matrices asks for them after the import, as with `threadpoolctl`.
    """
    if THREADS in os.environ:
        return
    os.environ[THREADS] = "1"  # read by what is loaded from here on
    if "numpy" in sys.modules:  # by a notebook or a script, which imports it first
        from threadpoolctl import threadpool_limits

        threadpool_limits(1, user_api="blas")
