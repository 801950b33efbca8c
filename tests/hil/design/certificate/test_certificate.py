"""Certificates of real loops: V shrinks in courses that nobody chose; other loops and other numbers are refused."""

import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.emulation.certify import certify
from riderless.hil.design.certificate import verify as verify_script
from riderless.hil.design.certificate.certificate import Certificate
from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.methods import design
from riderless.hil.rig.certified import require_certificate
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.fitting import emulated_rig
from riderless.hil.runners.session import run_realtime
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from tests.paths import DOCS

pytest.importorskip("cvxpy", reason="the search wants the extra [certify]")
SPEEDS, ACCELERATION = np.arange(4.0, 5.01, 0.25), 1.0


@pytest.fixture(scope="module")
def rigid():
    bicycle = load_bicycle("Rigid")
    gains = design(bicycle, "lqr", SPEEDS)
    result = certify(gains, acceleration=ACCELERATION, std=2.0, directions=1)
    assert result.certificate is not None, result
    return emulated_rig(bicycle, gains), gains, result


def test_v_shrinks_on_courses_of_speed_that_nobody_chose(rigid):
    rig, gains, result = rigid
    data, decay = result.certificate.arrays, result.certificate.decay
    assert 0.0 < decay < 1.0
    rng, v = np.random.default_rng(3), 4.5

    def V(x, v):
        i = min(int(np.searchsorted(data["speed"], v, "right")) - 1, len(data["speed"]) - 2)
        s = (v - data["speed"][i]) / (data["speed"][i + 1] - data["speed"][i])
        return float(x @ ((1.0 - s) * data["P"][i] + s * data["P"][i + 1]) @ x)

    x = rng.standard_normal(len(data["P"][0]))
    for _ in range(300):
        a = rng.uniform(-ACCELERATION, ACCELERATION)
        loop = SampledLoop.of_rig(rig, gains, real=Variant(rig.bicycle, acceleration=a))
        before, x = V(x, v), loop.matrix(v) @ x
        v = float(np.clip(v + a * rig.dt, 4.0, 5.0))
        assert V(x, v) <= np.exp(-2.0 * decay * rig.dt) * before
        if rng.random() < 0.05:
            x = rng.standard_normal(len(x))
    assert result.drawn == 200
    assert result.shrunk <= result.stable <= 200


def test_the_file_is_checked_by_a_script_of_its_own(rigid, tmp_path):
    _, _, result = rigid
    file, script = tmp_path / "proof.npz", tmp_path / "verify.py"
    file.write_bytes(result.certificate.as_bytes())
    shutil.copy(verify_script.__file__, script)
    assert "riderless." not in script.read_text(encoding="utf-8")

    def run():
        return subprocess.run([sys.executable, "-I", script, file], capture_output=True, text=True, check=False)

    assert run().stdout.startswith("Rigid: holds, slowest decay")
    arrays = dict(result.certificate.arrays)
    arrays["corners"] = arrays["corners"].copy()
    arrays["corners"][3, 0, 2, 0] += 0.05
    file.write_bytes(Certificate(result.certificate.head, arrays).as_bytes())
    broken = run()
    assert broken.returncode == 1
    assert "does not hold" in broken.stdout


def test_a_rig_is_not_armed_with_a_certificate_of_another_loop(rigid, tmp_path):
    rig, gains, result = rigid
    file = tmp_path / "proof.npz"
    file.write_bytes(result.certificate.as_bytes())
    rig = replace(rig, certificate=str(file))
    require_certificate(rig, gains, [4.0, 5.0])
    heavier = replace(rig.bicycle, mB=rig.bicycle.mB + 0.1)
    for other, law in (
        (replace(rig, drive_lag=0.006), gains),
        (replace(rig, bicycle=heavier), gains),
        (rig, design(rig.bicycle, "poles", SPEEDS)),
    ):
        with pytest.raises(InputError, match="this loop is another"):
            require_certificate(other, law)
    with pytest.raises(InputError, match="for 4 to 5 m/s, found 6 m/s"):
        require_certificate(rig, gains, [4.5, 6.0])
    arrays = {**result.certificate.arrays, "P": -result.certificate.arrays["P"]}
    file.write_bytes(Certificate(result.certificate.head, arrays).as_bytes())
    with pytest.raises(InputError, match="does not hold"):
        require_certificate(rig, gains)
    file.write_text("no proof", encoding="utf-8")
    with pytest.raises(InputError, match="is no certificate"):
        require_certificate(rig, gains)


def test_a_run_asks_for_the_certificate_that_its_rig_file_names(rigid, tmp_path):
    _, gains, _ = rigid
    file = tmp_path / "rig.toml"
    text = (DOCS / "rigs" / "node.toml").read_text(encoding="utf-8")
    file.write_text(text.replace("[loop]\n", '[loop]\ncertificate = "proof.npz"\n', 1), encoding="utf-8")
    rig = replace(read_rig(file), bicycle=gains.bicycle)
    with pytest.raises(InputError, match=r"proof\.npz is no certificate"):
        run_realtime(tmp_path / "log", rig, gains, ["/dev/none"], 1.0, speeds=[4.5])


def test_a_bicycle_that_falls_has_a_counter_example():
    gains = design(load_bicycle("Silver"), "lqr", SPEEDS)
    flipped = replace(gains, K=-gains.K)
    result = certify(flipped, std=0.0)
    assert result.certificate is None
    assert result.counter_example.growth > 0.0
    assert 0.0 < result.counter_example.falls_after < 10.0
