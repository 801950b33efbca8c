"""Campaigns of a lab that never saw riderless: its logs (CSV), what it knows of its bicycle, and its mapping.

Nothing here is shared with the code under test: matrices after Meijaard et al. (2007), appendix A, and the exponential
of a matrix on a grid of 1 ms.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy.linalg import expm, solve_continuous_are

MEASURED = json.loads((Path(__file__).parents[1] / "measured_bicycles.json").read_text(encoding="utf-8"))["bicycles"]
TUNED_ON = ("Benchmark", "Silver", "Browser", "Crescendo")
HELD_OUT = ("Pista", "Fisher", "Yellow", "Rigid")  # nobody looks at these, nor at odd numbers, while anything is tuned
LEVELS = ("plain", "instruments", "sampled law", "friction and wind")  # each has what those before it have
LAWS = ("bare", "lean", "state")
STEP = 1e-3  # s
SPEED_STEP = 0.005  # m/s, half of that between the maps of a coasting bicycle
SPEEDS = np.arange(1.5, 8.1, 0.25)  # m/s
STATES = ("phi", "delta", "phi_dot", "delta_dot")
LEAN, STEER, LEAN_RATE, STEER_RATE, TORQUE, GYRO = range(6)
PUSHES, FIRST_PUSH, PUSH_SPACING = 4, 2.0, 5.0  # a run; s
DRAWS = 2000  # of a law and its speeds, until the bicycle rides under it


@dataclass(frozen=True)
class ForeignCampaign:
    """One lab's campaign: truth and instruments, SI; what is off is zero."""

    number: int
    level: str
    bicycle: str
    law: str
    speeds: tuple[float, ...] = ()
    runs: int = 1  # at each speed
    gains: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)  # N m per lean, steer and their rates
    slope: tuple[float, float] = (0.0, 0.0)  # k and v0 of the lean law, which ``gains`` do not have
    peak: float = 0.1  # rad/s, of the lean rate after a push
    push: float = 0.2  # s
    log_rate: int = 100  # Hz
    gyro_noise: float = 0.005  # rad/s
    steer_noise: float = 0.001  # rad
    steer_logged: bool = True
    marked: bool = False  # a button says when a push begins
    quantised: float = 0.0  # rad/s; the steer a third of it in rad
    bias: float = 0.0  # rad/s; the steer's zero twice as much in rad
    gyro_lag: float = 0.0  # s
    missing: float = 0.0  # share of the rows
    law_rate: int = 0  # Hz; 0: the law is continuous, and delay and lag of the drive are zero
    delay: float = 0.0  # s
    drive_lag: float = 0.0  # s
    friction: float = 0.0  # N m
    gusts: float = 0.0  # of the torque of a push
    planted: dict[str, float] = field(default_factory=dict)  # what is otherwise than the lab believes
    pushes: int = PUSHES  # a run
    coasts: bool = False  # from its speeds, by rolling and air, which no lab has measured
    rolling: float = 0.0  # resistance per load
    rolling_axis: float = 0.0  # of its moments: 0 along the leaned axles, 1 horizontal
    drag_area: float = 0.0  # m^2
    drag_share: float = 1.0  # of that force; the rest brakes the rear hub
    drag_height: float = 1.0  # of its place, in heights of the centre of mass
    bends: bool = False  # rides by the nonlinear equations of motion

    @property
    def held_out(self) -> bool:
        """Is it kept for the end?"""
        return self.number % 2 == 1

    def torque(self, v: float) -> np.ndarray:
        """Row (4,) of the law at a speed."""
        k, v0 = self.slope
        return np.array(self.gains) + np.array([0.0, 0.0, k * max(v0 - v, 0.0), 0.0])


