"""A run in simulated time, with the same log as a real one: a rehearsal against the plant in memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hil.design.schedule import GainSchedule
from hil.logs.header import new_header
from hil.logs.log import RunWriter
from hil.loop.excitation import Excitation
from hil.loop.tick import new_loop
from hil.rig.rig import Rig
from hil.runners import lockstep
from hil.runners.emulation import Emulation, emulated_node, emulated_plant
from hil.runners.log_sink import Keeper
from hil.runners.operator import Operator, Outcome
from hil.runners.session import RowWatcher, require_fitting
from models.plant.plant import Scenario


def run_lockstep(
    folder: Path,
    rig: Rig,
    schedule: GainSchedule,
    scenario: Scenario,
    duration: float,
    label: str = "",
    watch: RowWatcher | None = None,
    emulation: Emulation = Emulation(),
    excitation: Excitation = Excitation(),
    extra: Mapping[str, Any] | None = None,
) -> Outcome:
    """Run against the plant in memory for ``duration`` s of RUNNING; writes to ``folder``, ``extra`` to its header."""
    require_fitting(rig, schedule)
    calibration = rig.calibrated()
    loop = new_loop(rig, schedule, calibration.as_record(), excitation=excitation)
    operator, plant = Operator(duration), emulated_plant(rig, scenario, emulation)
    header = new_header(
        rig,
        schedule,
        calibration,
        runner="lockstep",
        simulated=True,
        label=label or folder.name,
        excitation=excitation,
        extra={"scenario": scenario, "emulation": emulation, **(extra or {})},
    )
    with RunWriter(folder, header, simulated=True) as writer:
        keep = Keeper(writer, plant)
        lockstep.run(loop, plant, emulated_node(rig), operator, keep, watch)
        outcome = operator.outcome()
        if keep.fall and outcome.reason == "success":
            outcome = Outcome("fault", f"the bicycle fell: {keep.fall}")
        writer.close(outcome.reason, outcome.cause)
    return outcome
