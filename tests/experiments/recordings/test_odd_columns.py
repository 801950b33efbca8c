"""Columns of somebody else's that are not what they seem: a dead encoder, two of one name, times as durations."""

import numpy as np
import pytest

from riderless.experiments.reports.analyze import analyze
from riderless.models.errors import InputError
from tests.experiments.recordings import foreign_log

TABLES = """
label = "theirs"
bicycle = "DelftSbW2024"
law = { steer_into_lean = 2.0, v0 = 6.5 }
[time]
column = "t"
unit = "s"
[phi_dot]
column = "gx"
unit = "rad/s"
[v]
column = "speed"
unit = "m/s"
"""
STEER = '[delta]\ncolumn = "steer"\nunit = "rad"\n'


def written(folder, columns, header, tables=TABLES):
    """A log and its mapping."""
    np.savetxt(folder / "log.csv", np.column_stack(columns), delimiter=",", header=header, comments="")
    (folder / "map.toml").write_text(tables)
    return {"sources": folder / "log.csv", "mapping": folder / "map.toml"}


@pytest.mark.filterwarnings("error")
def test_a_steer_that_stands_still_is_left_out_with_a_remark(tmp_path):
    """It made an infinite weight, and the whole analysis ended in a sentence about another thing."""
    s = foreign_log.signals()
    without = analyze(**written(tmp_path, [s["t"], s["phi_dot"], s["v"]], "t,gx,speed"))
    dead = [s["t"], s["phi_dot"], s["v"], np.full(len(s["t"]), 0.1)]
    found = analyze(**written(tmp_path, dead, "t,gx,speed,steer", TABLES + STEER))
    assert len(found.comparisons) == len(without.comparisons) > 0
    assert found.comparisons[0].prediction.like == pytest.approx(without.comparisons[0].prediction.like, rel=1e-6)
    assert any("is 0.1 rad in every row: the encoder is not read" in one for one in found.responses[0].remarks)


def test_two_columns_of_one_name_are_told_apart(tmp_path):
    """The last of them was taken, without a word."""
    s = foreign_log.signals()
    columns = [s["t"], s["phi_dot"], s["psi_dot"], s["v"]]
    with pytest.raises(InputError, match=r"gx \(1\), gx \(2\)"):
        analyze(**written(tmp_path, columns, "t,gx,gx,speed"))
    first = analyze(**written(tmp_path, columns, "t,gx,gx,speed", TABLES.replace('"gx"', '"gx (1)"')))
    alone = analyze(**written(tmp_path, [s["t"], s["phi_dot"], s["v"]], "t,gx,speed"))
    assert [c.fit.re for c in first.comparisons] == [c.fit.re for c in alone.comparisons]


def test_times_of_parquet_as_durations_are_in_seconds(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    s = foreign_log.signals()
    alone = analyze(**written(tmp_path, [s["t"], s["phi_dot"], s["v"]], "t,gx,speed"))
    since = pyarrow.array(np.round(1e6 * s["t"]).astype("timedelta64[us]"))
    parquet.write_table(pyarrow.table({"t": since, "gx": s["phi_dot"], "speed": s["v"]}), tmp_path / "log.parquet")
    found = analyze(tmp_path / "log.parquet", mapping=tmp_path / "map.toml")
    assert [c.fit.im for c in found.comparisons] == pytest.approx([c.fit.im for c in alone.comparisons], rel=1e-6)
