"""`riderless export` and back: other tools read the same numbers with their units, and the analysis finds the same."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.cli import app
from riderless.experiments.recordings.foreign.exported import exported_run
from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.experiments.recordings.read import find_recordings, read_recording
from riderless.hil.logs import export_columns
from riderless.hil.logs.export import EXPORT_FORMATS, FOLDERS, export_run
from riderless.hil.logs.json_values import numbers_again
from riderless.hil.logs.log import Marker, read_run
from riderless.hil.loop.states import State
from riderless.hil.loop.tick_record import LOG_COLUMNS, TICK
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.errors import InputError
from tests.hil.machine import gains, rig_of, scenario


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A lockstep run with two kicks."""
    folder = tmp_path_factory.mktemp("runs") / "silver"
    rig = rig_of()
    run_lockstep(folder, rig, gains(rig, "poles", zeta=0.2), scenario(kicks=(2.0, 6.0)), 10.0, "Silver poles 5.0 m/s")
    return read_run(folder)


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    """The file of each format."""
    folder = tmp_path_factory.mktemp("exports")
    return {to: export_run(run, to, folder / f"silver.{to}")[0] for to in EXPORT_FORMATS}


TABLES = [to for to in EXPORT_FORMATS if to not in FOLDERS]


@pytest.fixture(scope="module")
def other_clock(run, tmp_path_factory):
    """The same run with kicks marked by a person, on a host whose clock is 5000 s ahead of the device's."""
    ticks = run.ticks.copy()
    ticks["t_host"] += 5000.0
    begun = float(run.ticks["t"][np.argmax(run.ticks["state"] == State.RUNNING)])
    kicks = tuple(Marker(5000.0 + begun + t, "kick", "by key, hurriedly") for t in (2.0, 6.0))
    path = tmp_path_factory.mktemp("clock") / "other.csv"
    export_run(replace(run, ticks=ticks, markers=kicks), "csv", path)
    return path, [begun + 2.0, begun + 6.0]


def test_a_run_is_exported_by_its_folder_too(run, exported, tmp_path):
    path, *_ = export_run(str(run.folder), "csv", tmp_path / "again.csv")
    assert path.read_bytes() == exported["csv"].read_bytes()


def test_a_mat_file_larger_than_its_format_is_refused_with_what_to_do(run, tmp_path, monkeypatch):
    size = len(run.ticks) * sum(TICK[name].itemsize for name in TICK.names)
    monkeypatch.setattr(export_columns, "MAT_BYTES", size)
    with pytest.raises(InputError, match=r"holds .* GB in one variable.*--to parquet"):
        export_run(run, "mat", tmp_path / "large.mat")
    assert not (tmp_path / "large.mat").exists()


@pytest.mark.parametrize("how", [{}, {"mapping": "riderless-ticks", "bicycle": "Silver"}])
def test_kicks_marked_on_the_hosts_clock_come_onto_the_devices(other_clock, how):
    path, kicks = other_clock
    assert [marker.t for marker in read_recording(path, **how).markers] == pytest.approx(kicks, abs=1e-6)


def measured(analysis):
    return [
        (c.window.t_start, c.window.t_end, c.fit.re, c.fit.im, c.fit.re_std, c.window.v_mean)
        for c in analysis.comparisons
    ]


def predicted(analysis):
    predictions = [c.prediction for c in analysis.comparisons]
    return [(p.frozen.real, p.frozen.imag, p.like.real, p.like.imag, *p.difference_std) for p in predictions]


@pytest.mark.parametrize("to", TABLES)
def test_an_export_is_analysed_as_the_run_itself(run, exported, to):
    response = read_recording(run.folder)
    assert response.remarks == ()  # an emulated run has no flaw and breaks no law
    own = analyze_responses([response])
    assert len(own.comparisons) == 2
    back = analyze_responses([read_recording(exported[to])])
    np.testing.assert_allclose(measured(back), measured(own), rtol=0, atol=1e-9)
    np.testing.assert_allclose(predicted(back), predicted(own), rtol=0, atol=1e-9)
    assert [r.reason for r in back.rejected] == [r.reason for r in own.rejected]
    assert back.comparisons[0].window.source.split(".")[0] == "silver"


@pytest.mark.parametrize("to", ["csv", "parquet", "mat"])
def test_the_shipped_mapping_finds_the_same_from_the_rows_alone(run, exported, to):
    own = analyze_responses([read_recording(run.folder)])
    back = analyze_responses([read_recording(exported[to], mapping="riderless-ticks", bicycle="Silver")])
    np.testing.assert_allclose(measured(back), measured(own), rtol=0, atol=1e-6)


