"""Installations that cannot be made: one sentence with what to do, and no half environment."""

import subprocess

import pytest

from tests.paths import ROOT

FAILURES = {  # sentence -> arguments that the interpreter fails on, and what it prints
    "wants Python 3.11": ("-c import sys; sys.exit", "Python 3.9.2"),
    "no module venv": ("-c import ensurepip", ""),
    "could not make an environment": ("-m venv", ""),
    "the disk is full": ("-m pip", "ERROR: [Errno 28] No space left on device"),
    "could not be fetched": ("-m pip", "WARNING: NewConnectionError\nERROR: no matching distribution"),
    'pip failed with "ERROR: odd"': ("-m pip", "ERROR: odd\nhint: none"),
}


@pytest.mark.parametrize("sentence", FAILURES)
def test_an_installation_that_fails_says_why_and_leaves_nothing(sentence, tmp_path):
    """The interpreter is a script that fails in one way, and copies itself where an environment is to be made."""
    python, venv = tmp_path / "python", tmp_path / "venv"
    arguments, output = FAILURES[sentence]
    python.write_text(
        f"#!/bin/sh\ncase \"$*\" in\n'{arguments}'*) echo '{output}'; exit 1;;\n"
        f"'-m venv'*) mkdir -p {venv}/bin; cp \"$0\" {venv}/bin/python;;\nesac\n",
        encoding="utf-8",
    )
    python.chmod(0o755)
    done = subprocess.run([ROOT / ".ci/install", venv, python], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not venv.exists()
