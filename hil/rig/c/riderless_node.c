/* The controller of riderless_controller.h on board of the node: readings in, torque out. Calibrated as its rig;
   a scale that the rig leaves to the node is the node's own. Compile it with node.c, all with -DCONTROLLER. */
#include "node.h"
#include "riderless_controller.h"

typedef riderless_real real;

#define R(number) ((real)(number))

$calibration

static struct {
    riderless_controller controller;
    riderless_sample sample; /* place and references stay zero */
    int64_t now_us; /* clock of the node, which wraps, from its first sample on */
    uint32_t last_us;
    bool started;
    enum riderless_mode mode;
} memory;

/* Along the bicycle's axes, of counts along the sensor's. */
static void turned(const int16_t counts[3], real scale, const real offset[3], real out[3])
{
    out[0] = out[1] = out[2] = 0;
    for (int axis = 0; axis < 3; axis++) {
        const real value = counts[axis] * scale - offset[axis];
        for (int i = 0; i < 3; i++)
            out[i] += mounting[i][axis] * value;
    }
}

static bool within(real value, real most)
{
    return -most <= value && value <= most;
}

static bool off_scale(int16_t counts)
{
    return counts == INT16_MIN || counts == INT16_MAX;
}

/* The clock goes on; false where it steps back. */
static bool clock_runs(uint32_t now_us)
{
    const uint32_t step = now_us - memory.last_us;
    const bool forward = !memory.started || step < 0x80000000u;
    if (forward)
        memory.now_us += step;
    else
        memory.now_us -= (int64_t)(0u - step);
    memory.last_us = now_us;
    memory.started = true;
    return forward;
}

void controller_restart(void)
{
    volatile unsigned char *const bytes = (volatile unsigned char *)&memory; /* volatile: else compilers make a memset */
    for (size_t i = 0; i < sizeof memory; i++)
        bytes[i] = 0;
}

int32_t controller_wish(const struct node_identity *identity, const struct node_readings *readings, uint32_t now_us,
                        uint8_t faults, uint8_t stage)
{
    real rate[3], force[3];
    (void)identity; /* where the rig has all scales */
    const real turn = STEER_COUNTS_PER_TURN * STEER_GEAR_RATIO;
    bool usable = clock_runs(now_us) && (faults & (NODE_FAULT_IMU | NODE_FAULT_ENCODER)) == 0;
    riderless_sample *const s = &memory.sample;

    turned(readings->gyro_counts, GYRO_LSB, gyro_offset, rate);
    turned(readings->accel_counts, ACCEL_LSB, accel_offset, force);
    s->t = 1e-6 * (double)memory.now_us;
    s->phi_dot_meas = rate[0];
    s->psi_dot_meas = rate[2];
    s->a_y_meas = force[1];
    s->delta_meas = STEER_SIGN * 2 * R(3.141592653589793) * (R(readings->steer_counts) / turn) - STEER_OFFSET;
    s->v_meas = WHEEL_SIGN * WHEEL_RADIUS * R(1e-3) * R(readings->wheel_mrad_s);
    s->T_meas = TORQUE_SIGN * R(1e-3) * R(readings->torque_mNm);
    usable = usable && !off_scale(readings->torque_mNm);
    for (int axis = 0; axis < 3; axis++) {
        usable = usable && !off_scale(readings->gyro_counts[axis]) && !off_scale(readings->accel_counts[axis]);
        usable = usable && within(rate[axis], MAX_RATE) && within(force[axis], MAX_ACCELERATION);
    }
    s->valid = usable && within(s->delta_meas, MAX_STEER) && within(s->v_meas, MAX_SPEED);

    memory.mode = stage == NODE_STAGE_STEERED ? RIDERLESS_STEERED
                  : stage == NODE_STAGE_OFF   ? RIDERLESS_OFF
                                              : RIDERLESS_HELD;
    const real wish = TORQUE_SIGN * 1000 * riderless_wish(&memory.controller, s, memory.mode);
    if (!within(wish, INT16_MAX)) /* or no number */
        return wish > 0 ? INT16_MAX : wish < 0 ? -INT16_MAX : 0;
    return (int32_t)(wish + (wish < 0 ? R(-0.5) : R(0.5)));
}

void controller_sent(int32_t torque_mNm)
{
    riderless_sent(&memory.controller, TORQUE_SIGN * (R(1e-3) * R(torque_mNm)), memory.mode);
}
