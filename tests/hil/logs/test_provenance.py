"""Provenance: true where it can be known, and honest where it cannot."""

import json
import re
import subprocess
from datetime import datetime, timedelta

import numpy as np
import pytest

from riderless.hil.logs import provenance as module
from riderless.hil.logs.provenance import git_state, package_versions, provenance


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    git(tmp_path, "init")
    (tmp_path / "a.py").write_text("a = 1\n")
    git(tmp_path, "add", "a.py")
    return tmp_path


def test_everything_is_there_and_fits_into_json():
    found = json.loads(json.dumps(provenance()))
    assert set(found) == {"utc", "command", "python", "platform", "packages", "git"}
    assert datetime.fromisoformat(found["utc"]).utcoffset() == timedelta(0)
    assert found["command"]


def test_versions_of_what_runs_not_of_the_tools_around_it():
    versions = package_versions()
    assert versions["numpy"] == np.__version__
    assert {"riderless", "scipy", "numba", "mcap", "zstandard"} <= set(versions)
    assert "pytest" not in versions


def test_a_project_that_is_not_installed_is_said_to_be(monkeypatch):
    monkeypatch.setattr(module, "PACKAGE_NAME", "no-such-project-anywhere")
    assert package_versions() == {"no-such-project-anywhere": "unknown: not installed"}


def test_commit_and_changes(checkout):
    git(checkout, "commit", "-m", "first")
    state = git_state(checkout)
    assert re.fullmatch(r"[0-9a-f]{40}", state["commit"])
    assert state["dirty"] is False
    (checkout / "a.py").write_text("a = 2\n")
    assert git_state(checkout) == {"commit": state["commit"], "dirty": True}


def test_git_is_asked_once_for_commit_and_changes(checkout, monkeypatch):
    git(checkout, "commit", "-m", "first")
    asked, run = [], subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *given, **named: asked.append(given) or run(*given, **named))
    assert git_state(checkout)["dirty"] is False
    assert len(asked) == 1


def test_an_untracked_file_makes_a_checkout_dirty(checkout):
    git(checkout, "commit", "-m", "first")
    (checkout / "b.py").write_text("")
    assert git_state(checkout)["dirty"] is True


def test_a_checkout_without_a_commit_says_so(checkout):
    state = git_state(checkout)
    assert state == {"commit": "unknown", "dirty": None, "reason": "the checkout has no commit yet"}


def test_a_broken_checkout_says_what_git_says(checkout):
    (checkout / ".git/HEAD").write_text("nonsense")
    state = git_state(checkout)
    assert state["commit"] == "unknown"
    assert state["dirty"] is None
    assert state["reason"].startswith("git says: ")


def test_a_folder_that_is_no_checkout_even_inside_one(checkout):
    (checkout / "inside").mkdir()
    assert git_state(checkout / "inside")["reason"] == "not run from a git checkout"


@pytest.mark.parametrize("error", [FileNotFoundError("no git"), subprocess.TimeoutExpired("git", 5.0)])
def test_git_missing_or_hanging_is_a_reason_not_a_crash(checkout, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(subprocess, "run", fail)
    state = git_state(checkout)
    assert state["commit"] == "unknown"
    assert state["reason"] == str(error)
