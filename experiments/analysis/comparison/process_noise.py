"""Random torques of wind, belt or road.

They are estimated from what the windows of a campaign show beside free motion. Their strength on lean and steer and
their memory are those of the greatest restricted likelihood (REML; Patterson and Thompson 1971) over all windows of a
bicycle. What another bicycle or machine would explain, to first order, is no random torque: each of `UNCERTAIN` is a
free parameter that all windows share. So a wrong model does not excuse itself. Standard deviations may allow for a
bicycle beyond the first order: where torques are found, they are sought once more about the one that the motion tells
of.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from riderless.experiments.analysis.comparison.compare import compare, windows_by_bicycle
from riderless.experiments.analysis.comparison.innovation_filter import (
    TORQUE_TIMES,
    OtherMachines,
    Stretch,
    make_stretch,
)
from riderless.experiments.analysis.comparison.noise_covariance import driven_covariance, larger_covariance
from riderless.experiments.analysis.identification.output_error import either_side
from riderless.experiments.analysis.verdict.uncertain_parameters import as_moved
from riderless.experiments.analysis.windows.grouping import in_turn
from riderless.experiments.datatypes import OURS, Comparison, Dynamics, Fit, ProcessNoise, Response, Segment
from riderless.experiments.theory.process_noise import impulse_responses, torque_rows
from riderless.models.array_types import Array
from riderless.models.linear.perturbed import ENTRIES
from riderless.models.linear.whipple import totals
from riderless.models.parameters import Bicycle
from riderless.models.plant.drive_losses import DriveLosses

UNCERTAIN = (*ENTRIES, "drive_gain", "more_delay", "steer_damping", "speed_scale")  # span what a linear machine may be
FEWEST_WINDOWS = 3  # in one or two, what the model lacks at the start of a window looks like a torque
MOST_WINDOWS = 30  # of one bicycle, spread evenly over its recordings: more would tell no more that matters
MACHINE_STEP = 0.1  # of a quantity's usual deviation, for difference quotients
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # N m on the lean, where the search begins
STEER_SHARE = 0.03  # of the lean torque, that a side force puts on the steer of a bicycle of usual trail
FIRST_TIME = 1.0  # s
MOST_LEAN_TORQUE = 15.0  # N m: a gale on a rider's size; more is no wind, but a sensor or a bicycle that is wrong
LEAST_GAIN = 10.0  # of the logarithm of the likelihood, for which random torques are believed
RIDGE = 1e-8  # of a parameter's own information: what no window tells of
SIMPLEX = np.array([0.5, 0.02, 1.0])  # of the search, about its beginning
SETTLED = {"xatol": 0.03, "fatol": 0.05, "maxfev": 120}  # strengths within 3 %


def with_process_noise(responses: Sequence[Response], comparisons: Sequence[Comparison]) -> list[Response]:
    """Responses with the random torques that the windows of their bicycle show, where they show any."""
    telling = {response.key: response for response in responses if may_tell(response)}
    groups = windows_by_bicycle([c for c in comparisons if c.key in telling])
    noise = {name: estimate_process_noise(group) for name, group in groups.items()}
    return [
        replace(r, process_noise=noise.get(r.own_theory.bicycle.name) if r.key in telling else None) for r in responses
    ]


def may_tell(response: Response) -> bool:
    """Can random torques be told from a recording? Of ours, where lag and noise of lean rate and steer are known.

    What filters and scales in somebody else's instruments do to the two readings would be taken for torques.
    """
    measured = response.delta is not None and response.phi_dot_unit == "rad/s"
    return response.kind == OURS and measured and response.own_theory.dynamics().mechanics is not None


def estimate_process_noise(group: Sequence[Comparison], fewest: int = FEWEST_WINDOWS) -> ProcessNoise | None:
    """Estimate the random torques from windows of one bicycle; None where these show none, or are too few."""
    if len(group) < fewest:
        return None
    chosen = [group[i] for i in sorted({round(i) for i in np.linspace(0, len(group) - 1, MOST_WINDOWS)})]
    noise = _of_windows(chosen)
    if noise is not None and chosen[0].segment.theory.uncertain:  # of the bicycle that the motion tells of, none?
        noise = _of_windows(as_moved(chosen))
    lost = max(_torque_lost(c.segment.theory.losses) for c in chosen)
    return noise if noise is not None and noise.lean_torque > lost else None


def _of_windows(chosen: Sequence[Comparison]) -> ProcessNoise | None:
    """Likeliest torques of these windows; None where there are none."""
    others: dict[int, OtherMachines] = {}
    stretches = []
    for c in in_turn(chosen):
        response = c.segment.response
        if id(response) not in others:
            others[id(response)] = _other_machines(response)
        stretches.append(make_stretch(c, others[id(response)]))
    return likeliest(stretches)


def _torque_lost(losses: DriveLosses) -> float:
    """Torque [N m] that a drive may keep; random ones as small are how noise dithers what it keeps."""
    return losses.friction + losses.dead_band + losses.hysteresis


def _other_machines(response: Response) -> OtherMachines:
    """Machines of a response with each of `UNCERTAIN` a little off."""
    theory = response.own_theory
    dynamics, machines = theory.dynamics(), []

    def moved(name: str, step: float) -> Dynamics:
        return theory.dynamics({name: theory.nominal(name) + step * theory.usual(name)})

    for name in UNCERTAIN:
        other = either_side(partial(moved, name), MACHINE_STEP)
        machines.append(dynamics if other is None else other[0])  # it cannot be moved at all
    return OtherMachines(dynamics, machines, response.dt)


class _Candidate(NamedTuple):
    """Torques by three numbers, see `_covariance`, and their cost with a memory of `TORQUE_TIMES`."""

    cost: float
    numbers: Array  # (3,)
    place: int

    @property
    def noise(self) -> ProcessNoise:
        """Torques themselves."""
        return ProcessNoise(_covariance(self.numbers), TORQUE_TIMES[self.place])


def likeliest(stretches: Sequence[Stretch]) -> ProcessNoise | None:
    """Find the torques of the greatest likelihood; None where still air is nearly as likely, or no air is so strong.

    Still air that is likelier than even the weakest of `STRENGTHS` is still: what is weaker moves no eigenvalue.
    """
    place = TORQUE_TIMES.index(FIRST_TIME)
    tried = [np.array([np.log(s), STEER_SHARE, np.log(STEER_SHARE * s)]) for s in STRENGTHS]
    costs = [cost(stretches, _covariance(x), place) for x in tried]
    still = cost(stretches, np.zeros((2, 2)), place)
    if still < min(costs):
        return None
    here = _search(stretches, tried[int(np.argmin(costs))], place)
    if still - here.cost < LEAST_GAIN:
        return None
    for way in (1, -1):
        while 0 <= here.place + way < len(TORQUE_TIMES):
            other = _search(stretches, here.numbers, here.place + way)
            if other.cost >= here.cost:
                break
            here = other
    return here.noise if here.noise.lean_torque <= MOST_LEAN_TORQUE else None


def _search(stretches: Sequence[Stretch], begin: Array, place: int) -> _Candidate:
    """Search the strengths for one memory by the simplex of Nelder and Mead."""
    simplex = begin + SIMPLEX * np.vstack([np.zeros(3), np.eye(3)])
    options = {**SETTLED, "initial_simplex": simplex}
    optimum = minimize(lambda x: cost(stretches, _covariance(x), place), begin, method="Nelder-Mead", options=options)
    return _Candidate(float(optimum.fun), optimum.x, place)


def _covariance(numbers: Array) -> Array:
    """Covariance (2, 2) of the torques, from the lean torque's logarithm, its share on the steer, what is beside."""
    lean, beside = np.exp(numbers[[0, 2]])
    root = np.array([[lean, 0.0], [numbers[1] * lean, beside]])
    return np.asarray(root @ root.T)


