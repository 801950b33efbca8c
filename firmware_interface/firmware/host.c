/* For the host library only: where the compiler has put every field that twins/c_library.py reads or writes. */
#include "node.h"

extern const size_t host_layout[], host_layout_length;
const size_t host_layout[] = {
    sizeof(struct node_identity),
    sizeof(struct node_readings),
    sizeof(struct node),

    offsetof(struct node_identity, firmware),
    offsetof(struct node_identity, rate_hz),
    offsetof(struct node_identity, torque_limit_mNm),
    offsetof(struct node_identity, watchdog_ms),
    offsetof(struct node_identity, gyro_lsb),
    offsetof(struct node_identity, accel_lsb),
    offsetof(struct node_identity, steer_counts_per_turn),

    offsetof(struct node_readings, gyro_counts),
    offsetof(struct node_readings, accel_counts),
    offsetof(struct node_readings, steer_counts),
    offsetof(struct node_readings, wheel_mrad_s),
    offsetof(struct node_readings, torque_mNm),
    offsetof(struct node_readings, bus_mV),

    offsetof(struct node, identity),
    offsetof(struct node, age_us),
    offsetof(struct node, command_mNm),
    offsetof(struct node, command_expiry_ms),
    offsetof(struct node, command_seq),
    offsetof(struct node, command_flags),
    offsetof(struct node, heard),
    offsetof(struct node, pending),
    offsetof(struct node, hello_pending),
    offsetof(struct node, hello_seq),
    offsetof(struct node, seq),
    offsetof(struct node, now_us),
    offsetof(struct node, torque_mNm),
    offsetof(struct node, obeyed_seq),
    offsetof(struct node, status),
    offsetof(struct node, faults),
    offsetof(struct node, enabled),
    offsetof(struct node, off_seen),
    offsetof(struct node, tripped),
    offsetof(struct node, commands),
    offsetof(struct node, trips),
    offsetof(struct node, filled),
    offsetof(struct node, crc),
    offsetof(struct node, distance),
    offsetof(struct node, latest),
    offsetof(struct node, payload),
    offsetof(struct node, frames_ok),
    offsetof(struct node, rejected),
};
const size_t host_layout_length = sizeof host_layout / sizeof host_layout[0];
