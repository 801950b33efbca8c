"""Shared fixtures: where the reference numbers and real logs lie, and one cache for compiled kernels."""

from pathlib import Path

import pytest
from hypothesis import settings

from experiments.kernel_cache import use_kernel_cache

use_kernel_cache()  # before any test imports numba
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of reference numbers and real logs beside the checkout; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the folder of reference numbers and logs is not beside the checkout")
    return SHARED
