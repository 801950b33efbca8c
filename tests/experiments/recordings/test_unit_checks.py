"""Units and signs: nothing is said of recordings that are right, and every spoilt copy is caught with its cause."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from riderless.experiments.cli import app
from riderless.experiments.datatypes import Response
from riderless.experiments.feedback_law import FeedbackLaw
from riderless.experiments.recordings.foreign import delft
from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.experiments.recordings.foreign.table import Table
from riderless.experiments.recordings.quality import artefacts, unit_checks
from riderless.experiments.recordings.quality.checked import Recorded
from riderless.experiments.recordings.quality.inspection import inspect_recording
from riderless.experiments.recordings.quality.kinematic_relations import (
    band_pass_kernel,
    band_passed,
    check_relations,
    factor_spread,
    robust_factor,
)
from riderless.models import catalogue
from riderless.models.errors import InputError
from tests.experiments.recordings import delft_log, foreign_log
from tests.experiments.recordings.foreign_log import write_csv

DEGREES, KMH = 180 / np.pi, 3.6

# column, factor that spoils it, cause that must be named, alone
SPOILT = [
    ("lean_angle", DEGREES, "lean_angle is in degrees, not in radians"),
    ("lean_rate", DEGREES, "lean_rate is in degrees/s, not in radians/s"),
    ("fork_angle", DEGREES, "fork_angle is in degrees, not in radians"),
    ("fork_rate", DEGREES, "fork_rate is in degrees/s, not in radians/s"),
    ("lean_angle", 1 / DEGREES, "lean_angle is in radians, not in degrees"),
    ("lean_rate", 1 / DEGREES, "lean_rate is in radians/s, not in degrees/s"),
    ("fork_angle", 1 / DEGREES, "fork_angle is in radians, not in degrees"),
    ("fork_rate", 1 / DEGREES, "fork_rate is in radians/s, not in degrees/s"),
    ("lean_angle", -1.0, "the sign of lean_angle is reversed"),
    ("lean_rate", -1.0, "the sign of lean_rate is reversed"),
    ("fork_angle", -1.0, "the sign of fork_angle is reversed"),
    ("fork_rate", -1.0, "the sign of fork_rate is reversed"),
    ("command_fork", -1.0, "the sign of command_fork is reversed"),
    ("command_fork", 1e3, "command_fork is in N mm, not in N m"),
    ("lean_angle", -DEGREES, "lean_angle is in degrees, not in radians, and its sign is reversed"),
    ("speed", KMH, "speed is in km/h, not in m/s"),
    ("speed", 1 / 0.44704, "speed is in mph, not in m/s"),
]


# quantity, factor, cause, where neither law nor steer rate is recorded
WITHOUT_LAW = [
    ("v", KMH, "speed is in km/h, not in m/s"),
    ("delta", -1.0, "the sign of fork_angle is reversed"),
    ("delta", DEGREES, "fork_angle is in degrees, not in radians"),
    ("phi_dot", -1.0, "the sign of lean_rate is reversed"),
    ("phi", -1.0, "the sign of lean_angle is reversed"),
]

# quantity, factor, cause, where lean itself is not recorded either: its sensor is a gyro
WITHOUT_LEAN = [
    ("delta", -1.0, "the sign of fork_angle is reversed"),
    ("delta", DEGREES, "fork_angle is in degrees, not in radians"),
    ("phi_dot", DEGREES, "lean_rate is in degrees/s, not in radians/s"),
    ("v", KMH, "speed is in km/h, not in m/s"),
]

# factor, all quantities of one sensor, cause
WHOLE_SENSOR = [
    (-1.0, ("phi", "phi_dot"), "the signs of lean_angle and lean_rate are reversed"),
    (-1.0, ("delta", "delta_dot"), "the signs of fork_angle and fork_rate are reversed"),
    (DEGREES, ("phi", "phi_dot"), "lean_angle and lean_rate are in degrees, not in radians"),
    (DEGREES, ("delta", "delta_dot"), "fork_angle and fork_rate are in degrees, not in radians"),
    (
        DEGREES,
        ("phi", "phi_dot", "delta", "delta_dot"),
        "lean_angle and lean_rate and fork_angle and fork_rate are in degrees, not in radians",
    ),
]


@pytest.fixture(scope="module")
def own() -> list[Table]:
    """Logs of our own emulated bicycle in the form of the Delft logs."""
    return [delft_log.delft_log(v) for v in delft_log.SPEEDS]


@pytest.fixture(scope="module")
def real(shared) -> list[Table]:
    """The seven real logs."""
    paths = sorted((shared / "data/delft_treadmill").glob("*.log"))
    assert len(paths) == 7
    return [read_table(path) for path in paths]


def spoilt(table: Table, column: str, factor: float) -> Table:
    """A copy of a log with one column multiplied."""
    return replace(table, columns={**table.columns, column: table.columns[column] * factor})


def unnamed_mistake(table: Table, column: str, factor: float, cause: str) -> str:
    """What is wrong with the refusal of a spoilt copy; empty where it names the cause."""
    try:
        inspect_recording(delft.recorded(spoilt(table, column, factor)))
    except InputError as error:
        sentence = str(error)
        # the column stands in the half of the sentence that tells the factor
        if f"most likely {cause}; correct" in sentence and column in sentence.split(":")[1]:
            return ""
        return f"{table.source}, wanted '{cause}': {sentence}"
    return f"{table.source}, wanted '{cause}': accepted"


def without_law(table: Table) -> Recorded:
    """A log of which neither law nor steer rate is known."""
    return replace(artefacts.mend_flaws(delft.recorded(table)), law=None, beside={})


def gyro_only(table: Table) -> Recorded:
    """A log of lean rate, steer and speed alone, of no known law."""
    return without_law(table).put("phi", None)


def unnamed_in_part(part, table: Table, quantity: str, factor: float, cause: str) -> str:
    """What is wrong with what is said of a spoilt part of a log; empty where it is refused and the cause named."""
    less = part(table)
    return _unlike(table, unit_checks.check_units(less.put(quantity, less.signal(quantity) * factor)), cause)


def unnamed_sensor(table: Table, factor: float, quantities: tuple[str, ...], cause: str) -> str:
    """The same where several quantities share one mistake."""
    recorded = artefacts.mend_flaws(delft.recorded(table))
    for quantity in quantities:
        recorded = recorded.put(quantity, recorded.signal(quantity) * factor)
    return _unlike(table, unit_checks.check_units(recorded), f"most likely {cause}")


def _unlike(table: Table, findings: list[unit_checks.UnitFinding], cause: str) -> str:
    said = [finding.sentence for finding in findings]
    right = len(findings) == 1 and findings[0].clear and cause in said[0]
    return "" if right else f"{table.source}, wanted '{cause}': {said}"


def disagreements(table: Table) -> list[str]:
    """What is said against a log that is right; none of its factors is near the edge."""
    recorded = artefacts.mend_flaws(delft.recorded(table))
    relations = {relation.name: relation for relation in check_relations(band_passed(recorded))}
    assert set(relations) == {"lean", "steer", "law", "balance"}, table.source
    said = [finding.sentence for finding in unit_checks.check_units(recorded)]
    off = [repr(r) for r in relations.values() if not (r.agrees and 0.8 < r.factor < 1.25)]
    return [f"{table.source}: {one}" for one in said + off]


@pytest.mark.parametrize(("column", "factor", "cause"), SPOILT)
def test_spoilt_copies_of_a_log_are_refused_with_the_right_cause(own, column, factor, cause):
    for table in own:
        assert not unnamed_mistake(table, column, factor, cause)


@pytest.mark.parametrize(("quantity", "factor", "cause"), WITHOUT_LAW)
def test_without_law_or_steer_rate_the_equations_of_motion_still_tell(own, quantity, factor, cause):
    for table in own:
        assert not unnamed_in_part(without_law, table, quantity, factor, cause)


@pytest.mark.parametrize(("quantity", "factor", "cause"), WITHOUT_LEAN)
def test_without_lean_its_integrated_rate_still_tells(own, quantity, factor, cause):
    for table in own:
        assert not unnamed_in_part(gyro_only, table, quantity, factor, cause)


def test_without_lean_nothing_is_said_against_a_right_log(own):
    for table in own:
        assert [relation.name for relation in check_relations(band_passed(gyro_only(table)))] == ["balance"]
        assert unit_checks.check_units(gyro_only(table)) == []


def test_the_integrating_band_pass_undoes_the_differentiating_one():
    """The rate of a sine, integrated, is the sine itself through the band-pass."""
    dt = 0.01
    t = np.arange(4000) * dt
    angle, rate = np.sin(5.0 * t), 5.0 * np.cos(5.0 * t)
    inside = slice(500, -500)
    integral = np.convolve(rate, band_pass_kernel(dt, -1), "same")[inside]
    np.testing.assert_allclose(integral, np.convolve(angle, band_pass_kernel(dt, 0), "same")[inside], atol=1e-3)


@pytest.mark.parametrize(("factor", "quantities", "cause"), WHOLE_SENSOR)
def test_a_sensor_that_is_wrong_as_a_whole(own, factor, quantities, cause):
    for table in own:
        assert not unnamed_sensor(table, factor, quantities, cause)


def test_nothing_is_said_against_a_log_of_our_own(own):
    assert [one for table in own for one in disagreements(table)] == []


def test_nothing_is_said_against_the_real_logs(real):
    assert [one for table in real for one in disagreements(table)] == []
    assert [one for table in real for one in unit_checks.check_units(gyro_only(table))] == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_every_mistake_put_into_a_real_log_is_named(real, every):
    """The same four tables, one test for all logs: each failure names its log, its cause and what was said."""
    logs = real[::every]
    assert len(logs) == 7 // every
    unnamed = [unnamed_mistake(table, *case) for case in SPOILT for table in logs]
    unnamed += [unnamed_in_part(without_law, table, *case) for case in WITHOUT_LAW for table in logs]
    unnamed += [unnamed_sensor(table, *case) for case in WHOLE_SENSOR for table in logs]
    unnamed += [unnamed_in_part(gyro_only, table, *case) for case in WITHOUT_LEAN for table in logs]
    assert [one for one in unnamed if one] == []


def made(**changes) -> Recorded:
    """A recording of theory, free of mistakes but for the changes (factors by quantity)."""
    s = foreign_log.signals()
    bicycle = catalogue.load_bicycle(foreign_log.BICYCLE)
    factor = {name: changes.pop(name, 1.0) for name in [*s, "wheel", "a_z"]}
    names = ("phi", "phi_dot", "delta", "psi_dot", "v", "T_delta")
    response = Response(
        source="made", kind="mapped", t=s["t"] * factor["t"], bicycle=changes.pop("bicycle", bicycle),
        free=s["armed"] > 0, **{name: s[name] * factor[name] for name in names},
    )  # fmt: skip
    beside = {
        "delta_dot": s["delta_dot"] * factor["delta_dot"],
        "wheel": s["v"] / bicycle.rR * factor["wheel"],
        "a_z": np.full(len(s["t"]), -9.81) * factor["a_z"],
    }
    return Recorded(response, {}, beside, FeedbackLaw(foreign_log.K, foreign_log.V0))


def test_theory_keeps_every_relation():
    relations = {relation.name: relation for relation in check_relations(band_passed(made()))}
    assert set(relations) == {"lean", "steer", "yaw", "wheel", "law", "balance"}
    for relation in relations.values():
        # the kicks, blows of no duration, are no part of the equations of motion
        assert relation.factor == pytest.approx(1.0, abs=0.15 if relation.name == "balance" else 0.01)
        assert relation.correlation > 0.95
    assert unit_checks.check_units(made()) == []


@pytest.mark.parametrize(
    ("quantity", "factor", "cause"),
    [
        ("psi_dot", -1.0, "the sign of psi_dot is reversed"),
        ("psi_dot", DEGREES, "psi_dot is in degrees/s"),
        ("wheel", 30 / np.pi, "wheel is in rpm, not in rad/s"),
        ("wheel", 1 / (2 * np.pi), "wheel is in turns per second"),
        ("v", 1 / KMH, "v is in m/s, not in km/h"),
        ("t", 2.0, "the times are 2"),
        ("t", 0.5, "the times are 0.50"),
        ("a_z", -1.0, "the sign of a_z is reversed"),
        ("a_z", 1 / 9.81, "a_z is in g, not in m/s^2"),
    ],
)
def test_mistakes_in_what_only_some_recordings_have(quantity, factor, cause):
    (finding,) = unit_checks.check_units(made(**{quantity: factor}))
    assert cause in finding.sentence
    assert finding.clear == (quantity != "a_z")  # gravity enters no eigenvalue


def test_two_columns_that_contradict_each_other_are_both_named_where_nothing_decides():
    recorded = made(phi=-1.0)
    response = replace(recorded.response, delta=None, psi_dot=None, T_delta=None, bicycle=None)
    (finding,) = unit_checks.check_units(Recorded(response))
    assert "the sign of phi_dot is reversed" in finding.sentence
    assert "the sign of phi is reversed" in finding.sentence
    assert "phi_dot is -1" in finding.sentence


def test_impossible_values_are_told_where_there_is_nothing_to_compare_with():
    response = replace(made(phi_dot=DEGREES).response, phi=None, delta=None, T_delta=None, psi_dot=None)
    (finding,) = unit_checks.check_units(Recorded(response))
    assert finding.clear
    assert "phi_dot is in degrees/s" in finding.sentence
    response = replace(made(v=-1.0).response, phi=None, delta=None, T_delta=None, psi_dot=None)
    assert "the sign of v is reversed" in unit_checks.check_units(Recorded(response))[0].sentence


def test_noise_that_answers_nothing_is_a_remark_not_a_refusal():
    recorded = made()
    noise = np.random.default_rng(2).standard_normal(len(recorded.response.t))
    (finding,) = unit_checks.check_units(recorded.put("delta_dot", noise))
    assert not finding.clear
    assert "hardly belong together" in finding.sentence


def noisy(recorded: Recorded, quantity: str, share: float, seed: int) -> Recorded:
    """A copy with white noise on one quantity, of so many of its standard deviations."""
    signal = recorded.signal(quantity)
    noise = np.random.default_rng(seed).standard_normal(len(signal))
    return recorded.put(quantity, signal + share * np.std(signal) * noise)


@pytest.mark.parametrize("quantity", ["phi", "phi_dot", "delta", "delta_dot"])
def test_a_noisy_sensor_is_not_told_to_have_a_wrong_unit(own, quantity):
    """Noise of what is expected lowers the factor: of lean rate, "speed is in m/s, not in mph" was told for certain."""
    told = []
    for table in own:
        recorded = artefacts.mend_flaws(delft.recorded(table))
        for share in (0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 8.0):
            findings = unit_checks.check_units(noisy(recorded, quantity, share, seed=11))
            assert not any(finding.clear for finding in findings), (share, findings)
            told += [finding.sentence for finding in findings]
    assert any("noise would explain that" in sentence for sentence in told)
    assert not any("wrong unit" in sentence or "likely" in sentence for sentence in told)


@pytest.mark.parametrize(
    ("quantity", "factor"), [("phi", DEGREES), ("phi", -1.0), ("phi_dot", DEGREES), ("delta", -1.0)]
)
def test_a_wrong_unit_is_told_beside_noise(own, quantity, factor):
    for table in own:
        recorded = artefacts.mend_flaws(delft.recorded(table))
        spoilt_too = recorded.put(quantity, factor * recorded.signal(quantity))
        (finding,) = unit_checks.check_units(noisy(spoilt_too, quantity, 0.1, seed=12))
        assert finding.clear
        assert "most likely" in finding.sentence


def test_the_regression_is_not_moved_by_rare_blows():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(4000)
    y = 2.0 * x + 0.01 * rng.standard_normal(4000)
    y[::10] += 30.0
    factor, correlation = robust_factor(y, x)
    assert factor == pytest.approx(2.0, abs=0.01)
    assert factor_spread(y, x) < 0.02
    assert correlation > 0.99


def test_the_command_refuses_and_trusts(own, tmp_path):
    path = write_csv(tmp_path / "some.log", spoilt(own[0], "speed", KMH).columns, form="{:.7g}")
    refused = CliRunner().invoke(app, ["analyze", str(path)])
    assert isinstance(refused.exception, InputError)
    trusted = CliRunner().invoke(app, ["analyze", str(path), "--trust"])
    assert trusted.exit_code == 0
    assert "speed is in km/h, not in m/s" in trusted.output


def test_two_mistakes_at_once_are_not_blamed_on_a_column_that_is_right():
    """A reversed lean rate would explain both, but then nothing else would hold."""
    (finding,) = unit_checks.check_units(made(phi=-1.0, T_delta=-1.0))
    assert "several columns may have a wrong unit or sign" in finding.sentence
    assert finding.clear


@pytest.mark.parametrize("part", [without_law, gyro_only, lambda table: artefacts.mend_flaws(delft.recorded(table))])
def test_a_speed_that_no_bicycle_reaches_is_refused_however_much_is_recorded(own, part):
    for table in own:
        recorded = part(table)
        findings = unit_checks.check_units(recorded.put("v", 60.0 * recorded.signal("v")))
        assert any(finding.clear for finding in findings)
        assert "wanted at most 15" in findings[0].sentence
