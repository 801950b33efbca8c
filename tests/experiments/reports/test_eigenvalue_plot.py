"""Plot over speed from Python."""

import pytest

import riderless as rl
from riderless.models.errors import InputError


@pytest.mark.parametrize(("speeds", "found"), [([], "found none"), ([5.0], "found 5 m/s alone")])
def test_fewer_than_two_speeds_are_refused(speeds, found):
    with pytest.raises(InputError, match=found):
        rl.plot_eigenvalues(rl.load_bicycle("Silver"), speeds)


def test_a_name_is_neither_modes_nor_a_bicycle():
    with pytest.raises(InputError, match=r"^wanted a Bicycle, found 'Silver': get one with load_bicycle$"):
        rl.plot_eigenvalues("Silver")
