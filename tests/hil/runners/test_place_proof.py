"""A rig on a belt is not armed without a recent proof of its sensor of place, with the settings that it has."""

import json
from dataclasses import replace

import pytest

from riderless.hil.rig.file import read_rig
from riderless.hil.runners.place_proof import keep_place_proof, require_place_proof
from riderless.models.errors import InputError
from tests.paths import DOCS


@pytest.fixture
def rig(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return replace(read_rig(DOCS / "rigs" / "lane.toml"), place_days=7.0)


def test_it_is_asked_for_until_it_is_there(rig):
    with pytest.raises(InputError, match=r"sensor of place proven within 7 days .* run `riderless check RIG`"):
        require_place_proof(rig)
    keep_place_proof(rig)
    require_place_proof(rig)


def test_other_settings_want_another(rig):
    keep_place_proof(rig)
    ports = (rig.ports[0], replace(rig.ports[1], settings={**rig.ports[1].settings, "mm_per_unit": -1.0}))
    with pytest.raises(InputError, match="no such proof"):
        require_place_proof(replace(rig, ports=ports))


@pytest.mark.parametrize("proof", [{"utc": "2020-01-01T00:00:00+00:00"}, {"utc": "once"}, {}, None])
def test_an_old_or_illegible_one_does_not_count(rig, tmp_path, proof):
    keep_place_proof(rig)
    file = tmp_path / "riderless" / "place.json"
    file.write_text(json.dumps(dict.fromkeys(json.loads(file.read_text()), proof)))
    with pytest.raises(InputError, match="no such proof"):
        require_place_proof(rig)


def test_without_edges_or_with_no_days_none_is_asked_for(rig):
    require_place_proof(replace(rig, place=replace(rig.place, belt_width=None)))
    require_place_proof(replace(rig, place_days=0.0))
    require_place_proof(replace(rig, place=None, ports=rig.ports[:1]))
