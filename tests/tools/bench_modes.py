"""Time of named eigenvalues over speed, beside what users would pick instead, which gives no names."""

import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from riderless.models.catalogue import load_bicycle
from riderless.models.linear.modes import eigenvalues, named_modes
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.parameters import PARAMETERS, Bicycle

SPEEDS = np.linspace(0.0, 10.0, 1000)


def best_ms(call: Callable[[], object], times: int = 20) -> float:
    """Least processor time of a call, ms."""
    found = []
    for _ in range(times):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return 1e3 * min(found)


def row() -> tuple[str, str]:
    """Figure, and what stands beside it."""
    bicycle = load_bicycle("Benchmark")
    M, C1, K0, K2 = canonical_matrices(bicycle)

    def plain() -> list[np.ndarray]:
        """One `eig` a speed, as in a user's own script."""
        found = []
        for v in SPEEDS:
            stiffness, damping = bicycle.g * K0 + v**2 * K2, v * C1
            A = np.block(
                [[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, stiffness), -np.linalg.solve(M, damping)]]
            )
            found.append(np.linalg.eig(A)[0])
        return found

    named_modes(bicycle, SPEEDS)  # double roots are kept
    ours = best_ms(lambda: named_modes(bicycle, SPEEDS))
    loop, stack = best_ms(plain, 3), best_ms(lambda: eigenvalues(bicycle, SPEEDS))
    others = f"unnamed: numpy's eig in a loop {loop:.0f} ms, ratio {loop / ours:.0f}; all in one eigvals {stack:.1f} ms"
    if find_spec("bicycleparameters"):
        others += f"; BicycleParameters {_bicycle_parameters_ms(bicycle):.0f} ms"
    return f"{ours:.1f} ms", others


def _bicycle_parameters_ms(bicycle: Bicycle) -> float:
    """The same by BicycleParameters, where it is installed."""
    from bicycleparameters.models import Meijaard2007Model  # type: ignore[import-not-found,unused-ignore]
    from bicycleparameters.parameter_sets import (  # type: ignore[import-not-found,unused-ignore]
        Meijaard2007ParameterSet,
    )

    values = {name: getattr(bicycle, name) for name in PARAMETERS}
    model = Meijaard2007Model(Meijaard2007ParameterSet({**values, "v": 1.0}, True))
    return best_ms(lambda: model.calc_eigen(v=SPEEDS), 3)
