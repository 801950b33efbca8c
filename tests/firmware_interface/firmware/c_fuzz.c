/* The firmware in C against streams of damage: `c_fuzz SEED INSTANTS`, best built with sanitizers.
 *
 * Ends with 1 and a sentence if a promise of node.h is broken; else says what came of it and a digest of every byte and
 * torque, which is the same for every compiler and processor.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"

static uint64_t word;

static uint32_t below(uint32_t n) /* splitmix64 */
{
    uint64_t z = (word += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ (z >> 31)) >> 32) % n;
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

static uint64_t digest = 0xCBF29CE484222325u; /* FNV-1a */

static void note(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        digest = (digest ^ bytes[i]) * 0x100000001B3u;
    }
}

static void promise(bool kept, const char *what)
{
    if (!kept) {
        printf("broken: %s\n", what);
        exit(1);
    }
}

static size_t payload(uint8_t *out, uint32_t type, uint32_t seq)
{
    const uint8_t head[4] = {4, (uint8_t)type, (uint8_t)(seq & 0xFFu), (uint8_t)(seq >> 8 & 0xFFu)};

    memcpy(&out[1], head, sizeof head);
    return sizeof head;
}

static size_t put_u32(uint8_t *out, size_t n, uint32_t value)
{
    for (unsigned shift = 0; shift < 32; shift += 8) {
        out[1 + n++] = (uint8_t)(value >> shift & 0xFFu);
    }
    return n;
}

/* A frame of any kind, mostly a good command; returns its bytes, 254 at most, or up to 600 of noise. */
static size_t draw(const struct node *node, uint8_t out[600], uint16_t *seq)
{
    const uint32_t any_seq = below(65536), any_type = below(6); /* one by one: C does not order arguments */
    size_t n;

    if (one_in(20)) { /* noise, over-long or not */
        n = below(600);
        for (size_t i = 0; i < n; i++) {
            out[i] = (uint8_t)(one_in(100) ? 0 : below(256));
        }
        return n;
    }
    if (one_in(node->foreign || node->struck != 0 || node->session == 0 ? 4 : 200)) { /* mostly when another session is needed */
        n = put_u32(out, payload(out, 4, any_seq), below(8));
        out[1 + n++] = (uint8_t)below(4);
        for (const bool any = one_in(10); n < NODE_REQUEST_SIZE;) { /* for the guard: anything, or its own bounds */
            n = put_u32(out, n, any && one_in(2) ? below(0xFFFFFFFFu) : 0);
        }
    } else if (one_in(40)) { /* right CRC, anything within */
        n = payload(out, any_type, any_seq);
        for (const size_t end = 1 + below(NODE_MAX_PAYLOAD); n < end; n++) {
            out[1 + n] = (uint8_t)below(one_in(2) ? 2 : 256);
        }
    } else {
        *seq = (uint16_t)(*seq + (one_in(10) ? below(3) : 1));
        n = payload(out, 2, *seq);
        for (size_t i = 0; i < 4; i++) {
            out[1 + n++] = (uint8_t)(one_in(4) ? 0 : below(256));
        }
        n = put_u32(out, n, node->seq - 1 - (one_in(20) ? below(6) : 0));
        n = put_u32(out, n, one_in(200) ? below(0xFFFFFFFFu) : node->session);
        out[1 + n++] = (uint8_t)((one_in(8) ? below(16) : NODE_COMMAND_ENABLE) | (one_in(200) ? below(16) : node->kind) << 4);
    }
    n = node_close_frame(out, n);
    if (one_in(10)) {
        uint8_t *const hit = &out[below((uint32_t)n)];

        *hit ^= (uint8_t)(1u << below(8));
    }
    return one_in(20) ? below((uint32_t)n) : n;
}

static void check_frame(const uint8_t *frame, size_t n, size_t wanted)
{
    promise(n == wanted, "a frame has its length");
    promise(memchr(frame, 0, n) == &frame[n - 1], "the delimiter stands at the end only");
    note(frame, n);
}

