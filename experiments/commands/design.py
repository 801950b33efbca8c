"""`riderless design`: gains over speed, with what they promise."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hil.design.schedule import GainSchedule


def design(
    bike: Annotated[str, typer.Argument(help="Name in the catalogue, or a TOML file.")],
    method: Annotated[str, typer.Option(help="lqr, poles, lean or off.")] = "lqr",
    speeds: Annotated[str, typer.Option(help="m/s, as FROM:TO:STEP or a list.")] = "2:8:0.5",
    rate: Annotated[float, typer.Option(help="Ticks per second, Hz.")] = 200.0,
    drive_lag: Annotated[float, typer.Option(help="Time constant of the steer drive, s.")] = 0.005,
    delay: Annotated[int, typer.Option(help="Samples between measurement and torque, 0 or 1.")] = 1,
    option: Annotated[
        list[str] | None,
        typer.Option("--set", help="An option of the method, NAME=VALUE; see `docs/design.md`. May be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the gains to this TOML file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Design steer-torque gains over speed for the sampled, delayed loop; refuse what would not be stable."""
    from experiments.commands._outputs import write_output
    from experiments.terminal.console import emit_json, parse_speeds, screen
    from hil.design.methods import LoopTiming
    from hil.design.methods import design as design_gains
    from models import catalogue

    options = dict(_option(text) for text in option or [])
    loop = LoopTiming(rate=rate, delay=delay, drive_lag=drive_lag)
    schedule = design_gains(catalogue.load_bicycle(bike), method, parse_speeds(speeds), loop, **options)
    if out is not None:
        write_output(out, "the gains", schedule.to_toml(), over="riderless gain schedule")
    if as_json:
        emit_json(_document(schedule, method, rate, out))
        return
    _show(schedule, method)
    if out is not None:
        screen.print(f"gains written to {out}")


def _rows(schedule: "GainSchedule") -> Iterator[tuple[Any, ...]]:
    """Speed, gains, closed-loop eigenvalues, margins and note of each row of a schedule."""
    yield from zip(schedule.v, schedule.K, schedule.closed_loop, schedule.margins, schedule.notes, strict=True)


def _document(schedule: "GainSchedule", method: str, rate: float, out: Path | None) -> dict[str, Any]:
    """Gains and what they promise, for JSON; SI."""
    import numpy as np

    from hil.design.sampled_plant import LOOP_STATES

    return {
        "bike": schedule.bicycle.name,
        "method": method,
        "rate": rate,
        "states": LOOP_STATES,
        "path": str(out) if out else None,
        "rows": [
            {
                "v": v,
                "K": K,
                "closed_loop": eigenvalues[np.isfinite(eigenvalues.real)],
                "gain_margin": margins.gain,
                "phase_margin": margins.phase,
                "delay_margin": margins.delay,
                "note": note,
            }
            for v, K, eigenvalues, margins, note in _rows(schedule)
        ],
    }


def _show(schedule: "GainSchedule", method: str) -> None:
    """Print gains, closed loop and margins over speed, and the notes."""
    import numpy as np

    from experiments.reports.text import eigenvalue_text, number_text
    from experiments.terminal.console import print_table, screen
    from hil.design.sampled_plant import LOOP_STATES

    print_table(
        f"{schedule.bicycle.name}, {method}: T_delta = -K z, z = ({', '.join(LOOP_STATES)})",
        ["v m/s", "K", "closed loop 1/s", "gain margin", "phase deg", "delay ms"],
        [
            [
                f"{v:g}",
                ", ".join(f"{k:.3g}" for k in K),
                "  ".join(eigenvalue_text(s) for s in eigenvalues if s.imag >= 0 and np.isfinite(s.real)),
                f"{margins.gain[0]:.2f}-{margins.gain[1]:.1f}",
                number_text(float(np.degrees(margins.phase)), 0),
                number_text(1e3 * margins.delay, 0),
            ]
            for v, K, eigenvalues, margins, _ in _rows(schedule)
        ],
    )
    for v, *_, note in _rows(schedule):
        if note:
            screen.print(f"at {v:g} m/s: {note}")


def _option(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value read as TOML reads it: a number, or a list of numbers."""
    import tomllib

    from models.errors import InputError

    name, _, value = text.partition("=")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        raise InputError(f"'{text}' is not an option: write NAME=VALUE, for example k=2 or poles=[-3, -12]") from None
