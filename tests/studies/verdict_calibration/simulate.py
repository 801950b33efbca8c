"""Simulated runs of a true campaign: a plant whose parameters were drawn, under a loop that knows the nominal ones."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from riderless.experiments.campaigns.protocols.plan_inputs import gentle_options
from riderless.experiments.datatypes import Response
from riderless.experiments.emulation.hand import (
    FIRST_KICK,
    KICK_SPACING,
    KICKS_PER_RUN,
    RELEASE_DELAY,
    kicks_in_turn,
)
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.theories import open_loop
from riderless.experiments.theory.modes import kicked_mode
from riderless.experiments.theory.run_theory import how_well_known, theory_with
from riderless.experiments.theory.uncertainty_bands import draw_machine
from riderless.firmware_interface.twins.faults import Fault, FaultKind, Faults
from riderless.hil.design.methods import GainSchedule, design
from riderless.hil.logs.header import new_header
from riderless.hil.logs.log import RunRecorder
from riderless.hil.rig.rig import Rig
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import Emulation, emulated_drive, emulated_node, emulated_plant
from riderless.hil.runners.log_sink import Keeper
from riderless.hil.runners.operator import Operator
from riderless.models import catalogue
from riderless.models.linear.perturbed import Variant
from riderless.models.plant.drive_losses import DriveLosses
from riderless.models.plant.environment import Surroundings
from riderless.models.plant.scenario import Scenario
from riderless.models.plant.steer_drive import SteerDrive
from tests.studies.verdict_calibration.strata import (
    CAMPAIGN_METHODS,
    GREATEST_SLOWING,
    LEAST_SLOWING,
    STRATA,
    StudyCampaign,
)

CONDITIONS = 3
CAMPAIGN_SPEEDS = tuple(2.0 + 0.25 * i for i in range(29))  # m/s, from which a campaign's are chosen
GAIN_GRID = tuple(0.25 * i for i in range(1, 46))  # m/s: wider than those by what a ramp needs
LEAST_WEAVE_DECAY, GREATEST_WEAVE_DECAY = 0.15, 1.8  # 1/s: what a lab can measure between two kicks
LEAST_FREQUENCY = 2.2  # rad/s, one cycle between two kicks
SLOWEST_GROWTH = 0.02  # 1/s of the other modes: a heading that nobody steers, observers' integrators
DURATION = RELEASE_DELAY + FIRST_KICK + KICKS_PER_RUN * KICK_SPACING  # s
UNDER_CONTROL = 1.1  # s since power-up, by when it is under control: a sample that is missing before keeps it from that


def true_machine(rig: Rig, rng: np.random.Generator) -> Variant:
    """Draw a machine from what a rig says of its bicycle and its sensor."""
    theory = replace(open_loop(rig.bicycle), std=how_well_known(rig))
    return theory.variant(draw_machine(theory, rng))[0]


def campaign_responses(campaign: StudyCampaign) -> list[Response]:
    """Simulate the runs of a campaign; fewer than `CONDITIONS` where the controller suits no more speeds."""
    stratum, rng = STRATA[campaign.stratum], campaign.chance()
    nominal = catalogue.load_bicycle(campaign.bicycle)
    if not stratum.drawn:
        nominal = replace(nominal, std={})
    rig = Rig(
        nominal,
        std={} if stratum.pitched else {"imu_pitch": 0.0},
        losses=stratum.losses if stratum.told else DriveLosses(),
    )
    truth = true_machine(rig, rng)
    rig = replace(rig, calibration={"wheel_radius": truth.bicycle.rR})  # rolled out, whatever the drawing
    schedule, speeds = suitable_controller(rig, campaign.method, rng)
    drive = SteerDrive() if stratum.told else emulated_drive(replace(rig, losses=stratum.losses))
    emulation = Emulation(stratum.model, Surroundings(gusts=stratum.gusts), drive, campaign.noise)
    times = FIRST_KICK + KICK_SPACING * np.arange(KICKS_PER_RUN)
    found = []
    for v in speeds:
        slowing = float(rng.uniform(LEAST_SLOWING, GREATEST_SLOWING)) if stratum.slowing else 0.0
        first = v + 0.5 * slowing * DURATION
        speed = ((0.0, first), (DURATION, first - slowing * DURATION)) if slowing else ((0.0, v),)
        kicks = kicks_in_turn(nominal, times, rng, stratum.model, stratum.kick, stratum.pushes)
        scenario = Scenario(speed=speed, kicks=kicks, release_after=RELEASE_DELAY, seed=int(rng.integers(2**31)))
        label = f"{nominal.name} {schedule.method} {v:g} m/s"
        faults = missing_samples(stratum.missing, scenario.seed) + samples_in_bursts(stratum.burst)
        found.append(simulated_response(rig, schedule, scenario, emulation, truth, label, faults))
    return found


def missing_samples(share: float, seed: int) -> Faults:
    """Faults by which a share of the samples under control never arrives, one by one by chance; often none."""
    if share == 0.0:
        return ()
    return (Fault(FaultKind.DROP, start=UNDER_CONTROL, chance=share, seed=seed),)


def samples_in_bursts(period: float) -> Faults:
    """Faults by which samples are handed over at multiples of a period [s] only; none where that is 0."""
    return (Fault(FaultKind.BURST, period),) if period else ()


def suitable_controller(rig: Rig, method: str, rng: np.random.Generator) -> tuple[GainSchedule, list[float]]:
    """Design the controller asked for, or the next one with which a bicycle can be measured, and choose its speeds."""
    first = CAMPAIGN_METHODS.index(method)
    for name in CAMPAIGN_METHODS[first:] + CAMPAIGN_METHODS[:first]:
        options = gentle_options(rig.bicycle, name)
        schedule = design(rig.bicycle, name, GAIN_GRID, rig.timing, allow_unstable=True, **options)
        speeds = chosen_speeds(rig, schedule, rng)
        if len(speeds) == CONDITIONS:
            break
    return schedule, speeds


def chosen_speeds(rig: Rig, schedule: GainSchedule, rng: np.random.Generator) -> list[float]:
    """Choose at random up to `CONDITIONS` speeds at which the weave decays as a lab can measure it."""
    header = new_header(rig, schedule, rig.calibrated(), runner="lockstep", simulated=True)
    dynamics = theory_with(header, rig.bicycle, np.zeros(4), 0.0).dynamics()
    chosen: list[float] = []
    for v in rng.permutation(CAMPAIGN_SPEEDS):
        weave = kicked_mode(dynamics, float(v))
        if (
            dynamics.growth(float(v)) < SLOWEST_GROWTH
            and LEAST_WEAVE_DECAY < -weave.real < GREATEST_WEAVE_DECAY
            and weave.imag > LEAST_FREQUENCY
        ):
            chosen.append(float(v))
        if len(chosen) == CONDITIONS:
            break
    return sorted(chosen)


def simulated_response(
    rig: Rig,
    schedule: GainSchedule,
    scenario: Scenario,
    emulation: Emulation,
    truth: Variant,
    label: str,
    faults: Faults = (),
) -> Response:
    """Simulate one run in memory, with the rig's loop and another bicycle as the plant.

    Parameters
    ----------
    rig : Rig
        With the bicycle that theory and observer know.
    schedule : GainSchedule
    scenario : Scenario
    emulation : Emulation
    truth : Variant
        Bicycle that moves, and how the inertial sensor sits on it.
    label : str
    faults : Faults
        Of the node and its line.
    """
    calibration = rig.calibrated()
    told = {"scenario": scenario, "emulation": emulation}  # by which equations the plant moves
    header = new_header(rig, schedule, calibration, runner="lockstep", simulated=True, label=label, extra=told)
    loop = new_loop(rig, schedule, calibration.as_record())
    plant = emulated_plant(replace(rig, bicycle=truth.bicycle), scenario, emulation)
    node = emulated_node(rig)
    mounting: Any = tuple(map(tuple, Rotation.from_euler("y", truth.imu_pitch).as_matrix().tolist()))  # nose up
    node = replace(node, calibration=replace(node.calibration, mounting=mounting))
    recorder, operator = RunRecorder(header), Operator(DURATION)
    lockstep.run_in_lockstep(loop, plant, node, operator, Keeper(recorder, plant), faults=faults)
    outcome = operator.outcome()
    return response_of_run(recorder.run(outcome.reason, outcome.cause))
