/* See node.h, and docs/node-protocol.md for the frames and the numbered rules. */
#include "node.h"

#define VERSION 4u
#define SAMPLE 1u
#define COMMAND 2u
#define HELLO 3u
#define HELLO_REQUEST 4u

#define HEADER_SIZE 4u
#define SAMPLE_SIZE (NODE_SAMPLE_FRAME - NODE_OVERHEAD)
#define HELLO_SIZE (NODE_HELLO_FRAME - NODE_OVERHEAD)
#define CRC_SIZE 2u
#define CRC_START 0xFFFFu

/* Foreign commands: of no consequence, or to be told. */
enum { STRANGE = 1, ALARMING = 2 };

typedef char float_has_four_bytes[sizeof(float) == 4 ? 1 : -1];

/* ---- CRC-16/CCITT-FALSE, four bits at a time */

static uint16_t crc_nibble(uint16_t crc, uint8_t nibble)
{
    static const uint16_t table[16] = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50A5, 0x60C6, 0x70E7,
        0x8108, 0x9129, 0xA14A, 0xB16B, 0xC18C, 0xD1AD, 0xE1CE, 0xF1EF,
    };
    return (uint16_t)((uint16_t)(crc << 4) ^ table[((crc >> 12) ^ nibble) & 0x0Fu]);
}

static uint16_t crc_byte(uint16_t crc, uint8_t byte)
{
    return crc_nibble(crc_nibble(crc, (uint8_t)(byte >> 4)), (uint8_t)(byte & 0x0Fu));
}

uint16_t node_crc(const uint8_t *bytes, size_t n)
{
    uint16_t crc = CRC_START;

    for (size_t i = 0; i < n; i++) {
        crc = crc_byte(crc, bytes[i]);
    }
    return crc;
}

/* ---- numbers, low byte first whatever the processor does */

static uint8_t *put_u8(uint8_t *out, uint8_t value)
{
    *out = value;
    return out + 1;
}

static uint8_t *put_u16(uint8_t *out, uint16_t value)
{
    return put_u8(put_u8(out, (uint8_t)(value & 0xFFu)), (uint8_t)(value >> 8));
}

static uint8_t *put_u32(uint8_t *out, uint32_t value)
{
    return put_u16(put_u16(out, (uint16_t)(value & 0xFFFFu)), (uint16_t)(value >> 16));
}

static uint8_t *put_f32(uint8_t *out, float value)
{
    const union {
        float value;
        uint32_t bits;
    } as = {value};
    return put_u32(out, as.bits);
}

static uint8_t *put_header(uint8_t *out, uint8_t type, uint16_t seq)
{
    return put_u16(put_u8(put_u8(out, VERSION), type), seq);
}

static uint16_t get_u16(const uint8_t *from)
{
    return (uint16_t)(from[0] | (uint16_t)(from[1] << 8));
}

static uint32_t get_u32(const uint8_t *from)
{
    return get_u16(from) | ((uint32_t)get_u16(from + 2) << 16);
}

static int32_t get_i16(const uint8_t *from)
{
    const int32_t value = get_u16(from);
    return value < 0x8000 ? value : value - 0x10000;
}

static int32_t get_i32(const uint8_t *from)
{
    const uint32_t bits = get_u32(from);
    return bits <= INT32_MAX ? (int32_t)bits : -(int32_t)(UINT32_MAX - bits) - 1;
}

/* ---- frames out */

size_t node_close_frame(uint8_t *out, size_t n)
{
    const size_t end = n + 1 + CRC_SIZE; /* of the delimiter */
    size_t next_zero = end;

    put_u8(put_u16(&out[n + 1], node_crc(&out[1], n)), 0);
    for (size_t i = end - 1; i >= 1; i--) {
        if (out[i] == 0) {
            out[i] = (uint8_t)(next_zero - i);
            next_zero = i;
        }
    }
    out[0] = (uint8_t)next_zero;
    return end + 1;
}

