"""`riderless simulate` with any machine: a rig of several ports, gains of any timing; and what is refused at once."""

import pytest

from riderless.hil.design.methods import design
from riderless.hil.design.sampled_plant import LoopTiming
from riderless.hil.logs.log import read_run
from riderless.models.catalogue import load_bicycle
from tests.experiments.commands.test_cli import riderless  # noqa: F401
from tests.paths import DOCS

LAW = """
from numba import njit

LAW = {"inputs": ["phi_dot", "delta_dot"], "speeds": [4.0, 6.0]}


@njit
def step(settings, state, signals, reference, out):
    out.T_req = 2.0 * signals.phi_dot - 0.1 * signals.delta_dot + REST
"""


@pytest.mark.parametrize(
    "name", ["vectornav-vesc", "vectornav-odrive", "vectornav-odrive-can", "vectornav-vesc-can", "vectornav-moteus"]
)
def test_a_rig_of_several_ports_flies_with_all_its_devices(riderless, tmp_path, name):  # noqa: F811
    rig = str(DOCS / "rigs" / f"{name}.toml")
    out = str(tmp_path / "run")
    code, printed, _ = riderless("simulate", "--rig", rig, "--controller", "lqr", "--duration", "2", "-o", out)
    assert code == 0, printed
    run = read_run(out)
    assert run.header.devices is not None
    assert run.header.devices[0].name.startswith("VN-100T-CR")
    assert riderless("replay", out)[0] == 0


def test_gains_fly_with_the_timing_that_they_were_made_for(riderless, tmp_path):  # noqa: F811
    gains = tmp_path / "gains.toml"
    quick = LoopTiming(delay=0.4, drive_lag=0.01)
    gains.write_text(design(load_bicycle("Silver"), "lqr", [4.0, 5.0], quick).to_toml(), encoding="utf-8")
    fly = ("simulate", "Silver", "--controller", str(gains), "--duration", "1")
    assert riderless(*fly, "-o", str(tmp_path / "a"))[0] == 0
    assert read_run(tmp_path / "a").header.rig.timing.delay == pytest.approx(0.4)
    refused = riderless(*fly, "--delay", "1", "-o", str(tmp_path / "b"))
    assert "a delay of 0.4 samples and a drive lag of 10 ms, not for a delay of 1 sample" in refused[2]
    made = ("simulate", "Silver", "--controller", "lqr", "--duration", "1", "--delay", "0.5", "--drive-lag", "0.02")
    assert riderless(*made, "-o", str(tmp_path / "c"))[0] == 0


def test_what_cannot_fly_is_refused_in_one_sentence(riderless, tmp_path):  # noqa: F811
    rig = str(DOCS / "rigs/node.toml")
    for words, sentence in (
        (("--rig", rig, "Silver"), "one of them"),
        ((), "wants a bicycle or --rig FILE"),
        (("--rig", rig, "--delay", "0.5"), "--delay would be ignored"),
        (("Silver", "--delay", "2"), "--delay is from 0 to 1 sample"),
        (("Silver", "--drive-lag", "3"), "--drive-lag is from"),
    ):
        code, _, error = riderless("simulate", *words, "--controller", "lqr", "-o", str(tmp_path / "no"))
        assert code == 2
        assert sentence in error
    for rest, sentence in (
        ("reference.psi_dot_ref", "uses psi_dot_ref, which is not among its inputs"),
        ("0.1 / signals.delta_dot", "raises an error"),
    ):
        law = tmp_path / "law.py"
        law.write_text(LAW.replace("REST", rest), encoding="utf-8")
        code, _, error = riderless("simulate", "Silver", "--controller", str(law), "-o", str(tmp_path / "no"))
        assert code == 2
        assert sentence in error
    assert not (tmp_path / "no").exists()
