"""Rides through an exported controller in C, and through the functions of which the tick is made."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_KIND_TORQUE
from riderless.hil.controllers.controller import Controller
from riderless.hil.loop.drives.following import follow_command
from riderless.hil.loop.law import REFERENCES, tell_signals, wished_torque
from riderless.hil.loop.observer import follow_drive, observe
from riderless.hil.loop.states import State, Symptom, Verdict
from riderless.hil.rig.controller_in_c import SOURCE_FILE, controller_in_c
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.assembly import new_loop

OFF, HELD, STEERED = range(3)  # enum riderless_mode
READINGS = ("t", "phi_dot_meas", "psi_dot_meas", "a_y_meas", "delta_meas", "steer_age", "v_meas", "T_meas")
ENTERS = np.dtype(
    [(name, "f8") for name in (*READINGS, "psi", "y_P", *REFERENCES, "valid", "mode", "command", "mode_after")]
)  # struct row
KNOWN = np.dtype(
    [
        (name, "f8")
        for name in (
            *("phi", "delta", "phi_dot", "delta_dot", "psi_dot", "v", "gyro_bias", "yaw_bias", "T", "T_dot", "u_prev"),
            "wish",
        )
    ]
)
STRICT = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Wundef",
    "-Wstrict-prototypes",
    "-Werror",
]


def compiled(folder: Path, controller: Controller, rig: Rig, *flags: str, compiler: str = "gcc") -> ctypes.CDLL:
    """Library of a controller and of `ride`."""
    for name, text in controller_in_c(controller, rig).items():
        (folder / name).write_text(text)
    library = folder / f"{compiler}{''.join(flags)}.so"
    sources = [folder / SOURCE_FILE, Path(__file__).parent / "c" / "ride.c"]
    command = [compiler, *STRICT, "-O2", "-ffp-contract=off", *flags, "-fPIC", "-shared", f"-I{folder}", *sources]
    run = subprocess.run([*map(str, command), "-o", str(library), "-lm"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return ctypes.CDLL(str(library))


def ridden(library: ctypes.CDLL, rows: np.ndarray) -> np.ndarray:
    """What the controller knows after each row, of KNOWN."""
    known = np.zeros(len(rows), KNOWN)
    library.ride(
        rows.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(rows)), known.ctypes.data_as(ctypes.c_void_p)
    )
    return known


def entered(ticks: np.ndarray) -> np.ndarray:
    """What entered observer and law in the ticks of a log."""
    rows = np.zeros(len(ticks), ENTERS)
    for name in READINGS:
        rows[name] = ticks[name]
    known = ticks["symptoms"] & int(Symptom.PLACE_LOST) == 0  # until the first fixes the law is told the middle
    for name, place in {"psi": "psi_est", "y_P": "y_est"}.items():  # of a straight lane; no number where none is sensed
        rows[name] = np.where(known, np.nan_to_num(ticks[place]), 0.0)
    rows["valid"] = ticks["valid"]
    mode = np.full(max(State) + 1, HELD)
    mode[[State.DISARMED, State.FAULT]], mode[[State.RUNNING, State.RAMPDOWN]] = OFF, STEERED
    rows["mode_after"] = mode[ticks["state"]]
    rows["mode"][1:] = rows["mode_after"][:-1]
    sent = ticks["verdict"] & int(Verdict.WITHHELD) == 0
    last = np.maximum.accumulate(np.where(sent, np.arange(len(ticks)), -1))
    rows["command"] = np.where(last >= 0, ticks["T_cmd"][last], 0.0)
    return rows


def through_the_tick(controller: Controller, rig: Rig, rows: np.ndarray) -> np.ndarray:
    """What the functions of the tick know after each row."""
    loop, known = new_loop(rig, controller, rig.calibrated().as_record()), np.zeros(len(rows), KNOWN)
    _ride(loop, int(loop.limits["kind"]), rows, known)
    return known


@njit(cache=True)
def _ride(loop, kind, rows, known):
    """As `riderless.hil.loop.tick` calls them."""
    e, s, signals, reference = loop.estimate, loop.sample, loop.signals, loop.reference
    wish = 0.0
    for i in range(rows.size):
        r = rows[i]
        s.t, s.phi_dot_meas, s.psi_dot_meas, s.a_y_meas = r.t, r.phi_dot_meas, r.psi_dot_meas, r.a_y_meas
        s.delta_meas, s.steer_age, s.v_meas, s.T_meas = r.delta_meas, r.steer_age, r.v_meas, r.T_meas
        steered = r.mode == 2.0
        if r.valid != 0.0:
            observe(loop.observer, e, s, not steered)
        if r.mode == 0.0:
            loop.law_state[:] = 0.0
        tell_signals(signals, e, s, wish, r.valid != 0.0, steered)
        signals.psi, signals.y_P = r.psi, r.y_P
        reference.psi_dot_ref, reference.phi_ref, reference.delta_ref = r.psi_dot_ref, r.phi_ref, r.delta_ref
        wish = wished_torque(loop.law, loop.settings, loop.law_state, signals, reference, loop.wish)
        if kind == COMMAND_KIND_TORQUE:
            follow_drive(loop.observer, e, r.command)
        else:
            follow_command(loop.observer, e, r.command, kind, r.mode_after == 2.0)
        k = known[i]
        k.phi, k.delta, k.phi_dot, k.delta_dot, k.psi_dot = e.phi, e.delta, e.phi_dot, e.delta_dot, e.psi_dot
        k.v, k.gyro_bias, k.yaw_bias, k.T, k.T_dot, k.u_prev = e.v, e.gyro_bias, e.yaw_bias, e.T, e.T_dot, e.u_prev
        k.wish = wish


def random_rows(n: int, seed: int) -> np.ndarray:
    """Readings of no bicycle: noise, jumps, clocks that jump, samples that are missing, any speed, any mode."""
    rng, rows = np.random.default_rng(seed), np.zeros(n, ENTERS)
    step = rng.choice([0.005, 0.0049, 0.01, 0.0, 0.3, -1.0], n, p=[0.6, 0.3, 0.07, 0.01, 0.01, 0.01])
    rows["t"] = 3600.0 + np.cumsum(step * rng.uniform(0.99, 1.01, n))
    for name, size in {
        "phi_dot_meas": 1.0,
        "psi_dot_meas": 1.0,
        "a_y_meas": 3.0,
        "delta_meas": 0.3,
        "T_meas": 5.0,
    }.items():
        rows[name] = size * rng.normal(size=n)
    for name, size in {
        "psi": 0.2,
        "y_P": 0.5,
        "psi_dot_ref": 0.3,
        "phi_ref": 0.1,
        "delta_ref": 0.1,
        "command": 4.0,
    }.items():
        rows[name] = size * np.repeat(rng.normal(size=n // 50 + 1), 50)[:n]
    rows["steer_age"] = rng.choice([0.0, 0.002, 0.0043], n) * rng.uniform(size=n)
    rows["v_meas"] = np.interp(
        np.arange(n),
        np.arange(0, n + 500, 500),
        rng.uniform(0.0, 10.0, n // 500 + 2)[: len(np.arange(0, n + 500, 500))],
    )
    rows["valid"] = rng.random(n) < 0.9
    rows["mode"] = np.repeat(rng.choice([OFF, HELD, STEERED], n // 200 + 1, p=[0.1, 0.3, 0.6]), 200)[:n]
    rows["mode_after"] = np.append(rows["mode"][1:], OFF)
    return rows
