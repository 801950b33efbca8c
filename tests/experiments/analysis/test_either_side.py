"""A difference quotient goes to the other side where nothing can be on the first."""

from riderless.experiments.analysis.identification.output_error import either_side
from riderless.models.errors import InputError


def square_above(least, x=3.0):
    def move(step):
        if x + step < least:
            raise InputError("wanted more")
        return (x + step) ** 2

    return move


def test_the_first_side_is_taken_where_it_can_be():
    assert either_side(square_above(0.0), -1.0) == (4.0, -1.0)


def test_the_other_side_is_taken_where_the_first_cannot_be():
    assert either_side(square_above(2.5), -1.0) == (16.0, 1.0)


def test_nothing_where_neither_can_be():
    assert either_side(square_above(9.0), 1.0) is None