size_t node_hello(struct node *node, uint8_t out[NODE_HELLO_FRAME])
{
    const struct node_identity *const is = node->identity;
    uint8_t *at = &out[1];

    if (!node->hello_pending) {
        return 0;
    }
    node->hello_pending = false;
    at = put_header(at, HELLO, node->hello_seq);
    for (size_t i = 0; i < sizeof is->firmware; i++) {
        at = put_u8(at, is->firmware[i]);
    }
    at = put_u16(at, is->rate_hz);
    at = put_u16(at, is->torque_limit_mNm);
    at = put_u16(at, is->watchdog_ms);
    at = put_f32(at, is->gyro_lsb);
    at = put_f32(at, is->accel_lsb);
    at = put_u32(at, is->steer_counts_per_turn);
    at = put_u32(at, node->hello_session);
    at = put_u8(at, node->hello_session != 0 ? node->kind : (uint8_t)NODE_KIND_TORQUE);
    at = put_u8(at, is->obeys);
    at = put_u16(at, is->rate_limit_mrad_s);
    at = put_u16(at, is->angle_limit_100urad);
    at = put_u8(at, node->start->reset_cause);
    at = put_u8(at, node->start->flash_good);
    for (size_t i = 0; i < sizeof node->start->serial; i++) {
        at = put_u8(at, node->start->serial[i]);
    }
    at = put_u32(at, node->guard.steer_limit_counts);
    at = put_u16(at, node->guard.lean_limit_mrad);
    put_u16(at, node->guard.torque_step_mNm);
    return node_close_frame(out, HELLO_SIZE);
}

/* ---- controller on board, rule 13: the torque is what it wishes, within the bound that the computer commands */

#ifdef CONTROLLER
#define LAST_KIND NODE_KIND_BOUND
#else /* no session is of its kind */
#define LAST_KIND NODE_KIND_ANGLE
#define controller_restart() ((void)0)
#define controller_sent(torque_mNm) ((void)(torque_mNm))
#define controller_wish(identity, readings, now_us, faults, stage) ((void)(readings), (void)(faults), 0)
#endif

static bool has_controller(const struct node *node)
{
    return node->session != 0 && node->kind == NODE_KIND_BOUND;
}

static void restart_controller(struct node *node)
{
    node->wish = 0;
    controller_restart();
}

/* What is asked for at this instant, before the limits of the node. */
static int32_t asked_now(const struct node *node)
{
    const int32_t bound = node->command_value > 0 ? node->command_value : 0;

    if (!has_controller(node)) {
        return node->command_value;
    }
    return node->wish > bound ? bound : node->wish < -bound ? -bound : node->wish;
}

static void tell_controller(const struct node *node)
{
    if (has_controller(node)) {
        controller_sent(node->value);
    }
}

static void ask_controller(struct node *node, const struct node_readings *readings, uint8_t faults)
{
    if (has_controller(node)) {
        node->wish = controller_wish(node->identity, readings, node->now_us, faults, node->command_flags >> 2);
    }
}

static bool makes_torque(const struct node *node)
{
    return node->kind == NODE_KIND_TORQUE || node->kind == NODE_KIND_BOUND;
}

/* ---- guard, rule 11: whole numbers only, bounded in time, every bit that of guard.py */

#define STILL_TORQUE_mNm 1500
#define PATIENCE 10u /* 1/s: of 100 ms without a count, or of torques cut */
#define LEAN_SECONDS 16
#define RADIAN (1 << 30) /* of the lean */
#define MRAD 1073742
#define LEAN_MAX 1686629713 /* pi/2 */
#define G 642689            /* 2^-16 m/s^2 */
#define SINE_OF_FORCE 1671  /* 2^-30 per 2^-16 m/s^2 */

/* Downwards, for either sign; C leaves that of a negative number to the compiler. */
static int64_t shifted(int64_t value, unsigned bits)
{
    return value >= 0 ? value >> bits : ~(~value >> bits);
}

static int32_t clamped(int64_t value, int32_t most)
{
    return value > most ? most : value < -most ? -most : (int32_t)value;
}

static int64_t weighed(const int32_t row[4], const int16_t counts[3])
{
    return (int64_t)row[0] * counts[0] + (int64_t)row[1] * counts[1] + (int64_t)row[2] * counts[2] - row[3];
}

static bool off_scale(const int16_t counts[3])
{
    bool off = false;

    for (size_t axis = 0; axis < 3; axis++) {
        off = off || counts[axis] == INT16_MIN || counts[axis] == INT16_MAX;
    }
    return off;
}

static uint32_t narrower(uint32_t wanted, uint32_t bound)
{
    return 0 < wanted && wanted < bound ? wanted : bound;
}

