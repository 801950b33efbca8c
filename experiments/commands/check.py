"""`riderless check`: wiring and safety before arming."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from riderless.experiments.commands._options import ArmUnattended, require_attended, require_linux
from riderless.experiments.commands._shared_options import AsJson, Emulated, Fifo, RigFile, SerialPorts

if TYPE_CHECKING:
    from riderless.hil.commissioning.steps import Step, StepResult


def check(
    rig_file: RigFile = None,
    port: SerialPorts = None,
    emulated: Emulated = False,
    push: Annotated[bool, typer.Option(help="Let the drive push the bars gently, at the end.")] = True,
    fifo: Fifo = 0,
    yes_arm_unattended: ArmUnattended = False,
    as_json: AsJson = False,
) -> None:
    """Go through the machine with a person: devices, stream, signs, stops, watchdog, direction of the drive.

    Over a belt the held bicycle is pushed aside, which proves its sensor of place for a week. The front wheel hangs
    free for the last steps, in which the stop time is measured. At the end you press the hardware stop, which proves
    it for today; with --yes-arm-unattended nobody is asked. Ctrl-C ends it at once, with the drive off. Exit code 1 if
    anything is not in order.
    """
    require_linux("riderless check")
    from riderless.experiments.commands._machines import paths_of, require_one_machine, rig_of
    from riderless.experiments.emulation.workstand import start_by_hand
    from riderless.experiments.terminal.console import emit_json, progress_screen
    from riderless.firmware_interface.child_processes import QUIET_SPAWN
    from riderless.firmware_interface.port_users import is_pseudo_terminal
    from riderless.hil.commissioning import preflight
    from riderless.hil.commissioning.steps import go_through
    from riderless.hil.design.methods import design
    from riderless.hil.rig.guard import NO_GUARD, end_of_old_commands, has_guard
    from riderless.hil.runners.place_proof import keep_place_proof
    from riderless.hil.runners.stop_proof import keep_stop_proof

    require_one_machine(emulated, port)
    rig = rig_of(rig_file)
    wired = [] if emulated else paths_of(rig, port or [])
    alone = require_attended(wired, yes_arm_unattended)
    schedule = design(rig.bicycle, "off", (5.0,), rig.timing)
    posture = QUIET_SPAWN.RawArray("d", 4)
    verdicts: list[tuple[str, bool, str]] = []

    def tell(step: "Step", finding: "StepResult | None") -> None:
        if finding is None:
            posture[:] = step.posture
            if step.ask:
                progress_screen.print(f"  … {step.ask}", style="bold")
            return
        if step.name == preflight.PLACE_PUSH and finding.good and not emulated:
            keep_place_proof(rig)
        if step.name == preflight.HARDWARE_STOP and finding.good:
            keep_stop_proof(rig)
        verdicts.append((step.name, finding.good, finding.sentence))
        _show(step.name, finding.good, finding.sentence, as_json)

    with start_by_hand(rig, posture, fifo=fifo) if emulated else nullcontext() as twin:
        paths = twin.paths if twin is not None else wired

        def all_steps(agreed, devices):
            found = [
                (path, f"{wired.device}: {device.name}")
                for path, wired, device in zip(paths, agreed.ports, devices, strict=True)
            ]
            found += [(device.serial, f"started last by {device.reset_cause}") for device in devices if device.serial]
            found += [] if has_guard(agreed) else [("guard", NO_GUARD)]
            found += [("old commands", f"ended by {end_of_old_commands(agreed)}")]
            sooner = f"torque gone {1e3 * agreed.stop_time:.0f} ms after a stop, by the rig and its devices"
            for what, sentence in (*found, ("stop time by rig", sooner)):
                verdicts.append((what, True, sentence))
                _show(what, True, sentence, as_json)
            steps = preflight.preflight_steps(agreed, devices)
            steps += [preflight.push_step(agreed)] if push else []
            return steps if alone or all(map(is_pseudo_terminal, paths)) else [*steps, preflight.hardware_stop_step()]

        outcome = go_through(
            rig, paths, schedule, all_steps, tell, excitation=preflight.preflight_push(rig.drive_kind), fifo=fifo
        ).outcome()
    if as_json:
        lines = [{"what": what, "good": good, "finding": sentence} for what, good, sentence in verdicts]
        emit_json({"rig": rig.name, "reason": outcome.reason, "cause": outcome.cause, "checks": lines})
    else:
        _show("verdict", outcome.reason == "success", outcome.cause, as_json)
    if outcome.reason != "success":
        raise typer.Exit(1)


def _show(what: str, good: bool, sentence: str, as_json: bool) -> None:
    """One line of the verdict."""
    from riderless.experiments.terminal.console import print_verdict, screen

    if not as_json:
        print_verdict(screen, good, what, sentence, room=20)
