"""Logs as Chalmers' steer-rate bicycles write them, of a linear bicycle whose truth is known, with the vices of theirs.

An integration of its own: the lean equation of Meijaard et al. (2007), eq. (5.3), exactly over one sample, with a steer
motor that follows its rate command with a lag, gusts between samples, and a controller fed by noisy sensors.
"""

from functools import cache

import numpy as np
from scipy.linalg import expm
from scipy.optimize import minimize

from riderless.models import catalogue
from riderless.models.linear.whipple import canonical_matrices

DT = 0.01  # s
MOTOR_LAG = 0.05  # s
NOISE = {"gyro": 0.005, "roll": 0.0005, "encoder": 0.001, "wheel": 0.02}  # rad/s, rad, rad, m/s
STEP_S, ENCODER_STEP = 4.0, 2 * np.pi / 5000  # s between lean references; rad of one count
COLUMNS = (
    "Lat GPS (deg)", "Long GPS (deg)", "Accelerometer Y (rad/s^2)", "Gyroscope X (rad/s)", "Gyroscope Z (rad/s)",
    "Steering Angle encoder(rad)", "Speed VESC (rad/s)", "Time (ms)", "flag", "State Estimate X (m)",
    "State Estimate Y (m)", "State Estimate Psi (rad)", "State Estimate Roll (rad)", "State Estimate Rollrate (rad/s)",
    "State Estimate Delta (rad)", "State Estimate Velocity (m/s)", "Steerrate input (rad/s)", "Rollref", "Error1",
    "Error2", "steering flag", "GPS velocity (m/s)",
)  # fmt: skip


def lean_system(bicycle, v):
    """Matrix of (phi, phi', delta, delta') under the lean equation, and inputs: rate command, unit lean moment."""
    M, C1, K0, K2 = canonical_matrices(bicycle)
    A, B = np.zeros((4, 4)), np.zeros((4, 2))
    A[0, 1] = A[2, 3] = 1.0
    A[3, 3], B[3, 0] = -1 / MOTOR_LAG, 1 / MOTOR_LAG
    A[1] = -np.array([bicycle.g * K0[0, 0], 0.0, bicycle.g * K0[0, 1] + v**2 * K2[0, 1], v * C1[0, 1]]) / M[0, 0]
    A[1] -= M[0, 1] / M[0, 0] * A[3]
    B[1] = -M[0, 1] / M[0, 0] * B[3, 0], 1 / M[0, 0]
    return A, B


@cache
def gains(name, v):
    """Kp and Kd of rate = Kp (roll - roll_ref) + Kd roll_rate, to the right: small ones that calm it in 0.5 s."""
    A, B = lean_system(catalogue.load_bicycle(name), v)

    def cost(k):
        slowest = np.linalg.eigvals(A + np.outer(B[:, 0], [k[0], k[1], 0.0, 0.0])).real.max()
        return 100.0 * max(0.0, slowest + 2.0) + k[0] ** 2 / 100.0 + k[1] ** 2 / 10.0

    starts = [(p, d) for p in (1.0, 4.0, 16.0) for d in (0.3, 1.0, 4.0)]
    return min((minimize(cost, k, method="Nelder-Mead") for k in starts), key=lambda found: found.fun).x


