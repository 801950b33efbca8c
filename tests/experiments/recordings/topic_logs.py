"""The log of `foreign_log` as other programs write it: messages on topics that have rates and times of their own."""

import json
import struct

import numpy as np
from mcap.writer import CompressionType, Writer

from tests.experiments.recordings.foreign_log import signals

BEGINS = 1_763_000_000_123_456_789  # ns
IMU, JOINTS, ODOM, FLAGS = "/imu/data", "/joint_states", "/odom", "/flags"


def topics(rate=100.0, length=18.0, joints=50.0, odometer=20.0):
    """Messages (log time [ns], stamp [ns], topic, JSON) of four sensors, in the order in which they were written."""
    every = signals(dt=1.0 / rate, length=length)
    t = every["t"]

    def at(times, name):
        return np.interp(times, t, every[name])

    found = []

    def stamped(times, late, topic, make):
        for time in times:
            stamp = BEGINS + round(1e9 * time)
            header = {"stamp": {"sec": stamp // 10**9, "nanosec": stamp % 10**9}, "frame_id": "bicycle"}
            found.append((stamp + round(1e9 * late), stamp, topic, {"header": header, **make(time)}))

    def imu(time):
        gyro = {"x": at(time, "phi_dot"), "y": 0.0, "z": -at(time, "psi_dot")}  # z is up
        return {
            "orientation": {"x": np.sin(at(time, "phi") / 2), "y": 0.0, "z": 0.0, "w": np.cos(at(time, "phi") / 2)},
            "orientation_covariance": [0.0] * 9,
            "angular_velocity": gyro,
            "angular_velocity_covariance": [0.0] * 9,
            "linear_acceleration": {"x": 0.0, "y": 0.0, "z": 9.81},
            "linear_acceleration_covariance": [0.0] * 9,
        }

    def steer(time):
        torque = -at(time, "T_delta")
        return {
            "name": ["wheel", "steer"],
            "position": [0.0, -at(time, "delta")],
            "velocity": [0.0, -at(time, "delta_dot")],
            "effort": [0.0, torque],
        }

    stamped(t, 0.003, IMU, imu)
    stamped(np.arange(0.004, length, 1.0 / joints), 0.001, JOINTS, steer)
    stamped(np.arange(0.007, length, 1.0 / odometer), 0.009, ODOM, lambda time: {"point": {"x": at(time, "v")}})
    stamped(np.arange(0.0, length, 0.1), 0.0, FLAGS, lambda time: {"armed": bool(at(time, "armed") > 0.5)})
    return sorted(found, key=lambda one: one[0])


MAPPING = """bicycle = "DelftSbW2024"
[law]
steer_into_lean = 2.0
v0 = 6.5
[time]
column = "header.stamp"
unit = "ns"
[phi_dot]
column = "/imu/data angular_velocity.x"
unit = "rad/s"
[psi_dot]
column = "/imu/data angular_velocity.z"
unit = "rad/s"
sign = -1
[delta]
column = "/joint_states position[steer]"
unit = "rad"
sign = -1
[T_delta]
column = "/joint_states effort[steer]"
unit = "N m"
sign = -1
[v]
column = "/odom point.x"
unit = "m/s"
[free]
column = "/flags armed"
"""
FIELDS = {  # of ROS messages: `rosbags` makes them, and this is what they are made of
    IMU: "sensor_msgs/msg/Imu",
    JOINTS: "sensor_msgs/msg/JointState",
    ODOM: "geometry_msgs/msg/PointStamped",
    FLAGS: "lab_msgs/msg/Flag",
}
FLAG = "std_msgs/Header header\nbool armed\nuint8[] picture\n"


def write_json(path, messages=None, encoding="json", compression=CompressionType.ZSTD):
    """MCAP of JSON; ``encoding`` may be another word for it."""
    with path.open("wb") as file:
        writer = Writer(file, chunk_size=20_000, compression=compression)
        writer.start()
        schema = writer.register_schema("anything", "jsonschema", b"{}")
        channels = {topic: writer.register_channel(topic, encoding, schema) for topic in FIELDS}
        for log_time, _, topic, message in messages or topics():
            data = json.dumps(message, default=float).encode()
            writer.add_message(channels[topic], log_time, data, log_time)
        writer.finish()
    return path


def write_protobuf(path, messages=None):
    """MCAP of protobuf, each topic with a schema that imports google's Timestamp."""
    from google.protobuf import timestamp_pb2
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    double, message_type = FieldDescriptorProto.TYPE_DOUBLE, FieldDescriptorProto.TYPE_MESSAGE
    file = FileDescriptorProto(name="lab.proto", package="lab", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    kind = file.message_type.add(name="Reading")
    kind.field.add(name="stamp", number=1, type=message_type, type_name=".google.protobuf.Timestamp", label=1)
    vector = kind.nested_type.add(name="Vector")
    for number, name in enumerate("xyz", start=1):
        vector.field.add(name=name, number=number, type=double, label=1)
    kind.field.add(name="angular_velocity", number=2, type=message_type, type_name=".lab.Reading.Vector", label=1)
    kind.field.add(name="position", number=3, type=double, label=3)
    kind.field.add(name="self", number=4, type=message_type, type_name=".lab.Reading", label=1)
    schema_bytes = FileDescriptorSet(
        file=[FileDescriptorProto.FromString(timestamp_pb2.DESCRIPTOR.serialized_pb), file]
    ).SerializeToString()
    pool = DescriptorPool()
    for one in FileDescriptorSet.FromString(schema_bytes).file:
        pool.Add(one)
    reading = GetMessageClass(pool.FindMessageTypeByName("lab.Reading"))
    with path.open("wb") as out:
        writer = Writer(out, compression=CompressionType.LZ4)
        writer.start()
        schema = writer.register_schema("lab.Reading", "protobuf", schema_bytes)
        channels = {topic: writer.register_channel(topic, "protobuf", schema) for topic in FIELDS}
        for log_time, stamp, topic, message in messages or topics():
            one = reading()
            one.stamp.seconds, one.stamp.nanos = stamp // 10**9, stamp % 10**9
            if topic == IMU:
                one.angular_velocity.x = message["angular_velocity"]["x"]
                one.angular_velocity.z = message["angular_velocity"]["z"]
            else:
                value = {JOINTS: lambda m: m["position"][1], ODOM: lambda m: m["point"]["x"]}.get(topic)
                one.position.extend([float(value(message)) if value else float(message["armed"])])
            writer.add_message(channels[topic], log_time, one.SerializeToString(), log_time)
        writer.finish()
    return path


def write_bag(path, storage="mcap", messages=None):
    """Folder of rosbag2, or a bag of ROS 1 (``storage`` "ros1"), written by rosbags."""
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import StoragePlugin
    from rosbags.rosbag2 import Writer as Writer2
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC if storage == "ros1" else Stores.ROS2_HUMBLE)
    store.register(get_types_from_msg(FLAG, FIELDS[FLAGS]))
    types = store.types
    header_type, time_type = types["std_msgs/msg/Header"], types["builtin_interfaces/msg/Time"]
    old = {"seq": 0} if storage == "ros1" else {}

    def made(topic, m):
        stamp = time_type(sec=m["header"]["stamp"]["sec"], nanosec=m["header"]["stamp"]["nanosec"])
        header = header_type(stamp=stamp, frame_id="bicycle", **old)
        kind = types[FIELDS[topic]]
        if topic == IMU:
            vector, quaternion = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Quaternion"]
            nine = np.zeros(9)
            turn, way = vector(**m["angular_velocity"]), vector(**m["linear_acceleration"])
            return kind(header, quaternion(**m["orientation"]), nine, turn, nine, way, nine)
        if topic == JOINTS:
            arrays = (np.array(m[name], float) for name in ("position", "velocity", "effort"))
            return kind(header, m["name"], *arrays)
        if topic == ODOM:
            return kind(header, types["geometry_msgs/msg/Point"](x=m["point"]["x"], y=0.0, z=0.0))
        return kind(header, m["armed"], np.zeros(3, np.uint8))

    writer = (
        Writer1(path) if storage == "ros1" else Writer2(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
    )
    serialize = store.serialize_ros1 if storage == "ros1" else store.serialize_cdr
    with writer:
        bag = {topic: writer.add_connection(topic, kind, typestore=store) for topic, kind in FIELDS.items()}
        for log_time, _, topic, message in messages or topics():
            writer.write(bag[topic], log_time, serialize(made(topic, message), FIELDS[topic]))
    return path


def write_ulog(path, messages=None):
    """ULog by its specification: flight logs of PX4; times in us since boot."""
    layout = {
        IMU: ("sensor_gyro", "float x;float z;float[2] unused;"),
        JOINTS: ("steer", "float angle;"),
        ODOM: ("wheel", "float speed;"),
        FLAGS: ("armed", "bool armed;"),
    }

    def record(kind, body):
        return struct.pack("<HB", len(body), ord(kind)) + body

    made = [b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 1000), record("B", bytes(40))]
    for name, content in layout.values():
        made.append(record("F", f"{name}:uint64_t timestamp;{content}".encode()))
    for number, (name, _) in enumerate(layout.values()):
        made.append(record("A", struct.pack("<BH", 0, number) + name.encode()))
    made.append(record("A", struct.pack("<BH", 1, 9) + b"sensor_gyro"))
    for _, stamp, topic, m in messages or topics():
        body = struct.pack("<HQ", list(layout).index(topic), 2_000_000 + round((stamp - BEGINS) / 1000))
        if topic == IMU:  # and another gyro, which tells something else
            turn = [m["angular_velocity"]["x"], m["angular_velocity"]["z"], 0.0, 0.0]
            made.append(record("D", struct.pack("<H", 9) + body[2:] + struct.pack("<4f", *turn[::-1])))
            body += struct.pack("<4f", *turn)
        elif topic == FLAGS:
            body += struct.pack("?", m["armed"])
        else:
            body += struct.pack("<f", m["position"][1] if topic == JOINTS else m["point"]["x"])
        made.append(record("D", body))
    path.write_bytes(b"".join(made))
    return path


def write_mf4(path, messages=None):
    """MF4 by asammdf: a group for each sensor; steer in counts with a linear conversion."""
    from asammdf import MDF, Signal

    rows = messages or topics()
    named = {
        IMU: (
            "Kreisel",
            {"gyro_x": lambda m: m["angular_velocity"]["x"], "gyro_z": lambda m: m["angular_velocity"]["z"]},
        ),
        JOINTS: ("Lenkung links", {"steer": lambda m: m["position"][1]}),
        ODOM: ("Rad", {"speed": lambda m: m["point"]["x"]}),
        FLAGS: ("Schalter", {"armed": lambda m: float(m["armed"])}),
    }
    with MDF(version="4.10") as mdf:
        for topic, (group, channels) in named.items():
            own = [(stamp, m) for _, stamp, one, m in rows if one == topic]
            t = np.array([(stamp - BEGINS) * 1e-9 for stamp, _ in own])
            found = []
            for name, value in channels.items():
                values = np.array([value(m) for _, m in own])
                if name == "steer":
                    counts = np.rint(values / 1e-5).astype(np.int32)
                    found.append(Signal(counts, t, name=name, unit="rad", conversion={"a": 1e-5, "b": 0.0}))
                else:
                    found.append(Signal(values, t, name=name))
            mdf.append(found, acq_name=group, common_timebase=True)
        mdf.save(path, overwrite=True)
    return path
