"""Closed loop of a bicycle: design, observer, supervisor, tick, runners and log. The only home of a clock.

What a user needs stands here and is imported when it is first used: gains by `design`, a run in memory by `simulate`
or on a machine by `run_realtime`, and logs by `read_run` and `replay`.
"""

from typing import TYPE_CHECKING

from models.lazy_door import lazy

if TYPE_CHECKING:
    from hil.controllers.compiled import CompiledController, read_law
    from hil.controllers.law_file import name_law
    from hil.controllers.lti import LTIController
    from hil.design.compensators.methods import design_compensator
    from hil.design.control_systems import ControlSystems, control_systems
    from hil.design.margins import Margins, margins
    from hil.design.methods import design
    from hil.design.sampled_plant import LoopTiming, sampled_model
    from hil.design.schedule import GainSchedule
    from hil.logs.export import export_run
    from hil.logs.header import RunHeader
    from hil.logs.log import Marker, Run, Stop, read_run
    from hil.loop.excitation import Excitation
    from hil.loop.limits import Limit, Limits
    from hil.loop.observer import Observer
    from hil.loop.reference import Reference
    from hil.loop.states import Cause, Demand, State, Symptom, Verdict
    from hil.rig.file import read_rig
    from hil.rig.rig import Rig, RigPort
    from hil.rig.task import Task
    from hil.runners.emulation import Emulation
    from hil.runners.operator import Operator, Outcome
    from hil.runners.replay import Replay, replay
    from hil.runners.session import run_realtime
    from hil.runners.simulated_run import simulate

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
    "margins",
    "name_law",
    "read_law",
    "read_rig",
    "read_run",
    "replay",
    "run_realtime",
    "sampled_model",
    "simulate",
]

_PLACES = {
    "hil.controllers.compiled": ("CompiledController", "read_law"),
    "hil.controllers.law_file": ("name_law",),
    "hil.controllers.lti": ("LTIController",),
    "hil.design.control_systems": ("ControlSystems", "control_systems"),
    "hil.design.margins": ("Margins", "margins"),
    "hil.design.methods": ("design",),
    "hil.design.compensators.methods": ("design_compensator",),
    "hil.design.sampled_plant": ("LoopTiming", "sampled_model"),
    "hil.design.schedule": ("GainSchedule",),
    "hil.logs.export": ("export_run",),
    "hil.logs.header": ("RunHeader",),
    "hil.logs.log": ("Marker", "Run", "Stop", "read_run"),
    "hil.loop.excitation": ("Excitation",),
    "hil.loop.limits": ("Limit", "Limits"),
    "hil.loop.observer": ("Observer",),
    "hil.loop.reference": ("Reference",),
    "hil.loop.states": ("Cause", "Demand", "State", "Symptom", "Verdict"),
    "hil.rig.file": ("read_rig",),
    "hil.rig.rig": ("Rig", "RigPort"),
    "hil.rig.task": ("Task",),
    "hil.runners.emulation": ("Emulation",),
    "hil.runners.operator": ("Operator", "Outcome"),
    "hil.runners.replay": ("Replay", "replay"),
    "hil.runners.session": ("run_realtime",),
    "hil.runners.simulated_run": ("simulate",),
}
if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__, __dir__ = lazy(__name__, {name: module for module, names in _PLACES.items() for name in names})
