"""Names that lead to a device without an end, and texts too large: refused before they fill memory."""

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from riderless.experiments.analysis.windows.notes import read_notes
from riderless.experiments.campaigns.file import read_campaign
from riderless.experiments.campaigns.migration import migrate
from riderless.experiments.recordings.foreign.mapping import load_mapping
from riderless.experiments.recordings.published import is_table, read_published
from riderless.hil.commissioning.pull_table import read_pull_table
from riderless.hil.controllers.law_file import name_law
from riderless.hil.controllers.registry import read_controller_file
from riderless.hil.guidance.points import read_path
from riderless.hil.output_file import files_read
from riderless.hil.rig.file import read_rig
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from riderless.models.exchange.files import read_bicycle
from riderless.models.text_file import MOST_TEXT, read_text_file

READERS: dict[str, Callable[[Path], object]] = {
    "bicycle.toml": load_bicycle,
    "bicycle.json": read_bicycle,
    "rig.toml": read_rig,
    "gains.toml": read_controller_file,
    "law.py": name_law,
    "campaign.toml": read_campaign,
    "mapping.toml": load_mapping,
    "migrated.toml": migrate,
    "notes.txt": lambda path: read_notes(path, ["a.csv"]),
    "path.csv": read_path,
    "pull.csv": read_pull_table,
    "figure.csv": lambda path: is_table(path) or read_published(path),
}


@pytest.fixture
def little_memory():
    """Half a gigabyte more than there is: what reads on fails here, and not the machine."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + 500_000_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("name", READERS)
def test_a_name_that_leads_to_a_device_without_end_is_refused_in_a_sentence(tmp_path, little_memory, name):
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(InputError) as refused:
        READERS[name](tmp_path / name)
    said = str(refused.value)
    assert "more than" in said
    assert "MB" in said
    assert "\n" not in said


def test_inputs_of_a_command_are_looked_through_no_further(tmp_path, little_memory):
    (tmp_path / "rig.toml").symlink_to("/dev/zero")
    assert files_read(tmp_path / "rig.toml") == [tmp_path / "rig.toml"]


def test_a_text_is_read_to_its_last_byte_and_one_more_is_too_many(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n" + b"x" * (MOST_TEXT - 10))
    assert path.stat().st_size == MOST_TEXT
    assert read_text_file(path) == "a\nb\nc\n" + "x" * (MOST_TEXT - 10)
    path.write_bytes(b"x" * (MOST_TEXT + 1))
    with pytest.raises(OSError, match="more than 8 MB"):
        read_text_file(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UnicodeDecodeError):
        read_text_file(path)