def test_parquet_carries_units_and_header(run, exported):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(exported["parquet"])
    assert table.column_names == list(TICK.names)
    for name in TICK.names:
        np.testing.assert_array_equal(table[name].to_numpy(), run.ticks[name])
    assert table.schema.field("phi_dot_meas").metadata[b"unit"] == b"rad/s"
    beside = json.loads(table.schema.metadata[b"riderless"])
    assert beside["header"]["label"] == "Silver poles 5.0 m/s"
    assert len(beside["markers"]) == len(run.markers)


def test_mat_loads_with_names_that_matlab_and_octave_allow(run, exported):
    from scipy.io import loadmat

    content = loadmat(exported["mat"], squeeze_me=True)
    ticks = content["ticks"]
    assert ticks.dtype.names == TICK.names
    assert all(re.fullmatch(r"[A-Za-z]\w{0,30}", name) for name in [*TICK.names, *(n for n in content if n[0] != "_")])
    for name in TICK.names:
        np.testing.assert_array_equal(ticks[name].item(), run.ticks[name])
    assert content["units"]["T_cmd"].item() == "N m"
    assert content["meanings"]["k"].item() == "tick number"
    assert np.atleast_1d(content["markers"]["t"].item()).tolist() == [marker.t for marker in run.markers]
    assert np.atleast_1d(content["markers"]["kind"].item()).tolist() == [marker.kind for marker in run.markers]
    whole = loadmat(exported["mat"])  # columns are columns
    assert whole["ticks"]["t"][0, 0].shape == (len(run.ticks), 1)


def test_csv_has_units_and_header_beside(run, exported):
    path = exported["csv"]
    beside = json.loads(path.with_suffix(".header.json").read_text())
    assert beside["columns"]["delta_meas"] == {"unit": "rad", "meaning": "steer angle"}
    assert beside["stop"]["reason"] == "success"
    assert find_recordings([path.parent]) == [
        path.parent / f"silver.{suffix}" for suffix in ("csv", "mat", "mcap", "parquet", "rosbag2")
    ]


def test_the_header_is_json_for_every_reader(run, exported, tmp_path):
    """A limit that is infinite is a word there; files of before, which had the bare word, read as they did."""
    import pyarrow.parquet
    from scipy.io import loadmat

    def no_number(word):
        raise AssertionError(f"{word} is not JSON")

    assert "Infinity" in json.dumps(run.header.to_json())
    beside = exported["csv"].with_suffix(".header.json").read_text()
    of_parquet = pyarrow.parquet.read_schema(exported["parquet"]).metadata[b"riderless"].decode()
    for text in (beside, of_parquet, str(loadmat(exported["mat"], squeeze_me=True)["riderless"])):
        document = json.loads(text, parse_constant=no_number)
        assert numbers_again(document["header"]) == run.header.to_json()
    document["header"] = run.header.to_json()
    for text in (beside, json.dumps(document)):
        (tmp_path / "a.csv").write_bytes(exported["csv"].read_bytes())
        (tmp_path / "a.header.json").write_text(text)
        assert exported_run(read_table(tmp_path / "a.csv")).header == run.header


def test_mcap_is_whole_for_other_readers(run, exported):
    from mcap.reader import make_reader
    from mcap_protobuf.decoder import DecoderFactory

    with exported["mcap"].open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        ticks = [message for _, _, _, message in reader.iter_decoded_messages("/tick")]
        names = [entry.name for entry in reader.iter_metadata()]
    assert [tick.phi_est for tick in ticks] == run.ticks["phi_est"].tolist()
    assert names == ["header", "columns", "stop"]
    again = read_run(exported["mcap"])
    assert again.recovered == ""
    assert again.tapes == run.tapes
    assert again.markers == run.markers


