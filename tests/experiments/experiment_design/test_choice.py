"""The choice of what to measure, against all plans there are and against designs known in closed form."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from riderless.experiments.experiment_design.choice import (
    LogDeterminant,
    LogSeparation,
    Measurement,
    TimeCosts,
    best_plan,
    covariance_of,
    next_measurement,
    time_taken,
)

FREE = TimeCosts(start=0.0, speed_change=np.inf, settling=0.0)


def polynomial(degree: int, points: int = 21) -> list[Measurement]:
    """Readings of unit noise of a polynomial, at places from -1 to 1."""
    places = np.linspace(-1.0, 1.0, points)
    return [Measurement(f"{x:g}", np.outer(f, f), 1.0, x) for x in places for f in [x ** np.arange(degree + 1)]]


@pytest.mark.parametrize(
    ("degree", "support"), [(1, [-1.0, 1.0]), (2, [-1.0, 0.0, 1.0]), (3, [-1.0, -0.447, 0.447, 1.0])]
)
def test_a_polynomial_is_measured_where_theory_says(degree, support):
    # Guest (1958): the D-optimal places are the zeros of (1 - x^2) P'_d(x), all equally often
    plan = best_plan(
        polynomial(degree, 41), 1e-6 * np.eye(degree + 1), LogDeterminant(np.eye(degree + 1)), FREE, 4.0 * (degree + 1)
    )
    found = np.array(sorted(one.v for one in plan)).reshape(degree + 1, 4)
    assert found == pytest.approx(np.repeat(support, 4).reshape(degree + 1, 4), abs=0.01)


def test_only_the_slope_is_asked_for_and_the_offset_is_nuisance():
    # a slope alone, with the offset free: half at either end; with the offset known: all where x is largest in size
    slope = LogDeterminant(np.array([[0.0, 1.0]]))
    ends = [one.v for one in best_plan(polynomial(1), 1e-6 * np.eye(2), slope, FREE, 6.0)]
    assert ends == [-1.0] * 3 + [1.0] * 3
    information = sum(one.information for one in polynomial(1) if abs(one.v) == 1.0)
    assert covariance_of(3 * information, slope.rows) == pytest.approx(1.0 / 6.0)


@pytest.mark.parametrize("seed", range(12))
def test_no_plan_of_all_there_are_is_better(seed):
    rng = np.random.default_rng(seed)
    p, costs = 3, TimeCosts(start=1.0, speed_change=2.0, settling=0.5)
    measurements = []
    for i in range(5):
        J = rng.standard_normal((2, p)) * rng.uniform(0.3, 3.0)
        measurements.append(Measurement(str(i), J.T @ J, float(rng.uniform(2.0, 5.0)), float(rng.integers(2, 6))))
    known, criterion, time = 1e-2 * np.eye(p), LogDeterminant(np.eye(2, p)), 24.0
    plan = best_plan(measurements, known, criterion, costs, time)
    assert time_taken(plan, costs) <= time
    best = -np.inf
    for n in range(1, 9):
        for some in combinations_with_replacement(sorted(measurements, key=lambda one: one.v), n):
            if time_taken(some, costs) <= time:
                best = max(best, criterion.value(known + sum(one.information for one in some)))
    # a determinant of 2 quantities: 2 log(1.02) of it is 2 % of the deviations
    assert criterion.value(known + sum(one.information for one in plan)) >= best - 4.0 * np.log(1.02)


def test_the_next_one_is_what_tells_most_for_its_time():
    told = [Measurement(str(i), np.array([[tells]]), takes, 4.0) for i, (tells, takes) in enumerate([(3, 10), (2, 4)])]
    criterion, known = LogDeterminant(np.eye(1)), np.eye(1)
    # log(1 + 3) / 10 = 0.139, log(1 + 2) / 4 = 0.275
    assert next_measurement(told, known, criterion, FREE) == 1
    # from another speed both cost 20 s more: log 4 / 30 = 0.046, log 3 / 24 = 0.0458
    assert next_measurement(told, known, criterion, TimeCosts(0.0, 0.1, 10.0), 5.0) == 0


def test_speeds_that_are_far_cost_their_way():
    costs = TimeCosts(start=5.0, speed_change=0.5, settling=3.0)
    plan = [Measurement("", np.eye(1), 10.0, v) for v in (4.0, 4.0, 6.0)]
    assert time_taken(plan, costs) == pytest.approx(3 * 15.0 + 2.0 / 0.5 + 3.0)


def test_two_models_are_told_apart_by_what_only_one_of_them_does():
    # they differ in the first of two quantities; one measurement tells the sum, the other the first alone
    both, first = np.outer([3.0, 3.0], [3.0, 3.0]), np.outer([1.0, 0.0], [1.0, 0.0])
    told = [Measurement("sum", both, 1.0, 4.0), Measurement("first", first, 1.0, 4.0)]
    criterion = LogSeparation(np.array([[1.0, 0.0]]), np.array([0.5]))
    assert next_measurement(told, 1e-3 * np.eye(2), criterion, FREE) == 1
    assert criterion.noncentrality(100.0 * first + 1e-9 * np.eye(2)) == pytest.approx(25.0)  # (0.5 / 0.1)^2
