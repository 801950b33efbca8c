"""Whatever the stream of news, numbers and orders: the promises about torque, enable and faults are kept."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from riderless.firmware_interface.messages import COMMAND_ENABLE, STATUS_ENABLED, STATUS_STOP_BUTTON, STATUS_WATCHDOG
from riderless.hil.loop.states import Cause, Demand, State, Verdict
from riderless.hil.loop.transitions import HARD_RULES, Stage
from tests.hil.loop.test_supervisor_table import DT, LIMITS, Machine

HARD_CAUSES = {rule.cause for rule in HARD_RULES}
ANY = st.sampled_from([math.nan, math.inf, -math.inf])
TICK = st.fixed_dictionaries(
    {
        "news": st.fixed_dictionaries(
            {
                "dt": st.sampled_from([DT] * 8 + [0.0, 0.1, 3.0, -1.0, math.nan, math.inf]),
                "silence": st.sampled_from([0.0] * 8 + [0.03, 0.06, math.inf, math.nan]),
                "T_req": st.floats(-50, 50) | ANY,
                "demand": st.sampled_from([*Demand, Demand.RUN, Demand.RUN, Demand.RUN]),
                "symptoms": st.sampled_from([0] * 12 + [1 << i for i in range(9)]),
                "acknowledged": st.booleans(),
                "fresh": st.sampled_from([1, 1, 1, 0]),
                "clean": st.sampled_from([1, 1, 1, 0]),
                "late": st.booleans(),
                "attended": st.sampled_from([1] * 8 + [0]),
                "recording": st.sampled_from([1] * 8 + [0]),
            }
        ),
        "e": st.fixed_dictionaries(
            {
                "phi": st.floats(-0.6, 0.6) | ANY,
                "delta": st.floats(-0.9, 0.9) | ANY,
                "v": st.floats(0.1, 11.0) | ANY,
            }
        ),
        "sample": st.fixed_dictionaries(
            {
                "status": st.sampled_from([STATUS_ENABLED] * 8 + [0, STATUS_WATCHDOG, STATUS_STOP_BUTTON]),
                "faults": st.sampled_from([0] * 10 + [1]),
                "bus_meas": st.sampled_from([24.0] * 8 + [0.0, 99.0, math.nan]),
            }
        ),
    }
)


def calm():
    """News of a tick in which nothing is the matter."""
    return {
        "news": {"dt": DT, "silence": 0.0, "T_req": 1.0, "demand": Demand.RUN, "symptoms": 0, "acknowledged": 0}
        | {"fresh": 1, "clean": 1, "late": 0, "attended": 1, "recording": 1},
        "e": {"phi": 0.0, "delta": 0.0, "v": 5.0},
        "sample": {"status": STATUS_ENABLED, "faults": 0, "bus_meas": 24.0},
    }


STREAM = st.lists(TICK | st.builds(calm), min_size=1, max_size=40)


@settings(max_examples=300)
@given(STREAM, st.sampled_from(list(Stage)))
def test_the_promises_are_kept(stream, start):
    machine, time_in_ramp = Machine(start), 0.0
    for given_tick in stream:
        for record, values in given_tick.items():
            for name, value in values.items():
                getattr(machine, record)[name] = value
        before, T_before, stage_before = int(machine.s["cause"]), float(machine.s["T_cmd"]), machine.s["stage"]
        stage = machine.tick()
        T, flags, news = float(machine.s["T_cmd"]), int(machine.s["flags"]), given_tick["news"]
        state, dt = State(int(machine.s["state"])), news["dt"] if news["dt"] > 0 else 0.0

        assert math.isfinite(T)
        assert abs(T) <= LIMITS.torque.value
        if state is State.RUNNING:
            assert abs(T - T_before) <= LIMITS.torque_rate.value * min(dt, 0.025) + 1e-9
        elif state is State.RAMPDOWN:
            assert abs(T) <= abs(machine.s["T_ramp"]) + 1e-12
            time_in_ramp = time_in_ramp + dt if stage_before == Stage.RAMPDOWN else 0.0
            assert time_in_ramp < LIMITS.ramp.value or time_in_ramp == 0.0
        else:
            assert T == 0.0
        if state in (State.DISARMED, State.FAULT):
            assert not flags & COMMAND_ENABLE
            assert machine.s["send"] == 1
        if not news["fresh"] and flags & COMMAND_ENABLE:
            assert machine.s["send"] == 0, "an old sample must not keep the drive alive"
            assert Verdict(int(machine.s["verdict"])) & Verdict.NO_FRESH_SAMPLE
        if news["demand"] == Demand.OFF and stage_before != Stage.FAULT:
            assert state is State.DISARMED
        if stage_before == Stage.FAULT and state is not State.FAULT:
            assert state is State.DISARMED
            assert news["acknowledged"]
            assert news["demand"] == Demand.OFF
        elif state is State.FAULT:
            assert Cause(int(machine.s["cause"])) is not Cause.NONE
            if stage_before == Stage.RAMPDOWN and before == Cause.OPERATOR_STOP:
                assert Cause(int(machine.s["cause"])) in HARD_CAUSES, "a stop explains no fault"
            elif stage_before == Stage.FAULT or (stage_before == Stage.RAMPDOWN and before):
                assert int(machine.s["cause"]) == before, "the first cause is kept"
        if stage is Stage.RUNNING and stage_before != Stage.RUNNING:
            assert stage_before == Stage.ARMED
            assert news["demand"] == Demand.RUN
