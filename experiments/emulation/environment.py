"""Environments for reinforcement learning: nonlinear bicycles that a steer torque balances.

Gymnasium's interface: `BicycleEnv` for one bicycle, `BicycleVectorEnv` for thousands together. What is learnt flies in
the real loop as a `riderless.hil.controllers.network.NetworkController`, with observer and supervisor.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import radians
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.dynamics import usual_std
from riderless.models import catalogue
from riderless.models.array_types import Array
from riderless.models.coordinates import Q_DELTA, Q_PHI
from riderless.models.errors import InputError
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.nonlinear.ensemble import LANES, Ensemble
from riderless.models.parameters import PARAMETERS, Bicycle

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError:  # pragma: no cover  the extra is there where this is tested
    raise InputError("reinforcement learning wants gymnasium: pip install riderless[gym]") from None

CONTROL_PERIOD = 0.005  # s, of control
INNER_STEPS = 5  # of the bicycle's motion in it
OBSERVATIONS = ("phi", "delta", "phi_dot", "delta_dot", "v")  # rad, rad, rad/s, rad/s, m/s
LEAN_LIMIT, STEER_LIMIT = radians(30.0), radians(45.0)
KICK_TIME = 0.2  # s, that a push by hand lasts
_STARTS = 512  # that a bicycle may begin with, drawn once
_MOST_DRAWS = 1000  # of a bicycle that cannot be, one after the other


class BicycleVectorEnv(gymnasium.vector.VectorEnv):
    """Many bicycles, each with an episode of its own.

    The action is a steer torque, in shares of ``torque``, and acts one period late, as in the loop. An episode is
    terminated by a lean of 30 deg or a steer of 45 deg, and truncated after ``duration``. The next step begins another
    one, whatever its action (`AutoresetMode.NEXT_STEP`). A period's reward is 1 - (lean / 30 deg)^2 - 0.1 action^2.

    Parameters
    ----------
    num_envs : int
    bicycle : str or Bicycle
        Name in the catalogue, or a bicycle.
    std : float
        Bicycles are drawn with this many times their standard deviations, correlations included; a parameter without
        one has that of measured bicycles. 0: all alike.
    speeds : (2,) tuple of float
        Slowest and fastest speed at the start [m/s]; the bicycle rolls freely.
    lean : float
        Greatest lean at the start, to either side [rad].
    kick : float
        Change of lean rate by a push by hand [rad/s]; pushes come once in two seconds in the mean, from either side.
    torque : float
        Greatest steer torque [N m].
    duration : float
        Longest episode [s].
    threads : int
        Parts of the ensemble that ride at the same time.

    Raises
    ------
    InputError
        For numbers that no ride has.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012  gymnasium's

    def __init__(
        self,
        num_envs: int = 1024,
        bicycle: str | Bicycle = "Silver",
        *,
        std: float = 0.0,
        speeds: tuple[float, float] = (4.0, 6.0),
        lean: float = radians(5.0),
        kick: float = 0.35,
        torque: float = 7.0,
        duration: float = 8.0,
        threads: int = 1,
    ) -> None:
        slowest, fastest = speeds
        _require(
            {
                "num_envs": (num_envs, 1, 1_000_000),
                "std": (std, 0.0, 10.0),
                "the slowest speed [m/s]": (slowest, 0.5, fastest),
                "the fastest speed [m/s]": (fastest, slowest, 20.0),
                "lean [rad]": (lean, 0.0, 0.9 * LEAN_LIMIT),
                "kick [rad/s]": (kick, 0.0, 5.0),
                "torque [N m]": (torque, 1e-3, 100.0),
                "duration [s]": (duration, CONTROL_PERIOD, 3600.0),
                "threads": (threads, 1, 64),
            }
        )
        nominal = catalogue.load_bicycle(bicycle) if isinstance(bicycle, str) else bicycle
        self._starts, self._torque = _drawn_starts(nominal, std, speeds, lean), torque
        mass = canonical_matrices(nominal)[0]
        self._kick = kick * float(mass[0, 0]) / KICK_TIME  # N m of roll, while a push lasts
        self._last = round(duration / CONTROL_PERIOD)
        self.num_envs = num_envs
        high = np.array([np.pi, np.pi, 100.0, 100.0, 100.0], np.float32)  # far beyond any ride
        self.single_observation_space = gymnasium.spaces.Box(-high, high, dtype=np.float32)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        share = -(-num_envs // (threads * LANES)) * LANES  # whole blocks for each thread
        self._parts = [slice(first, min(first + share, num_envs)) for first in range(0, num_envs, share)]
        self._pool = ThreadPoolExecutor(len(self._parts)) if len(self._parts) > 1 else None

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode of each bicycle.

        Returns
        -------
        (num_envs, 5) float32 array, dict
            Observations as `OBSERVATIONS`, and nothing more.
        """
        super().reset(seed=seed)
        rng = self.np_random
        rows = rng.integers(self._starts.n, size=self.num_envs)
        self._ensembles = [self._starts.picked(rows[part]) for part in self._parts]
        self._k = np.zeros(self.num_envs, np.int64)  # periods of the episode so far
        self._done = np.zeros(self.num_envs, bool)
        self._pushed = np.zeros(self.num_envs, np.int64)  # periods that a push still lasts
        self._push = np.zeros(self.num_envs)  # N m
        self._command = np.zeros(self.num_envs)  # N m, of the period before
        return self._observed(), {}

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Ride on for a period of 5 ms.

        Parameters
        ----------
        actions : (num_envs, 1) array
            Steer torques in shares of the greatest, positive to the right; beyond 1 they are cut off.

        Returns
        -------
        observations, rewards, terminated, truncated, dict
        """
        shares = np.clip(np.asarray(actions, float).reshape(self.num_envs), -1.0, 1.0)
        fresh = self._done
        torques = np.zeros((self.num_envs, 3))
        torques[:, 0], torques[:, 2] = self._pushes(), self._command
        self._advance(torques)
        self._command = np.where(fresh, 0.0, self._torque * shares)
        self._k += 1
        if fresh.any():
            self._restart(np.flatnonzero(fresh))
        observed = self._observed()
        phi, delta = observed[:, 0].astype(float), observed[:, 1]
        fallen = (np.abs(phi) > LEAN_LIMIT) | (np.abs(delta) > STEER_LIMIT) | self._outside()
        truncated = ~fallen & (self._k >= self._last)
        rewards = np.where(fresh, 0.0, 1.0 - (phi / LEAN_LIMIT) ** 2 - 0.1 * shares**2)
        self._done = fallen | truncated
        return observed, rewards, fallen, truncated, {}

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def _advance(self, torques: Array) -> None:
        """Let every bicycle ride for a period."""

        def ride(ensemble: Ensemble, part: slice) -> None:
            ensemble.advance(CONTROL_PERIOD / INNER_STEPS, INNER_STEPS, torques[part])

        if self._pool is None:
            ride(self._ensembles[0], self._parts[0])
        else:
            list(self._pool.map(ride, self._ensembles, self._parts))

    def _pushes(self) -> Array:
        """Roll torques of the pushes by hand in this period [N m]; now and then one begins."""
        begins = (self._pushed == 0) & (self.np_random.random(self.num_envs) < CONTROL_PERIOD / 2.0)
        self._pushed[begins] = round(KICK_TIME / CONTROL_PERIOD)
        self._push[begins] = self._kick * self.np_random.choice((-1.0, 1.0), int(begins.sum()))
        lasting = self._pushed > 0
        self._pushed[lasting] -= 1
        return np.where(lasting, self._push, 0.0)

    def _restart(self, places: NDArray[np.int64]) -> None:
        """Begin another episode of these bicycles."""
        rows = self.np_random.integers(self._starts.n, size=len(places))
        for ensemble, part in zip(self._ensembles, self._parts, strict=True):
            here = (places >= part.start) & (places < part.stop)
            ensemble.restart(places[here] - part.start, self._starts, rows[here])
        self._k[places], self._pushed[places] = 0, 0

    def _observed(self) -> NDArray[np.float32]:
        q = np.concatenate([ensemble.q for ensemble in self._ensembles])
        u = np.concatenate([ensemble.speeds for ensemble in self._ensembles])
        return np.stack([q[:, Q_PHI], q[:, Q_DELTA], u[:, 0], u[:, 2], u[:, 1]], axis=1).astype(np.float32)

    def _outside(self) -> NDArray[np.bool_]:
        return np.concatenate([ensemble.status != 0 for ensemble in self._ensembles])


class BicycleEnv(gymnasium.Env):
    """One bicycle; arguments, actions, observations and rewards as of `BicycleVectorEnv`."""

    metadata = {"render_modes": []}  # noqa: RUF012  gymnasium's

    def __init__(self, bicycle: str | Bicycle = "Silver", **ride: Any) -> None:
        self._one = BicycleVectorEnv(1, bicycle, **ride)
        self.observation_space, self.action_space = self._one.single_observation_space, self._one.single_action_space

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        observed, _ = self._one.reset(seed=seed)
        return observed[0], {}

    def step(self, action: NDArray[Any]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Ride on for a period of 5 ms."""
        observed, rewards, terminated, truncated, _ = self._one.step(np.reshape(action, (1, 1)))
        return observed[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {}


def _drawn_starts(nominal: Bicycle, std: float, speeds: tuple[float, float], lean: float) -> Ensemble:
    """Draw bicycles, and the states in which episodes begin."""
    rng = np.random.default_rng(1)
    bicycles = [drawn_bicycle(nominal, std, rng) for _ in range(_STARTS)]
    return Ensemble.starting(bicycles, roll=rng.uniform(-lean, lean, _STARTS), v=rng.uniform(*speeds, _STARTS))


def drawn_bicycle(nominal: Bicycle, std: float, rng: np.random.Generator) -> Bicycle:
    """Draw a bicycle from ``std`` times the deviations of another, the usual ones where it has none of its own.

    Values that no bicycle has are drawn again.
    """
    if std == 0.0:
        return nominal
    nominal = replace(nominal, std={**usual_std(), **nominal.std})
    names = [name for name in PARAMETERS if nominal.std.get(name, 0.0) > 0.0]
    mean = [getattr(nominal, name) for name in names]
    for _ in range(_MOST_DRAWS):
        values = rng.multivariate_normal(mean, std**2 * nominal.covariance(names), method="eigh")
        try:
            return replace(nominal, **dict(zip(names, values.tolist(), strict=True)))
        except InputError:
            continue
    return nominal


def _require(values: Mapping[str, tuple[float, float, float]]) -> None:
    for name, (value, low, high) in values.items():
        if not (isinstance(value, (int, float)) and low <= value <= high):
            raise InputError(f"{name} must be from {low:g} to {high:g}, found {value!r}; choose another")
