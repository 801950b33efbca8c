"""A small machine for the tests: rig, gains, loop, plant."""

import numpy as np

from riderless.hil.design.methods import design
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import emulated_node, emulated_plant
from riderless.hil.runners.operator import Operator
from riderless.models import catalogue
from riderless.models.plant.plant import Kick, Scenario


def rig_of(name="Silver", **changes):
    return Rig(catalogue.load_bicycle(name), **changes)


def gains(rig, method="lqr", speeds=(4.5, 5.0, 5.5), **options):
    return design(rig.bicycle, method, speeds, rig.timing, **options)


def gains_in(loop):
    """Gains (n, 6) of a loop under a law of gains, for a test to change."""
    return loop.settings.reshape(-1, 7)[:, 1:]


def scenario(v=5.0, seed=1, kicks=(1.0,)):
    return Scenario(speed=((0.0, v),), kicks=tuple(Kick(t, 3.0) for t in kicks), seed=seed)


def lockstep_rows(duration=3.0, method="lqr", spoil=lambda loop, plant: None, seed=1, **changes):
    """Rows of one lockstep run, and its outcome."""
    from riderless.hil.runners import lockstep

    rig = rig_of(**changes)
    loop = new_loop(rig, gains(rig, method), rig.calibrated().as_record())
    plant, operator, batches = emulated_plant(rig, scenario(seed=seed)), Operator(duration), []
    spoil(loop, plant)
    lockstep.run_in_lockstep(loop, plant, emulated_node(rig), operator, lambda rows, tape: batches.append(rows))
    return np.concatenate(batches), operator.outcome()