Plant = Callable[[ForeignCampaign, float, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def totals(p: dict[str, float]) -> SimpleNamespace:
    """Whole bicycle and front assembly of 25 parameters, in the symbols of the appendix."""
    w, c, lam, rR, rF = p["w"], p["c"], p["lam"], p["rR"], p["rF"]
    mR, mB, mH, mF = p["mR"], p["mB"], p["mH"], p["mF"]
    xB, zB, xH, zH = p["xB"], p["zB"], p["xH"], p["zH"]
    sin, cos = np.sin(lam), np.cos(lam)
    mT, mA = mR + mB + mH + mF, mH + mF
    xT, zT = (xB * mB + xH * mH + w * mF) / mT, (-rR * mR + zB * mB + zH * mH - rF * mF) / mT
    Txx = p["IRxx"] + p["IBxx"] + p["IHxx"] + p["IFxx"] + mR * rR**2 + mB * zB**2 + mH * zH**2 + mF * rF**2
    Txz = p["IBxz"] + p["IHxz"] - mB * xB * zB - mH * xH * zH + mF * w * rF
    Tzz = p["IRxx"] + p["IBzz"] + p["IHzz"] + p["IFxx"] + mB * xB**2 + mH * xH**2 + mF * w**2
    xA, zA = (xH * mH + w * mF) / mA, (zH * mH - rF * mF) / mA
    Axx = p["IHxx"] + p["IFxx"] + mH * (zH - zA) ** 2 + mF * (rF + zA) ** 2
    Axz = p["IHxz"] - mH * (xH - xA) * (zH - zA) + mF * (w - xA) * (rF + zA)
    Azz = p["IHzz"] + p["IFxx"] + mH * (xH - xA) ** 2 + mF * (w - xA) ** 2
    uA = (xA - w - c) * cos - zA * sin
    All = mA * uA**2 + Axx * sin**2 + 2 * Axz * sin * cos + Azz * cos**2
    Alx, Alz = -mA * uA * zA + Axx * sin + Axz * cos, mA * uA * xA + Axz * sin + Azz * cos
    mu, turn = c / w * cos, cos / w
    SF, ST, SA = p["IFyy"] / rF, p["IRyy"] / rR + p["IFyy"] / rF, mA * uA + mu * mT * xT
    return SimpleNamespace(**locals())


def canonical(p: dict[str, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mass, C1, K0 and K2 (2, 2) of 25 parameters."""
    t = totals(p)
    mass = [
        [t.Txx, t.Alx + t.mu * t.Txz],
        [t.Alx + t.mu * t.Txz, t.All + 2 * t.mu * t.Alz + t.mu**2 * t.Tzz],
    ]
    C1 = [
        [0.0, t.mu * t.ST + t.SF * t.cos + t.Txz * t.turn - t.mu * t.mT * t.zT],
        [-t.mu * t.ST - t.SF * t.cos, t.Alz * t.turn + t.mu * (t.SA + t.Tzz * t.turn)],
    ]
    K0 = [[t.mT * t.zT, -t.SA], [-t.SA, -t.SA * t.sin]]
    K2 = [[0.0, (t.ST - t.mT * t.zT) * t.turn], [0.0, (t.SA + t.SF * t.sin) * t.turn]]
    return tuple(np.array(one) for one in (mass, C1, K0, K2))


def slowing(campaign: ForeignCampaign, p: dict[str, float], v: float) -> tuple[float, np.ndarray]:
    """Rate [m/s^2] at which a coasting bicycle gains speed, below zero, and what that does to its stiffness (2, 2).

    By hand, from the balances of Newton and Euler; sums of the appendix's symbols.
    """
    t, rR, rF = totals(p), p["rR"], p["rF"]
    on_front = t.mT * t.xT * p["g"] / t.w
    rear, front = campaign.rolling * (t.mT * p["g"] - on_front) * rR, campaign.rolling * on_front * rF
    air = 0.6 * campaign.drag_area * v**2
    a = -(rear / rR + front / rF + air) / (t.mT + p["IRyy"] / rR**2 + p["IFyy"] / rF**2)
    by_steer = (
        (t.Alz + t.mu * t.Tzz) * t.turn
        - t.mu * t.SF * t.sin
        - t.mA * t.uA * (t.mu + t.cos)
        + t.mu * t.sin * (t.ST - t.mT * t.zT)
        + p["IFyy"] / rF**2 * (1 + t.c / t.w) * t.c * t.cos**2
    )
    K = a * np.array([[0.0, canonical(p)[1][0, 1]], [0.0, by_steer]])
    K += campaign.drag_share * air * -t.mu * campaign.drag_height * t.zT * np.array([[0.0, 1.0], [0.0, t.sin]])
    h = campaign.rolling_axis
    K += rear * t.mu * np.array([[0.0, 1.0], [h, t.sin]])
    K += front * (1 + t.c / t.w) * t.cos * np.array([[0.0, 1.0], [h, h * t.sin + t.c * t.cos / rF]])
    return a, K


def bicycle_matrix(
    p: dict[str, float], v: float, damping: float = 0.0, more: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """A (4, 4) and B (4, 2) of lean, steer and their rates, for torques on lean and steer; ``more`` stiffness."""
    mass, C1, K0, K2 = canonical(p)
    inverse = np.linalg.inv(mass)
    A, B = np.zeros((4, 4)), np.vstack([np.zeros((2, 2)), inverse])
    A[:2, 2:] = np.eye(2)
    A[2:, :2], A[2:, 2:] = -inverse @ (p["g"] * K0 + v**2 * K2 + more), -inverse @ (v * C1 + np.diag([0.0, damping]))
    return A, B


def true_parameters(campaign: ForeignCampaign) -> dict[str, float]:
    """Parameters of the bicycle that rides, which may not be those that the lab measured."""
    p = dict(MEASURED[campaign.bicycle]["parameters"])
    for name, by in campaign.planted.items():
        if name in p:
            p[name] += by
    for name in ("IHxx", "IHxz", "IHyy", "IHzz"):
        p[name] *= 1.0 + campaign.planted.get("fork_inertia", 0.0)
    return p


def draw_campaign(number: int, level: str, law: str, coasts: bool = False) -> ForeignCampaign:
    """Draw a campaign, the same one whenever its number, level and law are; on a belt, or coasting."""
    rng = np.random.default_rng([number, LEVELS.index(level), LAWS.index(law)])
    depth = LEVELS.index(level)

    def some(low: float, high: float, since: int = 0) -> float:
        on = since == 0 or (depth >= since and rng.random() < 0.5)
        return float(np.exp(rng.uniform(np.log(low), np.log(high)))) * on

    sampled = law != "bare" and depth >= 2
    campaign = ForeignCampaign(
        number=number,
        level=level,
        bicycle="",
        law=law,
        runs=int(rng.integers(1, 3)),
        peak=some(0.05, 0.2),
        push=float(rng.uniform(0.1, 0.4)),
        log_rate=int(rng.choice([50, 100, 200])),
        gyro_noise=some(0.002, 0.01),
        steer_noise=some(0.0005, 0.002),
        steer_logged=bool(rng.random() < 0.8),
        marked=bool(rng.random() < 0.5),
        quantised=some(0.0005, 0.01, 1),
        bias=some(0.001, 0.02, 1),
        gyro_lag=some(0.002, 0.01, 1),
        missing=some(0.002, 0.03, 1),
        law_rate=int(rng.choice([50, 100, 200])) * sampled,
        delay=float(rng.uniform(0.010, 0.023)) * sampled,
        drive_lag=float(rng.uniform(0.002, 0.010)) * sampled,
        friction=some(0.02, 0.2, 3),
        gusts=some(0.01, 0.1, 3),
    )
    slowed = np.random.default_rng([number, depth, LAWS.index(law), 1])
    for _ in range(DRAWS):
        campaign = draw_coasting(campaign, slowed) if coasts else campaign
        bicycle = str(rng.choice(HELD_OUT if number % 2 else TUNED_ON))
        tried = draw_law(replace(campaign, bicycle=bicycle), rng)
        rides = [float(v) for v in rng.permutation(SPEEDS) if rideable(tried, v)][: rng.integers(1, 4)]
        if rides and all(pushed(tried, v)[1] for v in rides):
            return replace(tried, speeds=tuple(sorted(rides)))
    raise ValueError(f"no law for {campaign}")


def draw_coasting(campaign: ForeignCampaign, rng: np.random.Generator) -> ForeignCampaign:
    """Draw what slows it, as if from the priors of a careful lab; it coasts often, for short."""
    return replace(
        campaign,
        coasts=True,
        pushes=1 if campaign.law == "bare" else 2,
        runs=int(rng.integers(3, 7)),
        rolling=abs(float(rng.normal(0.008, 0.004))),
        rolling_axis=float(rng.uniform(0.0, 1.0)),
        drag_area=float(rng.uniform(0.2, 0.6)),
        drag_share=float(1.0 - min(abs(rng.normal(0.0, 0.3)), 1.0)),
        drag_height=float(rng.uniform(0.8, 1.5)),
    )


def draw_law(campaign: ForeignCampaign, rng: np.random.Generator) -> ForeignCampaign:
    """Draw gains, which need not make anything stable."""
    if campaign.law == "lean":
        return replace(campaign, slope=(float(np.exp(rng.uniform(-1.0, 3.5))), float(rng.uniform(5.0, 9.0))))
    if campaign.law == "state":
        A, B = bicycle_matrix(MEASURED[campaign.bicycle]["parameters"], rng.choice(SPEEDS))
        weights = np.diag(np.exp(rng.uniform(-2.0, 4.0, 4)))
        gains = -B[:, 1] @ solve_continuous_are(A, B[:, 1:], weights, np.eye(1))
        return replace(campaign, gains=tuple(float(k) for k in gains))
    return campaign


def run_time(campaign: ForeignCampaign) -> float:
    """Length of a run [s]."""
    return FIRST_PUSH + PUSH_SPACING * campaign.pushes


def speed_history(campaign: ForeignCampaign, v: float, n: int) -> np.ndarray:
    """Speed (n,) at each step, from ``v`` on; of a coasting bicycle by the midpoint rule every 0.1 s."""
    if not campaign.coasts:
        return np.full(n, v)
    p, corners, every = true_parameters(campaign), [v], round(0.1 / STEP)
    still, at_one = (slowing(campaign, p, v)[0] for v in (0.0, 1.0))  # rolling, and what air adds by the speed's square
    while len(corners) * every < n + every:
        middle = corners[-1] + 0.05 * (still + (at_one - still) * corners[-1] ** 2)
        corners.append(corners[-1] + 0.1 * (still + (at_one - still) * middle**2))
    return np.interp(np.arange(n), every * np.arange(len(corners)), corners)


def rideable(campaign: ForeignCampaign, v: float) -> bool:
    """Tell whether it is stable under its law, continuous and prompt, with a weave that can be measured."""
    p = MEASURED[campaign.bicycle]["parameters"]
    last = speed_history(campaign, v, round(run_time(campaign) / STEP))[-1] if campaign.coasts else v
    for at in {v, last}:
        more = slowing(campaign, p, at)[1] if campaign.coasts else 0.0
        A, B = bicycle_matrix(p, at, more=more)
        values = np.linalg.eigvals(A + np.outer(B[:, 1], campaign.torque(at)))
        weave = [one for one in values if one.imag > 2.0]
        swings = len(weave) == 1 and -1.8 < weave[0].real < -0.2 and weave[0].imag < 12.0
        if not (swings and max(values.real) < 0.02 and at >= SPEEDS[0]):
            return False
    return True


def pushed(campaign: ForeignCampaign, v: float) -> tuple[float, bool]:
    """Greatest lean rate after a push of 1 N m, without friction, and whether the motion then dies out."""
    n = round(PUSH_SPACING / STEP)
    alone = replace(campaign, friction=0.0)
    rates = np.abs(ride(alone, v, push_torque(campaign, [0.0], n), np.zeros((n, 5)))[0][:, LEAN_RATE])
    return rates.max(), bool(rates[-n // 4 :].max() < 0.3 * rates.max())


def push_torque(campaign: ForeignCampaign, times: list[float], n: int) -> np.ndarray:
    """Half sines (n,) of lean torque, to either side in turn."""
    since = STEP * np.arange(n)[:, None] - np.array(times)
    shape = np.where((since > 0) & (since < campaign.push), np.sin(np.pi * since / campaign.push), 0.0)
    return shape @ (-1.0) ** np.arange(len(times))


def ride(campaign: ForeignCampaign, v: float, lean: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """States (n, 6) and commanded torque (n,) under a lean torque (n,), by exact steps of 1 ms.

    The law reads the states and ``noise`` (n, 5): of lean, steer, gyro and steer rate; the last is torque on the steer.
    """
    planted, n = campaign.planted, len(lean)
    late = campaign.delay + planted.get("more_delay", 0.0)
    continuous = campaign.law_rate == 0 and late == 0.0
    speeds, at = speed_history(campaign, v, n), np.inf
    every = round(1.0 / (campaign.law_rate * STEP)) if campaign.law_rate else 1
    later = max(round(late / STEP - 0.5 * (campaign.law_rate == 0)), 0)  # a step holds the torque half a step
    friction = campaign.friction + planted.get("steer_dry_friction", 0.0)
    states, command, x = np.zeros((n, 6)), np.zeros(n + later + every), np.zeros(6)
    laws = np.zeros((n, 4))
    for k in range(n):
        states[k] = x
        if abs(speeds[k] - at) > SPEED_STEP:
            at = speeds[k] - SPEED_STEP * campaign.coasts
            (Ad, Bd), law = step_maps(campaign, at, continuous), campaign.torque(at)
        laws[k] = law
        if not continuous and k % every == 0:
            read = np.array([x[LEAN], x[STEER], x[GYRO], x[STEER_RATE]]) + noise[k, :4]
            command[k + later : k + later + every] = law @ read
        x = Ad @ x + Bd @ (lean[k], noise[k, 4], command[k])
        if friction:  # as much as brings the steer to rest, at most
            x = x + Bd[:, 1] * np.clip(-x[STEER_RATE] / Bd[STEER_RATE, 1], -friction, friction)
    if continuous:
        return states, np.einsum("ni,ni->n", states[:, [LEAN, STEER, LEAN_RATE, STEER_RATE]], laws)
    return states, command[:n]


def step_maps(campaign: ForeignCampaign, v: float, continuous: bool) -> tuple[np.ndarray, np.ndarray]:
    """Maps of a step at a speed: of the states (6, 6), and of torques on lean and steer and the command (6, 3)."""
    planted, p = campaign.planted, true_parameters(campaign)
    true_v = v * (1.0 + planted.get("speed_scale", 0.0))
    more = slowing(campaign, p, true_v)[1] if campaign.coasts else 0.0
    A4, B4 = bicycle_matrix(p, true_v, planted.get("steer_damping", 0.0), more)
    gain, law = 1.0 + planted.get("drive_gain", 0.0), campaign.torque(v)
    whole = np.zeros((9, 9))
    whole[:4, :4] = A4 + continuous * gain * np.outer(B4[:, 1], law)
    whole[:4, TORQUE], whole[TORQUE, TORQUE] = B4[:, 1], -1.0 / max(campaign.drive_lag, 1e-5)
    whole[GYRO, [LEAN_RATE, GYRO]] = np.array([1.0, -1.0]) / max(campaign.gyro_lag, 1e-5)
    whole[:4, 6:8], whole[TORQUE, 8] = B4, gain / max(campaign.drive_lag, 1e-5)
    step = expm(STEP * whole)
    return step[:6, :6], step[:6, 6:]


def linear_plant(
    campaign: ForeignCampaign, v: float, lean: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """States (n, 6), as `ride` has them, and speed (n,)."""
    return ride(campaign, v, lean, noise)[0], speed_history(campaign, v, len(lean))


def record(
    campaign: ForeignCampaign, v: float, rng: np.random.Generator, plant: Plant = linear_plant
) -> dict[str, np.ndarray]:
    """Ride once, and write down what the instruments say, in deg, deg/s and m/s."""
    times = [FIRST_PUSH + PUSH_SPACING * i + rng.uniform(0.0, 0.5) for i in range(campaign.pushes)]
    n = round(run_time(campaign) / STEP)
    size = campaign.peak / pushed(campaign, v)[0]
    keep, wind = np.exp(-STEP / 0.5), np.zeros(n)
    for k, kick in enumerate(rng.normal(size=n - 1) * np.sqrt(1.0 - keep**2)):
        wind[k + 1] = keep * wind[k] + kick
    lean_wind = campaign.gusts * size * wind
    noise = rng.normal(size=(n, 5)) * [0.001, campaign.steer_noise, campaign.gyro_noise, 0.01, 0.0]
    noise[:, 4] = 0.03 * lean_wind
    states, speed = plant(campaign, v, size * push_torque(campaign, times, n) + lean_wind, noise)
    rows = np.arange(0, n, round(1.0 / (campaign.log_rate * STEP)))
    gyro = (1.0 + campaign.planted.get("gyro_scale", 0.0)) * states[rows, GYRO] + campaign.bias
    gyro += campaign.gyro_noise * rng.normal(size=len(rows))
    steer = states[rows, STEER] - 2.0 * campaign.bias + campaign.steer_noise * rng.normal(size=len(rows))
    if campaign.quantised:
        gyro = campaign.quantised * np.rint(gyro / campaign.quantised)
        steer = campaign.quantised / 3.0 * np.rint(steer / (campaign.quantised / 3.0))
    since = STEP * rows[:, None] - np.array(times)
    columns = {
        "time_s": STEP * rows,
        "gyro_x": np.degrees(gyro),
        "speed": speed[rows] + 0.01 * rng.normal(size=len(rows)),
        "steer": np.degrees(steer),
        "button": np.any((since >= 0.0) & (since < 0.1), axis=1).astype(float),
    }
    there = (rng.random(len(rows)) >= campaign.missing) & np.isfinite(steer)  # until it falls
    return {name: values[there] for name, values in columns.items()}


def mapping_text(campaign: ForeignCampaign) -> str:
    """What the lab says of its columns and its law."""
    k, v0 = campaign.slope
    stated = {"steer_into_lean": k, "v0": v0} if campaign.law == "lean" else {}
    stated |= {name: gain for name, gain in zip(STATES, campaign.gains, strict=True) if gain}
    # a lab measures from the motion to its torque: the gyro's lag is part of that, where the law reads the gyro
    stated |= {"delay_s": campaign.delay + campaign.gyro_lag * (campaign.law_rate > 0), "rate_hz": campaign.law_rate}
    stated |= {"drive_lag_s": campaign.drive_lag}
    keys = ", ".join(f"{name} = {value!r}" for name, value in stated.items())
    law = "" if campaign.law == "bare" else f"law = {{ {keys} }}\nstd = {{ more_delay = 0.002 }}\n"
    law += f"drive = {{ friction_Nm = {campaign.friction!r} }}\n" if campaign.friction else ""
    steer = 'delta = { column = "steer", unit = "deg" }\n' if campaign.steer_logged else ""
    kicks = 'kicks = { column = "button" }\n' if campaign.marked else ""
    return (
        f'label = "campaign {campaign.number}"\nbicycle = "bicycle.toml"\n{law}{kicks}{steer}'
        'time = { column = "time_s", unit = "s" }\nphi_dot = { column = "gyro_x", unit = "deg/s" }\n'
        'v = { column = "speed", unit = "m/s" }\n'
    )


def write_campaign(campaign: ForeignCampaign, folder: Path, plant: Plant = linear_plant) -> list[Path]:
    """Write bicycle, mapping and logs into a folder; gives the logs."""
    folder.mkdir(parents=True, exist_ok=True)
    rng, logs = np.random.default_rng([campaign.number, 1]), []
    p = MEASURED[campaign.bicycle]["parameters"]
    lines = [f'name = "{campaign.bicycle}"', "[parameters]", *(f"{name} = {value!r}" for name, value in p.items())]
    (folder / "bicycle.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "mapping.toml").write_text(mapping_text(campaign), encoding="utf-8")
    for v in campaign.speeds:
        for run in range(campaign.runs):
            columns = record(campaign, v, rng, plant)
            logs.append(folder / f"run_{v:.2f}_{run + 1}.csv")
            table = np.column_stack(list(columns.values()))
            np.savetxt(logs[-1], table, "%.6g", ",", header=",".join(columns), comments="")
    return logs
