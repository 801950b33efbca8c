"""`riderless plan`: precision of a planned experiment."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from riderless.experiments.commands._options import BicycleOrRig, Trust, names_in, refuse_ignored
from riderless.experiments.commands._shared_options import AsJson
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.experiments.experiment_design.paper_windows import PaperKick, Sensors
    from riderless.experiments.experiment_design.plan import Lab
    from riderless.hil.rig.rig import Rig


MOST_MINUTES = 10_000.0  # a week of days and nights


def plan(
    context: typer.Context,
    bike: BicycleOrRig,
    learn: Annotated[
        str, typer.Option(help='What to learn: "drive_gain +- 0.01, steer_damping", "weave@5 +- 0.05", "verdict".')
    ] = "drive_gain, steer_damping",
    against: Annotated[
        str, typer.Option(help='Of a verdict, what differs in the other model: "steer_damping = 0.3" (SI).')
    ] = "",
    minutes: Annotated[float, typer.Option(help="Time for all runs, min.")] = 10.0,
    speeds: Annotated[str, typer.Option(help="m/s, as FROM:TO:STEP or a list.")] = "3:7:1",
    controllers: Annotated[
        str, typer.Option(help="Methods whose gentle gains may ride: lqr, poles, lean; off: uncontrolled.")
    ] = "lqr,poles",
    kick: Annotated[str, typer.Option("--kick-by", help="Who kicks: drive, hand, or both.")] = "drive",
    kick_share: Annotated[
        float, typer.Option(help="Share of lean, steer and torque limit that a kick by the drive uses, 0 to 1.")
    ] = 0.2,
    kick_s: Annotated[str, typer.Option(help="How long the drive kicks, s; a list is chosen from.")] = "0.2,0.4",
    gyro_noise: Annotated[str, typer.Option(help="Of the gyro, rad/s in each sample; a list is compared.")] = "0.003",
    encoder_step: Annotated[
        str, typer.Option(help="Of the steer encoder, deg from count to count; a list is compared.")
    ] = "0.018",
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Predict the precision of an experiment from sensors, speeds, controllers and duration.

    Every combination of controller, speed and kick is foretold with the model that recordings are compared with,
    noise included: what it tells of the quantities asked for (Fisher information), the bicycle being known no better
    than its deviations say. The best plan of the time given stands beside an equally spaced grid; in words, what
    cannot be told apart, and what would part it.
    """
    from riderless.experiments.commands._machines import rig_for_plan
    from riderless.experiments.experiment_design.plan import plan_experiment
    from riderless.experiments.reports.plan import plan_blocks, plan_document
    from riderless.experiments.terminal.console import emit_json, print_blocks, progress_screen

    if not 0.0 < minutes <= MOST_MINUTES:
        raise InputError(
            f"wanted minutes above 0 and at most {MOST_MINUTES:g}, found --minutes {minutes:g}: say how long all runs "
            "may take"
        )
    if kick == "hand":
        refuse_ignored(
            context, "kick_share", "kick_s", because="a hand kicks as hands do; take --kick-by drive or both"
        )
    lab = _lab(rig_for_plan(bike, trust), controllers, speeds, _kicks(kick, kick_share, kick_s))
    with progress_screen.status("foretelling windows") as status:
        result = plan_experiment(
            lab,
            names_in("--learn", learn),
            60.0 * minutes,
            list(_sensors(gyro_noise, encoder_step)),
            _against(against),
            tell=lambda what: status.update(f"foretelling {what}"),
        )
    if as_json:
        emit_json(plan_document(result))
    else:
        print_blocks(plan_blocks(result))


def _lab(rig: "Rig", controllers: str, speeds: str, kicks: "Sequence[PaperKick]") -> "Lab":
    """Design the controllers with gains under which the weave lasts."""
    from riderless.experiments.campaigns.protocols.plan_inputs import NamedController, grid_over
    from riderless.experiments.experiment_design.plan import Lab
    from riderless.experiments.terminal.console import parse_speeds

    v = parse_speeds(speeds)
    if min(v) <= 0.0:
        raise InputError(f"wanted speeds above 0 m/s, found {min(v):g}: a standing bicycle falls")
    names = names_in("--controllers", controllers)
    if not names:
        raise InputError("wanted controllers, found none: --controllers lqr,poles")
    if len(set(names)) < len(names):
        raise InputError(f"wanted each controller once, found --controllers {controllers}: leave one of them out")
    made = {
        name: None
        if name == "off"
        else NamedController(name, name).schedule(rig.bicycle, grid_over(v), rig.timing, rig.drive)
        for name in names
    }
    return Lab(rig, made, v, kicks)


def _kicks(by: str, share: float, durations: str) -> "list[PaperKick]":
    from riderless.experiments.emulation.hand import KICK_LEAN_RATE
    from riderless.experiments.experiment_design.paper_windows import PaperKick

    if by not in ("drive", "hand", "both"):
        raise InputError(f"wanted a kick by drive, hand or both, found '{by}'")
    if not 0.0 < share < 1.0:
        raise InputError(f"wanted a share of the limits between 0 and 1, found --kick-share {share:g}")
    times = _numbers("--kick-s", durations, 0.05, 1.0, "s")
    drive = [PaperKick("drive", share, time) for time in times] if by != "hand" else []
    return [*drive, PaperKick("hand", KICK_LEAN_RATE["linear"])] if by != "drive" else drive


def _sensors(gyro: str, encoder: str) -> "Iterator[Sensors]":
    """Sensors of each noise of the gyro with each step of the encoder."""
    from math import radians

    from riderless.experiments.experiment_design.paper_windows import Sensors

    for noise in _numbers("--gyro-noise", gyro, 1e-6, 1.0, "rad/s"):
        for step in _numbers("--encoder-step", encoder, 1e-5, 30.0, "deg"):
            yield Sensors(gyro=noise, steer_step=radians(step))


def _numbers(option: str, text: str, least: float, most: float, unit: str) -> list[float]:
    """Read numbers with commas; raises InputError.

    Parameters
    ----------
    option, text : str
    least, most : float
        That each may be.
    unit : str
    """
    numbers = []
    for part in text.split(","):
        numbers.append(_number(part))
        if not least <= numbers[-1] <= most:
            raise InputError(f"wanted numbers from {least:g} to {most:g} {unit} with commas, found {option} {text}")
    return numbers


def _against(text: str) -> dict[str, float]:
    """Read "steer_damping = 0.3, drive_gain = 0.9"; raises InputError."""
    from math import isfinite

    values: dict[str, float] = {}
    for part in names_in("--against", text):
        name, _, value = part.partition("=")
        if name.strip() in values:
            raise InputError(f"--against gives {name.strip()} two values, found '{text}': leave one of them out")
        values[name.strip()] = _number(value)
        if not isfinite(values[name.strip()]):
            raise InputError(f"wanted --against as 'steer_damping = 0.3', found '{part}'")
    return values


def _number(text: str) -> float:
    """Read a number; nan for what is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")
