"""Parameters of the nonlinear equations.

Lengths along the steer axis and across it, and two bodies. Each wheel's mass and inertia belong to its frame, as if it
were locked; its spin is counted apart. Body 1 is the rear frame with the rear wheel, body 2 the front frame with the
front wheel.
"""

from typing import NamedTuple

import numpy as np

from riderless.models.array_types import Array
from riderless.models.moore import moore_constants
from riderless.models.nonlinear.vectors import inlined
from riderless.models.parameters import Bicycle

PlaneTensor = tuple[float, float, float, float]


class Packed(NamedTuple):
    """Parameters of the equations, SI. Body axes of 1: along c1, c2, c3; of 2: e1, e2, e3 = c3."""

    rR: float  # m, radius of the rear wheel
    rF: float
    roll_R: float  # m of path per radian of the rear wheel: its radius, or 1 m per "radian" for a skate
    roll_F: float
    d1: float  # m, from the rear hub along c1 and ...
    d2: float  # ... c3 to the point of the steer axis nearest to the front hub
    d3: float  # m, from there along e1 to the front hub
    a1: float  # m, centre of mass of body 1 from the rear hub, along c1 ...
    a3: float  # ... and c3
    b1: float  # m, centre of mass of body 2 from the point of the steer axis, along e1 ...
    b3: float  # ... and e3
    m1: float  # kg
    m2: float
    P11: float  # kg m^2, inertia of body 1 about its centre of mass
    P13: float
    P22: float
    P33: float
    Q11: float  # kg m^2, inertia of body 2 about its centre of mass
    Q13: float
    Q22: float
    Q33: float
    sR: float  # kg m, spin momentum of the rear wheel per rim speed, IRyy / rR
    sF: float
    iR: float  # kg, IRyy / rR^2
    iF: float
    g: float  # m/s^2


def pack_bicycle(bicycle: Bicycle) -> Array:
    """Numbers of ``bicycle`` for the compiled functions: the fields of `Packed`, in order."""
    b, m = bicycle, moore_constants(bicycle)
    rear = (m["ic11"], m["ic31"], m["ic22"], m["ic33"]), (b.mR, b.IRxx, b.IRyy)
    m1, a1, a3, P = _with_wheel(b.mB, m["l1"], m["l2"], *rear)
    front = (m["ie11"], m["ie31"], m["ie22"], m["ie33"]), (b.mF, b.IFxx, b.IFyy)
    m2, b1, b3, Q = _with_wheel(b.mH, m["l3"], m["l4"], *front)
    roll_R, roll_F = b.rR or 1.0, b.rF or 1.0  # a skate has neither spin nor moment: `Bicycle` sees to it
    packed = Packed(
        rR=b.rR,
        rF=b.rF,
        roll_R=roll_R,
        roll_F=roll_F,
        d1=m["d1"],
        d2=m["d2"],
        d3=m["d3"],
        a1=a1,
        a3=a3,
        b1=m["d3"] + b1,
        b3=b3,
        m1=m1,
        m2=m2,
        P11=P[0],
        P13=P[1],
        P22=P[2],
        P33=P[3],
        Q11=Q[0],
        Q13=Q[1],
        Q22=Q[2],
        Q33=Q[3],
        sR=b.IRyy / roll_R,
        sF=b.IFyy / roll_F,
        iR=b.IRyy / roll_R**2,
        iF=b.IFyy / roll_F**2,
        g=b.g,
    )
    return np.array(packed)


@inlined
def unpack_bicycle(p):
    """`Packed` from the array of `pack_bicycle`."""
    return Packed(
        p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12],
        p[13], p[14], p[15], p[16], p[17], p[18], p[19], p[20], p[21], p[22], p[23], p[24], p[25],
    )  # fmt: skip


def _with_wheel(
    m: float, x: float, z: float, frame: PlaneTensor, wheel: tuple[float, float, float]
) -> tuple[float, float, float, PlaneTensor]:
    """Join a frame and its wheel to one body: mass, centre of mass (along c1 and c3, from the hub), tensor about it.

    Tensors are their elements 11, 13, 22, 33; the wheel is its mass and its moments about a diameter and the axle.
    """
    I11, I13, I22, I33 = frame
    m_wheel, Ixx, Iyy = wheel
    total = m + m_wheel
    share = m / total if total else 1.0  # a frame without mass has its centre anywhere
    apart = share * m_wheel  # the reduced mass, hub and centre of the frame being (x, z) apart
    tensor = (
        I11 + Ixx + apart * z * z,
        I13 - apart * x * z,
        I22 + Iyy + apart * (x * x + z * z),
        I33 + Ixx + apart * x * x,
    )
    return total, share * x, share * z, tensor
