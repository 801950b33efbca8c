"""Eigenvalues that others measured and printed."""

from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from experiments.nouns import Array


@dataclass(frozen=True)
class Figure7:
    """Weave of an uncontrolled bicycle in 26 runs: Kooijman, Schwab, Meijaard (2008), figure 7; (26,)."""

    v_start: Array  # m/s, lower end of the run's speeds
    v_end: Array  # m/s, upper end
    re: Array  # 1/s
    im: Array  # rad/s

    @property
    def v_mean(self) -> Array:
        """Middle of each run's speed range [m/s]."""
        return 0.5 * (self.v_start + self.v_end)


def figure7() -> Figure7:
    """The 26 published points, read off the vector figure to about 0.01."""
    table = files("experiments").joinpath("data/kooijman2008_figure7.csv").read_text()
    rows = [line for line in table.splitlines() if not line.startswith("#")]
    v_start, v_end, re, im = np.loadtxt(rows[1:], delimiter=",", unpack=True)
    return Figure7(v_start, v_end, re, im)
