"""Controller on board of the node: what can be there, and who closes the loop of a rig."""

from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_SENSORS
from riderless.firmware_interface.messages import COMMAND_KIND_BOUND, COMMAND_KINDS
from riderless.hil.controllers.controller import Controller
from riderless.hil.controllers.lti import LTIController
from riderless.hil.design.schedule import GainSchedule, needs_place
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.models.errors import InputError


def why_not_on_board(controller: Controller, rig: Rig) -> str:
    """Tell what keeps a controller from the node, which has neither a place nor references; empty if nothing does."""
    if not isinstance(controller, GainSchedule | LTIController):
        return "it is neither gains nor a state space, which alone are written in C"
    if rig.drive is not None:
        return f"its drive obeys a steer {rig.drive_kind}, and a node's controller commands a torque"
    if rig.timing.delay != 1.0:
        return f"it is for a delay of {rig.timing.delay:.4g} samples, and a node's controller has one of 1"
    if needs_place(controller):
        return "it uses heading and place, which the node does not know"
    if [port.device for port in rig.ports if port.role & (ROLE_SENSORS | ROLE_DRIVE)] != ["node"]:
        return "the rig has sensors or a drive beside the node"
    return ""


def command_kind(rig: Rig) -> int:
    """Kind of the commands to the drive, ``COMMAND_KIND_*``: of a node that closes the loop a bound."""
    return COMMAND_KIND_BOUND if rig.closed_by == "node" else COMMAND_KINDS.index(rig.drive_kind)


def require_closable(rig: Rig, controller: Controller, task: Task = Task()) -> None:
    """Refuse what a rig cannot do whose node closes the loop; raises InputError."""
    if rig.closed_by == "computer":
        return
    why = why_not_on_board(controller, rig)
    if not why and (task.excitation.kind != "none" or task.reference.used or task.route.rows):
        why = "nobody plays a signal, a reference or a path there"
    if why:
        raise InputError(
            f"the rig '{rig.name}' lets the node close the loop with {controller.method}: {why}; leave that out, or "
            'set closed_by = "computer" in [loop] of the rig'
        )
