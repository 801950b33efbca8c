"""A drive's command against a spring balance: made-up drives of known properties, and the tables of a real one."""

import numpy as np
import pytest
from scipy.signal import lfilter

from riderless.hil.commissioning.pull_results import pull_test_values
from riderless.hil.commissioning.pull_table import LEAST_PULL_ROWS, PullTable, read_pull_table
from riderless.hil.commissioning.pull_test import fit_pull_test
from riderless.hil.rig.rig import Rig
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.plant.drive_losses import DriveLosses
from tests.paths import SHARED

DELFT = SHARED / "data" / "delft_calibration"
COMMAND = np.arange(0.1, 3.0, 0.1)
TRUTH = {"gain": 1.3, "dead_band": 0.15, "friction": 0.25}


def made_up(
    rng: np.random.Generator,
    gain=1.3,
    dead_band=0.15,
    friction=0.25,
    hysteresis=0.0,
    offset=0.0,
    noise=0.03,
    misprints=0,
    side=1,
    down=False,
    sticks=0.0,
) -> PullTable:
    """What a balance shows of such a drive: to 5 g at 0.3 m, with jumps where somebody wrote another digit."""
    command = np.concatenate([COMMAND, COMMAND[-2::-1]]) if down else COMMAND
    arrived, made = 0.0, []
    for T in command + side * offset:
        beyond = np.sign(T) * max(0.0, abs(T) - dead_band)
        arrived = min(max(arrived, beyond - hysteresis), beyond + hysteresis)
        made.append(gain * max(0.0, arrived))
    pushed, tables = np.array(made), []
    for shown in (np.maximum(0.0, pushed - friction), pushed + friction):
        error = noise * rng.standard_normal(command.size)
        error[1:] *= np.sqrt(1.0 - sticks**2)
        error = lfilter([1.0], [1.0, -sticks], error)
        shown = np.maximum(0.0, shown + error * (shown > 0.0))
        shown[rng.choice(command.size, misprints, replace=False)] *= 0.2
        tables.append(0.0147 * np.round(shown / 0.0147))
    return PullTable("made up", command, *tables, side)


def test_a_clean_table_tells_the_truth():
    found = fit_pull_test([made_up(np.random.default_rng(1), noise=0.0)])
    for name, value in TRUTH.items():
        assert found.found[name].value == pytest.approx(value, abs=0.02), name
    assert found.found["break_away"].value == pytest.approx(0.15 + 0.25 / 1.3, abs=0.02)
    assert found.found["widening"].value == pytest.approx(0.0, abs=0.03)
    assert not {"hysteresis", "offset"} & set(found.found), "one table on the way up tells neither"


def test_up_and_down_to_both_sides_tell_hysteresis_and_offset():
    truth = {**TRUTH, "hysteresis": 0.08, "offset": -0.05}
    rng = np.random.default_rng(5)
    found = fit_pull_test([made_up(rng, **truth, noise=0.0, side=side, down=True) for side in (1, -1)])
    for name, value in truth.items():
        assert found.found[name].value == pytest.approx(value, abs=0.015), name


def test_misprints_cost_their_rows_only():
    found = fit_pull_test([made_up(np.random.default_rng(2), noise=0.01, misprints=3)])
    for name, value in TRUTH.items():
        assert found.found[name].value == pytest.approx(value, abs=0.05), name


