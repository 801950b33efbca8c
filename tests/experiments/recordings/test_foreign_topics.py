"""Logs of other programs whose sensors speak on topics of their own: MCAP, bags of ROS, ULog, MF4."""

import sys
from contextlib import suppress

import numpy as np
import pytest
from mcap.writer import CompressionType, Writer
from rosbags.typesys import TypesysError

from riderless.experiments.recordings import foreign
from riderless.experiments.recordings.foreign.formats import rosbag
from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.experiments.recordings.read import find_recordings, is_run, read_recording
from riderless.experiments.reports.analyze import analyze
from riderless.hil.logs.log import read_run
from riderless.models.errors import InputError
from tests.experiments.recordings import topic_logs
from tests.experiments.recordings.foreign_log import signals, weave

MESSAGES = topic_logs.topics()
NO_TORQUE = '[T_delta]\ncolumn = "/joint_states effort[steer]"\nunit = "N m"\nsign = -1\n'


def mapping(*pairs):
    """The mapping with other columns, and without the torque where they have none."""
    text = topic_logs.MAPPING if not pairs else topic_logs.MAPPING.replace(NO_TORQUE, "")
    for ours, theirs in pairs:
        assert ours in text
        text = text.replace(ours, theirs)
    return text


PROTOBUF = mapping(
    ("header.stamp", "stamp"),
    ("position[steer]", "position[0]"),
    ("point.x", "position[0]"),
    ("/flags armed", "/flags position[0]"),
)
STAMP = 'header.stamp"\nunit = "ns"'
ULOG = mapping(
    (STAMP, 'timestamp"\nunit = "us"'),
    ("/imu/data angular_velocity.", "sensor_gyro "),
    ("/joint_states position[steer]", "angle"),
    ("/odom point.x", "wheel speed"),
    ("/flags armed", "armed armed"),
)
MF4 = mapping(
    (STAMP, 'time"\nunit = "s"'),
    ("/imu/data angular_velocity.", "gyro_"),
    ("/joint_states position[steer]", "Lenkung_links steer"),
    ("/odom point.x", "/Rad/speed"),
    ("/flags armed", "Schalter.armed"),
)
KINDS = {
    "json.mcap": (topic_logs.write_json, topic_logs.MAPPING),
    "protobuf.mcap": (topic_logs.write_protobuf, PROTOBUF),
    "bag": (lambda path, messages: topic_logs.write_bag(path, "mcap", messages), topic_logs.MAPPING),
    "sqlite": (lambda path, messages: topic_logs.write_bag(path, "sqlite3", messages), topic_logs.MAPPING),
    "one.bag": (lambda path, messages: topic_logs.write_bag(path, "ros1", messages), topic_logs.MAPPING),
    "flight.ulg": (topic_logs.write_ulog, ULOG),
    "test.mf4": (topic_logs.write_mf4, MF4),
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Log and mapping of each kind, written when it is asked for."""
    folder, made = tmp_path_factory.mktemp("topics"), {}

    def log(kind):
        if kind == "test.mf4":
            pytest.importorskip("asammdf", reason="needs riderless[mf4], 200 MB that `make test` does without")
        if kind not in made:
            write, text = KINDS[kind]
            path, toml = write(folder / kind, MESSAGES), folder / f"{kind}.toml"
            toml.write_text(text)
            made[kind] = path, toml
        return made[kind]

    return log


def right(response):
    """Are these the signals that were written?"""
    s, inside = signals(), slice(10, -10)
    assert len(response.t) == len(s["t"])
    np.testing.assert_allclose(np.diff(response.t), 0.01, atol=1e-6)
    np.testing.assert_allclose(response.phi_dot, s["phi_dot"], atol=2e-6)
    np.testing.assert_allclose(response.psi_dot, s["psi_dot"], atol=2e-6)
    # steer came 50 times a second, 4 ms beside the gyro, the speed 20 times: lines between, noise and all
    np.testing.assert_allclose(response.delta[inside], s["delta"][inside], atol=0.03)
    np.testing.assert_allclose(response.v[inside], s["v"][inside], atol=5e-3)
    assert 0.4 < response.t[np.argmax(response.free)] - response.t[0] < 0.6


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_reads_as_it_was_written(logs, kind):
    path, toml = logs(kind)
    assert not is_run(path)
    assert find_recordings([path]) == [path]
    right(read_recording(path, toml))


@pytest.mark.parametrize(("kind", "inside"), [("bag", "*.mcap"), ("sqlite", "*.db3"), ("bag", "metadata.yaml")])
def test_a_file_of_a_bag_reads_as_the_bag(logs, kind, inside):
    path, toml = logs(kind)
    right(foreign.read_foreign(next(path.glob(inside)), toml))


def test_a_folder_of_logs_holds_them_and_bags(logs):
    bag, one = logs("bag")[0], logs("json.mcap")[0]
    found = find_recordings([bag.parent])
    assert bag in found
    assert one in found


def test_the_weave_is_that_of_the_machine(logs):
    path, toml = logs("bag")
    result = analyze(path, mapping=toml)
    assert len(result.comparisons) == 3
    for one in result.comparisons:
        assert one.fit.eigenvalue == pytest.approx(weave(), abs=0.2)


def test_log_times_serve_where_messages_have_no_stamp(logs, tmp_path):
    path, _ = logs("json.mcap")
    (tmp_path / "log.toml").write_text(topic_logs.MAPPING.replace("header.stamp", "/imu/data log_time"))
    right(foreign.read_foreign(path, tmp_path / "log.toml"))


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        ("header.stamp", "stamp.header", "wanted a column 'stamp.header' in json.mcap, found "),
        ("header.stamp", "/imu/data angular_velocity.y", "wanted angular_velocity.y on every topic .* on /"),
        ("/imu/data angular_velocity.x", "/imu/dato angular_velocity.x", "/imu/data ..."),
        ("/joint_states position[steer]", "/joint_states position[bell]", r"/joint_states position\[wheel\]"),
        ("/odom point.x", "header.frame_id", "wanted one column 'header.frame_id' .*; give the whole name"),
    ],
)
def test_names_that_are_not_there_are_refused_with_those_that_are(logs, tmp_path, ours, theirs, told):
    path, _ = logs("json.mcap")
    (tmp_path / "log.toml").write_text(topic_logs.MAPPING.replace(ours, theirs))
    with pytest.raises(InputError, match=told):
        foreign.read_foreign(path, tmp_path / "log.toml")


@pytest.mark.parametrize(
    ("kind", "module", "extra"),
    [
        ("bag", "rosbags", "ros"),
        ("one.bag", "rosbags", "ros"),
        ("flight.ulg", "pyulog", "ulog"),
        ("test.mf4", "asammdf", "mf4"),
    ],
)
def test_without_its_library_the_way_to_it_is_told(tmp_path, monkeypatch, kind, module, extra):
    if extra == "mf4":
        path = tmp_path / kind
        path.write_bytes(b"MDF     4.10    " + bytes(4000))
    else:
        path = KINDS[kind][0](tmp_path / kind, MESSAGES[:50])
    monkeypatch.setitem(sys.modules, module, None)
    for one in [path, *([*path.glob("*.mcap")] if path.is_dir() else [])]:
        with pytest.raises(InputError, match=rf"needs the library {module}.*pip install 'riderless\[{extra}\]'"):
            read_table(one)


def test_another_programs_file_is_no_run(logs, tmp_path):
    path, _ = logs("json.mcap")
    with pytest.raises(InputError, match="another program's file: say with --mapping which field is what"):
        read_run(path)
    with pytest.raises(InputError, match="say with --mapping which column is what"):
        read_recording(path)
    cut = tmp_path / "run.mcap"
    cut.write_bytes(path.read_bytes()[:20])
    assert is_run(cut)


@pytest.mark.parametrize("compression", CompressionType)
@pytest.mark.parametrize("left", [0.25, 0.5])
def test_a_cut_file_is_read_up_to_there(logs, tmp_path, left, compression):
    whole = topic_logs.write_json(tmp_path / "whole.mcap", MESSAGES, compression=compression).read_bytes()
    (tmp_path / "log.mcap").write_bytes(whole[: int(left * len(whole))])
    (tmp_path / "log.toml").write_text(topic_logs.MAPPING)
    response = foreign.read_foreign(tmp_path / "log.mcap", tmp_path / "log.toml")
    assert 200 < len(response.t) <= 1800
    assert any("log.mcap is damaged (it ends early): read up to there" in it for it in response.remarks)


def test_messages_in_another_encoding_are_named(tmp_path):
    path = topic_logs.write_json(tmp_path / "log.mcap", MESSAGES[:100], encoding="flatbuffer")
    with pytest.raises(InputError, match=r"found 'flatbuffer' on /.*make a CSV file of it"):
        read_table(path)


def test_damaged_messages_are_counted(tmp_path):
    path = tmp_path / "log.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        channel = writer.register_channel("/a", "json", 0)
        for number in range(10):
            data = b"{" if number == 3 else b'{"x": 1, "big": %d, "deep": %s}' % (10**400, b"[" * 20 + b"]" * 20)
            writer.add_message(channel, number, b'{"x": null}' if number == 5 else data, number)
        writer.finish()
    table = read_table(path)
    assert table.remarks == ("1 messages on /a are damaged and left out",)
    np.testing.assert_equal(table.numbers("/a x"), [1, 1, 1, 1, np.nan, 1, 1, 1, 1])
    assert np.isnan(table.numbers("/a big")).all()


@pytest.mark.parametrize(
    "name", ["lab_msgs/msg/X:\n    pass\nimport os\nos.abort()\nclass Y", "lab_msgs/msg/X'", "../msg/X", "", "X"]
)
def test_the_name_of_a_type_is_a_name(tmp_path, name):
    with pytest.raises(InputError, match="wanted messages of a type such as sensor_msgs/msg/Imu"):
        rosbag.decoder(tmp_path, name, "bool armed\n", "ros2msg")


@pytest.mark.parametrize(
    ("definition", "kind"),
    [
        ("bool armed\nMSG: x\n" + "=" * 80 + "\nMSG: a/X\nimport os\n", "ros2msg"),
        ('string X="""\'\nimport os\nos.abort()"', "ros2msg"),
        ('string X="\' + __import__("os").abort() + \'"\n', "ros2msg"),
        ('module a { module msg { struct X { long long __import__("os"); }; }; };', "ros2idl"),
    ],
)
def test_a_definition_runs_nothing(tmp_path, definition, kind):
    # whether it is refused is the library's affair: what it says would end this process
    with suppress(InputError, TypesysError, ValueError, KeyError):
        rosbag.decoder(tmp_path, "lab_msgs/msg/X", definition, kind)(b"\0\1\0\0\1")
