"""Paths: their geometry by other routes, and what is no path."""

import numpy as np
import pytest
from scipy.special import fresnel

from riderless.hil.guidance.path import SPACING, Path, Piece, path_of_pieces
from riderless.hil.guidance.points import path_through_points, read_path
from riderless.hil.guidance.shapes import circle, figure_of_eight, lane_change, obstacle_avoidance, slalom, straight
from riderless.models.errors import InputError

SHAPES = {
    "straight": straight(30.0),
    "circle": circle(10.0),
    "circle to the left": circle(-6.0, rounds=0.5),
    "lane change": lane_change(1.0, 10.0),
    "obstacle avoidance": obstacle_avoidance(0.6),
    "slalom": slalom(8.0, 0.6, 5),
    "figure of eight": figure_of_eight(12.0),
}


@pytest.fixture(params=SHAPES)
def path(request) -> Path:
    return SHAPES[request.param]


def test_place_heading_and_curvature_belong_together(path):
    assert np.max(np.diff(path.s)) <= SPACING + 1e-12
    assert np.gradient(path.psi, path.s)[1:-1] == pytest.approx(path.kappa[1:-1], abs=2e-3)
    assert np.hypot(np.diff(path.x), np.diff(path.y)) == pytest.approx(np.diff(path.s), rel=1e-4)
    chords = np.unwrap(np.arctan2(np.diff(path.y), np.diff(path.x)))
    assert chords == pytest.approx(0.5 * (path.psi[1:] + path.psi[:-1]), abs=1e-4)


def test_curvature_is_continuous(path):
    assert np.max(np.abs(np.diff(path.kappa))) < 0.01
    if not path.closed:
        assert path.kappa[[0, -1]] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_clothoid_is_that_of_fresnel():
    length, kappa = 6.0, 0.2
    path = path_of_pieces("clothoid", [Piece(length, 0.0, kappa), Piece(length, kappa, 0.0)])
    scale = np.sqrt(np.pi * length / kappa)
    S, C = fresnel(path.s[path.s <= length] / scale)
    n = len(S)
    assert path.x[:n] == pytest.approx(scale * C, abs=1e-12)
    assert path.y[:n] == pytest.approx(scale * S, abs=1e-12)


def test_circle_is_round():
    path = circle(10.0, rounds=1.0, entry=4.0)
    round_part = path.kappa == pytest.approx(0.1, abs=1e-12)
    on_it = np.isclose(path.kappa, 0.1, atol=1e-12)
    x, y = path.x[on_it], path.y[on_it]
    centre = np.linalg.lstsq(np.column_stack([2 * x, 2 * y, np.ones(len(x))]), x**2 + y**2, rcond=None)[0]
    assert np.hypot(x - centre[0], y - centre[1]) == pytest.approx(10.0, abs=1e-9)
    assert not round_part  # the entry is no part of it
    assert centre[1] > 0.0  # to the right


@pytest.mark.parametrize(("shift", "length"), [(1.0, 10.0), (-1.0, 10.0), (3.5, 30.0), (0.5, 3.0)])
def test_lane_change_shifts_by_as_much_over_as_much(shift, length):
    path = lane_change(shift, length, before=10.0, after=20.0)
    assert path.y[-1] == pytest.approx(shift, abs=1e-9)
    assert path.x[-1] == pytest.approx(30.0 + length, abs=1e-9)
    assert path.psi[-1] == pytest.approx(0.0, abs=1e-12)
    assert np.ptp(path.y) == pytest.approx(abs(shift), abs=1e-9)  # no overshoot of its own


def test_slalom_passes_the_cones_on_alternate_sides():
    path = slalom(8.0, 0.6, 5)
    at_cones = np.interp(8.0 * np.arange(1, 6), path.x, path.y)
    assert at_cones == pytest.approx([0.6, -0.6, 0.6, -0.6, 0.6], abs=1e-6)
    assert path.y[-1] == pytest.approx(0.0, abs=1e-9)


