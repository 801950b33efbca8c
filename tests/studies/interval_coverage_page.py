"""Tables of the study of the estimators."""

from collections.abc import Callable, Sequence

import numpy as np

from riderless.experiments.analysis.comparison.prediction import predict
from riderless.experiments.analysis.estimators.uncertainty import fit_window
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.datatypes import Response, Segment
from riderless.experiments.fault_injection.summary_table import markdown_table
from riderless.experiments.recordings import author_windows
from riderless.experiments.theory.modes import kicked_mode
from riderless.models.noise_statistics import STDS_95, robust_deviation
from tests.studies.interval_coverage import (
    NOISE_KINDS,
    NOISE_LEVELS,
    OSCILLATING_ESTIMATORS,
    PUSH_LEAN_RATE,
    STUDY_MACHINES,
    EstimatorAnswer,
)

USABLE_ACCEPTED, USABLE_ERROR = 0.8, 0.1  # of the windows; of the eigenvalue's modulus, rms


def estimator_names(answers: Sequence[EstimatorAnswer]) -> list[str]:
    """List the estimators in the order in which they were asked."""
    return list(dict.fromkeys(a.estimator for a in answers))


def overview_table(answers: Sequence[EstimatorAnswer]) -> str:
    """Tabulate bias, spread, stated uncertainty and coverage, one row for each estimator."""
    rows = []
    for name in estimator_names(answers):
        mine = [a for a in answers if a.estimator == name]
        good = [a for a in mine if a.ok]
        error = np.array([(a.error.real, a.error.imag) for a in good])
        half = np.median([a.half for a in good], axis=0)
        rows.append(
            [
                name,
                _pair(error.mean(axis=0), "+.3f"),
                _pair(robust_deviation(error), ".3f"),
                _pair(half / STDS_95, ".3f"),
                held_share(good),
                held_share(good, like=True),
                f"{1.0 - len(good) / len(mine):.0%}",
                f"{np.median([a.ms for a in mine]):.0f}",
            ]
        )
    head = ["estimator", "bias", "spread", "stated", "held", "held, like for like", "refused", "ms"]
    return markdown_table(head, rows)


def held_share(answers: Sequence[EstimatorAnswer], like: bool = False) -> str:
    """Count the intervals that held re and im, in per cent."""
    if like:
        answers = [a for a in answers if np.isfinite(a.like.real)]
    if not answers:
        return "-"
    return _pair(100.0 * np.mean([a.held_like if like else a.held for a in answers], axis=0), ".0f")


def _pair(values: Sequence[float] | np.ndarray, form: str) -> str:
    return f"{values[0]:{form}} / {values[1]:{form}}"


def table_by(answers: Sequence[EstimatorAnswer], what: str, key: Callable[[EstimatorAnswer], str]) -> str:
    """Tabulate the share of intervals that held, by the values of a key and by estimator."""
    columns = estimator_names(answers)
    rows = []
    for value in dict.fromkeys(key(a) for a in answers):
        groups = [[a for a in answers if a.ok and key(a) == value and a.estimator == name] for name in columns]
        rows.append([value, str(len(groups[0])), *map(held_share, groups)])
    return markdown_table([what, "windows", *columns], rows)


def speed_key(a: EstimatorAnswer) -> str:
    """Machine and speed, for `table_by`."""
    bicycle = (
        f"{STUDY_MACHINES[a.setting.machine][0]} {a.setting.machine}, " if a.setting.machine in STUDY_MACHINES else ""
    )
    return f"{bicycle}{a.setting.v:g} m/s, {a.setting.truth.real:.2f} ± {a.setting.truth.imag:.2f}i"


def noise_key(a: EstimatorAnswer) -> str:
    """Kind and size of the noise, for `table_by`."""
    return f"{a.setting.kind}, {a.setting.noise:g} rad/s"


def length_key(a: EstimatorAnswer) -> str:
    """Cycles in the window, for `table_by`."""
    return f"{a.setting.cycles:g} cycles"


