"""`python -m tests.tools.release`: build wheel and sdist, check both, install and use them. Publishes nothing."""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

from tests.paths import ROOT
from tests.sources import ROOMS

DIST = ROOT / "build" / "dist"
MINORS = range(11, 16)  # Python 3.11 and later
USES = (  # what must work in an empty folder
    ("riderless", "--version"),
    ("riderless", "init", "lab"),
    ("riderless", "eig", "lab/bicycle.toml", "--speeds", "5"),
    ("riderless", "design", "lab/bicycle.toml", "--speeds", "4:6:1", "-o", "lab/gains.toml"),
    ("python", "-c", "import riderless as rl; rl.load_bicycle('Silver')"),
)
FLIES = (  # and what compiles the loop, which takes a minute: once
    ("riderless", "simulate", "lab/bicycle.toml", "--controller", "lab/gains.toml", "--duration", "3", "-o", "run"),
    ("riderless", "replay", "run"),
    ("riderless", "export", "run", "--to", "csv"),
)


def run(*words: object, where: Path = ROOT) -> str:
    """Run a program; its output, or an end with it where the program failed."""
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run([str(w) for w in words], cwd=where, env=clean, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def versions_agree() -> str:
    """Version of the package, which the citation must have too."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if f"version: {version}\n" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        sys.exit(f"pyproject.toml has version {version}, CITATION.cff another")
    return str(version)


def left_out(wheel: Path) -> list[str]:
    """Files of the rooms that a clone has and the wheel has not."""
    packed = set(zipfile.ZipFile(wheel).namelist())
    kept = run("git", "ls-files", *ROOMS).split()
    return sorted(name for name in kept if f"riderless/{name}" not in packed)


def use(package: Path, python: str, uses: tuple[tuple[str, ...], ...]) -> None:
    """Install a package into an empty environment and use it in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", "env", where=Path(folder))
        programs = Path(folder, "env", "bin")
        run(
            programs / "python",
            "-m",
            "pip",
            "install",
            "-q",
            "-c",
            ROOT / "constraints.txt",
            package,
            where=Path(folder),
        )
        for program, *arguments in uses:
            run(programs / program, *arguments, where=Path(folder))


def pythons() -> list[str]:
    """Interpreters found, one of each minor version: on the path, or kept by pyenv; an empty shim is none."""
    found = []
    for minor in MINORS:
        kept = sorted(map(str, Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")), reverse=True)
        for one in (f"python3.{minor}", *kept):
            if shutil.which(one) and not subprocess.run([one, "-c", "import venv"], capture_output=True).returncode:
                found.append(one)
                break
    return found


def main() -> None:
    """Build, check, install, use."""
    print(f"riderless {versions_agree()}")
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST)
    packages = sorted(DIST.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *packages)
    run(Path(sys.executable).with_name("check-wheel-contents"), *DIST.glob("*.whl"))
    for wheel in DIST.glob("*.whl"):
        if lacking := left_out(wheel):
            sys.exit(f"{wheel.name} lacks {', '.join(lacking)}: name them in package-data of pyproject.toml")
    print("built and checked:", ", ".join(p.name for p in packages))
    first, *_ = found = pythons()
    for python in found:
        for package in packages:
            flies = python == first and package.suffix == ".whl"
            use(package, python, (*USES, *FLIES) if flies else USES)
            print(f"{python}: {package.name} installs and works")


if __name__ == "__main__":
    main()