/* Take the limits of the request into force, and begin to watch anew. */
static void restart_guard(struct node *node)
{
    const struct node_identity *const is = node->identity;
    struct node_guard *const guard = &node->guard;

    guard->steer_limit_counts = narrower(guard->steer_limit_counts, is->steer_limit_counts);
    guard->lean_limit_mrad = (uint16_t)narrower(guard->lean_limit_mrad, is->lean_limit_mrad);
    guard->torque_step_mNm = (uint16_t)narrower(guard->torque_step_mNm, is->torque_step_mNm);
    node->lean = node->lean_drift = node->lean_samples = 0;
    node->still = node->cut = 0;
    node->struck = 0;
}

static const uint8_t *get_row(const uint8_t *from, int32_t row[4])
{
    for (size_t i = 0; i < 4; i++, from += 4) {
        row[i] = get_i32(from);
    }
    return from;
}

static void take_guard(struct node *node)
{
    struct node_guard *const guard = &node->guard;
    const uint8_t *from = &node->payload[9];

    guard->steer_zero_counts = get_i32(from);
    guard->steer_limit_counts = get_u32(from + 4);
    guard->lean_limit_mrad = get_u16(from + 8);
    guard->torque_step_mNm = get_u16(from + 10);
    from = get_row(from + 12, guard->roll);
    from = get_row(from, guard->yaw);
    from = get_row(from, guard->side);
    guard->speed_scale = get_i32(from);
    restart_guard(node);
}

/* Torque [mN m] of this instant: it follows the one wanted by at most the limit of its change. */
static int32_t cut_torque(struct node *node, int32_t wanted)
{
    const int32_t step = node->guard.torque_step_mNm;
    const int32_t cut = wanted > node->value + step   ? node->value + step
                        : wanted < node->value - step ? node->value - step
                                                      : wanted;

    if (cut != wanted) {
        node->cut++;
        if (PATIENCE * node->cut > node->identity->rate_hz) {
            node->struck |= NODE_GUARD_CHANGE;
        }
    } else if (node->cut > 0) {
        node->cut--;
    }
    return cut;
}

/* Lead the lean of the gyro to the one that holds the bicycle up: sin(lean) = (speed * yaw rate - force) / g. */
static void lead_lean(struct node *node, const struct node_readings *readings)
{
    const struct node_guard *const guard = &node->guard;
    const int32_t yaw_rate = clamped(shifted(weighed(guard->yaw, readings->gyro_counts), 12), 1 << 26);
    const int32_t force = clamped(shifted(weighed(guard->side, readings->accel_counts), 12), 1 << 24);
    const int32_t speed = clamped(shifted((int64_t)readings->wheel_mrad_s * guard->speed_scale, 16), 1 << 21);
    const int32_t sine = SINE_OF_FORCE * clamped(shifted((int64_t)speed * yaw_rate, 20) - force, G);
    const int32_t cube = (int32_t)shifted(shifted((int64_t)sine * sine, 30) * sine, 30);
    const int32_t error = clamped((int64_t)sine + cube / 6 - node->lean, RADIAN);
    const int32_t settled = LEAN_SECONDS * (int32_t)node->identity->rate_hz;
    int32_t n, share;

    node->lean_samples += node->lean_samples < settled;
    n = node->enabled ? settled : node->lean_samples;
    share = error / (n + 1); /* of the line through n instants: (4 n - 2) / (n (n + 1)) and 6 / (n (n + 1)) */
    node->lean = clamped((int64_t)node->lean + 4 * (int64_t)share - 2 * share / n, LEAN_MAX);
    if (n > 1) {
        node->lean_drift = clamped(node->lean_drift + 6 * 256 * (int64_t)(share / n), RADIAN);
    }
}

static void estimate_lean(struct node *node, const struct node_readings *readings)
{
    /* a gyro at an end of its scale turns at least as fast as it says */
    const int64_t turned = weighed(node->guard.roll, readings->gyro_counts) + node->lean_drift;

    node->lean = clamped(node->lean + shifted(turned, 8), LEAN_MAX);
    if (!off_scale(readings->gyro_counts) && !off_scale(readings->accel_counts) &&
        readings->wheel_mrad_s != INT32_MIN && readings->wheel_mrad_s != INT32_MAX) {
        lead_lean(node, readings);
    }
}

