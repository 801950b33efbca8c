"""Evolution of cases towards danger.

The cases nearest to it have children, which differ from them a little. Threat, bicycle, channel and the like are
choices and not numbers, so the parents are kept apart by their threats: the best few of each set of threats stay, and
what is dangerous with one fault does not crowd out what may become so with another. A share of every generation is
drawn afresh, the first fault of each by turns. All is drawn from the seed and the number of cases played before.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.fault_injection.cases import CaseOptions
from riderless.experiments.fault_injection.danger import Danger
from riderless.experiments.fault_injection.search.evaluation import Evaluated, Evaluator
from riderless.experiments.fault_injection.search.genes import (
    GENE_VALUES,
    RIDE_GENES,
    count_genes,
    searched_threats,
    threat_genes,
)
from riderless.models.errors import InputError

GENERATION = 60  # cases
FRESH = 0.25  # share of a generation that is drawn afresh
PARENTS, OF_ONE_KIND = 30, 3  # kept in all, and of one set of threats
GREED = 2.0  # power by which better parents are preferred
CHANGED = 0.25  # share of the genes that a child changes
NEW_THREAT = 0.05  # chance that it takes another threat
GENE_STEPS = (0.01, 0.05, 0.2, 1.0)  # of a changed gene, in parts of its range
OTHER_RIDE = 0.3  # chance that the ride is that of another parent
TOLD = 5  # worst cases, each of another set of threats


@dataclass(frozen=True)
class Found:
    """One case that a search found."""

    threats: str
    level: float  # see `danger.Danger.level`; at least 1 where a promise was broken
    danger: Danger
    complaints: tuple[str, ...]
    replay: str  # command


@dataclass
class SearchReport:
    """Findings of a search."""

    played: int = 0
    unsafe: int = 0
    first_unsafe: int | None = None  # cases played until the first one
    worst: list[Found] = field(default_factory=list)  # the most dangerous first, each of another set of threats

    @property
    def level(self) -> float:
        """Danger of the worst case."""
        return self.worst[0].level if self.worst else 0.0


def search_unsafe(
    count: int,
    seed: int,
    options: CaseOptions,
    evaluate: Evaluator,
    tell: Callable[[SearchReport], None] = lambda report: None,
) -> SearchReport:
    """Search for unsafe cases.

    Parameters
    ----------
    count : int
        Cases to play.
    seed : int
        Of all that is drawn.
    options : CaseOptions
        Length of the rides, faults in a set, and what they are drawn from.
    evaluate : callable
        Plays cases, see `evaluation.Evaluator`.
    tell : callable
        Given the report after each generation.

    Raises
    ------
    InputError
        For a count below 1 or a negative seed.
    """
    if count < 1 or seed < 0:
        raise InputError(
            f"a search wants 1 case or more and a seed from 0, found {count} cases and seed {seed}: correct them"
        )
    parents: list[Evaluated] = []
    report = SearchReport()
    while report.played < count:
        rng = np.random.default_rng([seed, report.played])
        size = min(GENERATION, count - report.played)
        fresh = round((FRESH if parents else 1.0) * size)
        made = [_afresh(options, rng, report.played + turn) for turn in range(fresh)]
        made += [_child(parents, options, rng) for _ in range(size - fresh)]
        generation = evaluate(np.array(made), options)
        for number, case in enumerate(generation):
            report.unsafe += bool(case.complaints)
            if case.complaints and report.first_unsafe is None:
                report.first_unsafe = report.played + number + 1
        report.played += size
        parents = _select(parents + generation)
        report.worst = _worst(parents)
        tell(report)
    return report


def _select(candidates: list[Evaluated]) -> list[Evaluated]:
    """Keep the most dangerous, of each set of threats only a few; the older first where two are alike."""
    kept: list[Evaluated] = []
    of_kind: dict[str, int] = {}
    for candidate in sorted(candidates, key=lambda candidate: -candidate.level):
        if of_kind.get(candidate.kind, 0) < OF_ONE_KIND:
            of_kind[candidate.kind] = of_kind.get(candidate.kind, 0) + 1
            kept.append(candidate)
    return kept[:PARENTS]


def _worst(parents: list[Evaluated]) -> list[Found]:
    first_of_kind = {parent.kind: parent for parent in reversed(parents)}
    worst = sorted(first_of_kind.values(), key=lambda parent: -parent.level)[:TOLD]
    return [Found(parent.threats, parent.level, parent.danger, parent.complaints, parent.replay) for parent in worst]


def _afresh(options: CaseOptions, rng: np.random.Generator, turn: int) -> NDArray:
    """Draw genes afresh; the threats of the first fault take turns."""
    genes, threats = rng.integers(GENE_VALUES, size=count_genes(options)), len(searched_threats(options))
    genes[0] = int((turn % threats + 0.5) * GENE_VALUES / threats)
    return genes


def _child(parents: list[Evaluated], options: CaseOptions, rng: np.random.Generator) -> NDArray:
    """Make a child of one parent or two."""
    n = count_genes(options)
    child = _parent(parents, rng).genes.copy()
    if rng.random() < OTHER_RIDE:
        ride = slice(1, RIDE_GENES // 2)
        child[ride] = _parent(parents, rng).genes[ride]
    changed = rng.random(n) < CHANGED
    changed[threat_genes(options)] = rng.random(options.together) < NEW_THREAT
    step = rng.choice(GENE_STEPS)
    moved = child + np.rint(GENE_VALUES * step * rng.standard_normal(n)).astype(np.int64)
    child[changed] = (moved if step < 1.0 else rng.integers(GENE_VALUES, size=n))[changed] % GENE_VALUES
    return child


def _parent(parents: list[Evaluated], rng: np.random.Generator) -> Evaluated:
    return parents[int(len(parents) * rng.random() ** GREED)]
