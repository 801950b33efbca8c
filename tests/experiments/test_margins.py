"""Margins of five controllers: as python-control finds them, and where the loop loses its stability when stepped."""

import control
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

import riderless as rl
from riderless.firmware_interface.messages import SAMPLE
from riderless.hil.controllers.compiled import read_law
from riderless.hil.design.control_systems import control_systems
from riderless.hil.loop.law import LOOP_LAW, LOOP_REFERENCE, LOOP_SIGNALS, WISH, tell_signals, wished_torque
from riderless.hil.loop.observer import ESTIMATE, follow_drive, observe
from riderless.hil.rig.fitting import emulated_rig
from riderless.models.errors import InputError
from riderless.models.linear.whipple import state_space
from tests.hil import peterson
from tests.hil.control_laws import cascade, h_infinity
from tests.paths import ROOT

SILVER = rl.load_bicycle("Silver")
TIMING = rl.LoopTiming()
SPEEDS = [4.0, 5.0, 6.0]
LAW_FILE = ROOT / "docs/starter/my_law.py"
LAWS = {
    "observer": lambda: rl.design_compensator(SILVER, "lqg", SPEEDS, TIMING),
    "peterson": peterson.his_law,
    "cascade": lambda: cascade(SILVER, SPEEDS, TIMING),
    "h_infinity": lambda: h_infinity(SILVER, SPEEDS, TIMING),
    "nonlinear": lambda: read_law(LAW_FILE, SILVER, TIMING),
}
TINY = 1e-6  # of a unit state: a law bends less than rounding
ESTIMATED = ("phi", "delta", "phi_dot", "delta_dot", "gyro_bias", "yaw_bias", "psi_dot", "T", "u_prev")


@pytest.fixture(
    params=["observer", pytest.param("peterson", marks=peterson.needs_numbers), "cascade", "h_infinity", "nonlinear"]
)
def judged(request):
    """Controller, speed and its row of margins."""
    law = LAWS[request.param]()
    v = 3.0 if request.param == "peterson" else 4.5
    return law, v, rl.margins(law, speeds=[v]).rows[0]


def test_python_control_finds_the_same_margins(judged):
    """By its route for frequency responses; that for state spaces expands polynomials, which lose their digits."""
    law, v, ours = judged
    L = control_systems(emulated_rig(law.bicycle, law), law, v).loop_gain
    near = [*crossings(L, lambda x: np.log(np.abs(x))), *crossings(L, np.imag), ours.sensitivity.omega]
    omega = np.unique(np.concatenate([w * np.linspace(0.97, 1.03, 201) for w in near]))
    gain, phase, distance, _, at, _ = control.stability_margins(
        control.frd(L, omega[omega < np.pi / L.dt], smooth=True), returnall=True
    )
    assert min(g for g in gain if g > 1.0 + 1e-6) == pytest.approx(ours.margins.gain[1], rel=1e-9)
    angle = np.mod(phase, 360.0)
    assert min(np.minimum(angle, 360.0 - angle)) == pytest.approx(np.degrees(ours.margins.phase), rel=1e-9)
    assert min(np.radians(angle) / at) == pytest.approx(ours.margins.delay, rel=1e-9)
    assert 1.0 / min(distance) == pytest.approx(ours.sensitivity.value, rel=1e-9)
    closed = control.feedback(L, 1).poles()
    for s in ours.eigenvalues[ours.eigenvalues.real > -30.0]:
        assert np.min(np.abs(closed - np.exp(s * L.dt))) < 1e-7


def crossings(L, of):
    """Frequencies [rad/s] next to which a value of L changes its sign."""
    omega = np.geomspace(1e-3, 0.9999 * np.pi / L.dt, 20_000)
    values = of(np.asarray(control.frd(L, omega).frdata).ravel())
    return omega[np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))]


def test_a_loop_that_is_stepped_ends_where_the_margins_say(judged):
    """Bicycle and drive by the exponential of their matrix, everything else by the compiled code of the tick."""
    law, v, ours = judged
    loop = Stepped(law, v)
    assert loop.radius() == pytest.approx(np.exp(ours.eigenvalues.real.max() * loop.dt), abs=1e-7)
    for gain in ours.margins.gain:
        if 0.0 < gain < np.inf:
            found = brentq(lambda factor: loop.radius(gain=factor) - 1.0, 0.98 * gain, 1.02 * gain, xtol=1e-9)
            assert found == pytest.approx(gain, rel=1e-6)
    delay = ours.margins.delay
    late = brentq(lambda more: loop.radius(late=more) - 1.0, 0.98 * delay, 1.02 * delay, xtol=1e-9)
    assert late == pytest.approx(delay, abs=2e-6)


