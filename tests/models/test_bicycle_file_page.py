"""The page about bicycle files against what is read."""

import re

import pytest

from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.parameters import PARAMETERS, Bicycle
from riderless.models.plausibility.parameter_units import UNITS
from tests.models.plausibility.bicycle_mistakes import values_of
from tests.paths import DOCS

PAGE = (DOCS / "bicycle-file.md").read_text(encoding="utf-8")


def test_the_file_of_the_page_is_the_benchmark_bicycle():
    bicycle = Bicycle.from_toml(re.search(r"```toml\n(name.*?)```", PAGE, re.S)[1])
    assert values_of(bicycle) == pytest.approx(values_of(load_bicycle("Benchmark")), rel=1e-15)
    assert bicycle.std["w"] == 0.002


def test_the_table_of_units_is_complete():
    rows = re.findall(r"^\| .*? \| (\S.*?) \| `(_.*?)` \|$", PAGE, re.M)
    assert {si: set(suffixes.split()) for si, suffixes in rows} == {
        si: {f"_{suffix}" for suffix, (factor, _) in units.items() if factor != 1.0} for si, units in UNITS.items()
    }
    assert set(UNITS) == {unit for unit, _ in PARAMETERS.values()}


@pytest.mark.parametrize(("parameter", "value"), [("w", "1020"), ("zB", "0.9"), ("lam", "1.25664")])
def test_the_refusals_of_the_page_are_those_that_come(parameter, value):
    said = re.search(rf"^    ({parameter} = .*)$", PAGE, re.M)[1]
    text = re.sub(rf"^{parameter} = .*$", f"{parameter} = {value}", load_bicycle("Benchmark").to_toml(), flags=re.M)
    with pytest.raises(InputError) as refused:
        Bicycle.from_toml(text)
    assert said in str(refused.value)
