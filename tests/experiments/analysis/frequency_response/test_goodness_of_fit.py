"""Lines of frequency responses and their chi-square: exact where it can be, calibrated on emulated runs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import signal, stats

from riderless.experiments.analysis.frequency_response.goodness_of_fit import (
    frequency_verdicts,
    goodness,
    response_document,
    step_down,
)
from riderless.experiments.analysis.frequency_response.response import frequency_response
from riderless.experiments.analysis.frequency_response.spectral_lines import MIN_BLOCK_BINS, block_size, measure_lines
from riderless.experiments.campaigns.protocols import identification, sine_sweep
from riderless.experiments.campaigns.protocols.plan_inputs import NamedController, PlanInputs
from riderless.hil.logs.log import read_run
from riderless.hil.loop.excitation import Excitation
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.plant.steer_drive import SteerDrive

BENCHMARK = catalogue.load_bicycle("Benchmark")
RATE = 200.0


def played(tmp_path, kind, seed, emulation=Emulation(), std=None):
    """A response of an emulated run: "sweep" of 40 s, or "multisine" of four periods of 10 s; known but for ``std``."""
    bench = PlanInputs(
        (BENCHMARK,), (NamedController("lqr", "lqr", {"weights": {"T_delta": 0.5}}),), emulation, seed=(seed,)
    )
    about = {"speeds_m_s": (5.0,), "duration_s": 40.0, "f_high_Hz": 4.0}
    if kind == "sweep":
        (c,) = sine_sweep.plan(sine_sweep.Settings(kind="sine_sweep", **about), bench)
    else:
        (c,) = identification.plan(identification.Settings(kind="identification", periods=4, **about), bench)
    folder = tmp_path / f"{kind}-{seed}"
    rig = replace(c.rig, std={"imu_pitch": 0.0, **(std or {})})
    outcome = run_lockstep(folder, rig, c.schedule, c.scenario, c.duration, c.label, None, c.emulation, c.task)
    assert outcome.reason == "success"
    return frequency_response(read_run(folder))


@pytest.fixture(scope="module")
def true(tmp_path_factory):
    folder = tmp_path_factory.mktemp("true")
    return {kind: [played(folder, kind, seed) for seed in (1, 2, 3, 4)] for kind in ("sweep", "multisine")}


@pytest.fixture(scope="module")
def weak(tmp_path_factory):
    return played(tmp_path_factory.mktemp("weak"), "multisine", 1, Emulation(drive=SteerDrive(gain=0.9)))


def test_one_output_is_judged_as_by_the_f_distribution():
    """|d|^2 over a variance from nu complex residuals is F with (2, 2 nu): the same p by two routes."""
    d, nu = np.array([0.1, 1.0, 3.0, 30.0]) + 0.5j, 4
    found = step_down(d[:, None], np.full((4, 1, 1), 2.0 + 0j), nu)
    assert stats.chi2.sf(found, 2) == pytest.approx(stats.f.sf(np.abs(d) ** 2 / 2.0, 2, 2 * nu), rel=1e-9)


def test_nothing_compared_has_no_probability():
    """The tables had a p of 1 where no line could be trusted."""
    (nothing,) = {goodness([], of).p_text for of in ("loop", "plant")}
    assert nothing == "-"


def test_correlated_outputs_with_measured_covariances_are_chi_square():
    rng, m, p, nu = np.random.default_rng(8), 4000, 2, 4
    mix = np.array([[1.0, 0.0], [0.9 - 0.3j, 0.2]])
    draws = (rng.standard_normal((m, nu + 1, p)) + 1j * rng.standard_normal((m, nu + 1, p))) @ mix.T
    d, noise = draws[:, 0], draws[:, 1:]
    covariance = np.einsum("mki,mkj->mij", noise, noise.conj()) / nu
    found = step_down(d, covariance, nu)
    assert stats.kstest(found, stats.chi2(2 * p).cdf).pvalue > 0.05
    # what ignores that the covariance is measured is far off
    naive = 2.0 * np.einsum("mi,mi->m", d.conj(), np.linalg.solve(covariance, d[..., None])[..., 0]).real
    assert stats.kstest(naive, stats.chi2(2 * p).cdf).pvalue < 1e-9


@pytest.mark.parametrize("kind", ["sweep", "multisine"])
def test_lines_find_a_known_factor_in_coloured_noise(kind):
    """Truth is 0.8 of a resonant filter, two samples late; noise and a start that theory does not know."""
    rng = np.random.default_rng(3)
    r = Excitation(kind, 1.0, 120.0, 0.3, 6.0, periods=6 if kind == "multisine" else 1).samples(RATE)
    b, a = signal.butter(2, (0.8, 2.5), "bandpass", fs=RATE)
    predicted = np.array([signal.lfilter(b, a, r), signal.lfilter([0.02], [1.0, -0.98], r)])
    late = np.concatenate([np.zeros((2, 2)), predicted[:, :-2]], axis=1)
    wandering = signal.lfilter([0.01], [1.0, -0.995], rng.standard_normal((2, len(r))))
    measured = 0.8 * late + wandering + [[0.3], [-2.0]]
    found = measure_lines(r, measured, predicted, RATE, (0.3, 6.0))
    truth = 0.8 * np.exp(-2j * np.pi * found.f * 2 / RATE)[:, None]
    assert len(found.f) > 40
    total = step_down(found.ratio - truth, found.covariance, found.freedom).sum()
    assert 0.01 < stats.chi2.sf(total, 4 * len(found.f)) < 0.99
    assert np.all(np.diff(found.f) > 0.9 * found.bins * RATE / len(r)), "no line shares bins with the next"


def test_a_block_is_at_least_so_many_bins_and_odd():
    assert block_size(20.0) == MIN_BLOCK_BINS == 7
    assert [block_size(length) for length in (70.0, 80.0, 120.0)] == [7, 9, 13]


@pytest.mark.parametrize("kind", ["sweep", "multisine"])
def test_the_truth_is_accepted(true, kind):
    for of in ("loop", "plant"):
        judged = [goodness(one, of) for one in true[kind]]
        assert all(one.agrees for one in judged)
        ratio = sum(one.chi2 for one in judged) / sum(one.dof for one in judged)
        assert ratio == pytest.approx(1.0, abs=0.17), "three standard deviations of so many lines"
        whole = goodness(true[kind], of)
        assert whole.chi2 == pytest.approx(sum(one.chi2 for one in judged))
        assert whole.p == pytest.approx(stats.chi2.sf(whole.chi2, whole.dof))
        assert whole.gain == pytest.approx(1.0, abs=5e-4)
        assert abs(whole.delay) < 3.0 * whole.delay_std < 5e-4


def test_errors_hold_the_truth(true):
    """Measured over predicted of all lines: 68 % of the real parts lie within one deviation of Student's t."""
    pulls = []
    for run in (run for runs in true.values() for run in runs):
        for one in run.responses:
            seen = one.coherence >= 0.9
            pulls += [*((np.abs(one.measured / one.predicted) - 1.0) / one.std)[seen]]
    inside = np.mean(np.abs(pulls) < stats.t(8).ppf(0.84))
    assert inside == pytest.approx(0.68, abs=0.05)


