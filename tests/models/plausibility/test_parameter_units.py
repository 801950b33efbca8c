"""Units behind the names of a bicycle file: read, or refused in one sentence."""

import math

import pytest

from riderless.models.catalogue import load_bicycle
from tests.models.plausibility.test_traits import refusal, written

# Units behind the names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "key", "value", "meant"),
    [
        ("lam", "lam_deg", 18.0, math.radians(18.0)),
        ("w", "w_mm", 1020, 1.02),
        ("c", "c_cm", 8, 0.08),
        ("rR", "rR_in", 12, 0.3048),
        ("mB", "mB_g", 85000.0, 85.0),
        ("mB", "mB_lb", 187.0, 187.0 * 0.45359237),
        ("mB", "mB_kg", 85.0, 85.0),
        ("IFxx", "IFxx_g_cm2", 1.405e6, 0.1405),
        ("IFxx", "IFxx_kg_cm2", 1405, 0.1405),
        ("IFxx", "IFxx_g_mm2", 1.405e8, 0.1405),
        ("IFxx", "IFxx_lb_in2", 480.0, 480.0 * 0.45359237 * 0.0254**2),
        ("g", "g_cm_s2", 981, 9.81),
    ],
)
def test_a_parameter_may_carry_its_unit(tmp_path, name, key, value, meant):
    bicycle = load_bicycle(written(tmp_path, load_bicycle("Benchmark"), remove=[name], **{key: value}))
    assert getattr(bicycle, name) == pytest.approx(meant, rel=1e-14)


def test_a_standard_deviation_may_carry_its_unit(tmp_path):
    path = written(tmp_path, load_bicycle("Benchmark"))
    path.write_text(path.read_text(encoding="utf-8") + "\n[std]\nlam_deg = 0.5\nw_mm = 2\n", encoding="utf-8")
    assert dict(load_bicycle(path).std) == pytest.approx({"lam": math.radians(0.5), "w": 0.002})


@pytest.mark.parametrize(
    ("remove", "lines", "said"),
    [
        ([], {"w_mm": 1020}, "w is given twice, as w and w_mm: keep one of them"),
        (["w"], {"w_mm": 1020, "w_cm": 102}, "w is given twice, as w_mm and w_cm: keep one of them"),
        (["w"], {"w_furlong": 1}, "w_furlong has the unknown unit 'furlong': write w_m, w_mm, w_cm, w_in, w_ft, or w"),
        (["w"], {"w_g": 1}, "w_g has the unknown unit 'g'"),
        ([], {"tilt_deg": 18}, "unknown parameter 'tilt_deg'"),
        (["mB"], {"mB_g": "85000"}, "mB = '85000' must be a finite number in kg"),
        (["lam"], {"lam_deg": 72}, "lam = 1.257 rad (72 deg) looks like the head angle"),
        (["lam"], {"lam_deg": 0.314}, "lam = 0.00548 rad (0.314 deg) looks 57.3 times too small"),
        (["w"], {"w_mm": 1.02}, "w = 0.00102 m looks 1000 times too small"),
    ],
)
def test_wrong_units_behind_names_are_refused(tmp_path, remove, lines, said):
    found = refusal(written(tmp_path, load_bicycle("Benchmark"), remove=remove, **lines))
    assert said in found
    assert "lacks" not in found