/* Note what is beyond its limit while the drive is enabled. */
static void watch(struct node *node, const struct node_readings *readings)
{
    const struct node_guard *const guard = &node->guard;
    const bool pushing = node->enabled && makes_torque(node) &&
                         (node->value > STILL_TORQUE_mNm || node->value < -STILL_TORQUE_mNm);
    const int64_t steer = (int64_t)readings->steer_counts - guard->steer_zero_counts;

    estimate_lean(node, readings);
    node->still = pushing && readings->steer_counts == node->last_steer ? node->still + 1 : 0;
    node->last_steer = readings->steer_counts;
    if (!node->enabled) {
        return;
    }
    if (node->identity->steer_limit_counts > 0) {
        if (readings->steer_counts == INT32_MIN) {
            node->struck |= NODE_FAULT_ENCODER;
        } else if (steer > guard->steer_limit_counts || -steer > guard->steer_limit_counts) {
            node->struck |= NODE_GUARD_STEER;
        }
        if (PATIENCE * node->still >= node->identity->rate_hz) {
            node->struck |= NODE_GUARD_STILL;
        }
    }
    if (node->identity->lean_limit_mrad > 0 &&
        (node->lean < 0 ? -node->lean : node->lean) > (int64_t)MRAD * guard->lean_limit_mrad) {
        node->struck |= NODE_GUARD_LEAN;
    }
}

size_t node_sample(struct node *node, const struct node_readings *readings, uint8_t out[NODE_SAMPLE_FRAME])
{
    uint8_t *at = put_header(&out[1], SAMPLE, (uint16_t)(node->seq & 0xFFFFu));
    const uint16_t seq_high = (uint16_t)(node->seq >> 16);

    node->seq++;
    at = put_u32(at, node->now_us);
    for (size_t axis = 0; axis < 3; axis++) {
        at = put_u16(at, (uint16_t)readings->gyro_counts[axis]);
    }
    for (size_t axis = 0; axis < 3; axis++) {
        at = put_u16(at, (uint16_t)readings->accel_counts[axis]);
    }
    at = put_u32(at, (uint32_t)readings->steer_counts);
    at = put_u32(at, (uint32_t)readings->wheel_mrad_s);
    at = put_u16(at, (uint16_t)readings->torque_mNm);
    at = put_u16(at, readings->bus_mV);
    at = put_u8(at, node->status);
    at = put_u8(at, node->faults | node->struck);
    at = put_u16(at, node->obeyed_seq);
    at = put_u8(at, (uint8_t)(node->rejected & 0xFFu));
    at = put_u8(at, (uint8_t)(node->refused & 0xFFu));
    put_u16(at, seq_high);
    ask_controller(node, readings, node->faults | node->struck);
    watch(node, readings);
    for (size_t axis = 0; axis < 3; axis++) { /* their last digits never rest */
        node->salt = node->salt * 1664525u + (uint16_t)readings->gyro_counts[axis];
        node->salt = node->salt * 1664525u + (uint16_t)readings->accel_counts[axis];
    }
    return node_close_frame(out, SAMPLE_SIZE);
}

/* ---- frames in */

/* Rule 4: one that wants the drive, or does not know the session, is told in any case. */
static void refuse(struct node *node, bool alarming)
{
    node->refused++;
    if (alarming) {
        node->stranger = ALARMING;
    } else if (node->stranger == 0) {
        node->stranger = STRANGE;
    }
}

/* Rules 2 to 4: the command is obeyed, or late or repeated and passed over, or foreign. */
static void take_command(struct node *node)
{
    const uint16_t seq = get_u16(&node->payload[2]), expiry_ms = get_u16(&node->payload[6]);
    const int32_t value = get_i16(&node->payload[4]);
    const uint32_t sample = get_u32(&node->payload[8]), session = get_u32(&node->payload[12]);
    const uint8_t flags = node->payload[16] & 0x0Fu, kind = node->payload[16] >> 4;
    const uint32_t behind = node->seq - 1u - sample; /* samples sent since the one it answers */
    const uint32_t rate_hz = node->identity->rate_hz;
    const uint32_t window = (uint32_t)node->identity->watchdog_ms * rate_hz / 1000u;
    const bool ours = node->session != 0 && session == node->session && kind == node->kind;

    if (!ours || behind >= window) {
        refuse(node, !ours || (flags & NODE_COMMAND_ENABLE) != 0);
        return;
    }
    if (node->heard) {
        const uint16_t ahead = (uint16_t)(seq - node->command_seq);
        const bool older_sample = sample - node->command_sample >= 0x80000000u;

        if (ahead == 0 || ahead >= 0x8000u || older_sample) {
            const bool same = ahead == 0 && sample == node->command_sample && value == node->command_value &&
                              expiry_ms == node->command_expiry_ms && flags == node->command_flags;

            if (!older_sample && !same) { /* two speak: numbers and samples do not go together */
                refuse(node, (flags & NODE_COMMAND_ENABLE) != 0);
            }
            return;
        }
    }
    node->command_seq = seq;
    node->command_sample = sample;
    node->command_value = value;
    node->command_expiry_ms = expiry_ms;
    node->command_flags = flags;
    node->heard = true;
    node->pending = true;
    node->age_us = behind * ((1000000u + rate_hz - 1u) / rate_hz); /* rule 5: at the latest instant */
}

