"""BLAS has one thread, whatever a program imported before: the libraries are asked, in processes of their own."""

import os
import subprocess
import sys

import pytest

from riderless.experiments.blas_threads import THREADS

SHOW = (
    "from threadpoolctl import threadpool_info;"
    "print(*{library['num_threads'] for library in threadpool_info() if library['user_api'] == 'blas'})"
)
OURS = "import riderless.experiments;"
SCIPY = "import scipy.linalg;"


def threads(program: str, **settings: str) -> str:
    """Numbers of threads of the BLAS libraries at the end of a program."""
    environment = {name: value for name, value in os.environ.items() if name != THREADS} | settings
    done = subprocess.run(
        [sys.executable, "-c", program + SHOW], env=environment, capture_output=True, text=True, timeout=100, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(OURS + SCIPY, marks=pytest.mark.slow),
        pytest.param("import numpy;" + OURS + SCIPY, marks=pytest.mark.slow),
        SCIPY + OURS,
        "import numpy, riderless; riderless.load_bicycle('Silver');" + SCIPY,
        "from riderless.models import load_bicycle; load_bicycle('Silver'); from riderless.experiments import analyze;"
        + SCIPY,
    ],
)
def test_one_thread_whatever_was_imported_before(program):
    assert threads(program) == "1"


@pytest.mark.parametrize("order", [OURS + SCIPY, SCIPY + OURS])
@pytest.mark.skipif(os.cpu_count() < 2, reason="more than one thread wants more than one processor")
def test_who_has_set_it_keeps_his(order):
    assert threads(order, **{THREADS: "2"}) == "2"