def ride(name="Benchmark", v=4.0, seconds=60.0, seed=0, gust=2.0, speed_scale=1.0, noise=1.0, steer_scale=1.0):
    """Signals at 100 Hz in SI and our signs, as the sensors read them.

    ``v`` is a number or (t, v) knots of the true speed [m/s]; the wheel shows it divided by ``speed_scale``. ``gust``
    is the intensity of a white lean moment [N m s^0.5].
    """
    bicycle, rng = catalogue.load_bicycle(name), np.random.default_rng(seed)
    n = round(seconds / DT)
    t = np.arange(n) * DT
    true_v = np.full(n, v) if np.ndim(v) == 0 else np.interp(t, *v)
    x, ref, maps, rows = np.zeros(4), 0.0, {}, np.empty((n, 7))
    for i, speed in enumerate(np.round(true_v, 2)):
        if speed not in maps:
            A, B = lean_system(bicycle, speed)
            whole = np.zeros((6, 6))
            whole[:4, :4], whole[:4, 4:] = A, B
            maps[speed] = expm(whole * DT), gains(name, round(speed * 2) / 2)
        F, (kp, kd) = maps[speed]
        if i % round(STEP_S / DT) == 0:
            ref = 0.05 * rng.standard_normal()
        gyro, roll, encoder, yaw = noise * rng.standard_normal(4)
        gyro, roll = x[1] + NOISE["gyro"] * gyro, x[0] + NOISE["roll"] * roll
        command = kp * (roll - ref) + kd * gyro
        true_yaw = (speed * x[2] + bicycle.c * x[3]) * np.cos(bicycle.lam) / bicycle.w
        seen = steer_scale * x[2] + noise * NOISE["encoder"] * encoder
        rows[i] = gyro, roll, seen, true_yaw + NOISE["gyro"] * yaw, command, ref, speed
        x = F[:4, :4] @ x + F[:4, 4] * command + F[:4, 5] * gust / np.sqrt(DT) * rng.standard_normal()
        assert abs(x[0]) < 0.7, f"{name} fell at {i * DT:.1f} s"
    wheel = rows[:, 6] / speed_scale + noise * NOISE["wheel"] * rng.standard_normal(n)
    names = ("phi_dot", "phi", "delta", "psi_dot", "command", "ref")
    return {"t": t, "v": wheel, "v_true": rows[:, 6], **dict(zip(names, rows.T, strict=False))}


def columns(s, wheel_radius, seed=0):
    """Their columns: z up, so steer and yaw to the left; wheel rate; biases, counts and a GNSS of 5 Hz."""
    rng = np.random.default_rng(1000 + seed)
    n = len(s["t"])
    place = np.cumsum(s["v_true"]) * DT
    fixes = np.arange(n) // 20 * 20
    east, gnss = place[fixes], s["v_true"][fixes] + 0.05 * rng.standard_normal(n // 20 + 1)[np.arange(n) // 20]
    counts = np.round((-s["delta"] + 0.012) / ENCODER_STEP) * ENCODER_STEP
    zero = np.zeros(n)
    return dict(
        zip(
            COLUMNS,
            (
                57.7 + 0 * east, 12.0 + east / 59_500.0, -(s["v"] * s["psi_dot"] - 9.81 * s["phi"]) + 0.1,
                s["phi_dot"] + 0.01, -s["psi_dot"] + 0.004, counts, s["v"] / wheel_radius, 1000.0 * s["t"], zero + 1,
                place, zero, zero, s["phi"], s["phi_dot"], -s["delta"], s["v"], -s["command"], s["ref"], zero, zero,
                zero + 1, gnss,
            ),
            strict=True,
        )
    )  # fmt: skip


def early(table, seed=0, rate=40.0, gaps=6):
    """As an early session: fewer rows, at uneven times, with gaps of 80 to 120 ms."""
    rng = np.random.default_rng(2000 + seed)
    n, step = len(table["Time (ms)"]), round(1 / rate / DT)
    keep = np.arange(0, n, max(step, 1))
    lost = np.zeros(len(keep), bool)
    for at in rng.integers(len(keep) // 20, len(keep), gaps):
        lost[at : at + max(1, round(rng.uniform(0.08, 0.12) * rate) - 1)] = True
    return {name: values[keep[~lost]] for name, values in table.items()}


def write_log(path, table):
    """Write one of their files."""
    rows = zip(*table.values(), strict=True)
    lines = [",".join(f"{value:.7g}" for value in row) for row in rows]
    path.write_text("\n".join([",".join(table), *lines]) + "\n", encoding="utf-8")
    return path