/* Rule 3: a nonce opens a session; neither end alone makes its number. */
static void take_request(struct node *node)
{
    const uint32_t nonce = get_u32(&node->payload[4]);
    const uint8_t kind = node->payload[8];

    node->hello_pending = true;
    node->hello_seq = get_u16(&node->payload[2]);
    node->hello_session = 0;
    if (nonce == 0 || kind > LAST_KIND || (node->identity->obeys >> kind & 1u) == 0) {
        return;
    }
    if (nonce != node->nonce || kind != node->kind) {
        if (node->enabled) { /* somebody else wants a drive that is in use */
            refuse(node, true);
            return;
        }
        node->nonce = nonce;
        node->kind = kind;
        node->session = (nonce ^ node->salt) != 0 ? nonce ^ node->salt : 1u;
        node->command_flags = 0;
        node->heard = false;
        node->pending = false;
        node->off_seen = false;
        node->stranger = 0;
        node->foreign = false;
        node->obeyed_seq = 0;
        take_guard(node);
        restart_controller(node);
    }
    node->hello_session = node->session;
}

/* Whether a payload with the right CRC is one of this protocol; what is meant for the computer is none of ours. */
static bool take_payload(struct node *node, size_t size)
{
    if (size < HEADER_SIZE || node->payload[0] != VERSION) {
        return false;
    }
    switch (node->payload[1]) {
    case COMMAND:
        if (size == NODE_COMMAND_SIZE) {
            take_command(node);
        }
        return size == NODE_COMMAND_SIZE;
    case HELLO_REQUEST:
        if (size == NODE_REQUEST_SIZE) {
            take_request(node);
        }
        return size == NODE_REQUEST_SIZE;
    case SAMPLE:
        return size == SAMPLE_SIZE;
    case HELLO:
        return size == HELLO_SIZE;
    default:
        return false;
    }
}

/* Rule 10: the delimiter has come; use the frame, or count it. */
static void take_frame(struct node *node)
{
    const size_t length = (size_t)node->filled - 1; /* payload and CRC */
    uint16_t sent;

    if (length <= CRC_SIZE || length > NODE_MAX_PAYLOAD + CRC_SIZE || node->distance != 1) {
        node->rejected++;
        return;
    }
    sent = (uint16_t)(node->latest[length & 1u] | (uint16_t)(node->latest[(length - 1) & 1u] << 8));
    if (sent != node->crc) {
        node->rejected++;
        return;
    }
    node->frames_ok++;
    if (!take_payload(node, length - CRC_SIZE)) {
        node->rejected++;
    }
}

/* COBS and CRC go along with the bytes, so that each costs the same, the last one of a frame hardly more. */
static void take_byte(struct node *node, uint8_t byte)
{
    if (byte == 0) {
        if (node->filled > 0) { /* delimiters in a row are idling, not frames */
            take_frame(node);
        }
        node->filled = 0;
    } else if (node->filled == 0) {
        node->filled = 1;
        node->distance = byte;
        node->crc = CRC_START;
    } else if (node->filled <= NODE_MAX_PAYLOAD + CRC_SIZE) {
        const size_t i = (size_t)node->filled - 1; /* in payload and CRC */

        node->filled++;
        node->distance--;
        if (node->distance == 0) { /* this one was a zero */
            node->distance = byte;
            byte = 0;
        }
        if (i >= CRC_SIZE) {
            node->crc = crc_byte(node->crc, node->latest[i & 1u]);
        }
        node->latest[i & 1u] = byte;
        if (i < NODE_REQUEST_SIZE) {
            node->payload[i] = byte;
        }
    } else {
        node->filled = NODE_MAX_PAYLOAD + CRC_SIZE + 2; /* over-long: the rest has no place to go */
    }
}

