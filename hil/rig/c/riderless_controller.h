/* Controller of the bicycle $bicycle in C99: observer and law, written by riderless $version.

   rig      $rig
   law      $method, made for $slowest to $fastest m/s; beyond these speeds it is that at their ends
   command  $unit; $drive
   rate     $rate Hz, delay $delay
   gains    sha256 $sha256
   proof    $proof

   Do not change this file: change gains or rig, and write it again.

   In double precision it gives the bits of riderless's own loop, where exp() of <math.h> is the same:
       cc -std=c99 -O2 -ffp-contract=off
   Single precision, for a processor without doubles: -DRIDERLESS_SINGLE. Never -ffast-math.

   At each sampling instant:
       wish = riderless_wish(&c, &sample, mode);
       command = ...;                      the wish within your limits in RIDERLESS_STEERED, else at rest
       riderless_sent(&c, command, mode);  every instant: the estimate rests on it
   Limits, watchdog and proof of life are not in here: those of the node stay in force. riderless_node.c calls it there.

   SI units. x points forward, y to the right, z down; lean, steer, yaw and torque are positive to the right. */
#ifndef RIDERLESS_CONTROLLER_H
#define RIDERLESS_CONTROLLER_H

#define RIDERLESS_NAME "$name" /* in a node's HELLO; it follows from all that is computed */
#define RIDERLESS_RATE $rate /* Hz, at which it is to be called */
#define RIDERLESS_STATES $states

#ifdef RIDERLESS_SINGLE
typedef float riderless_real;
#else
typedef double riderless_real;
#endif

enum riderless_mode {
    RIDERLESS_OFF, /* disarmed, or a fault: the law forgets */
    RIDERLESS_HELD, /* a person holds the bicycle: biases are learnt quickly */
    RIDERLESS_STEERED /* the command is obeyed, or ramps down */
};

/* What the sensors say, calibrated; and what the law is told, zero where it does not use it. */
typedef struct {
    double t; /* s, of the device's clock; a float would know it to 0.2 ms after an hour */
    riderless_real phi_dot_meas, psi_dot_meas; /* rad/s, gyro about x and z */
    riderless_real a_y_meas; /* m/s^2, specific force along y */
    riderless_real delta_meas; /* rad, steer angle */
    riderless_real steer_age; /* s, how much older it is than the inertial readings */
    riderless_real v_meas; /* m/s, forward speed */
    riderless_real T_meas; /* N m, torque that the drive reports */
    riderless_real psi, y_P; /* rad, m: heading and place off the lane */
    riderless_real psi_dot_ref, phi_ref, delta_ref; /* rad/s, rad, rad: references; zero unless steered */
    int valid; /* 1: a sample came since the last instant, and every number of it may be used */
} riderless_sample;

/* All that it remembers; zero at the start. */
typedef struct {
    double t; /* s, of the last sample used */
    riderless_real phi, delta; /* rad */
    riderless_real phi_dot, delta_dot, psi_dot; /* rad/s */
    riderless_real v; /* m/s */
    riderless_real gyro_bias, yaw_bias; /* rad/s, of the gyros about x and z */
    riderless_real T, T_dot; /* $unit, what the drive makes now; its rate, where it has one */
    riderless_real u_prev; /* $unit, the last command */
    riderless_real law_wish, wish; /* $unit, of the law, and as returned: not a number where x is none */
    riderless_real x[RIDERLESS_STATES]; /* of the law; unused under gains */
    int started;
} riderless_controller;

riderless_real riderless_wish(riderless_controller *c, const riderless_sample *s, enum riderless_mode mode);
void riderless_sent(riderless_controller *c, riderless_real command, enum riderless_mode mode);

#endif
