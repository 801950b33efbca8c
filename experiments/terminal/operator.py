"""Operator of a run at the terminal: what the keys mean, and the live line."""

from math import degrees

import numpy as np

from hil.loop.states import State
from hil.rig.rig import Rig
from hil.runners.operator import Operator


def heed(pressed: str, operator: Operator) -> None:
    """Obey keys: Enter arms, k marks a kick, any other stops."""
    for key in pressed:
        if key in "\r\n":
            operator.arm() if operator.waiting else operator.interrupt("stopped by a key")
        elif key == "k":
            operator.mark("kick", "by key")
        else:
            operator.interrupt("stopped by a key")


def mark_echo(pressed: str, t: float) -> str:
    """Say that a kick was marked by the keys just pressed, at t [s] on the clock of the log; empty if none was."""
    return f"kick marked at {t:.1f} s" if "k" in pressed else ""


def live_line(row: np.void, rig: Rig, operator: Operator) -> str:
    """Say state, time left, and each quantity with its limit."""
    state = State(int(row["state"]))
    if operator.waiting:
        doing = "hold it upright, then Enter arms"
    elif state is State.RUNNING:
        doing = f"{operator.left:5.1f} s left"
    else:
        doing = "any key stops"
    limits, angle = rig.limits, degrees
    return (
        f"{state.name:<9} {doing:<14}  v {row['v_est']:5.2f} m/s  "
        f"lean {angle(row['phi_est']):+6.2f} of {angle(limits.lean.value):.0f} deg  "
        f"steer {angle(row['delta_est']):+6.2f} of {angle(limits.steer.value):.0f} deg  "
        f"torque {row['T_cmd']:+5.2f} of {limits.torque.value:g} N m  {row['bus_meas']:.1f} V"
    )
