"""Closed loop of a bicycle.

Design, observer, supervisor, tick, runners and log; the only room that reads a clock. What a user needs stands here and
is imported when it is first used: gains by `design`, a run in memory by `simulate` or on a machine by `run_realtime`,
and logs by `read_run` and `replay`.
"""

from typing import TYPE_CHECKING

from riderless import lazy

if TYPE_CHECKING:
    from riderless.hil.controllers.compiled import CompiledController, read_law
    from riderless.hil.controllers.law_file import name_law
    from riderless.hil.controllers.lti import LTIController
    from riderless.hil.design.compensators.methods import design_compensator
    from riderless.hil.design.control_systems import ControlSystems, control_systems
    from riderless.hil.design.margins import Margins
    from riderless.hil.design.methods import design
    from riderless.hil.design.sampled_plant import LoopTiming, sampled_model
    from riderless.hil.design.schedule import GainSchedule
    from riderless.hil.logs.export import export_run
    from riderless.hil.logs.header import RunHeader
    from riderless.hil.logs.log import Marker, Run, Stop, read_run
    from riderless.hil.loop.excitation import Excitation
    from riderless.hil.loop.limits import Limit, Limits
    from riderless.hil.loop.observer import Observer
    from riderless.hil.loop.reference import Reference
    from riderless.hil.loop.states import Cause, Demand, State, Symptom, Verdict
    from riderless.hil.rig.file import read_rig
    from riderless.hil.rig.rig import Rig, RigPort
    from riderless.hil.rig.task import Task
    from riderless.hil.runners.emulation import Emulation
    from riderless.hil.runners.operator import Operator, Outcome
    from riderless.hil.runners.replay import Replay, replay
    from riderless.hil.runners.session import run_realtime
    from riderless.hil.runners.simulated_run import simulate

__all__ = [
    "Cause",
    "CompiledController",
    "ControlSystems",
    "Demand",
    "Emulation",
    "Excitation",
    "GainSchedule",
    "LTIController",
    "Limit",
    "Limits",
    "LoopTiming",
    "Margins",
    "Marker",
    "Observer",
    "Operator",
    "Outcome",
    "Reference",
    "Replay",
    "Rig",
    "RigPort",
    "Run",
    "RunHeader",
    "State",
    "Stop",
    "Symptom",
    "Task",
    "Verdict",
    "control_systems",
    "design",
    "design_compensator",
    "export_run",
    "name_law",
    "read_law",
    "read_rig",
    "read_run",
    "replay",
    "run_realtime",
    "sampled_model",
    "simulate",
]

if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__, __dir__ = lazy(__name__, __file__)
