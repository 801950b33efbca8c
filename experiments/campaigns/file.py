"""Campaign files (TOML), checked key by key.

Units stand in the names of the keys.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from riderless.experiments.campaigns.protocols import PROTOCOLS
from riderless.experiments.campaigns.protocols.auto import Settings as Learning
from riderless.experiments.campaigns.protocols.condition import Condition, Settings
from riderless.experiments.campaigns.protocols.plan_inputs import NamedController, PlanInputs
from riderless.experiments.dynamics import usual_std
from riderless.hil.controllers.law_file import LAW_SUFFIX, name_law
from riderless.hil.controllers.registry import read_controller_file
from riderless.hil.design.compensators.registry import COMPENSATORS
from riderless.hil.design.methods import METHODS
from riderless.hil.design.steered.methods import STEER_METHODS
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.toml_lines import describe_faults, find_key_lines
from riderless.hil.runners.emulation import Emulation
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.file_format import load_toml, require_format
from riderless.models.parameters import PARAMETERS
from riderless.models.plant.environment import Surroundings
from riderless.models.plant.steer_drive import SteerDrive
from riderless.models.text_file import read_text_file, why_unreadable

EMULATED_RIG = "emulated"
DIGEST_DIGITS = 16  # hexadecimal ones, of what a campaign is made of
OF_BICYCLE = "the bicycle "  # before its name, among the digests of files


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Controller(_Strict):
    name: str | None = None
    method: str | None = None
    options: dict[str, Any] | None = None
    file: str | None = None  # of `riderless design`, a state space, or a law in Python
    gains: str | None = None  # the same, by the older name
    allow_mismatch: bool = False  # what the file has may be for another bicycle, delay or drive lag
    allow_unstable: bool = False  # under the gains a bicycle may fall by itself

    @property
    def path(self) -> str | None:
        return self.file if self.file is not None else self.gains


class _Belt(_Strict):
    """Treadmill under an emulated bicycle; without this table it is endless to either side."""

    width_m: float = Field(gt=0.0, le=20.0)


class _Emulated(_Strict):
    """Errors of an emulated machine that nobody is told of: something to be found."""

    drive_gain: float = Field(default=1.0, ge=0.1, le=3.0)
    steer_damping_Nms_rad: float = Field(default=0.0, ge=0.0, le=20.0)


class _File(_Strict):
    """Keys of a campaign file."""

    format: str = ""  # checked before the rest
    name: str
    rig: str = EMULATED_RIG
    bicycles: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    deviations: Literal["own", "usual"] = "own"  # of parameters without one: none, or that of measured bicycles
    seed: int = Field(default=1, ge=0)
    model: Literal["linear", "nonlinear"] = "linear"
    time: Literal["real", "lockstep"] = "real"
    share_of_limits: float = Field(default=0.9, gt=0.0, le=1.0)  # that a rehearsal may reach
    belt: _Belt | None = None
    emulated: _Emulated = _Emulated()
    controller: tuple[_Controller, ...] = (_Controller(method="lqr"),)
    protocol: tuple[dict[str, Any], ...] = Field(min_length=1)


@dataclass(frozen=True)
class Campaign:
    """Conditions to be run, on which machine, and in which time.

    Attributes
    ----------
    name : str
    conditions : tuple of Condition
        In the order in which they are to be run.
    digest : dict
        Of the file and each that it names, to notice a change.
    machine : Rig or None
        A wired one; None for the emulated one.
    lockstep : bool
        In simulated time.
    most : float
        Share of the limits that a rehearsal may reach.
    settings : dict
        What the run folder's `campaign.json` tells of it.
    stem : str
        Its folder is called by it.
    usual : bool
        The treadmill campaign that needs no file: it is not rehearsed, and with other options it is another one.
    learning : Settings of `protocols.auto`, or None
        It runs itself: its conditions are the menu to choose from.
    """

    name: str
    conditions: tuple[Condition, ...]
    digest: dict[str, str]
    machine: Rig | None = None
    lockstep: bool = False
    most: float = 0.9
    settings: Mapping[str, Any] | None = None
    stem: str = "campaign"
    usual: bool = False
    learning: Learning | None = None

    def __repr__(self) -> str:
        time = "in simulated time" if self.lockstep else "in real time"
        return f"<Campaign '{self.name}': {len(self.conditions)} runs {time}>"

    def __post_init__(self) -> None:
        names: set[str] = set()
        for condition in self.conditions:
            if condition.name in names:
                raise InputError(
                    f"two runs of the campaign would be called '{condition.name}': say the speed once and ask for "
                    "repeats, or give the controllers different names"
                )
            names.add(condition.name)


def is_campaign(path: Path) -> bool:
    """Tell a campaign file (True) from a rig file (False).

    Raises
    ------
    InputError
        It cannot be read, is not TOML, or is neither.
    """
    table = _toml(path)
    if "protocol" in table:
        return True
    if table.keys() & {"port", "limits", "loop"}:
        return False
    raise InputError(
        f"{path} is neither a campaign file, which has [[protocol]] tables, nor a rig file, which has [[port]] and "
        "[limits]: give one of these; docs/campaigns and docs/rigs have examples, `riderless init` writes them"
    )


def laws_of(path: Path) -> list[Path]:
    """Find the Python files of the laws that a campaign file names; none of them is read or run. Raises InputError."""
    given = _toml(path).get("controller", ())
    tables = [table for table in given if isinstance(table, Mapping)] if isinstance(given, list) else []
    names = [str(name) for table in tables for name in (table.get("file"), table.get("gains")) if name is not None]
    return [path.parent / name for name in names if Path(name).suffix == LAW_SUFFIX]


def rig_file_of(path: Path) -> Path | None:
    """Find the rig file that a campaign file names, or that this file is; None where the rig is the emulated one."""
    table = _toml(path)
    if "protocol" not in table:
        return path
    rig = table.get("rig", EMULATED_RIG)
    return path.parent / rig if isinstance(rig, str) and rig != EMULATED_RIG else None


def check_campaign(path: Path) -> None:
    """Check the keys of a campaign file and, where it names no law in Python, plan it: no law is run.

    Raises
    ------
    InputError
        As `read_campaign`.
    """
    if not laws_of(path):
        read_campaign(path)
        return
    table = _toml(path)
    require_format(table, "campaign", path)
    try:
        _checked(table, find_key_lines(read_text_file(path)), path.parent)
    except InputError as error:
        raise InputError(f"campaign file {path}: {error}") from None


def read_campaign(path: Path) -> Campaign:
    """Plan the campaign that a file describes to the last kick; nothing has been rehearsed.

    A law in Python that it names is run, for its settings and its linear form are wanted: `laws_of` tells before.

    Raises
    ------
    InputError
        One sentence naming the file and what is wrong with it.
    """
    table, lines = _toml(path), find_key_lines(read_text_file(path))
    require_format(table, "campaign", path)
    try:
        return replace(_planned(table, lines, path.parent, path.name), stem=path.stem)
    except InputError as error:
        raise InputError(f"campaign file {path}: {error}") from None


def plan_campaign(settings: Mapping[str, Any], folder: Path = Path()) -> Campaign:
    """Plan the campaign that settings describe, with the keys of a campaign file; it is called by their name.

    Parameters
    ----------
    settings : mapping
        As `tomllib` reads them from a campaign file.
    folder : Path
        From which the files of rig and gains are named.

    Raises
    ------
    InputError
    """
    try:
        campaign = _planned(dict(settings), {}, folder, "settings")
    except InputError as error:
        raise InputError(f"campaign settings: {error}") from None
    return replace(campaign, stem=campaign.name)


def _planned(table: dict[str, Any], lines: Mapping[tuple[str | int, ...], int], folder: Path, called: str) -> Campaign:
    """Plan what a table says; ``called`` names it in the digest."""
    file, settings, bench = _checked(table, lines, folder)
    learning = _learning(settings)
    conditions: list[Condition] = []
    for i, given in enumerate(settings):
        conditions += PROTOCOLS[given.kind].plan(given, _chosen(bench, given, i))
    used = [] if file.rig == EMULATED_RIG else [file.rig]  # as the file calls them, from wherever it is read
    used += [c.path for c in file.controller if c.path]
    return Campaign(
        name=file.name,
        conditions=tuple(conditions),
        digest={
            called: _digest(table),
            **{str(p): _digest_of(folder / p) for p in used},
            **_bicycle_digests(conditions),
        },
        machine=bench.machine,
        lockstep=file.time == "lockstep",
        most=file.share_of_limits,
        settings=table,
        learning=learning,
    )


def _checked(
    table: dict[str, Any], lines: Mapping[tuple[str | int, ...], int], folder: Path
) -> tuple[_File, list[Settings], PlanInputs]:
    """Read what a table says and the files that it names, but for laws in Python."""
    try:
        file = _File.model_validate(table)
    except ValidationError as error:
        raise InputError(describe_faults(error, lines, _File)) from None
    machine = None if file.rig == EMULATED_RIG else read_rig(folder / file.rig)
    settings = [_settings(item, i, lines) for i, item in enumerate(file.protocol)]
    return file, settings, _bench(file, machine, folder)


def _learning(settings: Sequence[Settings]) -> Learning | None:
    """Find what an experiment that runs itself is to learn; refuses one beside other protocols."""
    learning = [each for each in settings if isinstance(each, Learning)]
    if learning and len(settings) > 1:
        raise InputError(
            "an experiment that runs itself is a campaign of its own, found it beside other protocols: give each a file"
        )
    return learning[0] if learning else None


def _toml(path: Path) -> dict[str, Any]:
    try:
        return load_toml(read_text_file(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"no campaign or rig file can be read at {path} ({why_unreadable(error)}): give the path of a TOML file"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}; correct that line") from None


def _digest(table: Mapping[str, Any]) -> str:
    """Digest what a file says, not how it is laid out: a comment or the format line may change."""
    content = {key: value for key, value in table.items() if key != "format"}
    return short_digest(json.dumps(content, sort_keys=True, default=str).encode())


def short_digest(data: bytes) -> str:
    """Digest by which a change is noticed, the beginning of SHA-256."""
    return hashlib.sha256(data).hexdigest()[:DIGEST_DIGITS]


def _digest_of(path: Path) -> str:
    """Digest a file that a campaign names; of a law in Python every letter counts."""
    return name_law(path).sha256[:DIGEST_DIGITS] if path.suffix == LAW_SUFFIX else _digest(_toml(path))


def _bicycle_digests(conditions: Sequence[Condition]) -> dict[str, str]:
    """Digests of the parameters of the bicycles, in whatever file they stand."""
    bicycles = {condition.rig.bicycle.name: condition.rig.bicycle for condition in conditions}
    return {
        f"{OF_BICYCLE}{name}": _digest({parameter: getattr(bicycle, parameter) for parameter in PARAMETERS})
        for name, bicycle in bicycles.items()
    }


def _settings(table: dict[str, Any], number: int, lines: Mapping[tuple[str | int, ...], int]) -> Settings:
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in PROTOCOLS:
        raise InputError(f"protocol {number + 1} wants a kind among {', '.join(PROTOCOLS)}, found {kind!r}")
    settings = PROTOCOLS[kind].Settings
    try:
        return settings.model_validate(table)
    except ValidationError as error:
        raise InputError(describe_faults(error, lines, settings, ("protocol", number))) from None


def _bench(file: _File, machine: Rig | None, folder: Path) -> PlanInputs:
    """Gather everything that protocols choose from."""
    if machine and file.bicycles:
        raise InputError(
            f"the rig '{machine.name}' carries the bicycle {machine.bicycle.name}: leave 'bicycles' out, or leave the "
            f"rig {EMULATED_RIG}"
        )
    bicycles = (machine.bicycle,) if machine else tuple(map(catalogue.load_bicycle, file.bicycles or ("Benchmark",)))
    if file.deviations == "usual":
        bicycles = tuple(replace(one, std={**usual_std(), **one.std}) for one in bicycles)
        machine = replace(machine, bicycle=bicycles[0]) if machine else None
    gains = STEER_METHODS[machine.drive.kind] if machine and machine.drive else METHODS
    methods = (*gains, *COMPENSATORS)
    controllers = tuple(_controller(c, folder, methods) for c in file.controller)
    names = [c.name for c in controllers]
    if len(set(names)) < len(names):
        raise InputError(f"controllers need different names, found {', '.join(names)}: give each [[controller]] a name")
    return PlanInputs(
        bicycles=bicycles,
        controllers=controllers,
        emulation=_emulation(file, machine),
        machine=machine,
        seed=(file.seed,),
    )


def _emulation(file: _File, machine: Rig | None) -> Emulation:
    """Settings of what an emulated bicycle is; its belt is as wide as the file says, or else the rig."""
    width = file.belt.width_m if file.belt else machine.place.belt_width if machine and machine.place else None
    drive = SteerDrive(gain=file.emulated.drive_gain, viscous=file.emulated.steer_damping_Nms_rad)
    return Emulation(file.model, Surroundings(belt_width=width), drive)


def _controller(given: _Controller, folder: Path, methods: tuple[str, ...]) -> NamedController:
    name = given.name or given.method or given.path
    if given.file is not None and given.gains is not None:
        raise InputError(f"the [[controller]] {given.name or ''} has 'file' and 'gains', which mean the same: keep one")
    if (given.method is None) == (given.path is None):
        raise InputError(
            f"a controller wants either a method ({', '.join(methods)}) or a file of gains, found "
            f"{'both' if given.path else 'neither'}: correct the [[controller]] {given.name or ''}".rstrip()
        )
    if given.path is not None and given.options is not None:
        raise InputError(f"the [[controller]] {name} has options and a file of gains, designed before: leave one out")
    if given.method is not None and given.allow_mismatch:
        raise InputError(f"the [[controller]] {name} is designed for its bicycle: leave allow_mismatch out")
    allowed = given.allow_mismatch, given.allow_unstable
    if given.path is None:
        if given.method not in methods:
            raise InputError(f"a controller's method is one of {', '.join(methods)}, found '{given.method}'")
        return NamedController(given.name or given.method, given.method, given.options, None, None, *allowed)
    path = folder / given.path
    if path.suffix == LAW_SUFFIX:
        return NamedController(given.name or path.stem, path.stem, None, None, path, *allowed)
    made = read_controller_file(path)
    return NamedController(given.name or made.method, made.method, None, made, None, *allowed)


def _chosen(bench: PlanInputs, given: Settings, number: int) -> PlanInputs:
    """Pick the bicycles and controllers that one protocol names, with a seed of its own."""

    def some(what: str, all_of: tuple[Any, ...], names: tuple[str, ...]) -> tuple[Any, ...]:
        known = {item.name: item for item in all_of}
        for name in names:
            if name not in known:
                raise InputError(
                    f"protocol {number + 1} ({given.kind}) names the {what} '{name}', but the campaign has "
                    f"{', '.join(known)}: correct the name, or add it"
                )
        return tuple(known[name] for name in names) or all_of

    return replace(
        bench,
        bicycles=some("bicycle", bench.bicycles, given.bicycles),
        controllers=some("controller", bench.controllers, given.controllers),
        seed=(*bench.seed, number),
    )
