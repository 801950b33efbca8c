"""Order, units and signs of the coordinates of the nonlinear bicycle.

Coordinates ``q`` (8,) of Moore (2012), ch. 3, axes x forward, y right, z down:

============  ======================================================================  ====
``X``, ``Y``  rear contact on the ground                                              m
``YAW``       heading of the rear wheel, positive to the right                        rad
``ROLL``      lean of the rear frame, positive to the right                           rad
``PITCH``     of the rear frame; the steer axis tilt when upright and straight        rad
``REAR``      turn of the rear wheel in its frame; it falls as the bicycle advances   rad
``STEER``     positive to the right                                                   rad
``FRONT``     turn of the front wheel in its frame                                    rad
============  ======================================================================  ====

Speeds ``u`` (8,) are their rates. Roll, rear wheel and steer rate are independent; the others follow from wheels that
roll without slip, and the pitch from the front wheel staying on the ground. Torques ``T`` (3,) [N m]: ``T[0]`` rolls
the rear frame about its heading (the ground pushes), ``T[1]`` turns the rear wheel against its frame (negative drives
forward), ``T[2]`` turns the front frame against the rear one.

A skate (wheel of zero radius) turns nothing; its coordinate counts the path, a radian a metre.
"""

X, Y, YAW, ROLL, PITCH, REAR, STEER, FRONT = range(8)