def test_a_weak_drive_is_rejected_and_told(weak):
    loop, plant = goodness(weak, "loop"), goodness(weak, "plant")
    assert not loop.agrees
    assert not plant.agrees
    assert loop.chi2 > 5 * loop.dof
    assert plant.gain == pytest.approx(0.9, abs=1e-3)
    assert abs(plant.delay) < 3.0 * plant.delay_std < 5e-4
    assert plant.p_left > 0.01
    assert loop.sentence.startswith("the loop's response does not agree with theory: chi-square ")
    assert "the largest difference in units of its error is -" in loop.sentence
    (said,) = frequency_verdicts([weak])
    assert said.headline == "the frequency response of Benchmark does not agree with theory"
    assert "0.90" in said.details
    numbers = response_document(weak)["goodness"]["plant"]
    assert numbers["gain"] == plant.gain
    assert not numbers["agrees"]


def test_a_drive_known_no_better_explains_it(tmp_path, weak):
    """With a standard deviation of 5 % a gain of 0.9 costs (0.1 / 0.05)^2 = 4, and the rest is noise."""
    found = played(tmp_path, "multisine", 1, Emulation(drive=SteerDrive(gain=0.9)), {"drive_gain": 0.05})
    for of in ("loop", "plant"):
        judged, ignorant = goodness(found, of), goodness(weak, of)
        assert judged.agrees, judged
        assert judged.dof == ignorant.dof
    left = goodness(weak, "plant").chi2_left
    assert goodness(found, "plant").chi2 - left == pytest.approx(4.0, abs=1.5)


