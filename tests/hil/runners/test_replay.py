"""Replay: recorded bytes through the tick again, and what is said when the result differs."""

import dataclasses

import numpy as np
import pytest

from riderless.firmware_interface.node.reference_codec import frame, unframe
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import RUN_FILE, read_run
from riderless.hil.loop.limits import RecordedLimits
from riderless.hil.loop.states import State
from riderless.hil.loop.wire_tape import new_tape, new_wire, read_tape, write_tape
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.replay import rebuilt_loop, replay
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.errors import InputError
from tests.hil.machine import gains, rig_of, scenario


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    rig = rig_of()
    folder = tmp_path_factory.mktemp("replay") / "run"
    run_lockstep(folder, rig, gains(rig), scenario(), 1.5)
    return read_run(folder)


@pytest.mark.parametrize("method", ["lqr", "poles", "lean", "off"])
@pytest.mark.parametrize("model", ["linear", "nonlinear"])
def test_every_controller_and_model_replays_bit_for_bit(tmp_path, method, model):
    rig = rig_of("Benchmark", calibration={"gyro_lsb": 3e-4, "steer_offset": 0.01, "torque_sign": -1.0})
    run_lockstep(tmp_path / "run", rig, gains(rig, method), scenario(), 1.0, emulation=Emulation(model))
    again = read_run(tmp_path / "run")
    result = replay(again)
    assert result.identical, result.difference
    assert result.ticks == len(again.ticks)
    assert result.commands > 300


def test_a_run_that_ended_in_a_fault_replays_too(tmp_path):
    rig = rig_of(limits=RecordedLimits(lean=dataclasses.replace(rig_of().limits.lean, value=0.02)))
    outcome = run_lockstep(tmp_path / "run", rig, gains(rig), scenario(kicks=(0.5,)), 3.0)
    assert outcome.reason == "fault"
    run = read_run(tmp_path / "run")
    assert State(int(run.ticks["state"][-1])) in (State.FAULT, State.DISARMED)
    assert replay(run).identical


def with_rows(run, change):
    rows = run.ticks.copy()
    change(rows)
    return dataclasses.replace(run, ticks=rows)


def test_a_run_is_given_or_its_folder(run, tmp_path):
    assert replay(str(run.folder)) == replay(run.folder / RUN_FILE) == replay(run)
    with pytest.raises(InputError, match=r"^wanted a run folder, found no run.mcap at "):
        replay(tmp_path / "nothing")


def test_another_torque_is_found_at_its_tick(run):
    k = int(run.ticks["k"][500])

    def change(rows):
        rows["T_cmd"][500] += 1e-15

    result = replay(with_rows(run, change))
    assert result.first == k
    assert "T_cmd" in result.difference


def test_another_byte_sent_is_found_at_its_tick(run):
    start = sorted(run.tapes)[4]
    tape = bytearray(run.tapes[start])
    row = run.ticks[run.ticks["k"] == start][0]
    tape[int(row["n_wire"]) - 2] ^= 1  # the last byte but one of the tick: its command's CRC
    result = replay(dataclasses.replace(run, tapes={**run.tapes, start: bytes(tape)}))
    assert result.first == start
    assert "bytes sent" in result.difference


def test_another_byte_received_is_found(run):
    start = sorted(run.tapes)[4]
    tape = bytearray(run.tapes[start])
    tape[10] ^= 4
    result = replay(dataclasses.replace(run, tapes={**run.tapes, start: bytes(tape)}))
    assert result.first == start


def test_another_gain_in_the_header_is_found(run):
    schedule = run.header.schedule
    other = dataclasses.replace(schedule, K=schedule.K * (1 + 1e-12))
    result = replay(dataclasses.replace(run, header=RunHeader({**run.header.to_json(), "schedule": other.to_toml()})))
    assert result.first is not None
    assert "T_req" in result.difference


def test_a_gap_and_a_missing_tape_are_told(run):
    rows = np.concatenate([run.ticks[:300], run.ticks[310:]])
    assert replay(dataclasses.replace(run, ticks=rows)).difference == "ticks 301 to 310 are missing from the log"
    last = max(run.tapes)
    short = {k: tape for k, tape in run.tapes.items() if k != last}
    result = replay(dataclasses.replace(run, tapes=short))
    assert result.first == last
    assert result.difference == "the raw bytes end here"


