"""Bicycles to other programs and back: by printed numbers, by their documented form, and by the programs themselves."""

import json
from dataclasses import replace

import pytest

from riderless.models.catalogue import bicycle_names, load_bicycle
from riderless.models.errors import InputError
from riderless.models.exchange.files import (
    BICYCLE_FORMATS,
    bicycle_parameters_text,
    bicycle_text,
    read_bicycle,
    read_bicycle_parameters_text,
)
from riderless.models.exchange.symbrim import SymbrimParts, bicycle_from_symbrim, symbrim_constants, symbrim_text
from riderless.models.parameter_table import DISPENSABLE, PARAMETERS


def parameters(bicycle):
    return {name: getattr(bicycle, name) for name in PARAMETERS}


@pytest.mark.parametrize("name", bicycle_names())
def test_symbrims_constants_lead_back(name):
    bicycle = load_bicycle(name)
    again = bicycle_from_symbrim(symbrim_constants(bicycle), name)
    assert parameters(again) == pytest.approx(parameters(bicycle), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", bicycle_names())
def test_a_parameter_file_leads_back_to_the_last_bit(name):
    bicycle = load_bicycle(name)
    again = read_bicycle_parameters_text(bicycle_parameters_text(bicycle), name, trust=True)
    assert parameters(again) == parameters(bicycle)
    assert dict(again.std) == {key: std for key, std in bicycle.std.items() if std > 0.0}


def test_what_a_parameter_file_may_hold():
    text = bicycle_parameters_text(load_bicycle("Silver"))
    lines = dict(line.split(" = ") for line in text.splitlines() if line[0] != "#")
    lines["w"] = "1.00 +/- 0.02, 1.02+/-0.02   # twice, the mean counts"
    lines["IHxz"] = "(-3.11+/-0.10)e-02"  # as the library `uncertainties` writes
    lines["mB"] = "12.06"
    lines["yB"] = "0.0+/-0.0"
    del lines["IByy"]
    bicycle = read_bicycle_parameters_text("".join(f"{k} = {v}\n" for k, v in lines.items()) + "\n", "ours")
    assert (bicycle.w, bicycle.IHxz, bicycle.mB) == (pytest.approx(1.01), pytest.approx(-0.0311), 12.06)
    assert bicycle.std["w"] == pytest.approx(0.02 / 2**0.5)
    assert bicycle.std["IHxz"] == pytest.approx(0.001)
    assert bicycle.missing == ("IByy",)
    assert "mB" not in bicycle.std


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("w", "line 30 wants NAME = VALUE"),
        ("w = one", "line 30 wants NAME = VALUE"),
        ("w = (1.02e0+/-0.01)e0", "line 30 wants NAME = VALUE"),
        ("ww = 1", "did you mean w?"),
        ("w = 1", "line 30 gives w a second time"),
        ("yB = 0.1", "yB = 0.1 m must be 0"),
    ],
)
def test_what_it_may_not_hold(line, told):
    text = bicycle_parameters_text(load_bicycle("Silver"))
    assert len(text.splitlines()) == 29
    with pytest.raises(InputError, match=told.replace("?", r"\?")):
        read_bicycle_parameters_text(text + line, "x")


@pytest.mark.parametrize("name", ["Benchmark", "Silver"])
def test_a_set_in_yaml_is_read_and_a_rounded_zero_is_one(name, tmp_path):
    bicycle = load_bicycle(name)
    lines = [f"{key}: {value!r}  # SI" for key, value in parameters(bicycle).items()]
    path = tmp_path / "set.yaml"
    path.write_text("\n".join(["# of another program", "v: 3.5", "yB: -3.1e-9", *lines]))
    assert parameters(read_bicycle(path)) == parameters(bicycle)


@pytest.mark.parametrize("line", ["dF = 0.67, 0.671", "hbb = 0.28 +/- 0.001", "lP = 1.05"])
def test_raw_measurements_are_named_as_such(line):
    with pytest.raises(InputError, match=r"line 2 has .*, so these are raw measurements, not a bicycle"):
        read_bicycle_parameters_text("w = 1.0\n" + line, "mine")


def test_an_asymmetric_wheel_is_refused():
    text = bicycle_parameters_text(load_bicycle("Silver"))
    with pytest.raises(InputError, match=r"IRzz = 0\.5 kg m\^2 must be IRxx = 0\.078"):
        read_bicycle_parameters_text(text.replace("IRzz = 0.078", "IRzz = 0.5"), "x")


def test_constants_of_other_parts_symbols_and_wrong_ones():
    silver = load_bicycle("Silver")
    parts = SymbrimParts(rear_frame="frame", front_frame="fork")
    constants = symbrim_constants(silver, parts)
    assert constants["frame_d1"] == symbrim_constants(silver)["rear_frame_d1"]
    more = {**constants, "rear_frame_d4": 0.1}
    assert bicycle_from_symbrim(more, "Silver", parts).w == pytest.approx(silver.w)
    with pytest.raises(InputError, match="found none named rear_frame_d1"):
        bicycle_from_symbrim(constants, "Silver")


