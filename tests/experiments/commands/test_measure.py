"""`riderless measure`, `period` and `load` as a person meets them."""

import json

import numpy as np
import pytest

from riderless.experiments.commands.monitor import _gyro_text
from riderless.models.measured.peer_file import readings_toml
from riderless.models.measured.periods import example_swing, period
from riderless.models.measured.readings import readings_of
from riderless.models.parameters import Bicycle
from tests.experiments.commands.test_cli import riderless  # noqa: F401
from tests.models.measured.labs import lab


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the readings of two labs."""
    monkeypatch.chdir(tmp_path)
    for case in "AC":
        readings = readings_of({"name": f"Lab {case}", "readings": lab(case)})
        (tmp_path / f"{case}.toml").write_text(readings_toml(readings), encoding="utf-8")
    return tmp_path


def test_readings_become_a_bicycle_that_other_commands_take(riderless, here):  # noqa: F811
    before = (here / "A.toml").read_bytes()
    code, out, err = riderless("measure", "A.toml", "-o", "Ours.toml", "--report", "page.html")
    assert code == 0, err
    assert out.startswith("weave at 4 m/s: 0.130 ± 0.029 1/s, 3.530 ± 0.063 rad/s")
    assert "share of each reading" in out
    assert (here / "A.toml").read_bytes() == before
    bicycle = Bicycle.from_toml(here / "Ours.toml")
    assert bicycle.correlations["IRxx"]["IFxx"] > 0.5
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "Lab A, measured" in page
    code, out, _ = riderless("eig", "Ours.toml", "--speeds", "5", "--json")
    assert json.loads(out)["rows"][0]["weave"][1] == pytest.approx(5.4527945983, rel=1e-9)


def test_what_is_left_out_is_in_the_file(riderless, here):  # noqa: F811
    code, out, err = riderless("measure", "C.toml", "-o", "Ours.toml", "--without", "TtB1", "--without", "aS2")
    assert code == 0, err
    assert "left out: TtB1, aS2" in out
    assert Bicycle.from_toml(here / "Ours.toml").note == "without TtB1, aS2"


def test_a_readings_file_is_never_rewritten(riderless, here):  # noqa: F811
    for words in (
        ("measure", "A.toml", "-o", "A.toml", "--force"),
        ("measure", "A.toml", "--template"),
        ("measure", "A.toml", "--import", "C.txt"),
    ):
        (here / "C.txt").write_text("mB = 9.8\n", encoding="utf-8")
        before = (here / "A.toml").read_bytes()
        assert riderless(*words)[0] == 2
        assert (here / "A.toml").read_bytes() == before


def test_a_file_of_the_peer_is_imported(riderless, here):  # noqa: F811
    text = "\n".join(
        f"{key.removesuffix('_deg')} = {', '.join(f'{number!r}+/-{std!r}' for number, std in pairs)}"
        for key, pairs in lab("A").items()
    )
    (here / "OursMeasured.txt").write_text(text, encoding="utf-8")
    code, out, err = riderless("measure", "new.toml", "--import", "OursMeasured.txt", "-o", "Ours.toml", "--json")
    assert code == 0, err
    assert json.loads(out)["bicycle"]["name"] == "Ours"
    assert riderless("measure", "new.toml", "--json")[0] == 0
    straight = json.loads(riderless("measure", "OursMeasured.txt", "--json")[1])
    assert straight["bicycle"]["xB"] == pytest.approx(0.28, rel=1e-9)


def test_blank_files_and_sheets(riderless, here):  # noqa: F811
    assert riderless("measure", "blank.toml", "--template", "--way", "table")[0] == 0
    code, _, err = riderless("measure", "blank.toml")
    assert code == 2
    assert "are blank" in err
    assert "TcB1" in riderless("measure", "--sheet")[1]
    assert "[readings]" in riderless("measure", "--template")[1]


def test_a_swing_is_made_and_measured(riderless, here):  # noqa: F811
    assert riderless("period", "swing.csv", "--example", "--true-period", "1.7")[0] == 0
    found = json.loads(riderless("period", "swing.csv", "--json")[1])
    assert abs(found["T"] - 1.7) < 3.0 * found["std"]
    assert "in the readings file: Tc... =" in riderless("period", "swing.csv")[1]
    watch = riderless("period", "--swings", "50", "--total", "80.1,80.21,80.06", "--start-deg", "8", "--end-deg", "3")
    assert watch[1].startswith("T = 1.60161 ± 0.0016 s")
    assert riderless("period", "swing.csv", "--example")[0] == 2


def test_a_payload_goes_on_and_off(riderless, here):  # noqa: F811
    (here / "box.toml").write_text(
        'name = "box"\non = "B"\nshape = "box"\nmass_kg = 3.2\nsize = [0.38, 0.09, 0.11]\ncom = [0.52, -0.45]\n',
        encoding="utf-8",
    )
    assert riderless("measure", "A.toml", "-o", "Ours.toml")[0] == 0
    code, out, err = riderless("load", "Ours.toml", "box.toml", "-o", "Loaded.toml", "--speeds", "5")
    assert code == 0, err
    assert "Lab A with box" in out
    assert riderless("load", "Loaded.toml", "box.toml", "--remove", "-o", "Bare.toml")[0] == 0
    ours, bare = Bicycle.from_toml(here / "Ours.toml"), Bicycle.from_toml(here / "Bare.toml")
    assert bare.xB == pytest.approx(ours.xB, rel=1e-12)
    assert bare.note == ours.note


def test_a_monitors_recording_is_one_of_a_swing(tmp_path):
    swing = example_swing(1.5, 8.0)
    names = ("phi_dot_meas", "theta_dot_meas", "psi_dot_meas")
    rows = np.zeros(2 * len(swing["t"]), [("t", "f8"), *((name, "f8") for name in names)])
    rows["t"] = np.repeat(swing["t"], 2)  # ticks without a new sample repeat the last
    for name, axis in zip(names, ("gx", "gy", "gz"), strict=True):
        rows[name] = np.repeat(swing[axis], 2)
    path = tmp_path / "swing.csv"
    path.write_text(_gyro_text([rows]), encoding="utf-8")
    assert pytest.approx(period(swing).T, rel=1e-7) == period(path).T
