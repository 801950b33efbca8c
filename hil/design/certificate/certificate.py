"""Certificate of stability: matrices, where they come from, and the file that holds them."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from riderless.hil.design.certificate.verify import FORMAT, Verification, verify
from riderless.hil.design.closed_loop import SampledLoop
from riderless.models.array_types import Array
from riderless.models.errors import InputError

_SPEED_ROUNDING = 1e-9  # m/s
_SAME = 1e-9  # of a loop matrix: what another version of a library changes


@dataclass(frozen=True, repr=False)
class Certificate:
    """Certificate of stability for a controller on a rig.

    Attributes
    ----------
    head : mapping
        What was certified, in words and numbers.
    arrays : mapping of str to array
        As `riderless.hil.design.certificate.verify` reads them.
    """

    head: Mapping[str, Any]
    arrays: Mapping[str, Array]

    @cached_property
    def verification(self) -> Verification:
        """Check by its own matrices."""
        return verify(self.arrays)

    @property
    def speeds(self) -> tuple[float, float]:
        """Range of speeds [m/s]."""
        return float(self.arrays["speed"][0]), float(self.arrays["speed"][-1])

    @property
    def decay(self) -> float:
        """Slowest decay that is proved [1/s]."""
        return float(self.verification.decay.min())

    @property
    def slowest(self) -> float:
        """Speed [m/s] at which that is."""
        return float(self.arrays["speed"][int(np.argmin(self.verification.decay))])

    def as_bytes(self) -> bytes:
        """Content of its file."""
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, head=np.array(json.dumps(self.head)), **self.arrays)
        return file.getvalue()

    @classmethod
    def read(cls, path: str | Path) -> "Certificate":
        """Read a file.

        Raises
        ------
        InputError
            It is no certificate, or an older one.
        """
        try:
            with np.load(path, allow_pickle=False) as file:  # noqa: TID251  # it cannot unpickle
                arrays = dict(file)
                head = json.loads(str(arrays.pop("head")))
                known = head["format"]
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(f"{path} is no certificate: make one with `riderless certify`") from error
        if known != FORMAT:
            raise InputError(f"wanted a file of '{FORMAT}', found '{known}' in {path}: make it anew")
        return cls(head, arrays)

    def require_for(self, loop: SampledLoop, speeds: Sequence[float] = ()) -> None:
        """Refuse a certificate of another loop or other speeds, or one that does not hold.

        Parameters
        ----------
        loop : SampledLoop
        speeds : sequence of float
            That are to be ridden [m/s].

        Raises
        ------
        InputError
        """
        centre = self.arrays["centre"]
        same = centre.shape[1:] == (len(loop.states),) * 2 and all(
            np.allclose(loop.matrix(float(v)), A, rtol=0.0, atol=_SAME * np.abs(A).max())
            for v, A in zip(self.arrays["speed"], centre, strict=True)
        )
        if not same:
            raise InputError(
                f"the certificate is of {self.head['controller']} for {self.head['bicycle']} on the rig "
                f"'{self.head['rig']}' as they were, and this loop is another: certify it anew with `riderless certify`"
            )
        if not self.verification.holds:
            raise InputError("the certificate does not hold by its own matrices: make it anew with `riderless certify`")
        low, high = self.speeds
        beyond = [v for v in speeds if not low - _SPEED_ROUNDING <= v <= high + _SPEED_ROUNDING]
        if beyond:
            raise InputError(
                f"the certificate is for {low:g} to {high:g} m/s, found {beyond[0]:g} m/s: certify a wider range, or "
                "ride inside of it"
            )