def test_files_are_read_by_their_suffix(tmp_path):
    silver = load_bicycle("Silver")
    for to, name in (("toml", "a.toml"), ("bicycleparameters", "SilverBenchmark.txt"), ("symbrim", "a.json")):
        (tmp_path / name).write_text(bicycle_text(silver, to))
        again = read_bicycle(tmp_path / name)
        assert again.name == "Silver"
        assert parameters(again) == pytest.approx(parameters(silver), rel=1e-12, abs=1e-12)
    assert read_bicycle("Silver") == silver
    (tmp_path / "plain.json").write_text(json.dumps(symbrim_constants(silver)))
    assert read_bicycle(tmp_path / "plain.json").w == pytest.approx(silver.w)
    for name, text, told in (
        ("b.json", "[1]", "wants one object"),
        ("c.json", "{", "is no JSON"),
        ("d.json", "[" * 100_000, "is no JSON"),
        ("e.txt", "", "lacks w"),
        ("f.txt", "#" * 1_000_001, "more than 1000000 bytes"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=told):
            read_bicycle(tmp_path / name)
    with pytest.raises(InputError, match="there is no file"):
        read_bicycle(tmp_path / "none.txt")
    with pytest.raises(InputError, match="toml, bicycleparameters, symbrim, not as 'yaml'"):
        bicycle_text(silver, "yaml")
    assert set(BICYCLE_FORMATS) == {"toml", "bicycleparameters", "symbrim"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Browser"])
def test_the_package_reads_what_we_write_and_we_what_it_writes(name, tmp_path):
    """BicycleParameters itself: its file reader, its canonical matrices, its writer."""
    io = pytest.importorskip("bicycleparameters.io", reason="BicycleParameters is not installed")
    from bicycleparameters import bicycle as of_package

    from riderless.models.linear.whipple import canonical_matrices

    ours = load_bicycle(name)
    path = tmp_path / f"{name}Benchmark.txt"
    path.write_text(bicycle_parameters_text(ours))
    theirs = io.load_parameter_text_file(str(path))
    values = io.remove_uncertainties(theirs)
    assert {key: values[key] for key in PARAMETERS} == pytest.approx(parameters(ours), rel=1e-15)
    M, C1, K0, K2 = of_package.benchmark_par_to_canonical(values)
    for matrix, mine in zip((M, C1, K0, K2), canonical_matrices(ours), strict=True):
        assert matrix == pytest.approx(mine, rel=1e-9, abs=1e-9)
    written = tmp_path / "written" / f"{name}Benchmark.txt"
    io.write_parameter_text_file(str(written), theirs)
    again = read_bicycle(written, trust=True)
    assert parameters(again) == pytest.approx(parameters(ours), rel=0.02)  # it rounds to the deviations
    assert {key: again.std[key] for key in ours.std if ours.std[key] > 0.0} == pytest.approx(
        {key: value for key, value in ours.std.items() if value > 0.0}, rel=0.15
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Benchmark", "Silver"])
def test_symbrims_own_symbols_take_our_constants(name):
    pytest.importorskip("symbrim", reason="SymBRiM is not installed")
    moore = pytest.importorskip("dtk.bicycle", reason="DynamicistToolKit is not installed")
    from symbrim.bicycle import KnifeEdgeWheel, RigidFrontFrame, RigidRearFrame

    bicycle = load_bicycle(name)
    constants = symbrim_constants(bicycle)
    parts = [
        (RigidRearFrame.from_convention("moore", "rear_frame"), "c"),
        (RigidFrontFrame.from_convention("moore", "front_frame"), "e"),
        (KnifeEdgeWheel("rear_wheel"), "d"),
        (KnifeEdgeWheel("front_wheel"), "f"),
    ]
    theirs = moore.benchmark_to_moore(parameters(bicycle))
    used = {"g"}
    for part, letter in parts:
        part.define_connections()
        part.define_objects()
        used.add(str(part.body.mass))
        assert constants[str(part.body.mass)] == pytest.approx(theirs[f"m{letter}"])
        tensor = part.body.central_inertia.to_matrix(part.body.frame)
        for (i, j), number in {(0, 0): "11", (1, 1): "22", (2, 2): "33", (2, 0): "31"}.items():
            if tensor[i, j] != 0:
                used.add(str(tensor[i, j]))
                assert constants[str(tensor[i, j])] == pytest.approx(theirs[f"i{letter}{number}"], abs=1e-12)
        for key, symbol in part.symbols.items():
            if str(symbol) in constants:
                used.add(str(symbol))
                wanted = theirs[{"r": {"d": "rr", "f": "rf"}.get(letter)}.get(key, key)]
                assert constants[str(symbol)] == pytest.approx(wanted, abs=1e-12)
    assert used == set(constants)


def test_a_bicycle_whose_moments_were_not_published_keeps_that():
    bicycle = next((load_bicycle(name) for name in bicycle_names() if load_bicycle(name).missing), None)
    assert bicycle is not None
    lines = [line for line in bicycle_parameters_text(bicycle).splitlines() if line.split(" ")[0] not in DISPENSABLE]
    assert read_bicycle_parameters_text("\n".join(lines), "x", trust=True).missing == bicycle.missing
    assert json.loads(symbrim_text(replace(bicycle, name="é"))) is not None
