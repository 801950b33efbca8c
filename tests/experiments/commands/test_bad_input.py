"""Input that no bicycle, loop or computer can have: one sentence and exit code 2, as a newcomer would meet them."""

import pytest
import typer
from typer.core import TyperGroup

from riderless.experiments.recordings.foreign import KNOWN_KINDS
from riderless.experiments.reports.analyze import analyze
from riderless.models import catalogue
from tests.experiments.commands.test_cli import riderless, run_folder  # noqa: F401
from tests.paths import DOCS, ROOT

BOM = "\ufeff"  # that some editors put before a text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["eig", "Silver", "--speeds", "1e300"], "go beyond 200 m/s"),
        (["design", "Silver", "--rate", "1e9"], "at most 20000 Hz, found 1e+09 Hz"),
        (["design", "Silver", "--drive-lag", "5"], "below 0.5 s, found 5 s"),
        (["run", "--emulated", "--fifo", "500"], "is not in the range"),
        (["run", "--emulated", "--fifo", "95"], "is not in the range"),
        (["campaign", "--model", "x", "--lockstep"], "no model is called 'x'; there is linear, nonlinear"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_that_cannot_be(riderless, arguments, told):  # noqa: F811
    code, _, err = riderless(*arguments)
    assert code == 2
    assert told in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


class Fault(Exception):
    """Refusal of pydantic, with which typer reads values from 0.29 on: its words leave out what was found."""

    def errors(self):
        """List one fault, as pydantic does."""
        return [{"input": "95"}]


@pytest.mark.parametrize("words", ["Input should be less than or equal to 90, found 95", "'95' is none"])
def test_what_was_found_is_said_once_whoever_reads_it(riderless, monkeypatch, words):  # noqa: F811
    def refuse(*_):
        raise typer.BadParameter(words.removesuffix(", found 95")) from Fault()

    monkeypatch.setattr(TyperGroup, "invoke", refuse)
    code, _, err = riderless("run", "--fifo", "95")
    assert (code, words in err, err.count("95")) == (2, True, 1)


def test_a_bicycle_heavier_than_anything(riderless, tmp_path):  # noqa: F811
    text = (ROOT / "models/bicycles/Silver.toml").read_text(encoding="utf-8")
    file = tmp_path / "heavy.toml"
    file.write_text("\n".join("mB = 1e300" if row.startswith("mB ") else row for row in text.splitlines()))
    code, _, err = riderless("eig", file, "--speeds", "4")
    assert code == 2
    assert "mB = 1e+300 kg is beyond 1e+06 kg" in err


def test_a_report_where_a_file_lies(riderless, run_folder, tmp_path):  # noqa: F811
    (tmp_path / "report").write_text("mine")
    code, _, err = riderless("analyze", run_folder, "-o", tmp_path / "report")
    assert code == 2
    assert "name another" in err
    assert (tmp_path / "report").read_text() == "mine"


def test_gains_where_a_rig_is_wanted(riderless, tmp_path):  # noqa: F811
    assert riderless("design", "Silver", "--speeds", "4:5:1", "-o", tmp_path / "gains.toml")[0] == 0
    code, _, err = riderless("run", tmp_path / "gains.toml")
    assert code == 2
    assert "it is another kind of file" in err
    assert len(err) < 400


def test_a_byte_order_mark_is_no_fault(tmp_path):
    from riderless.hil.rig.file import read_rig

    silver, rig = tmp_path / "silver.toml", tmp_path / "rig.toml"
    silver.write_text(BOM + (ROOT / "models/bicycles/Silver.toml").read_text(encoding="utf-8"), encoding="utf-8")
    rig.write_text(BOM + (DOCS / "rigs/node.toml").read_text(encoding="utf-8"), encoding="utf-8")
    assert catalogue.load_bicycle(str(silver)) == catalogue.load_bicycle("Silver")
    assert read_rig(rig) == read_rig(DOCS / "rigs/node.toml")


@pytest.mark.parametrize("command", ["analyze", "plot", "live"])
def test_the_help_names_every_kind_of_logs_of_others(riderless, command):  # noqa: F811
    _, out, _ = riderless(command, "--help")
    told = " ".join(out.split()).partition("Kind of others' files: ")[2].partition(".")[0]
    told = told.replace("- ", "-")  # where the help is wrapped
    assert told.replace(" or ", ", ").split(", ") == list(KNOWN_KINDS)
    assert f"{told};" in " ".join((analyze.__doc__ or "").split())


def test_the_version(riderless):  # noqa: F811
    code, out, _ = riderless("--version")
    assert code == 0
    assert out.startswith("riderless 0.")
