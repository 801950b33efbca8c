"""Completion of commands and options in a shell: the program answers what a shell asks it."""

import os
import subprocess
import sys

import pytest

from tests.paths import DOCS, ROOT

ASKED = {  # variables of a shell's question, by shell
    "bash": lambda words: {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)},
    "zsh": lambda words: {"_TYPER_COMPLETE_ARGS": " ".join(words)},
    "fish": lambda words: {
        "_TYPER_COMPLETE_ARGS": " ".join(words),
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    },
}
CALL = "import sys; sys.argv = ['riderless']; from riderless.experiments.cli import main; main()"


def answer(shell, *words):
    """What the program offers after these words."""
    asked = ASKED[shell](("riderless", *words))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "_RIDERLESS_COMPLETE": f"complete_{shell}", **asked}
    done = subprocess.run([sys.executable, "-c", CALL], env=environment, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", ASKED)
def test_commands_and_options_are_completed(shell):
    offered = answer(shell, "ex")
    assert "export" in offered
    assert "design" not in offered
    assert "--max-memory" in answer(shell, "export", "--m")


def test_names_and_files_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Sixpack.toml").touch()
    offered = answer("bash", "eig", "Si").split()
    assert offered == ["Silver", "Sixpack.toml"]
    assert "lqr" in answer("bash", "design", "Silver", "--method", "lq")


def test_the_page_of_commands_says_how():
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert "`riderless --install-completion`" in page
    assert "`riderless --show-completion`" in page
