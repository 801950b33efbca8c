"""Route: a path at a speed, checked.

With what it asks of a bicycle, against limits, before anybody rides it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from riderless.hil.guidance.demand import RUN_UP
from riderless.hil.guidance.path import Path
from riderless.hil.guidance.rideable import RideLimits, require_rideable
from riderless.models.array_types import Array, true_spans
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle

ROUTE_SPACING = 0.1  # m, at least, between its rows
RUN_UP_TIME = 2.0  # s of straight lane before the path begins
RUN_OUT_TIME = 2.0  # s of straight lane that is ridden behind it
MOST_END_CURVATURE = 1e-3  # 1/m, at the ends of a path
STRAIGHT_ON = 1e-3  # rad and rad/s, of lean, steer and their rates: less is straight on
BEFORE_BEND, AFTER_BEND = 0.3, 2.0  # s beside a bend in which a bicycle is led into it, or comes out of it
NEXT_PLACE = 3.0  # m
_COLUMNS = 10
_DELTA, _DELTA_DOT, _COMMAND = 6, 8, 9


@dataclass(frozen=True, eq=False)
class Route:
    """Path that a run follows; without rows a straight lane.

    Attributes
    ----------
    name : str
    speed : float
        For which it was made [m/s].
    rows : sequence of (s, x, y, psi, kappa, phi, delta, phi_dot, delta_dot, T)
        SI units; s increases.

    Raises
    ------
    InputError
        Rows that are no route.
    """

    name: str = ""
    speed: float = 0.0
    rows: Sequence[Sequence[float]] = ()

    def __post_init__(self) -> None:
        table = np.array(self.rows, float).reshape(-1, _COLUMNS) if len(self.rows) else np.zeros((0, _COLUMNS))
        if not np.isfinite(table).all() or np.any(np.diff(table[:, 0]) <= 0.0):
            raise InputError(f"the route {self.name} wants finite numbers and lengths that increase: make it anew")

    @property
    def ride_time(self) -> float:
        """Time from the beginning of control to `RUN_OUT_TIME` behind the path's end [s]; 0 without rows."""
        if not len(self.rows):
            return 0.0
        return float(self.rows[-1][0]) / self.speed - RUN_UP + RUN_UP_TIME + RUN_OUT_TIME

    @property
    def entered_at(self) -> float:
        """Length from its first row [m] at which control begins: `RUN_UP_TIME` before the path itself."""
        return -RUN_UP_TIME * self.speed - float(self.rows[0][0]) if len(self.rows) else 0.0

    def table(self, drive: InnerLoop | None = None) -> Array:
        """Rows as an array (n, 10).

        The last column is the command that the path asks for: the torque, or what makes the steer of a ``drive`` that
        obeys a rate or angle follow the path, its lag made up for.
        """
        if not len(self.rows):
            return np.zeros((0, _COLUMNS))
        table = np.array(self.rows, float).reshape(-1, _COLUMNS)
        if drive is not None and len(table) > 1:
            wanted = table[:, _DELTA if drive.kind == "angle" else _DELTA_DOT]
            table[:, _COMMAND] = wanted + drive.lag * self.speed * np.gradient(wanted, table[:, 0])
        return table

    def bends(self, t: Array, x: Array, y: Array, psi: Array) -> list[tuple[float, float]]:
        """Times between which a bicycle is led through a bend: asked to lean, to steer, or still coming out of it.

        Parameters
        ----------
        t : (n,) array
            Of each place [s], from the beginning of control on; a bicycle comes less than `NEXT_PLACE` farther in one.
        x, y : (n,) arrays
            Place of the rear contact [m], x from where control began.
        psi : (n,) array
            Heading [rad].
        """
        table = self.table()
        if len(table) < 2 or not len(t):
            return []
        s = table[:, 0] - table[0, 0]
        place = [np.ascontiguousarray(column) for column in table.T[1:5]]
        path = Path(self.name, s, place[0], place[1], place[2], place[3])
        along, bent = self.entered_at, np.zeros(len(t), bool)
        bent_rows = np.abs(table[:, 5:9]).max(axis=1) > STRAIGHT_ON
        for i in range(len(t)):
            along = path.nearest(float(x[i]), float(y[i]), float(psi[i]), along, NEXT_PLACE).s
            if along > s[-1] - NEXT_PLACE:  # straight on, beyond what the route has
                break
            bent[i] = bent_rows[min(int(np.searchsorted(s, along)), len(s) - 1)]
        spans = [(float(t[a]) - BEFORE_BEND, float(t[b - 1]) + AFTER_BEND) for a, b in true_spans(bent)]
        stretches: list[tuple[float, float]] = []
        for begin, end in spans:
            if stretches and begin <= stretches[-1][1]:
                begin = stretches.pop()[0]
            stretches.append((begin, end))
        return stretches

    def __repr__(self) -> str:
        return f"<Route {self.name or 'straight'} at {self.speed:g} m/s, {len(self.rows)} rows>"