int main(int count, char **arguments)
{
    static const uint16_t limits[] = {7000, 0, 1, 32767};
    struct node_identity identity = {"fuzz", 200, 7000, 25, 1e-4f, 1e-3f, 20000, 7, 6000, 6000, 0x7FFFFFFFu, 900, 14000};
    static const struct node_start start = {1, true, {0}};
    struct node *const node = malloc(sizeof *node); /* on the heap: its neighbours are watched */
    const unsigned long instants = count > 2 ? strtoul(arguments[2], NULL, 10) : 100000;
    uint32_t now_us = 0, enabled = 0;
    uint16_t seq = 65500;

    word = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    identity.torque_limit_mNm = limits[word % 4];
    promise(node != NULL, "there is memory");
    node_init(node, &identity, &start);
    for (unsigned long k = 0; k < instants; k++) {
        uint8_t drawn[600], sample[NODE_SAMPLE_FRAME], hello[NODE_HELLO_FRAME];
        struct node_readings readings;
        const uint32_t samples = node->seq;
        const bool stop = one_in(100);
        bool asked, alarmed;
        uint8_t struck;
        int32_t before;
        const uint8_t faults = (uint8_t)(one_in(100) ? below(256) : 0);
        int32_t value;
        size_t n;

        for (uint32_t frames = below(3); frames > 0; frames--) {
            const size_t size = draw(node, drawn, &seq), cut = below((uint32_t)size + 1);
            uint8_t *const first = malloc(cut + 1), *const rest = malloc(size - cut + 1);

            promise(first != NULL && rest != NULL, "there is memory");
            memcpy(first + 1, drawn, cut); /* up to the last byte of what is ours */
            memcpy(rest + 1, drawn + cut, size - cut);
            node_receive(node, first + 1, cut);
            node_receive(node, rest + 1, size - cut);
            free(first);
            free(rest);
        }
        now_us += one_in(1000) ? below(0xFFFFFFFFu) : one_in(20) ? 5000 * below(10) : 5000;
        alarmed = node->stranger != 0;
        struck = node->struck;
        before = node->value;
        value = node_latch(node, now_us, stop, faults);
        promise(value == node->value, "the value is remembered");
        promise(abs(value) <= (node->kind == NODE_KIND_TORQUE ? identity.torque_limit_mNm : 6000),
                "a command stays within the limit of its kind");
        promise(value == 0 || node->enabled, "no torque while disabled");
        promise(!node->enabled || (!stop && faults == 0), "disabled by stop button and faults");
        promise(!node->enabled || node->age_us < 25000, "disabled by the watchdog");
        promise(!node->enabled || !node->tripped, "disabled until the watchdog is cleared");
        promise(!node->enabled || !(node->foreign || alarmed), "disabled by a foreign command");
        promise(!node->enabled || node->session != 0, "disabled without a session");
        promise(!node->enabled || struck == 0, "disabled by the guard");
        promise(!node->enabled || node->kind != NODE_KIND_TORQUE || abs(value - before) <= 14000 || value == 0,
                "a torque follows within its step");
        promise(value == 0 || node->kind == NODE_KIND_ANGLE || node->age_us < 1000u * node->command_expiry_ms,
                "no torque and no rate after its expiry");
        enabled += node->enabled;
        note((const uint8_t[]){(uint8_t)(value & 0xFF), (uint8_t)(value >> 8 & 0xFF)}, 2);

        asked = node->hello_pending;
        n = node_hello(node, hello);
        promise(asked == (n > 0), "HELLO when asked");
        if (n > 0) {
            check_frame(hello, n, NODE_HELLO_FRAME);
        }
        promise(node_hello(node, hello) == 0, "HELLO once");
        for (size_t axis = 0; axis < 3; axis++) {
            readings.gyro_counts[axis] = (int16_t)((int32_t)below(65536) - 32768);
            readings.accel_counts[axis] = (int16_t)((int32_t)below(3) - 1);
        }
        readings.steer_counts = one_in(500) ? INT32_MIN : one_in(2) ? -(int32_t)below(0x80000000u) : (int32_t)below(0x80000000u);
        readings.wheel_mrad_s = (int32_t)below(300) - 100;
        readings.torque_mNm = (int16_t)value;
        readings.bus_mV = (uint16_t)below(65536);
        check_frame(sample, node_sample(node, &readings, sample), NODE_SAMPLE_FRAME);
        promise(node->seq == samples + 1, "samples are counted");
    }
    printf("%" PRIu32 " good, %" PRIu32 " rejected, enabled %" PRIu32 ", %" PRIu32 " trips, %" PRIu32
           " refused, digest %016" PRIx64 "\n",
           node->frames_ok, node->rejected, enabled, node->trips, node->refused, digest);
    free(node);
    return 0;
}