def test_mcap_of_a_cut_log_has_its_index_again(run, tmp_path):
    from mcap.reader import make_reader

    data = (run.folder / "run.mcap").read_bytes()
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "run.mcap").write_bytes(data[: len(data) * 2 // 3])
    cut = read_run(tmp_path / "cut")
    assert not cut.complete
    path, *_ = export_run(cut, "mcap")
    with path.open("rb") as file:
        assert sum(1 for _ in make_reader(file).iter_messages("/tick")) == len(cut.ticks) > 100
    assert read_run(path).stop.reason == "killed"
    with pytest.raises(InputError, match="a log, and logs are never replaced"):
        export_run(cut, "mcap")


@pytest.mark.parametrize("command", [["export", "-o", "cut.csv"], ["analyze"]])
def test_a_run_that_is_not_whole_is_told_of(run, tmp_path, monkeypatch, command):
    """Only --json had it, and `riderless info`."""
    (tmp_path / "cut").mkdir()
    data = (run.folder / "run.mcap").read_bytes()
    (tmp_path / "cut" / "run.mcap").write_bytes(data[: len(data) // 2])
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [command[0], "cut", *command[1:]])
    assert done.exit_code == 0
    assert re.search(r"read \d+ rows and \d+ markers of a run that is not whole: it has no stop record", done.stdout)


def test_a_table_without_its_header_says_what_to_do(exported, tmp_path):
    path = tmp_path / "alone.csv"
    path.write_bytes(exported["csv"].read_bytes())
    with pytest.raises(InputError, match=r"alone\.header\.json.*riderless-ticks"):
        read_recording(path)


def test_every_column_has_a_unit_and_a_meaning():
    assert list(LOG_COLUMNS) == list(TICK.names)
    assert all(column.unit and column.meaning for column in LOG_COLUMNS.values())


def test_the_command_names_all_its_files(run, tmp_path):
    arguments = ["export", str(run.folder), "--to", "csv", "-o", str(tmp_path / "a.csv")]
    said = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    names = ["a.csv", "a.markers.csv", "a.header.json", "a.csv.plotjuggler.xml"]
    assert [Path(name).name for name in said["files"]] == names
    assert said["rows"] == len(run.ticks)
    refused = CliRunner().invoke(app, ["export", str(run.folder), "--to", "xls"])
    assert "csv, parquet, mat, mcap" in str(refused.exception)
    for to in EXPORT_FORMATS:
        refused = CliRunner().invoke(app, [*arguments[:3], to, "-o", str(tmp_path / "none" / "x")])
        assert isinstance(refused.exception, InputError), refused.output
        assert "cannot be written to" in str(refused.exception)


def test_a_bag_of_ros_holds_what_was_measured_with_z_up(run, exported):
    from rosbags.highlevel import AnyReader

    used = run.ticks[run.ticks["valid"] == 1]
    with AnyReader([exported["rosbag2"]]) as bag:
        assert "z up" in bag.readers[0].storage.path.joinpath("metadata.yaml").read_text()
        kept = {topic: [] for topic in bag.topics}
        for connection, at, data in bag.messages():
            kept[connection.topic].append((at, bag.deserialize(data, connection.msgtype)))
        kinds = {topic: one.msgtype for topic, one in bag.topics.items()}
    assert kinds["/imu/data"] == "sensor_msgs/msg/Imu"
    assert kinds["/joint_states"] == "sensor_msgs/msg/JointState"
    ahead = used["t"] + used["host_offset"][0]
    np.testing.assert_allclose([at * 1e-9 for at, _ in kept["/imu/data"]], ahead, rtol=0, atol=1e-9)
    imu, steer = ([message for _, message in kept[topic]] for topic in ("/imu/data", "/joint_states"))
    for ours, sign, theirs in (
        ("phi_dot_meas", 1, [m.angular_velocity.x for m in imu]),
        ("theta_dot_meas", -1, [m.angular_velocity.y for m in imu]),
        ("psi_dot_meas", -1, [m.angular_velocity.z for m in imu]),
        ("a_y_meas", -1, [m.linear_acceleration.y for m in imu]),
        ("a_z_meas", -1, [m.linear_acceleration.z for m in imu]),
        ("phi_est", 1, [2.0 * np.arctan2(m.orientation.x, m.orientation.w) for m in imu]),
        ("delta_meas", -1, [m.position[0] for m in steer]),
        ("delta_dot_est", -1, [m.velocity[0] for m in steer]),
        ("T_cmd", -1, [m.effort[0] for m in steer]),
        ("v_meas", 1, [m.twist.linear.x for _, m in kept["/twist"]]),
    ):
        np.testing.assert_allclose(theirs, sign * used[ours], rtol=0, atol=1e-12, err_msg=ours)
    assert np.mean([m.linear_acceleration.z for m in imu]) == pytest.approx(9.81, abs=0.3)
    assert steer[0].name == ["steer"]
    assert len(kept["/markers"]) == len(run.markers)


def test_a_bag_of_ros_is_analysed_by_its_mapping(run, exported):
    own = analyze_responses([read_recording(run.folder)])
    back = analyze_responses([read_recording(exported["rosbag2"], mapping="riderless-rosbag2", bicycle="Silver")])
    assert len(back.comparisons) == 2
    for ours, theirs in zip(own.comparisons, back.comparisons, strict=True):
        assert theirs.fit.re == pytest.approx(ours.fit.re, abs=2 * ours.fit.re_std)
        assert theirs.fit.im == pytest.approx(ours.fit.im, abs=2 * ours.fit.re_std)


def test_a_bag_takes_no_other_place(run, exported, tmp_path, monkeypatch):
    for place in (exported["rosbag2"], exported["csv"], Path("-"), Path("/dev/null")):
        with pytest.raises(InputError, match="name one that is not there"):
            export_run(run, "rosbag2", place, force=True)
    monkeypatch.setitem(__import__("sys").modules, "rosbags.rosbag2", None)
    with pytest.raises(InputError, match=r"pip install 'riderless\[ros\]'"):
        export_run(run, "rosbag2", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
