"""Export of a run as a ROS 2 bag.

The bag is a folder with an MCAP file, whose messages bring their definitions.
"""

from pathlib import Path

import numpy as np

from riderless.hil.logs.export import Told, nobody_told, rows_told
from riderless.hil.logs.log import Run
from riderless.hil.logs.records import nanoseconds
from riderless.hil.loop.states import State
from riderless.models.errors import InputError

IMU_TOPIC, STEER_TOPIC, SPEED_TOPIC = "/imu/data", "/joint_states", "/twist"
STATE_TOPIC, MARKERS_TOPIC = "/state", "/markers"
BASE_FRAME = "base_link"
ABOUT = {  # texts in the bag's metadata
    "axes": "x forward, y to the left, z up (REP 103); a run's log has y to the right and z down",
    IMU_TOPIC: "gyro and specific force as measured; orientation is the estimated lean, positive to the right, with "
    "pitch and yaw taken as 0",
    STEER_TOPIC: "steer about the axis that points up: angle as measured, rate as estimated, torque of the {}; "
    "positive to the left",
    SPEED_TOPIC: "forward speed, by the wheel",
    STATE_TOPIC: "state of the supervisor",
    MARKERS_TOPIC: "what happened, as kind: text",
    "time": "of the sample, by the device's clock, brought to the host's monotonic clock",
}


def export_rosbag2(run: Run, path: Path, progress: Told = nobody_told) -> None:
    """Write the samples that were used, as `sensor_msgs/Imu`, `sensor_msgs/JointState` and so on, to a new folder.

    Raises
    ------
    InputError
        rosbags is not installed.
    OSError
        The folder cannot be written.
    """
    try:
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise InputError(
            "exporting to rosbag2 needs the library rosbags, which is not installed; install it: "
            "python -m pip install 'riderless[ros]'"
        ) from None
    store = get_typestore(Stores.ROS2_HUMBLE)
    time, header, imu, joint, twist, text, vector, quaternion = (
        store.types[name]
        for name in (
            "builtin_interfaces/msg/Time",
            "std_msgs/msg/Header",
            "sensor_msgs/msg/Imu",
            "sensor_msgs/msg/JointState",
            "geometry_msgs/msg/TwistStamped",
            "std_msgs/msg/String",
            "geometry_msgs/msg/Vector3",
            "geometry_msgs/msg/Quaternion",
        )
    )
    twist_alone = store.types["geometry_msgs/msg/Twist"]
    obeys_torque = run.header.drive_kind == "torque"
    unknown, still = np.zeros(9), vector(0.0, 0.0, 0.0)
    lean_only = np.diag([0.0, 1e6, 1e6]).reshape(9)  # covariances: of the lean it is not known, the others are guesses
    with Writer(path, version=8, storage_plugin=StoragePlugin.MCAP) as bag:  # a version that Humble reads too
        for about, words in ABOUT.items():
            bag.set_custom_data(about, words.format("command" if obeys_torque else "drive's report"))
        bag.set_custom_data("made_by", run.header.made_by)
        kinds = {IMU_TOPIC: imu, STEER_TOPIC: joint, SPEED_TOPIC: twist, STATE_TOPIC: text, MARKERS_TOPIC: text}
        topics = {topic: bag.add_connection(topic, kind.__msgtype__, typestore=store) for topic, kind in kinds.items()}

        def write(topic: str, at: int, message: object) -> None:
            bag.write(topics[topic], at, store.serialize_cdr(message, kinds[topic].__msgtype__))

        ahead: float | None = None  # s, host's clock before the device's, as the run began
        for rows in rows_told(run, progress):
            used = rows[rows["valid"] == 1]
            if ahead is None and len(used):
                ahead = float(used["host_offset"][0])
            for row, at in zip(used, nanoseconds(used["t"] + (ahead or 0.0)).tolist(), strict=True):
                stamped = header(time(at // 10**9, at % 10**9), BASE_FRAME)
                half, torque = row["phi_est"] / 2.0, row["T_cmd"] if obeys_torque else row["T_meas"]
                turn = vector(row["phi_dot_meas"], -row["theta_dot_meas"], -row["psi_dot_meas"])
                force = vector(row["a_x_meas"], -row["a_y_meas"], -row["a_z_meas"])
                lean = quaternion(np.sin(half), 0.0, 0.0, np.cos(half))
                write(IMU_TOPIC, at, imu(stamped, lean, lean_only, turn, unknown, force, unknown))
                steer = (np.array([-value]) for value in (row["delta_meas"], row["delta_dot_est"], torque))
                write(STEER_TOPIC, at, joint(stamped, ["steer"], *steer))
                write(SPEED_TOPIC, at, twist(stamped, twist_alone(vector(row["v_meas"], 0.0, 0.0), still)))
                write(STATE_TOPIC, at, text(_state_name(int(row["state"]))))
        for marker in run.markers:
            write(MARKERS_TOPIC, int(nanoseconds(marker.t)), text(f"{marker.kind}: {marker.text}"))


def _state_name(code: int) -> str:
    return State(code).name if code in set(State) else str(code)
