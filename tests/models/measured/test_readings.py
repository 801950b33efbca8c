"""Readings that are refused, doubted or left out: one sentence each, with the likely mistake."""

import math

import numpy as np
import pytest

from riderless.models.errors import InputError
from riderless.models.measured.measurement import measure
from riderless.models.measured.peer_file import read_measured_text, readings_toml
from riderless.models.measured.reading_files import read_readings
from riderless.models.measured.readings import readings_of
from riderless.models.measured.template import sheet_text, template_toml
from tests.models.measured.labs import lab

LINES = [f"alphaB{i}_deg" for i in (1, 2, 3)] + [f"alphaH{i}_deg" for i in (1, 2, 3)]


def value(readings, key):
    """First value of a reading."""
    return readings[key][0][0]


def changed(case="A", **factors):
    """Readings of a lab, some of them times a factor."""
    readings = lab(case)
    return lab(case, **{key: [[factor * readings[key][0][0], readings[key][0][1]]] for key, factor in factors.items()})


@pytest.mark.parametrize(
    ("readings", "words"),
    [
        (lab(mB=None), "lack mB .mass of the rear frame"),
        (lab(TtP1=None), "lack TtP1"),
        (lab(alphaB2_deg=None), "lack alphaB2 "),
        (lab(TtB3=None), "tensor wants 3 torsional swings or more, found TtB1, TtB2"),
        (lab(aB2=None, aB3=None), "centre of mass wants 2 hanging lines or more, found aB1"),
        (lab(mB=-10.0), "mB = -10 kg is negative"),
        (lab(mB=10_000), "looks like grams: write mB_g = 10000"),
        (lab(w=1121), "looks like millimetres: write w_mm = 1121"),
        (lab(w=112.1), "looks like centimetres"),
        (lab(lF=293), "looks like millimetres"),
        (changed(TcB1=1 / 60), "looks like minutes: write TcB1_min"),
        (changed(TcB1=1e3), "looks like milliseconds"),
        (changed(TcB1=30), "looks like the time of n swings"),
        (lab(gamma_deg=None, gamma=67.1), "looks like degrees: write gamma_deg = 67.1"),
        (lab(**dict.fromkeys(LINES), alphaB1=138.7), "alphaB1 = 138.7 rad looks like degrees"),
        (lab(**{key: math.radians(value(lab(), key)) for key in LINES}), "look like radians"),
        (lab(gamma_deg=22.9), "looks like the tilt of the steer axis"),
        (lab(dF=2.16), "gives the front wheel a radius of 0.0264 m"),
        (lab("C", dF=2000.0), "radius of 31.8 m"),
        (lab(colour=3), "unknown reading 'colour'"),
        (lab(w_furlong=3), "given twice|unknown unit 'furlong'"),
        (lab(mB="heavy"), "must be a number"),
        (lab(mB=[]), "has no value"),
        (lab(mB=[[10.0, 20.0]]), "more than a third"),
        (lab(TtB2=value(lab(), "TtB1"), alphaB2_deg=value(lab(), "alphaB1_deg")), "too few that differ"),
        (lab(TtB2=value(lab(), "TtB1"), alphaB2_deg=value(lab(), "alphaB1_deg") + 180.0), "too few that differ"),
        ({"readings": lab(), "std": {"mX": 1}}, "unknown reading 'mX'"),
        ({"readings": lab(), "tools": {"scale": {"readings": ["mZ"], "std_g": 1}}}, "which no reading has"),
        ({"readings": lab(), "tools": {"scale": {"std_g": 1}}}, "wants readings"),
        ({"parameters": {"w": 1.0}}, "found its parameters"),
        ({}, "no readings"),
        (lab("C", d=0.4), "apart"),
        (lab(mS=2.0, mG=3.0), "weighed twice"),
    ],
)
def test_refused_in_one_sentence(readings, words):
    with pytest.raises(InputError, match=words) as refused:
        measure(readings)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 700


