"""Campaigns of the study, each fixed by its number and the seed: bicycle, stratum, noise, controller, estimator."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from riderless.experiments.emulation.hand import HAND_KICK_LENGTHS
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle
from riderless.models.plant.drive_losses import DriveLosses

TUNED_ON = ("Browser", "Crescendo", "Benchmark", "Silver")  # bicycles looked at while the verdict was made
CERTAIN_BICYCLES = ("Benchmark", "Silver", "DelftSbW2024")  # without standard deviations: nothing to draw
CAMPAIGN_METHODS = ("lqr", "poles", "lean", "off")
LEAST_NOISE_FACTOR, GREATEST_NOISE_FACTOR = 0.3, 4.0  # times that of the emulated instruments
LEAST_SLOWING, GREATEST_SLOWING = 0.1, 0.2  # m/s^2, of a ramp


@dataclass(frozen=True)
class Stratum:
    """Kind of campaign: what the emulated plant and its surroundings are."""

    name: str
    model: str = "linear"  # equations of motion of the plant
    kick: float = 0.35  # rad/s of lean rate
    slowing: bool = False  # the speed falls during each run
    gusts: float = 0.0  # N
    drawn: bool = True  # parameters drawn from the bicycle's standard deviations
    pitched: bool = False  # pitch of the inertial sensor drawn from what a calibration leaves
    losses: DriveLosses = DriveLosses()  # of the drive
    told: bool = True  # the rig says them
    pushes: tuple[float, float] = HAND_KICK_LENGTHS  # s, shortest and longest
    missing: float = 0.0  # share of the samples that never arrive, one by one by chance
    burst: float = 0.0  # s, at multiples of which an adapter hands samples over; 0: each as it comes


PULLED_DRIVES = {
    "friction 0.05 N m": DriveLosses(friction=0.05),
    "friction 0.1 N m": DriveLosses(friction=0.1),
    "dead band 0.05 N m": DriveLosses(dead_band=0.05),
    "hysteresis 0.05 N m": DriveLosses(hysteresis=0.05),
    "pulled drive": DriveLosses(gain=0.9, offset=0.02, dead_band=0.03, hysteresis=0.02, friction=0.05),
}
STRATA = {
    stratum.name: stratum
    for stratum in (
        Stratum("certain", drawn=False),
        Stratum("drawn"),
        Stratum("ramp", slowing=True),
        Stratum("nonlinear 0.15", model="nonlinear", kick=0.15),
        Stratum("nonlinear 0.25", model="nonlinear", kick=0.25),
        Stratum("nonlinear 0.35", model="nonlinear", kick=0.35),
        Stratum("gusts 1 N", gusts=1.0),
        Stratum("gusts 4 N", gusts=4.0),
        Stratum("pitched", pitched=True),
        Stratum("pitched certain", pitched=True, drawn=False),
        *(
            Stratum(f"{name}{' untold' * (not told)}", drawn=False, losses=losses, told=told)
            for name, losses in PULLED_DRIVES.items()
            for told in (True, False)
        ),
        Stratum("pushes of persons", drawn=False, pushes=(0.1, 0.25)),
        Stratum("long pushes", drawn=False, pushes=(0.2, 0.3)),
        *(Stratum(f"missing {100 * share:g} %", drawn=False, missing=share) for share in (0.02, 0.05)),
        *(Stratum(f"bursts {1e3 * period:g} ms", drawn=False, burst=period) for period in (0.008, 0.016)),
    )
}

HONEST_STRATA = tuple(  # of the study by default: drives, sensors, lines and hands as they should be
    name
    for name, one in STRATA.items()
    if not (one.losses.told or one.pitched or one.missing or one.burst or one.pushes != HAND_KICK_LENGTHS)
)


@dataclass(frozen=True)
class StudyCampaign:
    """One true campaign of three conditions."""

    seed: int
    number: int
    bicycle: str
    stratum: str
    method: str
    noise: float  # times that of the emulated instruments
    estimator: str

    @property
    def key(self) -> str:
        """Text that no other campaign of a study has."""
        return f"{self.seed}/{self.number}/{self.stratum}/{self.bicycle}/{self.method}/{self.noise:g}/{self.estimator}"

    def chance(self) -> np.random.Generator:
        """Random stream of the campaign: its draws do not hang on the estimator that judges them."""
        return np.random.default_rng([self.seed, self.number])


def certain(name: str) -> Bicycle | None:
    """Load a bicycle as if its parameters were known for certain; None where only their deviations make it possible."""
    try:
        return replace(catalogue.load_bicycle(name), std={})
    except InputError:
        return None


def uncertain_bicycles() -> tuple[str, ...]:
    """Bicycles of the catalogue with standard deviations."""
    return tuple(name for name in catalogue.bicycle_names() if catalogue.load_bicycle(name).std)


def study_campaigns(
    count: int,
    seed: int,
    strata: Sequence[str] = HONEST_STRATA,
    bicycles: Sequence[str] = (),
    estimators: Sequence[str] = ("single_mode",),
) -> list[StudyCampaign]:
    """Plan so many campaigns for each estimator, strata, bicycles and controllers in turn.

    Parameters
    ----------
    count : int
        Campaigns for each estimator.
    seed : int
    strata : sequence of str
        Of `STRATA`.
    bicycles : sequence of str
        By default all with standard deviations, and `CERTAIN_BICYCLES` beside them where nothing is drawn.
    estimators : sequence of str

    Raises
    ------
    InputError
        A stratum that is none.
    """
    for name in strata:
        if name not in STRATA:
            raise InputError(f"wanted a stratum among {', '.join(STRATA)}, found '{name}'; choose one of them")
    uncertain = tuple(bicycles) or uncertain_bicycles()
    planned = []
    for number in range(count):
        turn, place = divmod(number, len(strata))
        stratum = STRATA[strata[place]]
        some = uncertain
        if not stratum.drawn:
            some = tuple(filter(certain, uncertain if bicycles else (*CERTAIN_BICYCLES, *uncertain)))
        chance = np.random.default_rng([seed, number, 1])
        bicycle = some[int(chance.integers(len(some)))]
        noise = float(np.round(np.exp(chance.uniform(np.log(LEAST_NOISE_FACTOR), np.log(GREATEST_NOISE_FACTOR))), 3))
        for estimator in estimators:
            planned.append(
                StudyCampaign(
                    seed,
                    number,
                    bicycle,
                    stratum.name,
                    CAMPAIGN_METHODS[turn % len(CAMPAIGN_METHODS)],
                    noise,
                    estimator,
                )
            )
    return planned
