/* A ride through an exported controller, row by row: what enters it, and what it then knows. */
#include "riderless_controller.h"

#include <stddef.h>

enum { KNOWN = 12 };

struct row { /* of `ENTERS` */
    double t, phi_dot_meas, psi_dot_meas, a_y_meas, delta_meas, steer_age, v_meas, T_meas;
    double psi, y_P, psi_dot_ref, phi_ref, delta_ref;
    double valid, mode, command, mode_after;
};

void ride(const struct row *rows, size_t n, double (*known)[KNOWN]);

void ride(const struct row *rows, size_t n, double (*known)[KNOWN])
{
    riderless_controller c = {0};
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        const riderless_sample s = {
            .t = r->t,
            .phi_dot_meas = (riderless_real)r->phi_dot_meas,
            .psi_dot_meas = (riderless_real)r->psi_dot_meas,
            .a_y_meas = (riderless_real)r->a_y_meas,
            .delta_meas = (riderless_real)r->delta_meas,
            .steer_age = (riderless_real)r->steer_age,
            .v_meas = (riderless_real)r->v_meas,
            .T_meas = (riderless_real)r->T_meas,
            .psi = (riderless_real)r->psi,
            .y_P = (riderless_real)r->y_P,
            .psi_dot_ref = (riderless_real)r->psi_dot_ref,
            .phi_ref = (riderless_real)r->phi_ref,
            .delta_ref = (riderless_real)r->delta_ref,
            .valid = (int)r->valid,
        };
        known[i][11] = (double)riderless_wish(&c, &s, (enum riderless_mode)r->mode);
        riderless_sent(&c, (riderless_real)r->command, (enum riderless_mode)r->mode_after);
        const riderless_real values[KNOWN - 1] = {
            c.phi, c.delta, c.phi_dot, c.delta_dot, c.psi_dot, c.v, c.gyro_bias, c.yaw_bias, c.T, c.T_dot, c.u_prev,
        };
        for (int k = 0; k < KNOWN - 1; k++)
            known[i][k] = (double)values[k];
    }
}
