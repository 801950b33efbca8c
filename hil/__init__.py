"""Closed loop of a bicycle.

Design, observer, supervisor, tick, runners and log; the only room that reads a clock. What a user needs stands here and
is imported when it is first used: gains by `design`, a run in memory by `simulate` or on a machine by `run_realtime`,
and logs by `read_run` and `replay`.
"""

from typing import TYPE_CHECKING

from riderless import lazy

if TYPE_CHECKING:
    from riderless.hil.controllers.compiled import CompiledController as CompiledController
    from riderless.hil.controllers.compiled import read_law as read_law
    from riderless.hil.controllers.law_file import name_law as name_law
    from riderless.hil.controllers.lti import LTIController as LTIController
    from riderless.hil.controllers.network import NetworkController as NetworkController
    from riderless.hil.design.compensators.methods import design_compensator as design_compensator
    from riderless.hil.design.control_systems import ControlSystems as ControlSystems
    from riderless.hil.design.control_systems import control_systems as control_systems
    from riderless.hil.design.margins import Margins as Margins
    from riderless.hil.design.methods import design as design
    from riderless.hil.design.sampled_plant import LoopTiming as LoopTiming
    from riderless.hil.design.sampled_plant import sampled_model as sampled_model
    from riderless.hil.design.schedule import GainSchedule as GainSchedule
    from riderless.hil.logs.export import export_run as export_run
    from riderless.hil.logs.header import RunHeader as RunHeader
    from riderless.hil.logs.log import Marker as Marker
    from riderless.hil.logs.log import Run as Run
    from riderless.hil.logs.log import Stop as Stop
    from riderless.hil.logs.log import read_run as read_run
    from riderless.hil.loop.excitation import Excitation as Excitation
    from riderless.hil.loop.limits import Limit as Limit
    from riderless.hil.loop.limits import Limits as Limits
    from riderless.hil.loop.observer import Observer as Observer
    from riderless.hil.loop.reference import Reference as Reference
    from riderless.hil.loop.states import Cause as Cause
    from riderless.hil.loop.states import Demand as Demand
    from riderless.hil.loop.states import State as State
    from riderless.hil.loop.states import Symptom as Symptom
    from riderless.hil.loop.states import Verdict as Verdict
    from riderless.hil.rig.file import read_rig as read_rig
    from riderless.hil.rig.rig import Rig as Rig
    from riderless.hil.rig.rig import RigPort as RigPort
    from riderless.hil.rig.task import Task as Task
    from riderless.hil.runners.emulation import Emulation as Emulation
    from riderless.hil.runners.operator import Operator as Operator
    from riderless.hil.runners.operator import Outcome as Outcome
    from riderless.hil.runners.replay import Replay as Replay
    from riderless.hil.runners.replay import replay as replay
    from riderless.hil.runners.session import run_realtime as run_realtime
    from riderless.hil.runners.simulated_run import simulate as simulate

if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__, __dir__ = lazy(__name__, __file__)