def test_obstacle_avoidance_goes_through_the_gates_of_the_standard():
    b = 0.6
    path = obstacle_avoidance(b)
    y = np.interp([6.0, 12.0, 25.5, 31.0, 36.5, 49.0, 60.9], path.x, path.y)
    right_edge = 0.5 * (1.1 * b + 0.25)  # of the first lane, to the right of where the path begins
    assert y[:2] == pytest.approx([0.0, 0.0], abs=1e-9)
    second_right = right_edge - (1.1 * b + 0.25) - 1.0  # 1 m to the left of the first lane's left edge
    assert y[2:5] == pytest.approx([second_right - 0.5 * (b + 1.0)] * 3, abs=1e-6)
    assert y[5:] == pytest.approx([right_edge - 1.5] * 2, abs=1e-6)


def test_figure_of_eight_crosses_itself_once_and_closes():
    path = figure_of_eight(12.0)
    assert path.psi[-1] == pytest.approx(0.0, abs=1e-9)
    assert (path.x[-1], path.y[-1]) == pytest.approx((0.0, 0.0), abs=1e-9)
    assert np.max(path.kappa) == pytest.approx(1.0 / 12.0) == -np.min(path.kappa)
    half = path.at(0.5 * path.length)
    assert half[:2] == pytest.approx((0.0, 0.0), abs=1e-6)
    assert path.at(path.length + 3.0)[:2] == pytest.approx(path.at(3.0)[:2], abs=1e-9)


def test_points_between_samples_lie_on_the_path():
    path, fine = circle(10.0), 20.0 + 0.013
    x, y, psi, kappa = path.at(fine)
    i = int(np.searchsorted(path.s, fine))
    assert kappa == pytest.approx(0.1)
    assert np.interp(fine, path.s, path.psi) == pytest.approx(psi, abs=1e-9)
    assert np.hypot(x - path.x[i], y - path.y[i]) < SPACING


@pytest.mark.parametrize("offset", [-0.8, -0.1, 0.0, 0.25, 1.0])
def test_where_on_the_path_a_bicycle_is(path, offset):
    for s in np.linspace(0.03, path.length - 0.03, 7):
        x, y, psi, kappa = path.at(s)
        found = path.nearest(x - offset * np.sin(psi), y + offset * np.cos(psi), psi + 0.2, near=s + 0.3)
        assert found.s == pytest.approx(s, abs=1e-6)
        assert found.lateral == pytest.approx(offset, abs=1e-9)
        assert found.heading == pytest.approx(0.2, abs=1e-6)
        assert found.kappa == pytest.approx(kappa, abs=1e-6)


def test_at_a_crossing_the_bicycle_stays_on_its_branch():
    path = figure_of_eight(12.0)
    half = 0.5 * path.length
    x, y, psi, _ = path.at(half)
    assert path.nearest(x, y, psi, near=half - 0.5).s == pytest.approx(half, abs=1e-6)
    begun = path.nearest(x, y, psi, near=path.length - 0.5).s  # or ended: the same point
    assert min(begun, path.length - begun) == pytest.approx(0.0, abs=1e-6)


def test_beyond_its_ends_an_open_path_goes_straight_on():
    path = lane_change(1.0, 10.0)
    assert path.at(-2.0) == pytest.approx((-2.0, 0.0, 0.0, 0.0), abs=1e-12)
    assert path.at(path.length + 2.0) == pytest.approx((42.0, 1.0, 0.0, 0.0), abs=1e-9)


def test_path_through_points_of_a_circle():
    angle = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    path = path_through_points(np.column_stack([8.0 * np.sin(angle), 8.0 * (1.0 - np.cos(angle))]), closed=True)
    assert path.length == pytest.approx(2.0 * np.pi * 8.0, rel=1e-4)
    assert path.kappa == pytest.approx(1.0 / 8.0, rel=5e-3)


def test_measured_points_are_smoothed(tmp_path):
    rng = np.random.default_rng(3)
    x = np.arange(0.0, 40.0, 0.5)
    true = np.sin(x / 8.0)
    file = tmp_path / "lane.csv"
    rows = zip(x, true + 0.02 * rng.standard_normal(len(x)), strict=True)
    file.write_text("x,y\n" + "\n".join(f"{a},{b}" for a, b in rows))
    rough, smooth = read_path(file), read_path(file, smoothing=30.0)
    bends = 1.0 / 64.0  # of the true path, at most
    assert np.max(np.abs(rough.kappa)) > 10.0 * bends
    assert np.max(np.abs(smooth.kappa)) < 2.0 * bends
    inner = (smooth.x > 2.0) & (smooth.x < 37.0)
    assert np.interp(smooth.x[inner], x, true) == pytest.approx(smooth.y[inner], abs=0.03)


