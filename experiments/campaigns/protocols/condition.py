"""Conditions, which every protocol makes.

Each is one run of a bicycle under a controller at a speed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from riderless.experiments.emulation.hand import FIRST_KICK, KICK_SPACING, KICKS_PER_RUN, RELEASE_DELAY
from riderless.hil.controllers.controller import Controller
from riderless.hil.design.schedule import needs_place
from riderless.hil.loop.excitation import Excitation
from riderless.hil.rig.fitting import with_emulated_place
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.simulated_run import asked_under_control
from riderless.models.linear.resistance import MOST_ROLLING
from riderless.models.parameters import Bicycle
from riderless.models.plant.plant import Scenario
from riderless.models.plant.scenario import SPEED_MAX


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One run: a bicycle under a controller at a speed, and what is done to it.

    Attributes
    ----------
    method, controller : str
        How the gains were designed, and what the campaign calls them (the method, if nothing else).
    v : float
        Speed it is told by [m/s].
    scenario, emulation
        What an emulated bicycle meets, and what it is; a real one is in the hands of a person.
    machine : Rig or None
        Its devices, limits and rates; the emulated one's by default.
    allow_mismatch : bool
        The gains may be for another bicycle, delay or drive lag.
    allow_unstable : bool
        Under the gains it may fall by itself.
    protocol : str
        Its name among the protocols, empty outside of a campaign file.
    tag : str
        What else tells it from others of this bicycle, controller and speed.
    repeat, repeats : int
        Which of how many runs of the same kind it is, from 1.
    excitation : Excitation
        Torque on top of the controller's, and moments without torque.
    length : float or None
        s of RUNNING; by default enough for `KICKS_PER_RUN` kicks.
    instruction : str
        What a person beside a real bicycle has to prepare and to do.
    cues : sequence of (s, str)
        What to tell them when, after the bicycle is RUNNING.
    remedy : str
        What to change if it would pass a limit.
    resistance : mapping
        What balances the rolling resistance, as `riderless.experiments.theories.with_stated_resistance` takes it.
    """

    bicycle: Bicycle
    method: str
    v: float
    schedule: Controller
    scenario: Scenario
    emulation: Emulation = Emulation()
    machine: Rig | None = None
    allow_mismatch: bool = False
    allow_unstable: bool = False
    controller: str = ""
    protocol: str = ""
    tag: str = ""
    repeat: int = 1
    repeats: int = 1
    excitation: Excitation = Excitation()
    length: float | None = None
    instruction: str = ""
    cues: Sequence[tuple[float, str]] = ()
    remedy: str = "kick more gently, or choose another speed or controller"
    resistance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Name for tables and the report, which runs of one kind share."""
        v = f"{self.v:.1f}" if abs(self.v - round(self.v, 1)) < 1e-9 else f"{self.v:.4g}"
        words = [self.bicycle.name, self.controller or self.method, v, "m/s", self.tag]
        return " ".join(filter(None, words))

    @property
    def name(self) -> str:
        """Name that no other condition of the campaign has; folders are called by it."""
        repeat = f"run {self.repeat}" if self.repeats > 1 else ""
        protocol = "" if self.tag else self.protocol.replace("_", " ")
        return " ".join(filter(None, [protocol, self.label, repeat]))

    @property
    def rig(self) -> Rig:
        """Machine with this bicycle; an emulated one whose controller keeps a lane has a sensor of place."""
        rig = rig_with(self.machine, self.bicycle)
        if self.machine is None and needs_place(self.schedule):
            return with_emulated_place(rig, self.emulation.surroundings.belt_width)
        return rig

    @property
    def duration(self) -> float:
        """Time to stay RUNNING [s]."""
        return RELEASE_DELAY + FIRST_KICK + KICKS_PER_RUN * KICK_SPACING if self.length is None else self.length

    @property
    def kicked(self) -> bool:
        """May free responses be sought in it?"""
        played = self.excitation
        return bool(self.scenario.kicks or played.releases or played.held_back) or played.kind == "kicks"

    @property
    def task(self) -> Task:
        """Signal, reference, path and speeds, beside balancing."""
        return Task(self.excitation, asked_speeds=asked_under_control(self.rig, self.scenario))

    def __repr__(self) -> str:
        return f"<Condition '{self.name}': {self.duration:.1f} s, {len(self.scenario.kicks)} kicks>"

    def said(self) -> dict[str, Any]:
        """Give what the log's header keeps of it."""
        words = ("protocol", "controller", "tag", "repeat", "repeats", "v", "instruction")
        stated = {"resistance": dict(self.resistance)} if self.resistance else {}
        return {"name": self.name, **{word: getattr(self, word) for word in words}, **stated}


class ResistanceTable(BaseModel):
    """Balance of the rolling resistance: the table [resistance] of a protocol."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    surface: Literal["floor", "belt"] = "belt"
    balanced_by: Literal["air", "motor", "rope", "incline", "unknown"] = "unknown"
    at: tuple[float, float] | None = None  # m ahead of the rear contact and below the ground
    rolling: float | None = Field(default=None, ge=0.0, le=MOST_ROLLING)
    rolling_axis: float | None = Field(default=None, ge=0.0, le=1.0)


ForwardSpeed = Annotated[float, Field(gt=0.0, le=SPEED_MAX)]


class Settings(BaseModel):
    """Keys of a campaign file that any protocol has; each adds its own. Units stand in the names."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: str
    bicycles: tuple[str, ...] = ()  # those of the campaign
    controllers: tuple[str, ...] = ()  # those of the campaign
    repeats: int = Field(default=1, ge=1, le=1000)
    lean_rate_rad_s: float | None = Field(default=None, gt=0.0, le=3.0)  # that a kick gives
    resistance: ResistanceTable | None = None


def rig_with(machine: Rig | None, bicycle: Bicycle) -> Rig:
    """Put a bicycle on a machine, or on the emulated rig."""
    return replace(machine, bicycle=bicycle) if machine else Rig(bicycle)


def kick_cues(times: Sequence[float]) -> tuple[tuple[float, str], ...]:
    """List what to tell the person who kicks, at the times [s after the release] of an emulated one."""
    return tuple(
        (RELEASE_DELAY + float(t), f"push it to the {'left' if i % 2 else 'right'}, then press k")
        for i, t in enumerate(times)
    )


def drives_its_speed(rig: Rig | None) -> bool:
    """Does a machine set its speed by itself, so that no protocol tells a person to? Not where there is none."""
    return rig is not None and rig.speed_drive is not None


def belt_instruction(v: float, extra: str = "", rig: Rig | None = None) -> str:
    """Tell a person to set the belt to ``v`` [m/s], unless the rig does it itself; most instructions begin with it."""
    if drives_its_speed(rig):
        return f"hold the bicycle upright; once armed it goes to {v:g} m/s by itself{extra}"
    return f"set the belt to {v:g} m/s and hold the bicycle upright{extra}"
