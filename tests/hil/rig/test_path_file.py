"""Path files: every shape by the geometry of its sizes, points in anybody's coordinates, and what is refused."""

import numpy as np
import pytest

from riderless.hil.design.methods import design
from riderless.hil.guidance.rideable import RideLimits
from riderless.hil.guidance.route import RUN_UP_TIME, plan_route
from riderless.hil.rig.fitting import with_emulated_place, with_emulated_receiver
from riderless.hil.rig.path_file import plan_ride, read_path_file
from riderless.hil.rig.rig import Rig
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from tests.paths import DOCS

SHAPES = {  # text -> length along x at its end, largest y to either side, heading turned [rad]
    'shape = "straight"\nlength_m = 30.0': (30.0, 0.0, 0.0, 0.0),
    'shape = "lane_change"\nshift_m = -1.0\nlength_m = 10.0\nbefore_m = 5.0\nafter_m = 5.0': (20.0, 0.0, 1.0, 0.0),
    'shape = "slalom"\nspacing_m = 9.0\noffset_m = 0.5\ncones = 3': (36.0, 0.5, 0.5, 0.0),
    'shape = "iso_3888_2"\nvehicle_width_m = 0.6': (61.0, None, None, 0.0),
    # a turn of which each end takes half its length more than an arc: (2 pi r + 4 m) / r
    'shape = "circle"\nradius_m = 8.0\nto = "left"\nentry_m = 4.0': (None, None, None, -(2.0 * np.pi + 0.5)),
    'shape = "figure_of_eight"\nradius_m = 12.0': (0.0, None, None, 0.0),
}


def write(folder, text):
    file = folder / "path.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize("text", SHAPES, ids=lambda text: text.split('"')[1])
def test_a_shape_has_its_sizes(tmp_path, text):
    path = read_path_file(write(tmp_path, text)).path
    end, right, left, turned = SHAPES[text]
    if end is not None:
        assert path.x[-1] == pytest.approx(end, abs=1e-6)
    if right is not None:
        assert (path.y.max(), -path.y.min()) == pytest.approx((right, left), abs=1e-3)
    assert path.psi[-1] - path.psi[0] == pytest.approx(turned, abs=1e-9)


def test_points_in_anybodys_coordinates_begin_where_the_bicycle_is(tmp_path):
    """A curve, moved and turned, asks for the same as it did before."""
    x = np.arange(0.0, 60.0, 2.0)
    y = 1.0 - np.cos(2 * np.pi * x / 60.0)
    c, s = np.cos(0.7), np.sin(0.7)
    silver, routes = load_bicycle("Silver"), []
    for name, points in (
        ("here", np.column_stack([x, y])),
        ("there", np.column_stack([100.0 + c * x - s * y, s * x + c * y - 30.0])),
    ):
        file = tmp_path / f"{name}.csv"
        np.savetxt(file, points, delimiter=",", header="x,y", comments="")
        routes.append(plan_route(silver, read_path_file(file).path, 4.0, RideLimits()).table())
    begin = np.argmin(np.abs(routes[1][:, 0]))
    assert routes[1][begin, 1:4] == pytest.approx([RUN_UP_TIME * 4.0, 0.0, 0.0], abs=0.11)
    assert routes[1] == pytest.approx(routes[0], abs=2e-6)


def test_a_file_beside_the_path_holds_its_points(tmp_path):
    (tmp_path / "p.csv").write_text("x,y\n" + "".join(f"{x},0\n" for x in range(0, 40, 5)))
    asked = read_path_file(write(tmp_path, 'shape = "points"\nfile = "p.csv"\nspeed_m_per_s = 3.0'))
    assert (asked.speed, asked.path.length) == (3.0, pytest.approx(35.0))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("radius_m = 8", r"wants a shape among straight, circle, .*, found None"),
        ('shape = "knot"', r"line 1: wants a shape among .*, found 'knot'"),
        ('shape = "circle"', "radius_m: field required"),
        ('shape = "circle"\nradius_m = 8\nradius = 9', "line 3.*radius"),
        ('shape = "circle"\nradius_m = 1000', "line 2: .*circle of 6.3 km.*: write it in m, not in cm or mm"),
        ('shape = "circle"\nradius_m = -8', "line 2, radius_m: .*greater than 0 m"),
        ('shape = "slalom"\ncones = 1', "a slalom wants 2 to 200 cones"),
        ('shape = "lane_change"\nshift_m = 9.0\nlength_m = 3.0', "make it longer"),
        ('shape = "straight"\nspeed_m_per_s = -1', "line 2, speed_m_per_s: .*found -1 m/s"),
        ('shape = "straight"\nlength_m = inf', "the length of a path must be a finite number above 0, found inf"),
        ('format = "riderless rig 1"\nshape = "straight"', "another kind of file"),
        ('shape = "points"\nfile = "nowhere.csv"', "cannot be read"),
        ("shape = [", "is not valid TOML"),
    ],
)
def test_what_is_no_path_is_refused(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read_path_file(write(tmp_path, text))


def test_a_path_that_this_machine_cannot_ride_is_refused(tmp_path):
    silver = load_bicycle("Silver")
    belt, road = with_emulated_place(Rig(silver), 1.2), with_emulated_receiver(Rig(silver))
    lane, plain = design(silver, "lane", [4.0]), design(silver, "lqr", [4.0])
    circle = read_path_file(DOCS / "path_files/circle.toml")
    change = read_path_file(write(tmp_path, 'shape = "lane_change"\nshift_m = 1.0\nlength_m = 10.0'))
    assert plan_ride(circle, road, lane, 4.0).rows
    for asked, rig, gains, v, words in (
        (circle, road, plain, 4.0, "keeps no lane"),
        (circle, belt, lane, 4.0, "a place known across"),
        (change, belt, lane, 4.0, "leads a wheel 1.0. m from the middle"),
        (circle, road, lane, 9.0, "ride at 6.[0-9] m/s, or make it wider"),
        (circle, road, lane, 11.0, "the limits are 0.3 to 10 m/s"),
    ):
        with pytest.raises(InputError, match=words):
            plan_ride(asked, rig, gains, v)
    x = np.linspace(-1.0, 1.0, 12)
    bend = tmp_path / "bend.csv"
    circle_points = np.column_stack([20 * np.cos(np.pi * x), 20 * np.sin(np.pi * x)])[:-1]
    np.savetxt(bend, circle_points, delimiter=",", header="x,y", comments="")
    round_and_round = read_path_file(write(tmp_path, 'shape = "points"\nfile = "bend.csv"\nclosed = true'))
    with pytest.raises(InputError, match=r"begins in a bend of .* its curvature would jump there"):
        plan_ride(round_and_round, road, lane, 4.0)
