"""`riderless certify`: what it prints and writes, and its exit codes."""

import json
from dataclasses import replace

import pytest

from riderless.hil.design.certificate.certificate import Certificate
from riderless.hil.design.methods import design
from riderless.models.catalogue import load_bicycle
from tests.experiments.commands.test_cli import riderless  # noqa: F401

pytest.importorskip("cvxpy", reason="the search wants the extra [certify]")


def test_a_certificate_is_written_and_told(riderless, tmp_path):  # noqa: F811
    out = tmp_path / "proof.npz"
    words = ("certify", "lqr", "--bicycle", "Silver", "--speeds", "4,5", "--std", "0", "-o", str(out))
    code, text, _ = riderless(*words)
    assert code == 0
    assert "Silver under lqr is stable from 4 to 5 m/s" in text
    assert Certificate.read(out).verification.holds
    assert riderless(*words)[0] == 2  # it is there already


def test_none_is_exit_code_1_with_what_falls(riderless, tmp_path):  # noqa: F811
    gains, file = design(load_bicycle("Silver"), "lqr", [3.0, 4.0]), tmp_path / "flipped.toml"
    file.write_text(replace(gains, K=-gains.K).to_toml(), encoding="utf-8")
    code, text, _ = riderless("certify", str(file), "--json")
    assert code == 1
    found = json.loads(text)["counter_example"]
    assert found["growth"] > 0.0
    assert 3.0 <= found["v"] <= 4.0
    assert "a motion grows by" in riderless("certify", str(file))[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--std", "-1"), "wanted std from 0 to 6"),
        (("--speeds", "4"), "wanted a range of speeds"),
        (("--acceleration", "9"), "wanted acceleration from 0 to 5"),
        (("--deviations", "some"), "wanted --deviations own or usual"),
    ],
)
def test_bad_numbers_are_refused(riderless, words, sentence):  # noqa: F811
    code, _, error = riderless("certify", "lqr", "--bicycle", "Silver", *words)
    assert code == 2
    assert sentence in error