def cost(stretches: Sequence[Stretch], torques: Array, place: int) -> float:
    """Minus the logarithm of the restricted likelihood of torques with a covariance (2, 2), but for a constant.

    Parameters
    ----------
    stretches : sequence of Stretch
    torques : (2, 2)
        N^2 m^2.
    place : int
        Of their memory among `TORQUE_TIMES`.
    """
    sizes = np.array([torques[0, 0], torques[1, 1], torques[0, 1]])
    products, logs = 0.0, 0.0
    for stretch in stretches:
        r = len(stretch.columns)
        covariance = (sizes @ stretch.torques[place].reshape(len(sizes), -1)).reshape(r, r)
        covariance.flat[:: r + 1] += 1.0
        factor = np.linalg.cholesky(covariance)
        white = solve_triangular(factor, stretch.columns, lower=True, check_finite=False)
        products = products + stretch.rest + white.T @ white
        logs += 2.0 * float(np.log(np.diag(factor)).sum())
    assert isinstance(products, np.ndarray)
    information, score = products[1:, 1:], products[1:, 0]
    unit = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    information = information / np.outer(unit, unit) + RIDGE * np.eye(len(unit))
    explained = (score / unit) @ np.linalg.solve(information, score / unit)
    logs += float(np.linalg.slogdet(information)[1]) + 2.0 * float(np.log(unit).sum())
    return 0.5 * float(products[0, 0] - explained + logs)


