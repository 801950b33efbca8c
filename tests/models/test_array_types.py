"""Stretches of a mask and parts of long arrays."""

from itertools import pairwise

import numpy as np
import pytest

from riderless.models.array_types import row_parts, true_spans


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
def test_each_mask_is_made_of_its_spans(n):
    for number in range(2**n):
        mask = np.array([number >> i & 1 for i in range(n)], bool)
        spans = true_spans(mask)
        again = np.zeros(n, bool)
        for first, stop in spans:
            assert first < stop
            again[first:stop] = True
        np.testing.assert_array_equal(again, mask)
        assert all(a[1] < b[0] for a, b in pairwise(spans))  # none touches the next


@pytest.mark.parametrize(("n", "first"), [(0, 0), (5, 5), (10, 3), (200_000, 0), (200_000, 70_000)])
def test_parts_hold_each_row_once(n, first):
    rows = [np.arange(part.start, part.stop) for part in row_parts(n, first)]
    np.testing.assert_array_equal(np.concatenate([np.zeros(0, int), *rows]), np.arange(first, n))
    assert all(len(part) < 100_000 for part in rows)
