"""Order, units and signs of the coordinates.

Axes: x forward, y right, z down (Meijaard et al. 2007). Positive lean ``phi`` and positive steer
``delta`` are to the right; ``psi`` is the heading, positive to the right. Everything is SI.

State ``x`` of the linear bicycle, in this order:

======================  ==============  =======
name                    symbol          unit
======================  ==============  =======
lean (roll) angle       ``phi``         rad
steer angle             ``delta``       rad
lean rate               ``phi_dot``     rad/s
steer rate              ``delta_dot``   rad/s
======================  ==============  =======

Inputs ``u``: ``T_phi`` (lean torque) and ``T_delta`` (steer torque), N m.

Coordinates ``q`` (8,) of the nonlinear bicycle, in the order of Moore (2012), ch. 3, with the symbols of Meijaard et
al. (2007), figure 2:

===============  =======================================================================  ====
index            meaning                                                                  unit
===============  =======================================================================  ====
``Q_X, Q_Y``     place of the rear contact on the ground                                  m
``Q_PSI``        yaw: heading of the rear wheel, positive to the right                    rad
``Q_PHI``        roll: lean of the rear frame, positive to the right                      rad
``Q_THETA``      pitch of the rear frame; the steer axis tilt when upright and straight   rad
``Q_THETA_R``    turn of the rear wheel in its frame; it falls as the bicycle advances    rad
``Q_DELTA``      steer, positive to the right                                             rad
``Q_THETA_F``    turn of the front wheel in its frame                                     rad
===============  =======================================================================  ====

Speeds ``u`` (8,) are their rates, in the same order. Those of ``Q_PHI``, ``Q_THETA_R`` and ``Q_DELTA`` are
independent; the others follow from wheels that roll without slip, and the pitch from the front wheel staying on the
ground. The state ``x`` (11,) of the nonlinear bicycle is ``q`` and the three independent speeds, at ``U_PHI``,
``U_THETA_R`` and ``U_DELTA``.

Torques ``T`` (3,) [N m] of the nonlinear bicycle: ``ROLL_TORQUE`` rolls the rear frame about its heading (the ground
pushes), ``REAR_TORQUE`` turns the rear wheel against its frame (negative drives forward), ``STEER_TORQUE`` turns the
front frame against the rear one.

A skate (wheel of zero radius) turns nothing; its coordinate counts the path, a radian a metre.
"""

PHI, DELTA, PHI_DOT, DELTA_DOT = 0, 1, 2, 3
STATES = ("phi", "delta", "phi_dot", "delta_dot")
ANGLE_STATES, RATE_STATES = slice(PHI, DELTA + 1), slice(PHI_DOT, DELTA_DOT + 1)

T_PHI, T_DELTA = 0, 1
INPUTS = ("T_phi", "T_delta")

Q_X, Q_Y, Q_PSI, Q_PHI, Q_THETA, Q_THETA_R, Q_DELTA, Q_THETA_F = range(8)
Q_NAMES = ("x", "y", "psi", "phi", "theta", "theta_R", "delta", "theta_F")
U_PHI, U_THETA_R, U_DELTA = 8, 9, 10
ROLL_TORQUE, REAR_TORQUE, STEER_TORQUE = range(3)