# Fits in random torques: what wind, belt or road that nobody measured add to the uncertainty of an eigenvalue.


def in_random_torques(segment: Segment, fit: Fit) -> Fit:
    """Fit whose covariance is at least that of the motion which the response's random torques drive in the window.

    A fit that is not linear in the lean rate, as the joint one, stays as it is.
    """
    noise = segment.response.process_noise
    if noise is None or fit.influence.shape[1] != len(segment):
        return fit
    rows, before = torque_rows(segment.dynamics, noise, segment.window.v_mean, segment.dt)
    driven = driven_covariance(rows, before, (fit.influence, np.zeros_like(fit.influence)))
    return replace(fit, covariance=larger_covariance(fit.covariance, driven))


def in_still_air(c: Comparison) -> Comparison:
    """Compare a window as if no random torques had driven it."""
    return compare(replace(c.segment, response=replace(c.segment.response, process_noise=None)), c.fit)


# Motion that random torques drive in windows, beside the motion of the kicks: where it is large, errors are not small.
#
# Everything that is said of errors holds to first order: the motion driven by wind, belt or road must be small beside
# that of the kick. Otherwise kicks are found, and windows cut, by the wind as well.


def driven_share(group: Sequence[Comparison]) -> float:
    """Lean rate that random torques drive in windows, over that measured: rms over the windows; 0 in still air.

    Parameters
    ----------
    group : sequence of Comparison
        Windows of one bicycle.
    """
    squares = [_window_share(c.segment) ** 2 for c in in_turn(group)]
    return float(np.sqrt(np.mean(squares))) if squares else 0.0


def _window_share(segment: Segment) -> float:
    """Root mean square of the driven lean rate of one window, from its beginning on, over that of the measured one."""
    noise = segment.response.process_noise
    if noise is None:
        return 0.0
    rows, before = torque_rows(segment.dynamics, noise, segment.window.v_mean, segment.dt)
    within, earlier = impulse_responses(rows, before, len(segment))
    variance = np.cumsum((within[:, 0] ** 2).sum(axis=1)) + (earlier[:, 0] ** 2).sum(axis=1)
    return float(np.sqrt(variance.mean() / max(float(np.var(segment.phi_dot)), np.finfo(float).tiny)))


# Random torques of a campaign in words, and as a document.


WORTH_A_WORD = 0.01  # of the other torque: less than that is not worth a word


def noise_of_bicycles(responses: Sequence[Response]) -> Iterator[tuple[Bicycle, ProcessNoise]]:
    """Give each bicycle that random torques drove, once."""
    names = set()
    for response in responses:
        if response.process_noise is not None:
            bicycle = response.own_theory.bicycle
            if bicycle.name not in names:
                names.add(bicycle.name)
                yield bicycle, response.process_noise


def noise_sentence(bicycle: Bicycle, noise: ProcessNoise) -> str:
    """Say how strong random torques were: as a side force at the height of the centre of mass, and on the steer."""
    parts = []
    lean, steer = noise.lean_torque, noise.steer_torque
    if lean > WORTH_A_WORD * steer:
        force = lean / _side_force_height(bicycle)
        parts.append(f"a side force of about {force:.2g} N rms on {bicycle.name} ({lean:.2g} N m on the lean)")
    if steer > WORTH_A_WORD * lean:
        parts.append(f"a torque of {steer:.2g} N m rms on {'its steer' if parts else f'the steer of {bicycle.name}'}")
    return f"wind, belt or road: {' and '.join(parts)}, over {noise.time:g} s; all errors count it"


def _side_force_height(bicycle: Bicycle) -> float:
    """Height of the centre of mass of the whole bicycle [m]."""
    return -totals(bicycle).zT


def noise_json(responses: Sequence[Response]) -> list[dict[str, Any]]:
    """Document of the random torques, one for each bicycle that has some, SI."""
    return [
        {
            "bicycle": bicycle.name,
            "torque_covariance": noise.covariance.tolist(),
            "lean_torque_std": noise.lean_torque,
            "steer_torque_std": noise.steer_torque,
            "time": noise.time,
            "sentence": noise_sentence(bicycle, noise),
        }
        for bicycle, noise in noise_of_bicycles(responses)
    ]