@pytest.mark.parametrize("tables", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_intervals_hold_the_truth_as_often_as_they_say(tables):
    rng, held, runs = np.random.default_rng(3), dict.fromkeys(TRUTH, 0), 60
    for _ in range(runs):
        found = fit_pull_test([made_up(rng) for _ in range(tables)])
        for name, value in TRUTH.items():
            low, high = found.interval(name)
            held[name] += low <= value <= high
            assert high - low < {1: 0.5, 4: 0.3}[tables], "and are of use"
    assert min(held.values()) >= 0.88 * runs, held


@pytest.mark.slow
def test_intervals_of_drives_with_everything_hold_the_truth():
    """Other drives than the estimator was made on; two tables to either side, up and down, a misprint in each."""
    rng, held, runs = np.random.default_rng(77), {}, 100
    for _ in range(runs):
        truth = {
            "gain": rng.uniform(0.7, 1.6),
            "offset": rng.uniform(-0.1, 0.1),
            "dead_band": rng.uniform(0.05, 0.3),
            "hysteresis": rng.uniform(0.03, 0.2),
            "friction": rng.uniform(0.05, 0.4),
        }
        tables = [made_up(rng, **truth, misprints=1, side=side, down=True) for side in (1, -1, 1, -1)]
        found = fit_pull_test(tables)
        for name, value in truth.items():
            low, high = found.interval(name)
            held[name] = held.get(name, 0) + (low <= value <= high)
    assert min(held.values()) >= 0.92 * runs, held


def test_drives_that_differ_from_table_to_table_get_wide_intervals():
    rng = np.random.default_rng(4)
    alike, unlike = (fit_pull_test([made_up(rng, gain=g) for g in gains]) for gains in ((1.3, 1.3), (1.0, 1.6)))
    assert unlike.found["gain"].error > 5.0 * alike.found["gain"].error
    assert unlike.found["gain"].value == pytest.approx(1.3, abs=0.05)


def written(folder, text: str):
    path = folder / "pull.csv"
    path.write_text(text)
    return path


ROWS = "\n".join(f"{0.1 * k:.1f},{0.01 * k:.3f},{0.02 * k:.3f}" for k in range(1, 13))


def test_either_way_of_telling_the_arm(tmp_path):
    above = read_pull_table(written(tmp_path, f"CLOCKWISE, arm = 315mm\ncommand,kg_push,kg_pull\n{ROWS}\n"))
    column = ROWS.replace("\n", ",\n", 1).replace(",\n", ",315\n", 1)
    beside = read_pull_table(written(tmp_path, f"command,kg_push,kg_pull,arm_in_mm\n{column}\n"))
    assert above.yielding[-1] == pytest.approx(9.81 * 0.315 * 0.24)
    for one, other in zip(above[1:], beside[1:], strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,torque\n1,2\n", "wants a line of column names that begins with 'command', found none"),
        (f"command,kg_a,kg_b\n{ROWS}", "wants the balance's arm .* found none: write 'arm = 315mm'"),
        (f"arm = 5mm\ncommand,kg_a,kg_b\n{ROWS}", "10 to 2000 mm, once, found 5"),
        ("arm = 315mm\ncommand,kg_a,kg_b\n0.1,0,0\n", f"{LEAST_PULL_ROWS} rows or more, found 2 and 1"),
        (f"arm = 315mm\ncommand,kg_a,N\n{ROWS}", "two columns of kg .* found 1 and 12"),
        (
            f"arm = 315mm\ncommand,kg_a,kg_b\n{ROWS}\n1.3,x,0.1",
            "wants a number in column 2 of each row, found '1.3,x,0.1'",
        ),
        (
            f"arm = 315mm\ncommand,kg_a,kg_b\n{ROWS}\n0.5,0.1,0.1\n0.7,0.1,0.1",
            "must grow from row to row, and fall after the greatest .*: sort the table",
        ),
        (f"arm = 315mm\ncommand,kg_a,kg_b\n-0.1,0,0\n{ROWS}", r"wants commands of one sign, found -0\.1 to 1\.2 N m"),
    ],
)
def test_what_is_no_pull_test_is_said_in_one_sentence(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read_pull_table(written(tmp_path, text))


def test_a_drive_that_does_not_push_is_no_drive():
    table = PullTable("idle", COMMAND, 0.0 * COMMAND, 0.0 * COMMAND)
    with pytest.raises(InputError, match=r"pull test idle shows no torque that grows with the command: pull further"):
        fit_pull_test([table])


def test_a_table_that_lost_digits_is_left_out_and_named():
    rng = np.random.default_rng(6)
    good, bad = made_up(rng), made_up(rng)._replace(name="bad")
    bad = bad._replace(yielding=np.where(COMMAND > 1.5, bad.yielding % 0.5, bad.yielding))
    found = fit_pull_test([good, bad])
    assert found.left_out == ("bad",)
    assert found.found == fit_pull_test([good]).found


def test_what_is_told_apart_from_none_goes_into_the_rig_and_what_is_not_is_taken_back():
    rng = np.random.default_rng(7)
    truth = {"gain": 1.2, "dead_band": 0.2, "friction": 0.3, "hysteresis": 0.0}
    found = fit_pull_test([made_up(rng, **truth, side=side, down=True) for side in (1, -1, 1, -1)])
    rig = Rig(catalogue.load_bicycle("Silver"), losses=DriveLosses(offset=0.3))
    values = pull_test_values(found, rig)
    assert values["drive", "gain"] == pytest.approx(1.2, abs=0.03)
    assert 0.0 < values["std", "drive_gain"] < 0.03
    assert values["drive", "dead_band_Nm"] == pytest.approx(0.2, abs=0.03)
    assert values["drive", "friction_Nm"] == pytest.approx(0.3, abs=0.05)
    assert values["drive", "offset_Nm"] == 0.0, "the rig said one, the test does not"


@pytest.mark.skipif(not DELFT.is_dir(), reason="the tables of Delft's pull test are not beside this repository")
def test_delft():
    """Real tables, two with whole kilograms lost in some rows; lines through the clean ones tell their gains."""
    tables = [read_pull_table(path) for path in sorted(DELFT.glob("torque_kg*"))]
    found = fit_pull_test(tables)
    low, high = found.interval("gain")
    assert low < 1.4 < high
    assert 0.2 < found.found["break_away"].value < 0.7, "the balance shows nothing at 0.1 to 0.7 N m"
    assert found.left_out == ("torque_kg_easurements_CCW.txt",), "whole kilograms are missing in its second column"
    clean = [table for table in tables if "high_saddle" in table.name]
    for table in clean:
        beyond = table.command > 1.0
        lines = [np.polyfit(table.command[beyond], shown[beyond], 1)[0] for shown in (table.overcoming, table.yielding)]
        assert fit_pull_test([table]).found["gain"].value == pytest.approx(np.mean(lines), rel=0.08)
