"""Correlations between a bicycle's parameters.

The file states the upper triangle by names; the covariance follows with `std`.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from riderless.models.bicycle_file import is_number, shortened, unknown_keys
from riderless.models.errors import InputError
from riderless.models.parameter_table import PARAMETERS

if TYPE_CHECKING:
    from riderless.models.array_types import Array

INDEFINITE = 1e-9  # smallest eigenvalue, per parameter, that rounding in the last digits may make negative


class Correlations(Mapping[str, Mapping[str, float]]):
    """Correlation matrix by names, read as ``correlations["w"]["c"]``: each pair once, in the order of `PARAMETERS`.

    Raises
    ------
    InputError
        A name is none, a value is no correlation, a pair is there twice, or no quantities are correlated like that.
    """

    def __init__(self, pairs: Mapping[str, Mapping[str, float]]) -> None:
        """Check the pairs and keep them in order."""
        ordered: dict[str, dict[str, float]] = {}
        faults = list(unknown_keys(pairs, PARAMETERS, "parameter in correlations"))
        rank = {name: i for i, name in enumerate(PARAMETERS)}
        for first, row in pairs.items():
            if not isinstance(row, Mapping):
                faults.append(f"correlations of {first} = {shortened(row)} must be a table of parameters")
                continue
            faults += unknown_keys(row, PARAMETERS, "parameter in correlations")
            for second, r in row.items():
                if first not in rank or second not in rank:
                    continue
                low, high = sorted((first, second), key=rank.__getitem__)
                if not is_number(r) or abs(r) > 1.0:
                    faults.append(f"the correlation of {first} and {second} = {shortened(r)} must be in -1 to 1")
                elif first == second:
                    if r != 1.0:
                        faults.append(f"the correlation of {first} with itself = {r:g} must be 1: leave it out")
                elif high in ordered.setdefault(low, {}):
                    faults.append(f"the correlation of {low} and {high} is given twice: keep one of them")
                else:
                    ordered[low][high] = float(r)
        if faults:
            raise InputError("; ".join(faults))
        rows = sorted((name for name in ordered if ordered[name]), key=rank.__getitem__)
        self._pairs = {
            name: MappingProxyType(dict(sorted(ordered[name].items(), key=lambda item: rank[item[0]]))) for name in rows
        }
        self.names = tuple(
            name for name in PARAMETERS if name in self._pairs or any(name in row for row in self._pairs.values())
        )
        if self.names:
            self._require_possible()

    def _require_possible(self) -> None:
        import numpy as np

        least = float(np.linalg.eigvalsh(self.matrix(self.names))[0])
        if least < -INDEFINITE * len(self.names):
            raise InputError(
                f"the correlations are those of no quantities: their matrix has the eigenvalue {least:.2g}; "
                "write all their digits, for rounding is enough where two nearly agree"
            )

    def matrix(self, names: Sequence[str]) -> "Array":
        """Correlation matrix (n, n) of the named quantities; those that are not correlated with any are independent."""
        import numpy as np

        place = {name: i for i, name in enumerate(names)}
        matrix = np.eye(len(names))
        for first, row in self._pairs.items():
            for second, r in row.items():
                if first in place and second in place:
                    matrix[place[first], place[second]] = matrix[place[second], place[first]] = r
        return matrix

    def of(self, names: Sequence[str]) -> "Correlations":
        """Correlations of some of the parameters alone."""
        if set(self.names) <= set(names):
            return self
        kept = set(names)
        return Correlations(
            {
                first: {second: r for second, r in row.items() if second in kept}
                for first, row in self._pairs.items()
                if first in kept
            }
        )

    def plain(self) -> dict[str, dict[str, float]]:
        """Nested tables, ready for TOML and JSON."""
        return {first: dict(row) for first, row in self._pairs.items()}

    def __getitem__(self, name: str) -> Mapping[str, float]:
        return self._pairs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        return f"Correlations of {len(self.names)} parameters"

    def __reduce__(self) -> tuple[Any, ...]:
        return Correlations, (self.plain(),)


def deviations_of(covariance: "Array", names: Sequence[str], missing: Sequence[str] = ()) -> dict[str, Any]:
    """Fields std and correlations of a bicycle whose named parameters have a covariance (n, n)."""
    import numpy as np

    std = np.sqrt(np.clip(np.diag(covariance), 0.0, None))
    known = [i for i, name in enumerate(names) if std[i] > 0.0 and name not in missing]
    correlations: dict[str, dict[str, float]] = {}
    for a, i in enumerate(known):
        row = {
            names[j]: float(np.clip(covariance[i, j] / (std[i] * std[j]), -1.0, 1.0))
            for j in known[a + 1 :]
            if covariance[i, j] != 0.0
        }
        if row:
            correlations[names[i]] = row
    return {"std": {names[i]: float(std[i]) for i in known}, "correlations": correlations}