def plan_route(bicycle: Bicycle, path: Path, v: float, limits: RideLimits, rounds: int = 1) -> Route:
    """Make the route of a path at the speed ``v`` [m/s], `RUN_UP_TIME` of straight lane before it.

    Parameters
    ----------
    bicycle : Bicycle
    path : Path
    v : float
    limits : RideLimits
        As of `require_rideable`.
    rounds : int
        How often a closed path is ridden.

    Raises
    ------
    InputError
        The path asks for more than the limits allow, or begins or ends in a bend.
    """
    path = _begun_straight(_unrolled(path, rounds) if path.closed else path)
    demand = require_rideable(bicycle, path, v, limits)
    keep = np.flatnonzero(np.diff(np.floor(demand.s / ROUTE_SPACING), prepend=-np.inf) > 0)
    s = demand.s[keep]
    places = np.array([path.at(float(each)) for each in s])
    before = s < 0.0  # straight on, backwards
    places[before] = np.column_stack([s[before], *np.zeros((3, int(before.sum())))])
    places[:, 0] += RUN_UP_TIME * v
    demands = [demand.phi, demand.delta, demand.phi_dot, demand.delta_dot, demand.T_delta]
    table = np.column_stack([s, places, *(each[keep] for each in demands)])
    return Route(path.name, v, tuple(map(tuple, table.tolist())))


def _begun_straight(path: Path) -> Path:
    """Move and turn a path so that it begins at the origin along x.

    Raises
    ------
    InputError
        It begins or ends in a bend, which jumps from the straight before it or to that after it.
    """
    for where, kappa in (("begins", float(path.kappa[0])), ("ends", float(path.kappa[-1]))):
        if abs(kappa) > MOST_END_CURVATURE:
            raise InputError(
                f"the path {path.name} {where} in a bend of {1.0 / abs(kappa):.3g} m, and the bicycle comes and goes "
                "straight: its curvature would jump there; give it a straight end"
            )
    x, y, psi = path.x - path.x[0], path.y - path.y[0], float(path.psi[0])
    if psi == 0.0:
        return replace(path, x=x, y=y)
    c, s = np.cos(psi), np.sin(psi)
    return replace(path, x=c * x + s * y, y=c * y - s * x, psi=path.psi - psi)


def _unrolled(path: Path, rounds: int) -> Path:
    """Open path of several rounds of a closed one, which begins straight."""
    if not 1 <= rounds <= 100:
        raise InputError(f"a closed path is ridden 1 to 100 times, found {rounds}")
    turn = float(path.psi[-1] - path.psi[0])
    s = np.concatenate([path.s[1:] + i * path.length for i in range(rounds)])
    psi = np.concatenate([path.psi[1:] + i * turn for i in range(rounds)])
    first = (path.s[:1], path.x[:1], path.y[:1], path.psi[:1], path.kappa[:1])
    again = [np.tile(each[1:], rounds) for each in (path.x, path.y, path.kappa)]
    return Path(
        f"{path.name}, {rounds} times" if rounds > 1 else path.name,
        np.concatenate([first[0], s]),
        np.concatenate([first[1], again[0]]),
        np.concatenate([first[2], again[1]]),
        np.concatenate([first[3], psi]),
        np.concatenate([first[4], again[2]]),
    )
