"""Page of predictions for logs of the Delft bicycle that were not seen, and the table of what both experiments say."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from riderless.experiments.analysis.frequency_response.recordings import recorded_response
from riderless.experiments.analysis.frequency_response.response import JUDGED_OUTPUTS, TRUSTED
from riderless.experiments.dynamics import Theory, unit_of
from riderless.experiments.fault_injection.summary_table import markdown_table
from riderless.experiments.recordings.foreign.delft import DELFT_BICYCLE
from riderless.experiments.recordings.read import find_recordings, read_recording
from riderless.experiments.recordings.torque_law import played_parts
from riderless.models import catalogue
from riderless.models.array_types import ComplexArray
from tests.studies.two_experiments.joint import SHAKEN, WHOLE, ExperimentAnswer
from tests.studies.two_experiments.predictions import Band, band, drawn, loop, responses
from tests.studies.two_experiments.pull_tests import PullTests

PREDICTED = np.array([0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 3.2])  # Hz
TORQUE = 1.2  # N m, amplitude of the hand torque in the logs that were seen
SEEN_SPEED, OTHER_SPEED = 4.15, 2.0  # m/s
KICK_RATES = (0.3, 1.0)  # rad/s of steer: dying away, and just after a kick


def both_table(answers: Sequence[ExperimentAnswer]) -> str:
    """Table: what each experiment alone and both together say of each quantity, 95 % by profile likelihood."""
    names = answers[0].found[WHOLE].names
    rows = []
    for name in names:
        cells = [next(one.words for one in each.profiles if one.name == name) for each in answers]
        rows.append([f"`{name}`", unit_of(name), *cells])
    for channel, word in (("phi_dot", "lean rate"), ("delta", "steer")):
        rows.append([f"left of {word}", "", *(f"{one.left[WHOLE][channel]:.3f}" for one in answers)])
    return markdown_table(["quantity", "unit", *(one.experiment for one in answers)], rows)


def models_table(one: ExperimentAnswer) -> str:
    """Table: each model with its quantities and what it leaves."""
    rows = []
    for model, found in one.found.items():
        said = "" if model == "nothing" else ", ".join(f"{name} {text}" for name, text in found.texts.items())
        left = one.left[model]
        rows.append([model, said, f"{left['phi_dot']:.3f}", f"{left['delta']:.3f}"])
    return markdown_table(["free", "found", "left, lean rate", "left, steer"], rows)


def unexplained(data: Path, answer: ExperimentAnswer) -> float:
    """Relative scatter of the trusted lines of the logs that were seen about the best prediction."""
    theory = next(drawn(catalogue.load_bicycle(DELFT_BICYCLE), answer.found[WHOLE]))
    off = []
    for path in find_recordings([data / SHAKEN]):
        response = read_recording(path)
        found = recorded_response(response)
        if response.T_played is None:
            continue
        torque = np.concatenate([response.T_played[a:b] for a, b in played_parts(response)])
        amplitude = float(np.sqrt(2.0) * np.std(torque[np.abs(torque) > 0.0]))
        trusted = np.all(found.lines.coherence[:, : len(JUDGED_OUTPUTS)] >= TRUSTED, axis=1)
        if trusted.any():
            predicted = responses(theory, found.v, found.f[trusted], amplitude)
            off += [np.log(found.named("loop", name).measured[trusted] / predicted[name]) for name in JUDGED_OUTPUTS]
    return float(np.sqrt(0.5 * np.mean(np.abs(np.concatenate(off)) ** 2)))


def _under_shaking(theory: Theory, v: float, matching: bool) -> dict[str, ComplexArray]:
    return responses(theory, v, PREDICTED, TORQUE, matching)


def prediction_tables(answer: ExperimentAnswer, left: float) -> Mapping[str, str]:
    """Tables of predictions by their heading."""
    theories = list(drawn(catalogue.load_bicycle(DELFT_BICYCLE), answer.found[WHOLE]))
    tables = {}
    for heading, v, matching in (
        (f"Other frequencies at {SEEN_SPEED} m/s, the law as before", SEEN_SPEED, False),
        (f"Closed loop at {OTHER_SPEED} m/s, the law as before", OTHER_SPEED, False),
        (f"Model matching at {SEEN_SPEED} m/s", SEEN_SPEED, True),
        (f"Model matching at {OTHER_SPEED} m/s", OTHER_SPEED, True),
    ):
        found = band(theories, left, partial(_under_shaking, v=v, matching=matching), PREDICTED)
        tables[heading] = _band_table(found)
    rows = []
    for rate in KICK_RATES:
        for matching in (False, True):
            s = np.array([_weave(one, rate, matching) for one in theories])
            low, high = np.percentile(s[1:].real, [2.5, 97.5])
            slow, fast = np.percentile(s[1:].imag, [2.5, 97.5])
            law = "model matching" if matching else "as before"
            rows.append([law, f"{rate:g}", f"{s[0].real:.2f} ({low:.2f} to {high:.2f})",
                         f"{s[0].imag:.2f} ({slow:.2f} to {fast:.2f})"])  # fmt: skip
    head = ["law", "steer rate, rad/s", "Re, 1/s", "Im, rad/s"]
    return {**tables, f"Weave after a kick at {OTHER_SPEED} m/s": markdown_table(head, rows)}


def _weave(theory: Theory, rate: float, matching: bool) -> complex:
    """Weave eigenvalue at `OTHER_SPEED` with dry friction as the damper it is at a steer rate."""
    dry = max(theory.nominal("steer_dry_friction"), 0.0)
    equal = theory.nominal("steer_damping") + 4.0 * dry / (np.pi * rate)
    values = np.linalg.eigvals(loop(theory.move({"steer_damping": equal}), OTHER_SPEED, matching)[0])
    oscillating = values[values.imag > 0]
    return complex(max(oscillating, key=lambda s: s.real)) if len(oscillating) else complex(max(values.real))


def _band_table(found: Band) -> str:
    rows = [
        [f"{f:.1f}", *(cell for name in JUDGED_OUTPUTS for cell in _cells(found, name, i))]
        for i, f in enumerate(found.f)
    ]
    return markdown_table(
        ["Hz", "lean rate per N m", "band", "phase, deg", "steer per N m", "band", "phase, deg"], rows
    )


def _cells(found: Band, name: str, i: int) -> tuple[str, str, str]:
    return (
        f"{found.gain[name][i]:.4f}",
        f"{found.low[name][i]:.4f} to {found.high[name][i]:.4f}",
        f"{found.phase[name][i]:.0f} ± {found.phase_half[name][i]:.0f}",
    )


def pulls_sentence(pulls: PullTests) -> str:
    """Sentence on the pull tests."""
    gain, low, high = pulls.gain
    first, last = min(pulls.break_away), max(pulls.break_away)
    slopes = f"{len(pulls.slopes)} columns, {min(pulls.slopes):.2f} to {max(pulls.slopes):.2f}"
    return (
        f"The pulls give {gain:.2f} N m at the bars per N m commanded ({low:.2f} to {high:.2f}, by the scatter of "
        f"{slopes}; {pulls.left_out} that jumps was left out), and the bars first move at {first:.1f} to {last:.1f} "
        "N m commanded."
    )
