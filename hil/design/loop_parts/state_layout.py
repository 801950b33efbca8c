"""State layout of the whole sampled loop.

First the state of `riderless.hil.design.sampled_plant` (6), then the estimates of the observer (7), then the
controller's own states, if it has any, then the integral of a drive that has one inside, then heading and place of a
loop that keeps a lane, then the commands that wait where the delay is longer than one sample.
"""

from dataclasses import dataclass

from riderless.hil.controllers.controller import Controller
from riderless.hil.design.loop_parts.driven_steer import DRIVE_INTEGRAL
from riderless.hil.design.loop_parts.lane_part import LANE_PART_STATES, LANE_PLANT_STATES
from riderless.hil.design.loop_parts.observer_part import OBSERVED
from riderless.hil.design.sampled_plant import LOOP_STATES, T_DRIVE, U_PREV
from riderless.hil.design.schedule import needs_place
from riderless.models.coordinates import STATES as BICYCLE_STATES
from riderless.models.linear.prescribed_steer import InnerLoop

WHOLE_LOOP_STATES = LOOP_STATES + tuple(f"{name}_est" for name in OBSERVED)

DRIVE_SIGNALS = {"T": T_DRIVE, "T_meas": T_DRIVE, "u_prev": U_PREV}  # that a law may be told

# Parts of the state that every loop has.
PLANT_PART = slice(0, len(LOOP_STATES))  # bicycle, drive and command followed
MOTION_PART = slice(0, U_PREV)  # bicycle and drive: what moves between samples
OBSERVER_PART = slice(len(LOOP_STATES), len(WHOLE_LOOP_STATES))
ESTIMATE_PART = slice(len(LOOP_STATES), len(LOOP_STATES) + len(BICYCLE_STATES))  # of the bicycle's four states
PHI_DOT_EST, PSI_DOT_EST = (WHOLE_LOOP_STATES.index(name) for name in ("phi_dot_est", "psi_dot_est"))


@dataclass(frozen=True)
class StateLayout:
    """Places of the parts that some loops have, in the state of one.

    Parameters
    ----------
    states : tuple of str
        Names of all.
    law : slice
        The controller's own.
    drive : list of int
        Torque of the drive, and its integral.
    motion : list of int
        What moves between samples, in the order of the sampled plant.
    lane : slice
        Heading and place of the bicycle, then as tracked; empty without a lane.
    waiting : range
        Commands of two, three, ... samples ago.
    """

    states: tuple[str, ...]
    law: slice
    drive: list[int]
    motion: list[int]
    lane: slice
    waiting: range

    @property
    def keeps_lane(self) -> bool:
        """Are heading and place among the states?"""
        return self.lane.stop > self.lane.start

    @property
    def commands(self) -> list[int]:
        """Places of the commands of one, two, ... samples ago."""
        return [U_PREV, *self.waiting]


def state_layout(schedule: Controller, drive: InnerLoop | None, waiting: int) -> StateLayout:
    """Lay out the state of a loop under a controller and a drive, with so many commands waiting beside the last."""
    states = WHOLE_LOOP_STATES + tuple(f"{name}_law" for name in schedule.states)
    law = slice(len(WHOLE_LOOP_STATES), len(states))
    motion, driven = [*range(len(LOOP_STATES))[MOTION_PART]], [T_DRIVE]
    if drive is not None and drive.integrates:
        driven.append(len(states))
        motion.append(len(states))
        states += (DRIVE_INTEGRAL,)
    lane = slice(len(states), len(states))
    if needs_place(schedule):
        lane = slice(len(states), len(states) + len(LANE_PART_STATES))
        motion[T_DRIVE:T_DRIVE] = range(len(states), len(states) + len(LANE_PLANT_STATES))
        states += LANE_PART_STATES
    last = len(states)
    states += tuple(f"u_prev_{i}" for i in range(2, 2 + waiting))
    return StateLayout(states, law, driven, motion, lane, range(last, len(states)))
