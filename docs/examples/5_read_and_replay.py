"""Read a run into arrays, give its raw bytes to the controller again, and compare bit for bit."""

import numpy as np

import riderless as rl

silver = rl.load_bicycle("Silver")
gains = rl.design(silver, "lqr", np.arange(2.0, 8.5, 0.5))
rl.simulate(silver, gains, speed=4.0, kicks=[rl.Kick(0.6, impulse=3.0)], model="linear", duration=6.0).save("my-run")

run = rl.read_run("my-run")
t, lean = run.ticks["t"], run.ticks["phi_est"]  # s, rad; pandas.DataFrame(run.ticks) makes a table of all columns
print(f"{len(t)} rows, largest lean {np.degrees(np.abs(lean).max()):.1f} deg; it ended with {run.stop.reason}")
print("columns:", ", ".join(run.ticks.dtype.names[:8]), "...")

replayed = rl.replay(run)
print("bit-identical" if replayed.identical else f"differs at tick {replayed.first}: {replayed.difference}")