def test_a_delay_is_told_with_its_sign(true):
    run = true["multisine"][0]
    turned = run.lines.ratio * np.exp(-2j * np.pi * run.f * 0.003)[:, None] ** [1, 1, 0]
    judged = goodness(replace(run, lines=replace(run.lines, ratio=turned)), "plant")
    assert not judged.agrees
    assert judged.delay == pytest.approx(0.003, abs=2e-4)
    assert judged.gain == pytest.approx(1.0, abs=5e-4)


def test_a_delay_of_all_and_a_lag_of_the_steer_are_told_apart(true):
    """A sensor of the steer that is late was taken for half a delay of both, and left as much as it made."""
    run = true["multisine"][0]
    late = np.exp(-2j * np.pi * run.f[:, None] * np.array([0.019, 0.019 + 0.004, 0.0]))
    judged = goodness(replace(run, lines=replace(run.lines, ratio=run.lines.ratio * late)), "plant")
    assert (judged.delay, judged.lag) == pytest.approx((0.019, 0.004), abs=2e-4)
    assert judged.p_left > 0.01
    assert judged.late in judged.factor
    assert "do not explain" not in judged.factor


def test_what_gain_delay_and_lag_do_not_explain_is_said(true):
    run = true["multisine"][0]
    odd = run.lines.ratio * (0.7 + 0.05 * np.sin(5.0 * run.f))[:, None]
    judged = goodness(replace(run, lines=replace(run.lines, ratio=odd)), "loop")
    assert judged.factor.endswith("degrees of freedom, which they do not explain")


def test_a_line_counts_when_all_its_outputs_are_trusted(weak):
    coherence = weak.lines.coherence.copy()
    coherence[3, 0], coherence[5, 2] = 0.5, 0.5  # lean rate of one line, torque of another
    half = replace(weak, lines=replace(weak.lines, coherence=coherence))
    assert [goodness(half, of).lines for of in ("loop", "plant")] == [20, 19]


def test_without_a_trusted_line_nothing_is_said(weak):
    deaf = replace(weak, lines=replace(weak.lines, coherence=0.5 * weak.lines.coherence))
    judged = goodness(deaf, "loop")
    assert (judged.lines, judged.dof, judged.agrees) == (0, 0, False)
    assert "none of 21 lines has a coherence of 0.9; play longer" in judged.sentence
    (said,) = frequency_verdicts([deaf])
    assert not said.agrees
    assert "nothing can be said" in said.sentence
    together = goodness([deaf, weak], "loop")
    assert together.chi2 == pytest.approx(goodness(weak, "loop").chi2)


def test_a_multisine_repeats_itself_and_nothing_else_does():
    once, four = Excitation("multisine", 1.0, 10.0, 0.2, 4.0), Excitation("multisine", 1.0, 40.0, 0.2, 4.0, periods=4)
    assert four.samples(RATE) == pytest.approx(np.tile(once.samples(RATE), 4), abs=1e-9)
    with pytest.raises(
        InputError, match="only kicks and multisine can repeat themselves, one time or more, found 3 periods of a"
    ):
        Excitation("sweep", 1.0, 40.0, periods=3)
    with pytest.raises(InputError, match="found 0 periods"):
        Excitation("multisine", 1.0, 40.0, periods=0)
    with pytest.raises(InputError, match=r"no whole period of 0.2 to 0.21 Hz fits into 4 s"):
        Excitation("multisine", 1.0, 40.0, 0.2, 0.21, periods=10).samples(RATE)
