"""
A network that learns to balance
================================

A small neural network learns on a thousand nonlinear bicycles at once, each drawn from the deviations of measured
ones. Its numbers go into a file, and the real loop flies it, with observer and supervisor. It has seen how often
bicycles fall, not how much delay it must bear: its margins are small.
"""

import matplotlib.pyplot as plt
import numpy as np

import riderless as rl

INPUTS = ("phi", "delta", "phi_dot", "delta_dot")
SCALE = np.array([0.2, 0.2, 1.0, 2.0, 5.0])  # rad, rad, rad/s, rad/s, m/s: usual sizes, of the speed too
NEURONS, DIRECTIONS, BICYCLES, GENERATIONS = 16, 32, 16, 15
SPEEDS = (3.5, 7.0)  # m/s

environment = rl.BicycleVectorEnv(2 * DIRECTIONS * BICYCLES, std=1.0, speeds=SPEEDS, duration=4.0)
policies = 2 * DIRECTIONS
rng = np.random.default_rng(1)


def layers(weights):
    """Layers of networks from weights (..., 113)."""
    first, rest = weights[..., : 5 * NEURONS], weights[..., 5 * NEURONS :]
    W = first.reshape(*weights.shape[:-1], NEURONS, 5) / SCALE
    return W, rest[..., :NEURONS], rest[..., NEURONS : 2 * NEURONS], rest[..., -1]


def torques(weights, observed):
    """Torques [N m] that networks (p, n) want for the bicycles (p, m, 5) of each: odd, as the bicycle is."""
    W, b, last, _ = layers(weights)
    mirrored = observed * np.array([-1.0, -1.0, -1.0, -1.0, 1.0])
    right, left = (np.tanh(np.einsum("phi,pmi->pmh", W, s) + b[:, None]) for s in (observed, mirrored))
    return 0.5 * np.einsum("ph,pmh->pm", last, right - left)


def scores(weights, seed):
    """Mean reward of networks (p, n), each on bicycles of its own until they fall."""
    observed, _ = environment.reset(seed=seed)
    total, riding = np.zeros(environment.num_envs), np.ones(environment.num_envs, bool)
    for _ in range(800):  # periods: 4 s
        T = torques(weights, observed.reshape(policies, BICYCLES, 5)).reshape(-1, 1)
        observed, rewards, fallen, _, _ = environment.step(T / 7.0)
        total += np.where(riding, rewards, 0.0)
        riding &= ~fallen
    return total.reshape(policies, BICYCLES).mean(axis=1) / 800, riding.mean()


weights, step, learnt = 0.3 * rng.normal(size=7 * NEURONS + 1), 0.1, []
for generation in range(GENERATIONS):  # evolution strategy: try both ways of random directions, go on where it paid
    directions = rng.normal(size=(DIRECTIONS, weights.size))
    score, survived = scores(np.concatenate([weights + step * directions, weights - step * directions]), generation)
    rank = np.argsort(np.argsort(score)) / (policies - 1)
    slope = ((rank[:DIRECTIONS] - rank[DIRECTIONS:])[:, None] * directions).mean(axis=0)
    weights = weights + 1.5 * step * slope / np.abs(slope).max()
    learnt.append((score.mean(), survived))
environment.close()

silver = rl.load_bicycle("Silver")
W, b, last, end = layers(weights)
network = rl.NetworkController(
    bicycle=silver,
    loop=rl.LoopTiming(),
    speeds=SPEEDS,
    inputs=INPUTS,
    layers=((W, b), (last[None, :], np.array([end]))),
)
with open("network.toml", "w") as file:
    file.write(network.to_toml())

run = rl.simulate(silver, network, speed=5.0, kicks=[rl.Kick(1.0, impulse=4.0)], duration=6.0)
margins = next(iter(rl.margins(network, speeds=[5.0]))).margins

fig, (course, ride) = plt.subplots(2, layout="constrained")
course.plot(learnt, label=["mean reward", "share that rides on"])
course.set(xlabel="generation")
course.legend()
ride.plot(run.ticks["t_host"], np.degrees(run.ticks["phi_est"]), label="lean [deg]")
ride.plot(run.ticks["t_host"], run.ticks["T_cmd"], label="torque [N m]")
ride.set(xlabel="time [s]", title=f"a push at 5 m/s; the loop bears {1e3 * margins.delay:.0f} ms more delay")
ride.legend()
plt.show()
