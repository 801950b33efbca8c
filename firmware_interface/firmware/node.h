/* The node of docs/node-protocol.md, version 4, for any microcontroller: bytes in, commands and bytes out.
 *
 * C99 without a library: no allocation, no recursion, no clock, no globals that change. Everything the node
 * remembers stands in a `struct node`, which the board keeps; a node is about 300 bytes. At each sampling instant:
 *
 *     node_receive(&node, bytes, n);                      what has come off the line since the last
 *     value = node_latch(&node, now_us, stop_button, faults);
 *     board_drive(node.kind, value, node.enabled);        yours: the torque, rate or angle from now on
 *     board_heartbeat(node.heartbeat);                    yours: a pin that no timer and no DMA drives
 *     n = node_hello(&node, frame);                       to be sent if n > 0
 *     n = node_sample(&node, &readings, frame);           to be sent
 *
 * Call all of them from one context (one interrupt, or one loop): nothing here is locked.
 * The rules are numbered as in the document. Commands are in mN m, mrad/s or 100 urad, by their kind, in the drive's own
 * sense; an angle is 0 where the encoder counts 0. Times are in us.
 */
#ifndef NODE_H
#define NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NODE_MAX_PAYLOAD 250u /* bytes; COBS then costs exactly one byte, in front */
#define NODE_OVERHEAD 4u      /* bytes: COBS, CRC, delimiter */
#define NODE_SAMPLE_FRAME (40u + NODE_OVERHEAD)
#define NODE_HELLO_FRAME (70u + NODE_OVERHEAD)
#define NODE_COMMAND_SIZE 17u
#define NODE_REQUEST_SIZE 73u /* bytes of payload, the longest the node has to understand */
#define NODE_SERIAL_SIZE 12u

enum {
    NODE_STATUS_ENABLED = 1,
    NODE_STATUS_WATCHDOG = 2,
    NODE_STATUS_STOP_BUTTON = 4,
    NODE_STATUS_SATURATED = 8,
    NODE_STATUS_FOREIGN = 16
};
enum { NODE_FAULT_DRIVE = 1, NODE_FAULT_IMU = 2, NODE_FAULT_ENCODER = 4, NODE_FAULT_BUS = 8 };
enum { NODE_GUARD_STEER = 16, NODE_GUARD_LEAN = 32, NODE_GUARD_CHANGE = 64, NODE_GUARD_STILL = 128 };
enum {
    NODE_RESET_UNKNOWN = 0,
    NODE_RESET_POWER_ON = 1,
    NODE_RESET_BROWN_OUT = 2,
    NODE_RESET_WATCHDOG = 3,
    NODE_RESET_PIN = 4,
    NODE_RESET_SOFTWARE = 5
};
enum { NODE_COMMAND_ENABLE = 1, NODE_COMMAND_CLEAR = 2 };
enum { NODE_KIND_TORQUE = 0, NODE_KIND_RATE = 1, NODE_KIND_ANGLE = 2, NODE_KIND_BOUND = 3 };
enum { NODE_OBEYS_TORQUE = 1, NODE_OBEYS_RATE = 2, NODE_OBEYS_ANGLE = 4, NODE_OBEYS_BOUND = 8 };

/* What the node says of itself; constant, may stand in flash. */
struct node_identity {
    uint8_t firmware[16];       /* name, ASCII, padded with zeros */
    uint16_t rate_hz;           /* samples per second, at least 1 */
    uint16_t torque_limit_mNm;  /* at most 32767; never more is applied */
    uint16_t watchdog_ms;       /* at least two sampling periods */
    float gyro_lsb, accel_lsb;  /* rad/s and m/s^2 per count; only copied, never calculated with */
    uint32_t steer_counts_per_turn;
    uint8_t obeys;                /* NODE_OBEYS_*: kinds of command a session may be opened for */
    uint16_t rate_limit_mrad_s;   /* at most 32767 */
    uint16_t angle_limit_100urad; /* at most 32767, from the encoder's zero */
    /* bounds of the guard's limits, rule 11; 0 where the board has no encoder, or no inertial sensor and wheel */
    uint32_t steer_limit_counts; /* from straight ahead */
    uint16_t lean_limit_mrad;
    uint16_t torque_step_mNm; /* change of torque per instant */
};

/* What the board has found out at its start. */
struct node_start {
    uint8_t reset_cause; /* NODE_RESET_* */
    bool flash_good;
    uint8_t serial[NODE_SERIAL_SIZE]; /* of the processor */
};

/* What the instruments read at a sampling instant. INT16_MIN and INT16_MAX (INT32_MIN for the 32-bit ones) say
 * "saturated or missing". */
struct node_readings {
    int16_t gyro_counts[3], accel_counts[3]; /* x, y, z of the sensor */
    int32_t steer_counts;                    /* not wrapped; INT32_MIN for an encoder that is unplugged */
    int32_t wheel_mrad_s;
    int16_t torque_mNm; /* what the drive reports */
    uint16_t bus_mV;    /* its supply */
};

