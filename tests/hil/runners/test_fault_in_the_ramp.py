"""A fault in the ramp of an end that was wanted: the run is no success, its cause is the fault, its data are whole."""

import numpy as np
import pytest

from riderless.experiments.recordings.read import read_recording
from riderless.firmware_interface.twins.faults import Fault, FaultKind
from riderless.hil.logs.header import new_header
from riderless.hil.logs.writer import RunWriter
from riderless.hil.loop.states import SENTENCES, Cause, State
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import emulated_node, emulated_plant
from riderless.hil.runners.operator import Operator
from tests.hil.machine import gains, rig_of, scenario

RIG = rig_of()
DURATION = 2.0  # s
IN_RAMP = 0.05  # s after the ramp began
FAULTS = {
    Cause.DEVICE_FAULT: Fault(FaultKind.DRIVE_TRIPS),
    Cause.STOP_BUTTON: Fault(FaultKind.STOP_BUTTON),
    Cause.STALE_SAMPLE: Fault(FaultKind.DROP),
    Cause.CLOCK_STEP: Fault(FaultKind.CLOCK_JUMP, 3.0),
}


def ridden(folder, *faults):
    """Outcome and rows of a run in simulated time, written to ``folder``."""
    schedule, batches = gains(RIG), []
    loop, operator = new_loop(RIG, schedule, RIG.calibrated().as_record()), Operator(DURATION)

    with RunWriter(folder, new_header(RIG, schedule, RIG.calibrated(), runner="lockstep"), simulated=True) as writer:

        def record(rows, tape):
            writer.write(rows, tape)
            batches.append(rows)

        plant, node = emulated_plant(RIG, scenario()), emulated_node(RIG)
        lockstep.run_in_lockstep(loop, plant, node, operator, record, faults=faults)
        outcome = operator.outcome()
        writer.close(outcome.reason, outcome.cause)
    return outcome, np.concatenate(batches)


@pytest.fixture(scope="module")
def ramp_at(tmp_path_factory):
    """Time at which the ramp of the planned end begins [s]."""
    outcome, rows = ridden(tmp_path_factory.mktemp("whole") / "run")
    assert outcome.reason == "success"
    return float(rows["t_host"][rows["state"] == State.RAMPDOWN][0])


@pytest.mark.parametrize("cause", FAULTS, ids=lambda cause: cause.name)
def test_after_the_planned_duration_it_is_a_fault_with_its_cause(tmp_path, ramp_at, cause):
    fault = FAULTS[cause]
    fault = Fault(fault.kind, fault.size, ramp_at + IN_RAMP)
    outcome, rows = ridden(tmp_path / "run", fault)
    assert State(int(rows["state"][-1])) is State.FAULT
    assert Cause(int(rows["cause"][-1])) is cause
    assert {Cause(int(one)) for one in rows["cause"][rows["state"] == State.RAMPDOWN]} == {Cause.OPERATOR_STOP}
    assert outcome.reason == "fault"
    assert outcome.cause == f"{SENTENCES[cause]}; the planned duration was reached before, and is recorded"
    recorded = read_recording(tmp_path / "run")
    assert np.ptp(recorded.t) >= DURATION