def test_a_measured_loop_is_smoothed_over_its_seam():
    turned = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    points = 8.0 * np.column_stack([np.cos(turned), np.sin(turned)])
    points += 0.02 * np.random.default_rng(1).standard_normal(points.shape)
    rough, smooth = (path_through_points(points, closed=True, smoothing=one) for one in (None, 10.0))
    assert np.max(np.abs(rough.kappa)) > 3.0 / 8.0
    assert np.abs(smooth.kappa) == pytest.approx(1.0 / 8.0, rel=0.05)
    assert smooth.kappa[0] == pytest.approx(smooth.kappa[-1], rel=1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: path_of_pieces("p", [Piece(5.0, 0.0, 0.0), Piece(5.0, 0.1, 0.0)]), "jumps from 0 to 0.1 1/m"),
        (lambda: path_of_pieces("p", [Piece(5.0, 0.0, 0.1)]), "jumps from 0.1 to 0 1/m"),
        (lambda: path_of_pieces("p", [Piece(5.0, 0.0, 0.0)], closed=True), "ends 5 m"),
        (lambda: path_of_pieces("p", [Piece(-1.0, 0.0, 0.0)]), "lengths above 0 m"),
        (lambda: path_of_pieces("p", [Piece(1e6, 0.0, 0.0)]), "at most 10000 m"),
        (lambda: circle(0.0), "radius of a path"),
        (lambda: circle(float("nan")), "radius of a path"),
        (lambda: circle("10"), "radius of a path"),
        (lambda: circle(True), "radius of a path"),
        (lambda: straight("10"), "the length of a path must be a finite number above 0, found '10'"),
        (lambda: lane_change(0.0, 10.0), "not zero"),
        (lambda: lane_change("1", 10.0), "not zero"),
        (lambda: lane_change(1.0, 10.0, after=None), "length after of a path"),
        (lambda: slalom(cones=True), "2 to 200 cones"),
        (lambda: slalom(cones=4.0), "2 to 200 cones"),
        (lambda: lane_change(5.0, 1.0), "make it longer"),
        (lambda: slalom(cones=1), "2 to 200 cones"),
        (lambda: figure_of_eight(1.0, entry=40.0), "shorter entry"),
        (lambda: path_through_points([[0, 0], [1, 0], [2, 0]]), "at least four points"),
        (lambda: path_through_points([[0, 0], [1, 0], [1, 0], [2, 0]]), "points 2 and 3"),
        (lambda: path_through_points([[0, 0], [1, 0], [50, 0], [51, 0]]), "jumps by 49 m after its point 2"),
        (lambda: path_through_points([[0, 0], [1, 0], [1, 1], [1, 2]]), "turns by 90 deg at its point 2"),
        (lambda: path_through_points([[0, 0], [1, np.nan], [2, 1], [3, 2]]), "found x = 1 and y = nan in point 2"),
    ],
)
def test_what_is_no_path_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_numbers_of_numpy_are_numbers():
    for kind in (np.int64, np.int32, np.float32, np.float64):
        for made, plain in (
            (circle(kind(-10), kind(2), kind(4)), circle(-10.0, 2.0, 4.0)),
            (straight(kind(30)), straight(30.0)),
            (lane_change(kind(1), kind(10), kind(10), kind(20)), lane_change(1.0, 10.0)),
            (obstacle_avoidance(kind(1)), obstacle_avoidance(1.0)),
            (slalom(kind(8), kind(1), np.int64(4)), slalom(8.0, 1.0, 4)),
            (figure_of_eight(kind(12), kind(4)), figure_of_eight(12.0)),
        ):
            assert made.name == plain.name
            np.testing.assert_array_equal(made.kappa, plain.kappa)


@pytest.mark.parametrize(
    ("text", "words"),
    [("a,b\n1,2\n", "columns x and y"), ("", "columns x and y"), ("x,y\n1,2\n3,four\n", "a number in each cell")],
)
def test_a_file_that_holds_no_path_is_refused(tmp_path, text, words):
    file = tmp_path / "path.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        read_path(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_path(tmp_path / "none.csv")
