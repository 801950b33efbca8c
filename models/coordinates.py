"""Order, units and signs of the coordinates, stated once for the whole project.

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
"""

PHI, DELTA, PHI_DOT, DELTA_DOT = 0, 1, 2, 3
STATES = ("phi", "delta", "phi_dot", "delta_dot")

T_PHI, T_DELTA = 0, 1
INPUTS = ("T_phi", "T_delta")