@pytest.mark.parametrize(
    ("true", "words"),
    [
        (lambda alpha: alpha - 180.0, "reversed sign"),
        (lambda alpha: -alpha, "clockwise"),
        (lambda alpha: alpha - 90.0, "from the vertical"),
        (lambda alpha: 90.0 - alpha, "from the vertical, clockwise"),
    ],
)
def test_angles_of_another_convention_are_named(true, words):
    readings = lab()
    other = {key: true(value(readings, key)) for key in LINES}
    with pytest.raises(InputError, match=words):
        measure(lab(**other))


def test_the_reversed_sign_of_the_distances_is_named():
    with pytest.raises(InputError, match="distances a have the reversed sign"):
        measure(changed(**{f"a{part}{i}": -1.0 for part in "BH" for i in (1, 2, 3)}))


@pytest.mark.parametrize("n", [2, 5, 10])
@pytest.mark.parametrize("rod", ["TtP1", "TtR1", "TtF1", "TcR1", "TcB1", "TcH1"])
def test_swings_that_were_not_divided_by_n_are_refused(rod, n):
    with pytest.raises(InputError):
        measure(changed(**{rod: n}))


def test_a_swing_not_divided_by_its_number_is_named_by_the_others():
    with pytest.raises(InputError, match=r"swings of the rear frame.*TtB2"):
        measure(changed("C", TtB2=2.0))
    with pytest.raises(InputError, match=r"TtS2.*as if 2 swings were not divided by 2"):
        measure(changed("C", TtS2=2.0))


@pytest.mark.parametrize(("swing", "n"), [("TtH3", 2.0), ("TtH3", 3.0), ("TtH1", 0.25)])
def test_a_swing_that_no_other_tests_is_doubted_by_the_shape_of_the_frame(swing, n):
    try:
        doubts = measure(changed(**{swing: n})).doubts
    except InputError:
        return
    assert any(swing in doubt.symbols for doubt in doubts)


def test_a_line_with_its_sign_reversed_is_named():
    measured = measure(changed("C", aS3=-1.0))
    doubt = next(doubt for doubt in measured.doubts if "aS3" in doubt.symbols)
    assert "hanging line 3 of the fork" in doubt.sentence
    assert "with its sign reversed" in doubt.sentence
    assert not measure(changed("C", aS3=-1.0), without=["aS3"]).doubts


def test_of_three_lines_none_can_be_named_alone():
    measured = measure(lab(aB2=[[value(lab(), "aB2") + 0.03, 0.003]]))
    assert [set(doubt.symbols) for doubt in measured.doubts] == [{"aB1", "aB2", "aB3"}]
    assert "another orientation" in measured.doubts[0].sentence


def test_two_people_who_differ_are_told():
    measured = measure(lab(mB={"Ann": [10.0, 10.01], "Ben": [10.2, 10.21]}))
    assert measured.doubts[0].sentence.startswith("Ann and Ben differ in mB (mass of the rear frame) by 0.2 kg")


def test_readings_without_a_deviation_are_told():
    doubts = measure(lab(w=1.121, f=0.0705)).doubts
    assert set(doubts[-1].symbols) == {"w", "f"}
    assert "count as exact" in doubts[-1].sentence


def test_what_is_left_out_is_written_down():
    measured = measure(lab("C"), without=["TtB1", "aS2"])
    assert measured.bicycle.note == "without TtB1, aS2"
    with pytest.raises(InputError, match="did you mean TtB"):
        measure(lab("C"), without=["TtB9"])


def test_a_part_that_did_not_swing_as_a_pendulum_lacks_its_moment():
    bicycle = measure(lab(TcB1=None)).bicycle
    assert bicycle.missing == ("IByy",)
    assert "IByy" not in bicycle.std