def test_a_killed_run_replays_as_far_as_it_goes(run, tmp_path):
    data = (run.folder / RUN_FILE).read_bytes()
    (tmp_path / RUN_FILE).write_bytes(data[: len(data) * 2 // 3])
    part = read_run(tmp_path)
    result = replay(part)
    assert 300 < result.ticks <= len(part.ticks) < len(run.ticks)
    assert result.identical or result.difference == "the raw bytes end here"


def test_a_header_that_cannot_rebuild_the_loop_is_refused(run):
    header = RunHeader({name: value for name, value in run.header.to_json().items() if name != "schedule"})
    with pytest.raises(InputError, match="schedule"):
        rebuilt_loop(header)
    with pytest.raises(InputError, match="no raw bytes"):
        replay(dataclasses.replace(run, tapes={}))


def made_elsewhere(run):
    """The run as if another commit had made it."""
    header = run.header.to_json()
    header["provenance"]["git"] |= {"commit": "abc123", "dirty": False}
    return dataclasses.replace(run, header=RunHeader(header))


def test_where_the_tick_is_another_the_replay_names_the_commit_that_made_the_run(run):
    run = made_elsewhere(run)
    assert replay(run).identical

    def change(rows):
        rows["T_cmd"][300] += 1e-15

    changed = with_rows(run, change)
    sentence = replay(changed).sentence
    assert f"then, at tick {run.ticks['k'][300]}: T_cmd" in sentence
    assert sentence.endswith(
        f"another version of the tick made this run ({run.header.made_by}): replay it with that commit"
    )
    assert "commit abc123" in run.header.made_by
    with pytest.raises(InputError, match=r"another version of the tick made it; .*commit abc123"):
        replay(dataclasses.replace(changed, ticks=changed.ticks[["k", "t_host"]]))


def test_a_log_that_is_cut_is_not_laid_to_another_version(run):
    rows = np.concatenate([run.ticks[:200], run.ticks[210:]])
    assert "version" not in replay(dataclasses.replace(made_elsewhere(run), ticks=rows)).sentence


def test_a_run_in_another_version_of_the_nodes_protocol_is_refused_with_the_commit_that_made_it(run):
    run = made_elsewhere(run)
    header = run.header.to_json()
    assert header["protocol"] == run.header.protocol == 4
    unnamed = {name: value for name, value in header.items() if name != "protocol"}
    served = {**header, "devices": [{"name": "demo (protocol 2, torque only)", "rate_hz": 200, "protocol": 2}]}
    for other in (unnamed, {**header, "protocol": 2}, {**header, "protocol": 5}, served):
        with pytest.raises(InputError, match=r"another version of the node's protocol: .*, commit abc123$"):
            replay(dataclasses.replace(run, header=RunHeader(other)))


def as_version_3(tape: bytes) -> bytes:
    """Tape of the same run with a node and a loop of version 3, whose frames of a ride differ by that number alone."""

    def older(data: np.ndarray) -> np.ndarray:
        frames = [unframe(stuffed) for stuffed in data.tobytes().split(b"\0")[:-1]]
        return np.frombuffer(b"".join(frame(b"\x03" + payload[1:]) for payload in frames), np.uint8)

    wire, there, out = new_wire(1), np.frombuffer(tape, np.uint8), new_tape(1, len(tape))
    at = length = 0
    while at < len(tape):
        at = read_tape(wire, there, at)
        for way, sizes in ((wire.rx, wire.n_rx), (wire.tx, wire.n_tx)):
            older_bytes = older(way[0, : sizes[0]])
            way[0, : len(older_bytes)], sizes[0] = older_bytes, len(older_bytes)
        length = write_tape(wire, out, length)
    return out[:length].tobytes()


def test_a_run_of_version_3_is_read_and_replays_bit_for_bit(run):
    header = {**run.header.to_json(), "protocol": 3}
    tapes = {k: as_version_3(tape) for k, tape in run.tapes.items()}
    assert tapes != dict(run.tapes)
    result = replay(dataclasses.replace(run, header=RunHeader(header), tapes=tapes))
    assert result.identical, result.sentence
    assert result.commands == replay(run).commands > 100
    with pytest.raises(InputError, match=r"bytes sent to the drive differ|became"):
        raise InputError(replay(dataclasses.replace(run, tapes=tapes)).sentence)


def test_the_session_of_each_device_stands_in_the_header():
    from riderless.firmware_interface.devices.driver import Introduction
    from riderless.hil.logs.header import new_header

    rig = rig_of()
    said = [Introduction("node", 200, session=77)]
    header = new_header(rig, gains(rig), rig.calibrated(), runner="realtime", devices=said)
    assert rebuilt_loop(header).links["session"].tolist() == [77]
