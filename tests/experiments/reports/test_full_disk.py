"""A full disk leaves nothing half made: a folder that was not there before is not there after."""

import pytest

from riderless.experiments.campaigns.data_package import PackageTerms, write_data_package
from riderless.experiments.campaigns.starter import write_starter
from riderless.experiments.reports.analyze import analyze
from riderless.experiments.reports.paper.folder import write_paper
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.errors import InputError
from tests.disks import a_disk
from tests.hil.machine import gains, rig_of, scenario

TINY = 8_192  # bytes


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with one kick."""
    rig, folder = rig_of(), tmp_path_factory.mktemp("runs") / "kicked"
    run_lockstep(folder, rig, gains(rig, "poles", zeta=0.2), scenario(kicks=(1.0,)), 5.0)
    return folder


@pytest.fixture
def tiny_disk(tmp_path):
    """A folder on a disk of its own that is as good as full."""
    with a_disk(tmp_path / "disk", TINY) as folder:
        yield folder


def test_no_half_of_a_report_a_paper_a_package_or_a_lab_stays(run, tiny_disk, tmp_path):
    result = analyze(run)
    result.write_report(tmp_path / "report")
    terms = PackageTerms("CC0-1.0", "a run")
    for write in (
        result.write_report,
        lambda place: write_paper(tmp_path / "report", place),
        lambda place: write_data_package(run, place, terms),
        write_starter,
    ):
        with pytest.raises(InputError, match="No space left on device"):
            write(tiny_disk / "a" / "b")
        assert list(tiny_disk.iterdir()) == []


def test_what_lay_in_the_folder_before_stays(tiny_disk):
    (tiny_disk / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="No space left on device"):
        write_starter(tiny_disk)
    assert [path.name for path in tiny_disk.iterdir()] == ["mine.txt"]