def test_units_people_and_deviations_are_read():
    readings = readings_of(
        {
            "readings": {"w_mm": [1120, 1122], "aB1_mm": "98 +/- 3", "alphaB1_deg": 3.4, "mB": {"Ann": 9.86}},
            "std": {"a_mm": 1, "alpha_deg": 0.2, "w_mm": 4, "m_g": 20},
        }
    )
    assert readings.value("w") == pytest.approx(1.121, rel=1e-15)
    assert readings.readings["w"].std == pytest.approx(0.004 / math.sqrt(2.0), rel=1e-15)
    assert readings.readings["aB1"].std == pytest.approx(0.003, rel=1e-15)
    assert readings.readings["alphaB1"].std == pytest.approx(math.radians(0.2), rel=1e-15)
    assert readings.readings["mB"].std == pytest.approx(0.02, rel=1e-15)
    assert readings.readings["mB"].people == ("Ann",)


def test_a_file_of_the_peer_is_read_and_written_as_ours(tmp_path):
    lines = ["# made by hand", ""]
    for key, pairs in lab("C").items():
        name = key.removesuffix("_deg")
        lines.append(f"{name} = {', '.join(f'{number!r}+/-{std!r}' for number, std in pairs)}   # a remark")
    lines += ["hbb = 0.295", "   "]
    peer = read_measured_text("\n".join(lines), "Ours")
    (tmp_path / "ours.toml").write_text(readings_toml(peer), encoding="utf-8")
    ours = read_readings(tmp_path / "ours.toml")
    first, second, exact = measure(peer), measure(ours), measure(lab("C"))
    for name, std in exact.bicycle.std.items():
        assert getattr(first.bicycle, name) == pytest.approx(getattr(exact.bicycle, name), rel=1e-12)
        assert getattr(second.bicycle, name) == pytest.approx(getattr(exact.bicycle, name), rel=1e-12)
        assert second.bicycle.std[name] == pytest.approx(std, rel=1e-9)


def test_logs_and_stopwatches_stand_where_periods_do(tmp_path):
    from riderless.models.measured.periods import example_swing

    T = value(lab(), "TcB1")
    for i in (1, 2, 3):
        columns = example_swing(T, 10.0, seed=i)
        rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
        (tmp_path / f"b{i}.csv").write_text("\n".join(rows), encoding="utf-8")
    swing = {"TcB1": ["b1.csv", "b2.csv", "b3.csv"]}
    readings = readings_of({"readings": {**lab(), **swing, "TcH1": {"swings": 10, "total_s": [16.0, 16.1]}}}, tmp_path)
    assert readings.value("TcB1") == pytest.approx(T, abs=3e-4)
    assert 0.0 < readings.readings["TcB1"].std < 1e-3
    assert readings.value("TcH1") == pytest.approx(1.605, rel=1e-12)
    assert len(readings.period_notes) == 4


@pytest.mark.parametrize("ways", [(), ("table",), ("split-fork",), ("table", "split-fork")])
def test_a_blank_template_says_that_it_is_blank_and_takes_a_lab(tmp_path, ways):
    path = tmp_path / "ours.toml"
    path.write_text(template_toml(ways), encoding="utf-8")
    with pytest.raises(InputError, match="are blank: write what was read"):
        read_readings(path)
    assert "TtP1" in sheet_text(ways)
    if ways == ("table", "split-fork"):
        text = template_toml(ways)
        for key, pairs in lab("C").items():
            symbol = key.removesuffix("_deg")
            in_mm = f"\n{symbol}_mm " in text
            number = pairs[0][0] * (1e3 if in_mm else 1.0)
            text = "\n".join(
                f"{line.partition('=')[0]}= {number!r}"
                if line.partition("=")[0].strip().split("_")[0] == symbol and '= ""' in line
                else line
                for line in text.splitlines()
            )
        kept = [line for line in text.splitlines() if not line.partition("#")[0].strip().endswith('= ""')]
        path.write_text("\n".join(kept), encoding="utf-8")
        assert measure(path).bicycle.w == pytest.approx(1.0638, rel=1e-9)


def test_results_print():
    measured = measure(lab())
    assert measured.table().startswith("weave at 4 m/s")
    assert "standard deviation" in measured._repr_html_()
    assert np.isfinite(measured.weave[0].re_std)
