"""A logged torque that is not that of the stated law is told of, and is what theory goes by."""

import re
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.datatypes import Response
from riderless.experiments.feedback_law import FeedbackLaw
from riderless.experiments.recordings import foreign, torque_law
from riderless.experiments.recordings.quality.checked import Recorded
from riderless.experiments.recordings.quality.inspection import inspect_recording
from riderless.experiments.recordings.torque_law import go_by_logged_torque, torque_factor
from riderless.experiments.theories import lean_feedback
from riderless.models import catalogue
from riderless.models.coordinates import PHI_DOT
from riderless.models.plant.plant import Kick
from tests.experiments.recordings.foreign_log import KICKS, in_their_units, signals, write_csv
from tests.experiments.recordings.test_foreign_mapping import EXAMPLE
from tests.models.plant.riding import DT, free

DELFT = catalogue.load_bicycle("DelftSbW2024")
K, V0, V = 2.0, 6.5, 4.0
COLUMNS = {"T_delta": "command_fork"}
LINEAR = replace(lean_feedback(DELFT, K, V0), linear=True)  # as the logs are made


def ridden(factor, seed=0):
    """The Delft bicycle under a drive that makes ``factor`` of its law, and logs what it makes."""
    rng = np.random.default_rng(seed)
    kicks = tuple(Kick(t, impulse, 0.1) for t, impulse in ((2.0, 6.0), (7.0, -6.0), (12.0, 6.0), (17.0, -6.0)))
    plant = free(DELFT, V, x0=(0.0, 0.0, 0.0, 0.0), kicks=kicks)
    rate, torque = [0.0], [0.0]
    for _ in range(round(22.0 / DT)):
        torque.append(factor * K * (V0 - V) * rate[-1])
        plant.advance(torque[-1], True, DT)
        rate.append(float(plant.state[PHI_DOT]))
    t = DT * np.arange(len(rate))
    response = Response(
        "ridden",
        "mapped",
        t,
        np.array(rate) + 0.004 * rng.standard_normal(len(t)),
        np.full(len(t), V),
        T_delta=np.array(torque),
        bicycle=DELFT,
        theory=LINEAR,
        label="ridden",
    )
    return Recorded(response, COLUMNS, {}, FeedbackLaw(K, V0))


def test_a_torque_of_three_quarters_of_the_law_is_told_of_and_gone_by():
    recorded = ridden(0.77)
    response = inspect_recording(recorded)
    assert any("command_fork: the logged torque is 0.7" in remark for remark in response.remarks)
    assert response.theory.name.startswith("steer into the lean, 1.5")
    told = analyze_responses([response]).verdicts[0]
    ignored = analyze_responses([replace(recorded.response, theory=LINEAR)]).verdicts[0]
    assert told.chi2 < 0.4 * ignored.chi2


def test_a_torque_of_the_law_is_left_alone():
    response = inspect_recording(ridden(1.0))
    assert not any("stated law" in remark for remark in response.remarks)
    assert response.theory.name == LINEAR.name


def test_the_interval_holds_the_factor():
    held = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        law = np.convolve(rng.standard_normal(4000), np.ones(20) / 20, "same")
        noise = 0.1 * np.convolve(rng.standard_normal(4000), np.ones(20) / 20, "same")
        found = torque_factor(0.8 * law + noise, law, 0.01)
        held += abs(found.factor - 0.8) < 1.96 * found.std
    assert held / 200 == pytest.approx(0.95, abs=0.05)


@pytest.mark.parametrize("averaged", [True, False])
def test_noise_of_the_gyro_is_not_taken_for_a_weak_drive(averaged, monkeypatch):
    """It is in the law and not in the torque: row by row the torque seemed 0.95 of the law."""
    if not averaged:
        monkeypatch.setattr(torque_law, "AVERAGED", 0.0)
    recorded = ridden(1.0)
    noise = 0.2 * np.std(recorded.response.phi_dot) * np.random.default_rng(3).standard_normal(len(recorded.response.t))
    noisy = recorded.put("phi_dot", recorded.response.phi_dot + noise)
    told = any("of the stated law" in remark for remark in go_by_logged_torque(noisy).remarks)
    assert told is not averaged


LAW = re.search(r"\[law\].*?\n\n", EXAMPLE, re.S)[0]
SI = signals()
BESIDE_A_FREE_BAR = 0.1 * np.random.default_rng(2).standard_normal(len(SI["t"])) - 0.2  # N m, noise and a zero error
PUSHED_BARS = sum(3.0 * (np.abs(SI["t"] - kick) < 0.1) for kick in KICKS)  # N m, before the motion that answers it


def remarks_on(tmp_path, said, torque):
    """What is said of a log of this torque (n,) N m under the mapping of the docs with this in place of its law."""
    (tmp_path / "m.toml").write_text(said + EXAMPLE.replace(LAW, ""))
    log = write_csv(tmp_path / "log.csv", in_their_units({**SI, "T_delta": torque}))
    return "".join(foreign.read_foreign(log, tmp_path / "m.toml").remarks)


@pytest.mark.parametrize("said", ['law = "uncontrolled"\n', ""])
def test_a_torque_that_controls_a_bicycle_without_a_law_is_told_of(tmp_path, said):
    reached = np.abs(SI["T_delta"].reshape(-1, 5).mean(axis=1)).max()  # over 0.05 s
    told = remarks_on(tmp_path, said, SI["T_delta"])
    assert re.search(rf"motor: the logged torque reaches {reached:.2g} N m while free and answers the motion", told)
    assert "m.toml states no law" in told
    assert "state it as [law]" in told


@pytest.mark.parametrize(
    "torque",
    [
        0.0 * SI["t"],
        BESIDE_A_FREE_BAR,
        PUSHED_BARS,
        np.where(SI["armed"] > 0.0, 0.0, 5.0),  # held by the drive until it is free
        0.004 * SI["T_delta"],  # crosstalk
    ],
)
def test_noise_and_torques_that_do_not_control_are_left_alone(tmp_path, torque):
    assert "law" not in remarks_on(tmp_path, "", torque)


def test_a_torque_of_another_law_brings_no_verdict():
    """Before, a remark said that torque and law had nothing to do with each other, and the law "explained" the log."""
    recorded = ridden(1.0)
    noise = np.convolve(np.random.default_rng(4).standard_normal(len(recorded.response.t)), np.ones(40) / 6.0, "same")
    response = go_by_logged_torque(replace(recorded, response=replace(recorded.response, T_delta=noise)))
    verdict = analyze_responses([response]).verdicts[0]
    assert verdict.explained is None
    assert "the logged torque is not that of the stated law 2 (6.5 - v) phi_dot" in verdict.sentence
    noisy = replace(recorded.response, T_delta=recorded.response.T_delta + 5.0 * noise)  # of a sensor, beside the law
    assert go_by_logged_torque(replace(recorded, response=noisy)).unpredicted == ""
