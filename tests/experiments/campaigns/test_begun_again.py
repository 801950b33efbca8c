"""The campaign that needs no file, begun again: what is unfinished goes on, what is finished or other begins anew."""

import pytest

from riderless.experiments.campaigns.folder import choose_folder, read_campaign_record, write_campaign_record
from riderless.experiments.campaigns.session import open_campaign
from riderless.models.errors import InputError


@pytest.fixture(scope="module")
def usual():
    return open_campaign(None, lockstep=True)


@pytest.fixture
def begun(tmp_path, usual):
    folder = tmp_path / usual.stem
    folder.mkdir()
    write_campaign_record(folder, usual, [])
    return folder


def test_an_unfinished_one_goes_on(tmp_path, usual, begun):
    assert choose_folder(tmp_path, usual.stem, usual, resume=False) == begun


def test_new_begins_beside_it(tmp_path, usual, begun):
    fresh = choose_folder(tmp_path, usual.stem, usual, resume=False, always_new=True)
    assert fresh != begun
    assert not fresh.exists()


@pytest.mark.parametrize("other", [{"lockstep": False}, {"lockstep": True, "model": "nonlinear"}])
def test_one_with_other_options_is_another(tmp_path, usual, begun, other):
    campaign = open_campaign(None, **other)
    assert choose_folder(tmp_path, campaign.stem, campaign, resume=False) != begun
    with pytest.raises(InputError):
        choose_folder(begun, campaign.stem, campaign, resume=False)  # its folder was named: a mistake, not a wish


def test_the_folder_itself_may_be_named(usual, begun):
    assert choose_folder(begun, usual.stem, usual, resume=False) == begun
    assert read_campaign_record(begun)["planned"] == [condition.name for condition in usual.conditions]