void node_receive(struct node *node, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        take_byte(node, bytes[i]);
    }
}

/* ---- rules */

void node_init(struct node *node, const struct node_identity *identity, const struct node_start *start)
{
    volatile uint8_t *const bytes = (volatile uint8_t *)node; /* volatile: else compilers make a memset of it */

    for (size_t i = 0; i < sizeof *node; i++) {
        bytes[i] = 0;
    }
    node->identity = identity;
    node->start = start;
    restart_guard(node);
    restart_controller(node);
}

/* Rules 7 and 8: what is disabled needs ENABLE off, then on, to come back. */
static void decide_enabled(struct node *node, bool alive, bool fresh, bool stop_button)
{
    if ((node->command_flags & NODE_COMMAND_ENABLE) == 0) { /* also before the first command */
        node->enabled = false;
        if (node->heard) {
            node->off_seen = true;
            if ((node->command_flags & NODE_COMMAND_CLEAR) != 0) {
                node->tripped = false;
            }
        }
    } else if (stop_button || node->faults != 0 || node->struck != 0) {
        node->enabled = false;
        node->off_seen = false;
    } else if (node->enabled && !alive) {
        node->enabled = false;
        node->off_seen = false;
        node->tripped = true;
        node->trips++;
    } else if (alive && node->off_seen && !node->tripped && !node->foreign) {
        if (fresh || node->kind != NODE_KIND_ANGLE) { /* else there is no angle to hold */
            node->enabled = true;
        }
    }
    if (node->stranger != 0) { /* rule 4 */
        node->enabled = false;
        node->off_seen = false;
        node->foreign =
            node->foreign || node->stranger == ALARMING || (node->command_flags & NODE_COMMAND_ENABLE) != 0;
        node->stranger = 0;
    }
}

/* Largest command of the session's kind. */
static int32_t limit_of(const struct node *node)
{
    switch (node->kind) {
    case NODE_KIND_RATE:
        return node->identity->rate_limit_mrad_s;
    case NODE_KIND_ANGLE:
        return node->identity->angle_limit_100urad;
    default:
        return node->identity->torque_limit_mNm;
    }
}

int32_t node_latch(struct node *node, uint32_t now_us, bool stop_button, uint8_t faults)
{
    const int32_t limit = limit_of(node);
    const uint32_t step_us = now_us - node->now_us; /* also over the wrap of the clock */
    bool saturated = false, fresh;

    node->age_us = step_us < UINT32_MAX - node->age_us ? node->age_us + step_us : UINT32_MAX;
    node->now_us = now_us;
    node->faults = faults;
    if (node->pending) {
        node->pending = false;
        node->commands++;
        node->obeyed_seq = node->command_seq;
    }
    fresh = node->age_us < 1000u * (uint32_t)node->command_expiry_ms; /* rule 6 */
    decide_enabled(node, node->heard && node->age_us < 1000u * (uint32_t)node->identity->watchdog_ms, fresh,
                   stop_button);

    if (node->enabled && fresh) {
        const int32_t asked = asked_now(node);
        const int32_t wanted = asked > limit ? limit : asked < -limit ? -limit : asked;

        saturated = asked >= limit || asked <= -limit; /* rule 9 */
        node->value = makes_torque(node) ? cut_torque(node, wanted) : wanted;
    } else if (!node->enabled || node->kind != NODE_KIND_ANGLE) { /* an angle is held */
        node->value = 0;
    }
    node->heartbeat = node->heartbeat != node->enabled; /* rule 12: an edge at each instant while enabled */
    tell_controller(node);
    node->status = (uint8_t)((node->enabled ? NODE_STATUS_ENABLED : 0) | (node->tripped ? NODE_STATUS_WATCHDOG : 0) |
                             (stop_button ? NODE_STATUS_STOP_BUTTON : 0) | (saturated ? NODE_STATUS_SATURATED : 0) |
                             (node->foreign ? NODE_STATUS_FOREIGN : 0));
    return node->value;
}