/* Limits of the guard, and scales by which it knows the lean, as HELLO_REQUEST brings them. */
struct node_guard {
    int32_t steer_zero_counts;
    uint32_t steer_limit_counts;
    uint16_t lean_limit_mrad, torque_step_mNm;
    int32_t roll[4], yaw[4], side[4]; /* of x, y, z, and their sum at rest: 2^-38 rad, 2^-32 rad/s, 2^-28 m/s^2 */
    int32_t speed_scale;              /* 2^-32 m/s per mrad/s */
};

/* To be read by the board if it cares; written by the functions below only. */
struct node {
    const struct node_identity *identity;
    const struct node_start *start;
    /* the session; 0 for none */
    uint32_t session;
    uint32_t nonce; /* of the request that opened it */
    uint32_t salt;  /* our own share in the next session's number: noise of the instruments */
    /* the newest command, and how old it is */
    uint32_t age_us; /* at the latest instant, from that of the sample it answers; stays at its end, does not wrap */
    uint32_t command_sample; /* number of that sample */
    int32_t command_value;
    uint16_t command_expiry_ms, command_seq;
    uint8_t command_flags;
    uint8_t kind; /* of the session: NODE_KIND_* that its commands must have */
    bool heard;   /* a command of this session has come in */
    bool pending; /* the newest waits for an instant */
    bool hello_pending;
    uint16_t hello_seq;
    uint32_t hello_session; /* to be told: 0 if none was asked for, or it was not granted */
    uint8_t stranger;       /* a foreign command has come since the latest instant: see node.c */
    /* state, as decided at the latest instant */
    uint32_t seq; /* of the next sample */
    uint32_t now_us;
    int32_t value;
    uint16_t obeyed_seq;
    uint8_t status, faults;
    bool enabled, off_seen, tripped, foreign;
    bool heartbeat; /* level of the heartbeat's pin from this instant to the next, rule 12 */
    uint32_t commands, trips, refused; /* obeyed so far; times the watchdog has struck; foreign commands */
    /* guard: limits in force, and what it knows */
    struct node_guard guard;
    int32_t lean, lean_drift; /* 2^-30 rad; 2^-38 rad in an instant, against that of the gyro */
    int32_t lean_samples;
    int32_t last_steer;
    uint32_t still, cut; /* instants under torque without a count; whose torque was cut, less those where not */
    uint8_t struck;      /* faults for which it disabled the drive in this session */
    int32_t wish;        /* mN m, of the controller on board, for the next instant */
    /* the frame that is coming in */
    uint16_t filled, crc; /* bytes since the delimiter; CRC of all but the latest two */
    uint8_t distance;     /* bytes to the next zero */
    uint8_t latest[2];    /* may be the CRC */
    uint8_t payload[NODE_REQUEST_SIZE]; /* its beginning */
    uint32_t frames_ok, rejected;
};

/* As after power-up: disabled, torque zero, the clock at 0. `identity` and `start` must outlive the node. */
void node_init(struct node *node, const struct node_identity *identity, const struct node_start *start);

/* Take `n` bytes off the line, in their order; a frame may be split anywhere. */
void node_receive(struct node *node, const uint8_t *bytes, size_t n);

/* Decide what holds from the sampling instant `now_us` to the next, and return the torque, rate or angle for the drive,
 * by `node->kind`; it is zero unless `node->enabled`, which the drive is to be told too: off is not an angle of zero.
 *
 * now_us       device clock; wraps after 2^32, and two instants lie less than that apart
 * stop_button  pressed at present
 * faults       NODE_FAULT_* at present
 */
int32_t node_latch(struct node *node, uint32_t now_us, bool stop_button, uint8_t faults);

/* Write HELLO if it was asked for; returns its bytes, NODE_HELLO_FRAME, or 0 if it was not. */
size_t node_hello(struct node *node, uint8_t out[NODE_HELLO_FRAME]);

/* Write SAMPLE of the latest instant; returns its bytes, NODE_SAMPLE_FRAME. The guard looks at the readings, and
 * disables at the next instant. */
size_t node_sample(struct node *node, const struct node_readings *readings, uint8_t out[NODE_SAMPLE_FRAME]);

/* CRC-16/CCITT-FALSE of `n` bytes, for the board's check of its flash. */
uint16_t node_crc(const uint8_t *bytes, size_t n);

/* Turn the payload standing in out[1] to out[n] into a frame, in place; returns its n + NODE_OVERHEAD bytes.
 * n from 1 to NODE_MAX_PAYLOAD. */
size_t node_close_frame(uint8_t *out, size_t n);

#ifdef CONTROLLER
/* Controller on board, rule 13: riderless_node.c, which `riderless export --to c` writes. It serves one node. */
enum { NODE_STAGE_OFF = 0, NODE_STAGE_HELD = 1, NODE_STAGE_STEERED = 2 }; /* bits 2 and 3 of a command's flags */

/* Forget everything. */
void controller_restart(void);

/* Torque [mN m] that it wishes for, from the readings of an instant; faults as SAMPLE tells them. */
int32_t controller_wish(const struct node_identity *identity, const struct node_readings *readings, uint32_t now_us,
                        uint8_t faults, uint8_t stage);

/* Tell it the torque that holds until the next instant. */
void controller_sent(int32_t torque_mNm);
#endif

#ifdef __cplusplus
}
#endif

#endif
