"""Certificate that a rig may ask for before its drive is switched on."""

from collections.abc import Sequence
from dataclasses import replace

from riderless.hil.controllers.compiled import CompiledController
from riderless.hil.controllers.controller import Controller
from riderless.hil.design.certificate.certificate import Certificate
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.rig.fitting import QUICKEST_DRIVE
from riderless.hil.rig.rig import Rig
from riderless.models.linear.perturbed import Variant


def require_certificate(rig: Rig, controller: Controller, speeds: Sequence[float] = ()) -> None:
    """Refuse a rig whose certificate is of another loop or other speeds, or does not hold; raises InputError.

    Parameters
    ----------
    rig : Rig
        One that names no certificate wants none.
    controller : Controller
    speeds : sequence of float
        Corners of the planned profile of speed [m/s].
    """
    if rig.certificate is None:
        return
    if isinstance(controller, CompiledController):
        controller = replace(controller, tangent=True)
    flown = replace(rig, drive_lag=max(rig.drive_lag, QUICKEST_DRIVE))
    real = Variant(rig.bicycle, drive_gain=rig.losses.gain)
    Certificate.read(rig.certificate).require_for(SampledLoop.of_rig(flown, controller, real=real), speeds)
