"""`riderless margins`: any controller file, its machine, and refusals in one sentence."""

import json

import control

from riderless.hil.controllers.lti import LTIController
from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.methods import design
from riderless.models.catalogue import load_bicycle
from tests.experiments.commands.test_cli import riderless  # noqa: F401
from tests.paths import ROOT


def test_gains_a_method_and_a_law_are_judged(riderless, tmp_path):  # noqa: F811
    gains = tmp_path / "gains.toml"
    gains.write_text(design(load_bicycle("Silver"), "lqr", [4.0, 5.0]).to_toml(), encoding="utf-8")
    made = json.loads(riderless("margins", str(gains), "--json")[1])
    named = json.loads(riderless("margins", "lqr", "--bicycle", "Silver", "--speeds", "4,5", "--json")[1])
    assert made["bike"] == named["bike"] == "Silver"
    for one, other in zip(made["rows"], named["rows"], strict=True):
        assert abs(one["delay_margin"] - other["delay_margin"]) < 1e-3
        assert one["sensitivity_peak"] > 1.0
    law = riderless("margins", str(ROOT / "docs/starter/my_law.py"), "--bicycle", "Silver", "--speeds", "5")
    assert "the law leaves its linearisation by up to" in law[1]
    assert "peak sensitivity" in law[1]


def test_another_machine_is_refused(riderless, tmp_path):  # noqa: F811
    gains = tmp_path / "gains.toml"
    gains.write_text(design(load_bicycle("Silver"), "lqr", [4.0, 5.0]).to_toml(), encoding="utf-8")
    rig = str(ROOT / "docs/rigs/node.toml")
    refused = riderless("margins", str(gains), "--rig", rig)
    assert refused[0] == 2
    assert "designed for Silver, not for Benchmark" in refused[2]
    assert riderless("margins", str(gains), "--rig", rig, "--allow-mismatch")[0] == 0
    both = riderless("margins", str(gains), "--rig", rig, "--bicycle", "Silver")
    assert "--bicycle would be ignored" in both[2]


def test_a_state_space_that_does_not_fit_is_refused(riderless, tmp_path):  # noqa: F811
    file, rig = tmp_path / "own.toml", str(ROOT / "docs/rigs/node.toml")
    bicycle = load_bicycle("Benchmark")
    made = LTIController.from_statespace(
        [control.ss([[0.5]], [[1.0]], [[2.0]], [[0.0]], 0.01)], [5.0], ["phi"], bicycle, LoopTiming(rate=100.0)
    )
    file.write_text(made.to_toml(), encoding="utf-8")
    code, _, sentence = riderless("margins", str(file), "--rig", rig)
    assert code == 2
    assert "designed for 100 Hz but the rig runs at 200 Hz" in sentence
    file.write_text(made.to_toml().replace('    "phi",\n', '    "phi",\n    "delta",\n', 1), encoding="utf-8")
    code, _, sentence = riderless("margins", str(file))
    assert code == 2
    assert "wants B of shape (1, 2) at each speed, found (1, 1)" in sentence
