"""Header of a run.

It is written before the first row and read back; no other file knows its keys. Those of its rig are in
`riderless.hil.rig.recorded_rig`. The header is one JSON object with a version, `SCHEMA_VERSION`. It is kept as it was
written, so that an old run is exported as it is, and each part is built when it is asked for: a run whose gains can no
longer be read still tells its stop reason.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

from riderless.hil.logs.json_values import json_value, require_kinds
from riderless.hil.logs.provenance import provenance
from riderless.hil.rig.recorded_values import LARGEST_NUMBER, require_playable, short_value, typed_values
from riderless.models.errors import InputError

if TYPE_CHECKING:  # reading a log must not wait for what only some of its readers want
    from riderless.firmware_interface.calibration import Calibration
    from riderless.firmware_interface.devices.driver import Introduction
    from riderless.hil.controllers.controller import Controller
    from riderless.hil.loop.excitation import Excitation
    from riderless.hil.loop.reference import Reference
    from riderless.hil.rig.rig import Rig
    from riderless.hil.rig.task import Task
    from riderless.models.parameters import Bicycle

SCHEMA_VERSION = 1
_Part = TypeVar("_Part")
# kind of what stands under a key, or under a key of a key; anything else is no header of ours
_KINDS: dict[str, tuple[type, str]] = {
    "runner": (str, "a text"),
    "time": (str, "a text"),
    "label": (str, "a text"),
    "controller": (str, "a text"),
    "schedule": (str, "a text"),
    "ports": (list, "a list"),
    "condition": (dict, "an object"),
    "scenario": (dict, "an object"),
    "emulation": (dict, "an object"),
    "provenance": (dict, "an object"),
    "provenance.packages": (dict, "an object"),
    "provenance.git": (dict, "an object"),
    "scenario.x0": (list, "a list"),
}


@dataclass(frozen=True, repr=False)
class RunHeader:
    """Everything needed to say what ran, and to run it again.

    Each part raises InputError when it is asked for and the header lacks it.

    Parameters
    ----------
    content : mapping
        The JSON object, with lists for tuples.
    """

    content: Mapping[str, Any]

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Header of a run that was read.

        Raises
        ------
        InputError
            A newer version of riderless wrote it, with another meaning of the keys; or it is no header of ours.
        """
        header = cls(content)
        if not (isinstance(header.schema, int) and header.schema <= SCHEMA_VERSION):
            raise InputError(
                f"wanted a run header of version {SCHEMA_VERSION} or older, found version "
                f"{short_value(header.schema)}: it was written by {header.made_by}; update riderless to read it"
            )
        header._require_kinds()
        return header

    def to_json(self) -> dict[str, Any]:
        """JSON object as it stands in the log."""
        return dict(self.content)

    def __repr__(self) -> str:
        return f"RunHeader({self.label or 'no label'}, {self.runner or 'no runner'}, schema {self.schema})"

    @property
    def schema(self) -> int:
        """Version of the keys and their meaning."""
        return self.content.get("schema", SCHEMA_VERSION)

    @property
    def runner(self) -> str:
        """Carrier of the bytes: "lockstep" or "realtime"; empty if unknown."""
        return str(self.content.get("runner", ""))

    @property
    def time(self) -> str:
        """Time that `t_host` counts: "simulated", or "real"; empty if unknown."""
        return str(self.content.get("time", {"lockstep": "simulated", "realtime": "real"}.get(self.runner, "")))

    @property
    def protocol(self) -> int:
        """Version of the node's protocol (docs/node-protocol.md) that the run's bytes are of."""
        return int(self.content.get("protocol", 1))  # what the first version wrote says nothing

    @property
    def node_is_understood(self) -> bool:
        """True if this version reads the raw bytes: the node, where there is one, spoke a protocol that replays."""
        from riderless.firmware_interface.node.layouts import REPLAYED_VERSIONS

        nodes = [i for i, port in enumerate(self.rig.ports) if port.device == "node"]
        # a loop of version 3 once served nodes of version 2, and told so in their introduction alone
        spoken = {self.protocol, *(self.devices[i].protocol for i in nodes if self.devices)}
        return not nodes or (len(spoken) == 1 and spoken <= {*REPLAYED_VERSIONS})

    @property
    def label(self) -> str:
        """Words for tables and reports; runs of one kind share them. Empty if the run has none."""
        return str(self.content.get("label", ""))

    @property
    def controller(self) -> str:
        """Name of the design method, "off" without torque."""
        return str(self._part("controller"))

    @cached_property
    def rig(self) -> "Rig":
        """Machine as it was agreed on with its devices; its calibration holds every key."""
        from riderless.hil.rig.recorded_rig import rig_of_record

        return self._built("rig", lambda recorded: rig_of_record(recorded, self.bicycle, self.calibration))

    @property
    def closed_by(self) -> str:
        """Side that closed the loop: the "computer", as in all runs of before, or a controller on the "node"."""
        wired = self.content.get("rig")
        return str(wired.get("closed_by", "computer")) if isinstance(wired, Mapping) else "computer"

    @property
    def drive_kind(self) -> str:
        """Quantity that the drive obeyed: torque, rate or angle; `T_req`, `T_cmd` and `T_est` are in its unit."""
        wired = self.content.get("rig")  # a log of a person's own making may have none
        return self.rig.drive_kind if isinstance(wired, Mapping) and wired.get("drive") is not None else "torque"

    @cached_property
    def calibration(self) -> "Calibration":
        """Counts to SI, as the run used it."""
        from riderless.firmware_interface.calibration import Calibration

        def build(wired: Mapping[str, Any]) -> Calibration:
            values, known = wired["calibration"], [f.name for f in dataclasses.fields(Calibration)]
            return typed_values(Calibration, {name: values[name] for name in known if name in values})

        return self._built("rig", build)

    @cached_property
    def bicycle(self) -> "Bicycle":
        """Bicycle the run was made with."""
        from riderless.models.parameters import Bicycle

        return self._built("bicycle", lambda wired: Bicycle(**wired))

    @cached_property
    def schedule(self) -> "Controller":
        """Gains, or other controller, the run was made with."""
        from riderless.hil.controllers.registry import controller_from_text

        return self._built("schedule", controller_from_text)  # a text: a header names no file to read

    @cached_property
    def excitation(self) -> "Excitation":
        """Torque played on top of the controller's; of kind "none" if the run played nothing."""
        from riderless.hil.loop.excitation import Excitation

        if not self.content.get("excitation"):
            return Excitation()

        def build(played: Mapping[str, Any]) -> Excitation:
            excitation = typed_values(Excitation, played)
            require_playable(excitation, self.rig.rate if "rig" in self.content else 0.0)
            return excitation

        return self._built("excitation", build)

    @cached_property
    def reference(self) -> "Reference":
        """Reference that the controller followed; none in runs of before."""
        from riderless.hil.loop.reference import Reference

        given = self.content.get("reference")
        return self._built("reference", lambda r: typed_values(Reference, r)) if given else Reference()

    @cached_property
    def route(self) -> Any:
        """Path that was ridden, a `riderless.hil.guidance.route.Route`; a straight lane in runs of before."""
        from riderless.hil.guidance.route import Route

        return self._built("route", lambda ridden: Route(**ridden)) if self.content.get("route") else Route()

    @property
    def asked_speeds(self) -> tuple[tuple[float, float], ...]:
        """Speed that a speed drive was asked for, corners of s under control and m/s; none in runs without one."""
        if "asked_speeds" not in self.content:
            return ()
        return self._built("asked_speeds", lambda table: tuple((float(t), float(v)) for t, v in table))

    @property
    def task(self) -> "Task":
        """Signal, reference, path and speeds, beside balancing."""
        from riderless.hil.rig.task import Task

        return Task(self.excitation, self.reference, self.route, self.asked_speeds)

    @property
    def excitation_clock(self) -> str:
        """Clock by which that torque was played: "device", or "ticks" in runs of before, one sample a tick."""
        return str(self.content.get("excitation_clock", "ticks"))

    @cached_property
    def devices(self) -> "tuple[Introduction, ...] | None":
        """Introductions of the devices, one for each port; None where nobody asked."""
        from riderless.firmware_interface.devices.driver import Introduction

        if "devices" not in self.content:
            return None

        def build(entries: Any) -> tuple[Introduction, ...]:
            # those of before do not say which protocol they speak
            made = tuple(typed_values(Introduction, {"protocol": self.protocol, **each}) for each in entries)
            if made and len(made) != len(self.rig.ports):
                raise TypeError(f"{len(made)} introductions at {len(self.rig.ports)} ports")
            return made

        return self._built("devices", build)

    @property
    def ports(self) -> tuple[str, ...]:
        """Serial ports of the run, in the order of the rig's; empty in simulated time."""
        return tuple(self.content.get("ports", ()))

    @property
    def condition(self) -> Mapping[str, Any]:
        """Place of the run in a campaign (name, protocol, repeat, ...); empty outside of one."""
        return self.content.get("condition", {})

    @property
    def scenario(self) -> Mapping[str, Any]:
        """Speed, kicks, seed, ... of an emulated bicycle; empty for a real one."""
        return self.content.get("scenario", {})

    @property
    def emulation(self) -> Mapping[str, Any]:
        """Model, surroundings and drive of an emulated machine; empty for a real one."""
        return self.content.get("emulation", {})

    @property
    def unattended(self) -> bool:
        """Was a real machine armed with nobody at a terminal?"""
        return bool(self.content.get("unattended", False))

    @property
    def without_stop_proof(self) -> bool:
        """Was a real machine armed though its hardware stop had not been pressed that day?"""
        return bool(self.content.get("without_stop_proof", False))

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Versions, source commit, machine, command line and time, see `riderless.hil.logs.provenance`."""
        return self.content.get("provenance", {})

    @property
    def version(self) -> str:
        """Version of riderless that wrote the run."""
        return str(self._told_of("packages").get("riderless", "unknown"))

    @property
    def commit(self) -> str:
        """Source commit that wrote the run, 40 hex digits, or "unknown"."""
        return str(self._told_of("git").get("commit", "unknown"))

    @property
    def made_by(self) -> str:
        """Version and commit that made the run, in words."""
        changed = " with changes" if self._told_of("git").get("dirty") else ""
        return f"riderless {self.version}, commit {self.commit}{changed}"

    def _told_of(self, part: str) -> Mapping[str, Any]:
        """Part of the provenance; nothing where a later version, or damage, put something else."""
        entry = self.provenance.get(part) if isinstance(self.provenance, Mapping) else None
        return entry if isinstance(entry, Mapping) else {}

    def _part(self, key: str) -> Any:
        return self._built(key, lambda part: part)

    def _built(self, key: str, build: Callable[[Any], _Part]) -> _Part:
        """Build a part from what stands under ``key``."""
        try:
            return build(self.content[key])
        except KeyError as error:
            raise self._unusable(f"found one without {error}") from None
        except InputError:
            raise
        except (TypeError, AttributeError, OverflowError, ValueError) as error:
            raise self._unusable(f"found '{key}' with {short_value(str(error), quoted=False)}") from None

    def _require_kinds(self) -> None:
        """Refuse a header in which something is not of the kind that it always was."""
        require_kinds(self.content, _KINDS)
        start = self.scenario.get("x0") or []
        if not all(isinstance(value, int | float) and abs(value) < LARGEST_NUMBER for value in start):
            raise InputError(
                f"wanted a run header in which 'scenario.x0' is a list of numbers in rad and rad/s, found "
                f"{short_value(start)}: the log is damaged; give the folder of another run"
            )

    def _unusable(self, found: str) -> InputError:
        return InputError(
            f"wanted a run whose header tells its rig, bicycle and gains, {found}: it was made by another version "
            f"({self.made_by}); read it with that version"
        )


def new_header(
    rig: "Rig",
    schedule: "Controller",
    calibration: "Calibration",
    *,
    runner: str,
    simulated: bool = False,
    label: str = "",
    task: "Task | None" = None,
    ports: "list[str] | None" = None,
    devices: "list[Introduction] | None" = None,
    extra: Mapping[str, Any] | None = None,
) -> RunHeader:
    """Describe a run that begins now.

    Parameters
    ----------
    rig : Rig
        As agreed on with its devices.
    schedule : Controller
    calibration : Calibration
        Counts to SI, as agreed on with the devices.
    runner : str
        Carrier of the bytes: "lockstep" or "realtime".
    simulated : bool
        Nobody takes part: no date and no command line are written, so that the same seed gives the same bytes.
    label : str
        Words for tables and reports.
    task : Task
        What the machine was to do beside balancing.
    ports : list of str
        Serial ports, one for each of the rig's.
    devices : list of Introduction
        What the device behind each port said of itself.
    extra : mapping
        What else there is to keep: scenario, emulation, condition, timing, latency, ... Anything JSON can hold, and
        also arrays, dataclasses, paths and complex numbers ([re, im]).

    Raises
    ------
    TypeError
        ``extra`` holds what JSON cannot.
    """
    from riderless.firmware_interface.node.layouts import PROTOCOL_VERSION
    from riderless.hil.rig.recorded_rig import rig_to_record
    from riderless.models.linear.whipple import canonical_matrices

    origin = provenance()
    if simulated:
        for key in ("utc", "command"):
            origin.pop(key)
    optional: dict[str, Any] = {"label": label, "ports": ports, "devices": devices}
    return header_of(
        {
            "runner": runner,
            "time": "simulated" if runner == "lockstep" else "real",
            "protocol": PROTOCOL_VERSION,
            **{key: value for key, value in optional.items() if value not in (None, "")},
            **(task.as_record() if task else {}),
            **(extra or {}),
            "excitation_clock": "device",
            "rig": rig_to_record(rig, calibration),
            "bicycle": rig.bicycle.as_dict(),
            "matrices": canonical_matrices(rig.bicycle)._asdict(),
            "controller": schedule.method,
            "schedule": schedule.to_toml(),
            "provenance": origin,
        }
    )


def header_of(content: Mapping[str, Any]) -> RunHeader:
    """Make a header of this version from values that JSON can hold or `json_value` converts.

    Raises
    ------
    TypeError
        Something in it has no place in JSON.
    """
    return RunHeader(json.loads(json.dumps({"schema": SCHEMA_VERSION, **content}, default=json_value)))