class Stepped:
    """Sampled loop as the tick runs it, stepped from each unit state."""

    def __init__(self, law, v):
        self.rig = rig = emulated_rig(law.bicycle, law)
        self.v, self.dt, self.law, b = v, rig.dt, law.law(), law.bicycle
        plant = state_space(b, v)
        self.A = np.zeros((6, 6))  # of bicycle, torque, and the command that it follows
        self.A[:4, :4], self.A[:4, 4] = plant.A, plant.B[:, 1]
        self.A[4, 4:] = np.array([-1.0, 1.0]) / rig.drive_lag
        self.settings = rig.observer.as_record(b, rig.dt, rig.drive_lag, rig.x_imu, rig.z_imu, rig.command_delay)
        yaw, rates = np.array([0.0, v, 0.0, b.c, 0.0]) * np.cos(b.lam) / b.w, self.A[:5, :5]
        self.reads = np.zeros((4, 5))
        self.reads[0, 2], self.reads[1], self.reads[2, 1] = 1.0, yaw, 1.0
        self.reads[3] = v * yaw + rig.x_imu * yaw @ rates - rig.z_imu * rates[2]
        self.reads[3, 0] -= b.g

    def radius(self, gain=1.0, late=0.0):
        """Largest |z| where the drive makes ``gain`` times what it is told, ``late`` [s] after it should."""
        delay = self.rig.obeyed_after + late
        waiting = int(np.ceil(delay / self.dt - 1e-9))
        part = delay - (waiting - 1) * self.dt
        motions = [expm(self.A * h) for h in (part, self.dt - part)]
        n = 5 + waiting + len(ESTIMATED) + self.law.states
        image = np.array([self.step(TINY * unit, gain, waiting, motions) for unit in np.eye(n)]).T / TINY
        return float(np.max(np.abs(np.linalg.eigvals(image))))

    def step(self, z, gain, waiting, motions):
        """Sample, tick, and move on to the next sample."""
        x, commands, estimated, memory = np.split(z, np.cumsum([5, waiting, len(ESTIMATED)]))
        sample, e, signals = (np.zeros(1, record)[0] for record in (SAMPLE, ESTIMATE, LOOP_SIGNALS))
        for name, value in zip(ESTIMATED, estimated, strict=True):
            e[name] = value
        e["v"], e["started"], sample["v_meas"], sample["t"], sample["T_meas"] = self.v, 1, self.v, self.dt, x[4]
        names = ("phi_dot_meas", "psi_dot_meas", "delta_meas", "a_y_meas")
        for name, value in zip(names, self.reads @ x, strict=True):
            sample[name] = value
        observe(self.settings, e, sample, False)
        signals["dt"], memory = self.dt, memory.copy()
        tell_signals(signals, e, sample, e["u_prev"], True, True)
        record, reference, wish = (np.zeros(1, kind)[0] for kind in (LOOP_LAW, LOOP_REFERENCE, WISH))
        record["step"] = self.law.step
        u = wished_torque(record, self.law.settings, memory, signals, reference, wish)
        follow_drive(self.settings, e, u)
        commands = np.append(commands, gain * u)
        for command, motion in zip(commands, motions, strict=False):
            x = (motion @ np.append(x, command))[:5]
        return np.concatenate([x, commands[1:], [e[name] for name in ESTIMATED], memory])


def test_how_far_a_law_is_from_linear_is_said():
    row = rl.margins(LAWS["nonlinear"](), speeds=[5.0]).rows[0]
    assert 1e-3 < row.nonlinearity < 0.02  # a soft limit at 5 N m, after a kick that asks for 0.7
    assert rl.margins(LAWS["cascade"](), speeds=[5.0]).rows[0].nonlinearity < 1e-9


def test_a_law_that_bends_is_judged_by_its_tangent(tmp_path):
    soft = tmp_path / "soft.py"
    soft.write_text(LAW_FILE.read_text(encoding="utf-8").replace('"T_soft": 5.0', '"T_soft": 0.3'), encoding="utf-8")
    law = read_law(soft, SILVER, TIMING)
    with pytest.raises(InputError, match="is not smooth"):
        law.linearised(5.0)
    bent, usual = (rl.margins(each, speeds=[5.0]).rows[0] for each in (law, LAWS["nonlinear"]()))
    assert bent.nonlinearity > 0.1
    assert bent.margins.delay == pytest.approx(usual.margins.delay, rel=1e-3)


def test_any_controller_is_drawn_and_shown():
    found = rl.margins(LAWS["cascade"]())
    assert len(rl.plot_margins(found).axes) == 8
    assert "cascade" in repr(found)
    assert "<table" in found._repr_html_()
    with pytest.raises(InputError, match="plot_margins"):
        rl.plot_design(LAWS["nonlinear"]())


def test_what_cannot_be_judged_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(InputError, match="margins want a controller"):
        rl.margins([1.0, 2.0])
    with pytest.raises(InputError, match="speeds of 0 m/s or more"):
        rl.margins(LAWS["cascade"](), speeds=[-1.0])
    with pytest.raises(InputError, match="designed for Silver, not for Benchmark"):
        rl.margins(LAWS["cascade"](), rl.Rig(rl.load_bicycle("Benchmark")))
    divides = tmp_path / "divides.py"
    divides.write_text(
        'from numba import njit\nLAW = {"inputs": ["phi"], "speeds": [3.0, 6.0]}\n'
        "@njit\ndef step(settings, state, signals, reference, out):\n    out.T_req = signals.phi / signals.phi_dot\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match=r"raises an error.*guard it there"):
        rl.margins(read_law(divides, SILVER, TIMING))
