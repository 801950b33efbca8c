"""Course of an experiment that runs itself as a document, as a section of the report, and in words."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from riderless.experiments.campaigns.adaptive.course import Course, CourseStep
from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.reports.page.course_section import CourseRow, CourseSection
from riderless.experiments.reports.text import Sentence, TextBlock, TextTable

NOT_ENDED = "the course has not ended"
FAR_OFF = 10.0  # standard deviations, from which on nobody wants a decimal


def course_document(course: Course) -> dict[str, Any]:
    """Describe a course as `campaign.json` and `--json` have it; SI."""
    goal = course.goal
    return {
        "asked": [
            {"name": name, "unit": unit, "wanted": float(wanted) if np.isfinite(wanted) else None}
            for name, unit, wanted in zip(goal.labels, goal.units, goal.wanted, strict=True)
        ],
        "free": list(goal.free),
        "minutes": course.minutes,
        "values": dict(zip(goal.labels, map(float, course.values), strict=True)),
        "stds": dict(zip(goal.labels, map(float, course.known.stds), strict=True)),
        **({"models": course.rivals.as_json(course.known)} if course.rivals else {}),
        "steps": [_step_document(course, step) for step in course.steps],
        "dropped": dict(course.dropped),
        "ended": course.ending.kind if course.ending else "",
        "sentence": course.ending.sentence if course.ending else "",
    }


def course_section(course: Course) -> CourseSection:
    """Make the section of the report that shows a course."""
    goal = course.goal
    return CourseSection(
        sentence=course.ending.sentence if course.ending else NOT_ENDED,
        beside_theory=beside_theory(course),
        reached=course.ending is not None and course.ending.kind == "reached",
        labels=goal.labels,
        units=goal.units,
        nominal=course.nominal_values,
        wanted=goal.wanted,
        rows=[
            CourseRow(
                step.choice.condition.name,
                step.choice.why,
                step.choice.minutes,
                step.windows,
                step.values,
                step.stds,
            )
            for step in course.steps
        ],
        dropped=course.dropped,
        numbers=course_document(course),
    )


def course_blocks(course: Course) -> Iterator[TextBlock]:
    """Table of the runs, of what is known after each and the gain it was chosen for, and how it ended."""
    goal = course.goal
    yield TextTable(
        "Runs chosen, and what is known after each",
        ["run", "nat/min", "min", *goal.labels],
        [
            [
                _short_name(step.choice.condition),
                f"{step.choice.rate:.3g}",
                f"{step.choice.minutes:.1f}",
                *(f"{value:.4g} +- {std:.2g}" for value, std in zip(step.values, step.stds, strict=True)),
            ]
            for step in course.steps
        ],
        "SI; nat/min: expected growth of the logarithm of the information's determinant,\nfor which a run was chosen.",
    )
    for label, why in course.dropped.items():
        yield Sentence(f"left out: {label}: {why}")
    if course.steps:
        yield Sentence(beside_theory(course))
    yield Sentence(course.ending.sentence if course.ending else NOT_ENDED)


def beside_theory(course: Course) -> str:
    """Say theory's value of all that was asked for, and how far off that was found."""
    told = []
    for label, theory, found, std in zip(
        course.goal.labels, course.nominal_values, course.values, course.known.stds, strict=True
    ):
        off = abs(found - theory) / std
        told.append(f"{label} {theory:.4g} ({off:.{0 if off >= FAR_OFF else 1}f} standard deviations off)")
    return f"theory has {', '.join(told)}"


def progress_words(course: Course) -> str:
    """Say in a line what is known: "drive_gain 0.932 +- 0.004 (wanted 0.01); 3 runs, 1.2 of 10 min"."""
    runs = f"{len(course.steps)} run{'s' * (len(course.steps) != 1)}"
    return f"{course.so_far}; {runs}, {course.minutes:.1f} of {course.settings.minutes:g} min"


def _short_name(condition: Condition) -> str:
    """Name a run of one bicycle for a table: "lane 6 m/s, 0.2 s, run 2"."""
    kick = condition.tag.removeprefix("kicked ").replace(" kicked", ",")
    return f"{condition.controller} {condition.v:g} m/s, {kick}, run {condition.repeat}"


def _step_document(course: Course, step: CourseStep) -> dict[str, Any]:
    labels, choice = course.goal.labels, step.choice
    return {
        "condition": choice.condition.name,
        "why": choice.why,
        "expected_gain": choice.gain,
        "minutes": choice.minutes,
        "windows": step.windows,
        "values": dict(zip(labels, map(float, step.values), strict=True)),
        "stds": dict(zip(labels, map(float, step.stds), strict=True)),
        "stds_foretold": dict(zip(labels, map(float, choice.foretold), strict=True)),
    }
