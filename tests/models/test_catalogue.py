"""The catalogue against the collection it was transcribed from."""

import json

import pytest

from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.parameters import PARAMETERS
from tests.paths import REFERENCE


def test_every_bicycle_loads():
    assert len(catalogue.bicycle_names()) == 17
    for name in catalogue.bicycle_names():
        bicycle = catalogue.load_bicycle(name)
        assert bicycle.name == name
        assert bicycle.source


def test_every_published_set_is_transcribed_in_full_precision():
    published = json.loads((REFERENCE / "measured_bicycles.json").read_text())["bicycles"]
    assert set(catalogue.bicycle_names()) == {*published, "Rigid_repaired"}
    for name, record in published.items():
        bicycle = catalogue.load_bicycle(name)
        assert {key: getattr(bicycle, key) for key in record["parameters"]} == record["parameters"]
        assert dict(bicycle.std) == record["std"]
        assert list(bicycle.missing) == record.get("missing", [])
        assert bicycle.source == record["source"]
        assert set(PARAMETERS) - set(record["parameters"]) == set(bicycle.missing)


def test_an_unknown_name_lists_close_matches():
    with pytest.raises(InputError, match=r"no bicycle 'silver' in the catalogue; did you mean Silver\?"):
        catalogue.load_bicycle("silver")
    with pytest.raises(InputError, match="choose one of Balanceassistv1, Benchmark"):
        catalogue.load_bicycle("qqqqq")


def test_a_path_is_read_as_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(catalogue.load_bicycle("Silver").to_toml().replace('"Silver"', '"Mine"'), encoding="utf-8")
    assert catalogue.load_bicycle(path).name == "Mine"
    assert catalogue.load_bicycle(str(path)).w == 1.01
    with pytest.raises(InputError, match="there is no file"):
        catalogue.load_bicycle(tmp_path / "other.toml")


def test_a_name_cannot_reach_outside_the_catalogue():
    with pytest.raises(InputError, match="no bicycle"):
        catalogue.load_bicycle("../parameters")
