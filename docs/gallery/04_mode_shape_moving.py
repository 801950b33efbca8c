"""
A mode shape that moves
=======================

Lean and steer of the weave at 5 m/s, without its decay: the steer follows the lean, and is late.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

import riderless as rl

shape = next(one for one in rl.mode_shapes(rl.load_bicycle("Silver"), 5.0) if one.name == "weave")
turns = np.linspace(0.0, 2.0 * np.pi, 200)

fig, (phasors, waves) = plt.subplots(1, 2, layout="constrained", figsize=(7.5, 3.2))
phasors.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal", title="phasors")
waves.plot(turns, np.real(shape.lean * np.exp(1j * turns)), label="lean")
waves.plot(turns, np.real(shape.steer * np.exp(1j * turns)), label="steer")
waves.set(xlabel="phase [rad]", title=f"{abs(shape.eigenvalue.imag) / (2 * np.pi):.2f} Hz")
waves.legend()
arrows = [phasors.plot([], [], f"C{i}o-", lw=3)[0] for i in range(2)]
now = waves.axvline(0.0, color="0.5")


def draw(phase):
    for line, phasor in zip(arrows, (shape.lean, shape.steer), strict=True):
        turned = phasor * np.exp(1j * phase)
        line.set_data([0.0, turned.real], [0.0, turned.imag])
    now.set_xdata([phase, phase])


fig.draw_without_rendering()
fig.set_layout_engine("none")  # all frames have the layout of the first
FuncAnimation(fig, draw, np.linspace(0, 2 * np.pi, 24, endpoint=False)).save("moving.gif", PillowWriter(fps=12))
plt.close(fig)
