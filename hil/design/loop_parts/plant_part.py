"""Loop part: true bicycle and drive, sampled."""

from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.loop_parts.driven_steer import sample_driven
from riderless.hil.design.loop_parts.lane_part import lane_system
from riderless.hil.design.sampled_plant import SampledModel, sample
from riderless.models.coordinates import STATES as BICYCLE_STATES
from riderless.models.linear.path import GROUND_STATES
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import InnerLoop


def sample_plant(plant: Variant, v: float, timing: LoopTiming, drive: InnerLoop | None, in_lane: bool) -> SampledModel:
    """Sample the bicycle and its drive.

    Parameters
    ----------
    plant : Variant
        Machine as it really is.
    v : float
        Measured forward speed [m/s].
    timing : LoopTiming
        Rate, delay, and the lag of the drive's torque.
    drive : InnerLoop or None
        Of a drive that obeys a steer rate or angle; None: a torque.
    in_lane : bool
        With heading and place, behind the bicycle's other states.
    """
    system = lane_system(plant, v) if in_lane else plant.system(v)
    states = GROUND_STATES if in_lane else BICYCLE_STATES
    if drive is None:
        return sample(*system, timing, states)
    return sample_driven(plant, v, drive, timing, system, states)