def shortest_window_table(answers: Sequence[EstimatorAnswer]) -> str:
    """Tabulate the cycles that a window needs: enough of them accepted, and the error small enough."""
    rows = []
    for name in estimator_names(answers):
        row = [name]
        for level in NOISE_LEVELS:
            enough = []
            for cycles in sorted({a.setting.cycles for a in answers}):
                mine = [a for a in answers if (a.estimator, a.setting.noise, a.setting.cycles) == (name, level, cycles)]
                good = [abs(a.error) / abs(a.setting.truth) for a in mine if a.ok]
                if (
                    good
                    and len(good) >= USABLE_ACCEPTED * len(mine)
                    and np.sqrt(np.mean(np.square(good))) < USABLE_ERROR
                ):
                    enough.append(cycles)
            row.append(f"{enough[0]:g}" if enough else "none")
        rows.append(row)
    return markdown_table(
        ["estimator", *(f"noise {100 * level / PUSH_LEAN_RATE:.0f} % of the push" for level in NOISE_LEVELS)], rows
    )


def author_window_tables(responses: Sequence[Response], cuts: Sequence[author_windows.HandCut]) -> dict[str, str]:
    """Tabulate each estimator's answer to windows that a data set's authors cut by hand, and its distance from theory.

    Two tables: the values beside the frozen eigenvalue, and the differences from the same estimator's answer
    to the explained motion (like for like); means and scatter over the pushes at one speed.
    """
    values, differences = [], []
    for response in responses:
        mine = [cut for cut in cuts if cut.source == response.source]
        windows = [make_window(response, cut.start, cut.stop, "cut by the authors") for cut in mine]
        v = float(np.mean([window.v_mean for window in windows]))
        found, apart = [], []
        for name in OSCILLATING_ESTIMATORS:
            pairs = [
                (fit, predict(Segment(response, w), fit))
                for w in windows
                if (fit := fit_window(Segment(response, w), name)).ok
            ]
            found.append(mean_and_scatter([complex(fit.re, fit.im) for fit, _ in pairs]))
            apart.append(
                mean_and_scatter([complex(fit.re, fit.im) - p.like for fit, p in pairs if np.isfinite(p.like)])
            )
        s = kicked_mode(response.own_theory.dynamics(), v)
        predicted = f"{s.real:.2f} ± {s.imag:.2f}i" if np.isfinite(s) else "over-damped"
        values.append((v, [f"{v:.2f}", str(len(mine)), predicted, *found]))
        differences.append((v, [f"{v:.2f}", *apart]))
    return {
        "delft": markdown_table(
            ["m/s", "windows", "predicted", *OSCILLATING_ESTIMATORS], [row for _, row in sorted(values)]
        ),
        "delft like for like": markdown_table(
            ["m/s", *OSCILLATING_ESTIMATORS], [row for _, row in sorted(differences)]
        ),
    }


def mean_and_scatter(values: Sequence[complex]) -> str:
    """Format mean (scatter) of re and im over n windows."""
    if len(values) < 2:
        return f"{len(values)} usable"
    parts = np.array([(s.real, s.imag) for s in values])
    (re, im), (re_s, im_s) = parts.mean(axis=0), parts.std(axis=0, ddof=1)
    return f"{re:.2f} ({re_s:.2f}) / {im:.2f} ({im_s:.2f}), n = {len(values)}"


def coverage_tables(
    answers: Sequence[EstimatorAnswer], emulator: Sequence[EstimatorAnswer], seed: int
) -> dict[str, str]:
    """Make all tables of the study, by name."""
    count = len(answers) // max(len(estimator_names(answers)), 1)
    settings = len({a.setting for a in answers})
    about = f"{count} windows in {settings} settings, seed {seed}. Kinds: " + "; ".join(
        f"*{name}*: {what}" for name, what in NOISE_KINDS.items()
    )
    return {
        "overview": f"{overview_table(answers)}\n\n{about}.",
        "by speed": table_by(answers, "bicycle and speed", speed_key),
        "by noise": table_by(answers, "noise", noise_key),
        "by length": table_by(answers, "length", length_key),
        "shortest": shortest_window_table(answers),
        "emulator": overview_table(emulator),
    }
