/* What it is and how to compile it: riderless_controller.h. */
#include "riderless_controller.h"

#include <math.h>

#ifdef __FAST_MATH__
#error "-ffast-math changes the bits, and hides numbers that are none"
#endif

typedef riderless_real real;

#define R(number) ((real)(number)) /* in the precision chosen */
#ifdef RIDERLESS_SINGLE
#define EXP expf
#else
#define EXP exp
#endif

$observer

/* Bring the estimate to the instant of a sample: kinematics only, no mass enters. */
static void observe(riderless_controller *c, const riderless_sample *s, int held)
{
    if (!c->started) { /* upright, held, biases in the gyros */
        c->gyro_bias = s->phi_dot_meas;
        c->yaw_bias = s->psi_dot_meas;
        c->delta = s->delta_meas;
        c->v = s->v_meas;
        c->t = s->t;
        c->started = 1;
        return;
    }
    real h = (real)(s->t - c->t);
    if (!(0 < h && h < R(0.2))) /* a clock that jumped says nothing about elapsed time */
        h = PERIOD;
    c->t = s->t;
    const real pace = held ? HELD_FACTOR : 1;
    c->v += (1 - EXP(-SPEED_BANDWIDTH * h)) * (s->v_meas - c->v);

    /* steer: a critically damped filter; the reading is compared with the angle at which it was read */
    const real z = EXP(-STEER_BANDWIDTH * h);
    const real error = s->delta_meas - (c->delta + (h - s->steer_age) * c->delta_dot);
    c->delta += h * c->delta_dot + (1 - z * z) * error;
    c->delta_dot += (1 - z) * (1 - z) / h * error;

    /* yaw: what the gyro shows beyond rolling without slip is bias */
    const real phi_dot = s->phi_dot_meas - c->gyro_bias;
    const real psi_dot = s->psi_dot_meas - c->yaw_bias;
    const real rolling = (c->v * c->delta + TRAIL * c->delta_dot) * COS_TILT / WHEELBASE;
    c->yaw_bias += pace * YAW_BANDWIDTH * h * (psi_dot - rolling);

    /* lean: the integral of its rate, drawn to what the accelerometer shows once the turn is taken off */
    const real phi_ddot = (phi_dot - c->phi_dot) / h;
    const real psi_ddot = (psi_dot - c->psi_dot) / h;
    const real shown = (c->v * psi_dot + X_IMU * psi_ddot - Z_IMU * phi_ddot - s->a_y_meas) / GRAVITY;
    c->phi += R(0.5) * h * (phi_dot + c->phi_dot);
    const real lean_error = shown - c->phi;
    const real bandwidth = pace * LEAN_BANDWIDTH;
    c->phi += 2 * bandwidth * h * lean_error;
    c->gyro_bias -= bandwidth * bandwidth * h * lean_error;
    c->phi_dot = s->phi_dot_meas - c->gyro_bias; /* by the new bias: its change is no acceleration */
    c->psi_dot = s->psi_dot_meas - c->yaw_bias;
}

enum { SPEEDS = $n, INPUTS = $p, STATES = RIDERLESS_STATES };

/* The law over speed [m/s], in SI units. Its inputs: $names. */
$tables

/* Rows of the tables on both sides of a speed, and the share of the faster; beyond the ends those at the ends. */
static real rows_around(real v, int *slower, int *faster)
{
    int j = 0;
    while (j < SPEEDS - 1 && speeds[j] < v)
        j++;
    const int i = j > 0 ? j - 1 : j;
    *slower = i;
    *faster = j;
    return j > i && v < speeds[j] ? (v - speeds[i]) / (speeds[j] - speeds[i]) : 1;
}

$step

/* Estimate at this sample, and the law's wish [$unit]. */
real riderless_wish(riderless_controller *c, const riderless_sample *s, enum riderless_mode mode)
{
    if (s->valid)
        observe(c, s, mode != RIDERLESS_STEERED);
    if (mode == RIDERLESS_OFF)
        for (int k = 0; k < RIDERLESS_STATES; k++)
            c->x[k] = 0;
    take_step(c, s, mode == RIDERLESS_STEERED);
    c->wish = c->law_wish;
    for (int k = 0; k < RIDERLESS_STATES; k++)
        if (!isfinite(c->x[k]))
            c->wish = (real)NAN;
    return c->wish;
}

/* Tell it the command that was sent, or the one before where none was; the drive follows it until the next sample. */
void riderless_sent(riderless_controller *c, real command, enum riderless_mode mode)
{
$sent
    c->u_prev = command;
}
