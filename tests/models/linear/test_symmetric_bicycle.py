"""A bicycle that is its own mirror image, front to rear, is never stable by itself (Meijaard et al. 2007)."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.models.catalogue import load_bicycle
from riderless.models.linear.whipple import system_matrix


@pytest.mark.filterwarnings("ignore::riderless.models.errors.UnusualBicycle")
@pytest.mark.parametrize("seed", range(8))
def test_each_eigenvalue_has_its_opposite(seed):
    rng = np.random.default_rng(seed)
    b = load_bicycle("Benchmark")
    m, x, z = rng.uniform(5.0, 60.0), rng.uniform(0.05, 0.45), -rng.uniform(0.3, 1.0)
    Ixx, Izz, Ixz = [*rng.uniform(1.0, 4.0, 2).tolist(), rng.uniform(-0.5, 0.5)]
    symmetric = replace(
        b,
        **{"lam": 0.0, "c": -b.w / 2.0, "mB": m, "mH": m, "xB": x, "xH": b.w - x, "zB": z, "zH": z},
        **{"IBxx": Ixx, "IHxx": Ixx, "IByy": Ixx + Izz, "IHyy": Ixx + Izz, "IBzz": Izz, "IHzz": Izz},
        **{"IBxz": Ixz, "IHxz": -Ixz, "rF": b.rR, "mF": b.mR, "IFxx": b.IRxx, "IFyy": b.IRyy},
        trust="two equal halves",
    )
    for v in (0.0, 1.0, 4.0, 9.0):
        values = np.linalg.eigvals(system_matrix(symmetric, v))
        for value in values:
            assert np.abs(values + value).min() < 1e-6 * np.abs(values).max()
        assert values.real.max() > -1e-6
