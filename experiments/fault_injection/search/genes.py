"""Genes of a case, and their code.

Whole numbers that decide all that chance decides elsewhere; the code is short enough to type. A gene is one of
`GENE_VALUES` places between 0 and 1. A case has one block of genes for the ride and the first fault and a shorter one
for each further fault; the first gene of a block chooses the threat, the others answer the draws of
`cases.compose_case` in their order. So a search plays the very cases that chance could draw.
"""

import string
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.fault_injection.cases import CaseOptions, FaultCase, another_threat, compose_case
from riderless.experiments.fault_injection.threats.fault_list import threats_of
from riderless.experiments.fault_injection.threats.fault_spec import Threat
from riderless.models.errors import InputError

GENE_VALUES = 4096  # two letters of the code
RIDE_GENES, FURTHER_GENES = 17, 12  # of the ride and the first fault, and of each further one
CODE_PREFIX = "g"
_LETTERS = string.digits + string.ascii_letters + "._"


class _GeneDraws:
    """Source of numbers for `cases.compose_case` that reads genes one after the other."""

    def __init__(self, genes: NDArray) -> None:
        self._left = iter(((genes + 0.5) / GENE_VALUES).tolist())

    def integers(self, high: int, /) -> int:
        """Whole number from 0 to below ``high``."""
        return int(next(self._left) * high)

    def uniform(self, low: float, high: float, /) -> float:
        """Number between two others."""
        return low + (high - low) * float(next(self._left))

    def choice(self, options: Sequence[Any], /) -> Any:
        """One of several."""
        return options[self.integers(len(options))]


def count_genes(options: CaseOptions) -> int:
    """Count the genes of a case."""
    return RIDE_GENES + FURTHER_GENES * (options.together - 1)


def threat_genes(options: CaseOptions) -> list[int]:
    """List the places of the genes that choose the threats."""
    return [0, *range(RIDE_GENES, count_genes(options), FURTHER_GENES)]


def searched_threats(options: CaseOptions) -> list[Threat]:
    """List the threats worth a search: those in which a session begins, and a program can do something about."""
    return [
        threat
        for threat in threats_of(options.pool, options.drive)
        if not (threat.refused or threat.deaf or threat.unseen)
    ]


def case_of_genes(genes: NDArray, options: CaseOptions) -> FaultCase:
    """Make the case of some genes, an array of whole numbers from 0 to below `GENE_VALUES`."""
    threats = searched_threats(options)
    blocks = np.split(genes, threat_genes(options)[1:])
    chosen: list[Threat] = []
    for block in blocks:
        chosen.append(another_threat(threats, int(block[0]) * len(threats) // GENE_VALUES, chosen))
    draws = [_GeneDraws(block[1:]) for block in blocks]
    return compose_case(chosen, draws, options, code=code_of_genes(genes))


def code_of_genes(genes: NDArray) -> str:
    """Write genes as a code that can be typed after ``--case``."""
    places = (_LETTERS[int(gene) // 64] + _LETTERS[int(gene) % 64] for gene in genes)
    return CODE_PREFIX + "".join(places)


def genes_of_code(code: str, options: CaseOptions) -> NDArray:
    """Read a code; raises InputError for one that belongs to no case with these options."""
    letters, wanted = code.removeprefix(CODE_PREFIX), 2 * count_genes(options)
    if len(letters) != wanted or not set(letters) <= set(_LETTERS):
        raise InputError(
            f"the code of a case with {options.together} of the faults has {wanted} letters, digits, '.' or '_' after "
            f"'{CODE_PREFIX}', found {code!r}: copy the whole command that the search printed, --together included"
        )
    values = [_LETTERS.index(letter) for letter in letters]
    return np.array([64 * high + low for high, low in zip(values[::2], values[1::2], strict=True)])
