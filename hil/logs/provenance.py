"""Provenance of a result.

Versions, source commit, machine, command line and time.
"""

import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGE_NAME = "riderless"
SOURCE = Path(__file__).resolve().parents[2]
_GIT_TIMEOUT = 5.0  # s, for git on a slow disk; an unknown commit is better than a run that does not start


def provenance() -> dict[str, Any]:
    """Describe the program, machine and moment, so that a result can be traced and repeated.

    Returns
    -------
    dict
        `utc` (ISO 8601), `command` (list of str), `python`, `platform`, `packages` (name -> version of the
        project and of all it requires) and `git` (see `git_state`). Only what JSON can hold.
    """
    return {
        "utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "command": list(sys.argv),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": package_versions(),
        "git": git_state(SOURCE),
    }


def package_versions() -> dict[str, str]:
    """Versions of the project and its runtime requirements, as installed when they were first asked for."""
    return dict(_versions(PACKAGE_NAME))


def git_state(source: Path) -> dict[str, Any]:
    """Commit of the checkout at `source` and whether its files differ from it.

    Returns
    -------
    dict
        `commit` (40 hex digits) and `dirty` (bool: changed or untracked files); or, when they cannot be
        found out, `commit` "unknown", `dirty` None and the `reason`.
    """
    if not (source / ".git").exists():
        return _unknown("not run from a git checkout")
    try:
        lines = _git(source, "status", "--porcelain=v2", "--branch").splitlines()
    except subprocess.CalledProcessError as error:
        return _unknown(f"git says: {error.stderr.strip().splitlines()[0]}" if error.stderr else str(error))
    except (OSError, subprocess.TimeoutExpired) as error:
        return _unknown(str(error))
    commit = lines[0].removeprefix("# branch.oid ")
    if commit == "(initial)":
        return _unknown("the checkout has no commit yet")
    return {"commit": commit, "dirty": not all(line.startswith("# ") for line in lines)}


def _git(source: Path, *arguments: str) -> str:
    # optional locks off: looking must not touch the index of a checkout somebody is working in
    command = ["git", "--no-optional-locks", "-C", str(source), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=_GIT_TIMEOUT, check=True).stdout


def _unknown(reason: str) -> dict[str, Any]:
    return {"commit": "unknown", "dirty": None, "reason": reason}


@cache
def _versions(project: str) -> dict[str, str]:
    try:
        required = metadata.requires(project) or []
    except metadata.PackageNotFoundError:
        return {project: "unknown: not installed"}
    names = [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line]
    return {name: _version(name) for name in (project, *names)}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown: not installed"
