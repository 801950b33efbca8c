"""`riderless monitor`: live values, no torque."""

import math
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riderless.experiments.commands._options import Force, require_linux
from riderless.experiments.commands._shared_options import Emulated, RigFile, SerialPorts
from riderless.models.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table


def monitor(
    rig_file: RigFile = None,
    port: SerialPorts = None,
    emulated: Emulated = False,
    duration: Annotated[float, typer.Option(help="s; until Ctrl-C by default.")] = math.inf,
    record: Annotated[
        Path | None, typer.Option(help="Gyro's recording for `riderless period` (CSV); at most 10 min of it.")
    ] = None,
    force: Force = False,
) -> None:
    """Show what the devices say, in SI units and the bicycle's axes; the drive stays off."""
    require_linux("riderless monitor")
    from rich.live import Live

    from riderless.experiments.commands._machines import paths_of, require_one_machine, rig_of
    from riderless.experiments.emulation.workstand import start_by_hand
    from riderless.experiments.terminal.console import print_written, progress_screen
    from riderless.firmware_interface.child_processes import QUIET_SPAWN
    from riderless.hil.commissioning.steps import Step, StepResult, go_through
    from riderless.hil.design.methods import design
    from riderless.hil.output_file import OutputFile, files_read

    if not duration > 0.0:
        raise InputError(f"--duration must be above 0 s, found {duration:g} s")
    require_one_machine(emulated, port)
    place = OutputFile(record, "the recording", force, files_read(rig_file)) if record else None
    if place:
        place.require_free()
    rig = rig_of(rig_file)
    schedule = design(rig.bicycle, "off", (5.0,), rig.timing)
    posture = QUIET_SPAWN.RawArray("d", 4)
    seen: list[np.ndarray] = []

    def look(rows: "np.ndarray", over: bool) -> StepResult | None:
        seen[:] = [rows]
        return StepResult(True, "seen") if over else None

    watching = Step("watching", look, longest=duration)
    with (
        start_by_hand(rig, posture) if emulated else nullcontext() as twin,
        Live(console=progress_screen, refresh_per_second=5) as live,
    ):
        paths = twin.paths if twin is not None else paths_of(rig, port or [])
        go_through(
            rig, paths, schedule, lambda agreed, devices: [watching], watch=lambda row: live.update(_values(row))
        )
    if place:
        place.write(_gyro_text(seen))
        print_written("recording", record)


def _gyro_text(seen: "list[np.ndarray]") -> str:
    """Write the gyro's samples, each once, as CSV: t [s] by the device's clock, gx, gy, gz [rad/s]."""
    lines, latest = ["t,gx,gy,gz"], -math.inf
    for row in seen[0] if seen else ():
        values = [float(row[name]) for name in ("t", "phi_dot_meas", "theta_dot_meas", "psi_dot_meas")]
        if values[0] > latest and all(map(math.isfinite, values)):
            latest = values[0]
            lines.append(",".join(f"{value:.7g}" for value in values))
    return "\n".join(lines) + "\n"


def _values(row: "np.void") -> "Table":
    """Lay out the newest row for a person."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    t = Table(box=SIMPLE_HEAD)
    for i, column in enumerate(("", "value", "", "", "value", "")):
        t.add_column(column, justify="right" if i % 3 == 1 else "left", min_width=10 if i % 3 == 1 else None)
    angle = {name: f"{math.degrees(row[name]):+.2f}" for name in row.dtype.names or () if row.dtype[name].kind == "f"}
    bad = row["frames_bad_crc"] + row["frames_bad_length"] + row["frames_bad_version"]
    cells = [
        ("lean (estimate)", angle["phi_est"], "deg", "steer", angle["delta_meas"], "deg"),
        ("roll rate", angle["phi_dot_meas"], "deg/s", "speed", f"{row['v_meas']:.3f}", "m/s"),
        ("pitch rate", angle["theta_dot_meas"], "deg/s", "torque reported", f"{row['T_meas']:+.3f}", "N m"),
        ("yaw rate", angle["psi_dot_meas"], "deg/s", "supply", f"{row['bus_meas']:.2f}", "V"),
        ("force forward", f"{row['a_x_meas']:+.2f}", "m/s²", "sample's age", f"{1e3 * row['age']:.2f}", "ms"),
        ("force right", f"{row['a_y_meas']:+.2f}", "m/s²", "steer older by", f"{1e3 * row['steer_age']:.2f}", "ms"),
        ("force down", f"{row['a_z_meas']:+.2f}", "m/s²", "silence", f"{1e3 * row['silence']:.0f}", "ms"),
        ("frames", f"{row['frames_ok']}", "good", "broken", f"{bad}", ""),
        ("drive", _bits("STATUS_", row["status"]) or "off", "", "faults", _bits("FAULT_", row["faults"]) or "none", ""),
    ]
    if math.isfinite(row["place_age"]) or math.isfinite(row["y_meas"]):
        seen = "never" if math.isnan(row["y_meas"]) else f"{row['y_meas']:+.3f}"
        cells.append(("place to the right", seen, "m", "place's age", f"{1e3 * row['place_age']:.0f}", "ms"))
    elif not math.isnan(row["y_est"]):
        cells.append(("place to the right", "never", "", "place's age", "-", ""))
    for cell in cells:
        t.add_row(*cell)
    return t


def _bits(prefix: str, bits: "np.integer") -> str:
    """Names of the bits that are set."""
    from riderless.experiments.terminal.obstacles import bit_names

    return " ".join(bit_names(prefix, int(bits)))
