"""`riderless init`: from an installed package to a first run, typing only what it prints."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from riderless.experiments.campaigns.file import read_campaign
from riderless.experiments.campaigns.starter import NEXT_STEPS
from riderless.hil.rig.file import read_rig
from riderless.models import catalogue
from tests.experiments.commands.test_cli import riderless  # noqa: F401
from tests.paths import DOCS, ROOT
from tests.sources import ROOMS
from tests.tools.lessons import blocks

PROGRAMS = ("my_law.py", "wheel_text.py", "try_driver.py", "their_log.py")
NAMES = ("bicycle.toml", "rig.toml", "campaign.toml", "mapping.toml", *PROGRAMS, "README.md")


PATIENCE = {"stale": 0.2, "late": 200.0, "seldom": 0.5, "check_timeout": 60.0}


def be_patient(rig):
    """Give a rig limits for a computer that other tests use as well."""
    text = rig.read_text(encoding="utf-8").replace("watchdog_s = 0.025", "watchdog_s = 0.2")
    limits = (f'[limits.{name}]\nvalue = {value}\nreason = "test"\n' for name, value in PATIENCE.items())
    rig.write_text("\n".join([text, *limits]), encoding="utf-8")


def printed_commands(out):
    return [line.strip() for line in out.split("next:\n")[1].splitlines()]


def test_what_it_writes_can_be_read(riderless, tmp_path):  # noqa: F811
    code, out, _ = riderless("init", tmp_path / "lab")
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "lab").iterdir()) == sorted(NAMES)
    rig, example = read_rig(tmp_path / "lab/rig.toml"), read_rig(DOCS / "rigs/node.toml")
    assert rig.limits == example.limits
    assert (rig.name, rig.bicycle.name) == ("my rig", "my bicycle")
    assert catalogue.load_bicycle(str(tmp_path / "lab/bicycle.toml")) == rig.bicycle
    assert rig.bicycle.w == catalogue.load_bicycle("Benchmark").w
    conditions = read_campaign(tmp_path / "lab/campaign.toml").conditions
    assert {condition.bicycle.name for condition in conditions} == {"my bicycle"}
    assert all(name in out for name in NAMES)
    for command in printed_commands(out)[1:]:
        assert f"    {command}" in (tmp_path / "lab/README.md").read_text(encoding="utf-8")


def test_a_bicycle_of_ones_own_is_copied(riderless, tmp_path):  # noqa: F811
    own = tmp_path / "ours.toml"
    own.write_text(catalogue.load_bicycle("Silver").to_toml() + "# weighed twice\n", encoding="utf-8")
    assert riderless("init", str(tmp_path / "lab"), "--bicycle", str(own))[0] == 0
    assert (tmp_path / "lab/bicycle.toml").read_bytes() == own.read_bytes()
    assert read_rig(tmp_path / "lab/rig.toml").bicycle.name == "Silver"
    assert (
        read_campaign(tmp_path / "lab/campaign.toml").conditions[0].rig.bicycle.w == catalogue.load_bicycle("Silver").w
    )


def test_another_bicycle(riderless, tmp_path):  # noqa: F811
    assert riderless("init", tmp_path, "--bicycle", "Silver")[0] == 0
    assert catalogue.load_bicycle(str(tmp_path / "bicycle.toml")).c == catalogue.load_bicycle("Silver").c
    code, _, err = riderless("init", tmp_path / "other", "--bicycle", "Silverr")
    assert code == 2
    assert "Silver" in err
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_ever_overwritten(riderless, tmp_path, name):  # noqa: F811
    (tmp_path / name).write_text("mine")
    code, _, err = riderless("init", tmp_path)
    assert code == 2
    assert name in err
    assert "name another folder" in err
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_folder_that_cannot_be_made(riderless, tmp_path):  # noqa: F811
    (tmp_path / "file").write_text("")
    code, _, err = riderless("init", tmp_path / "file" / "lab")
    assert code == 2
    assert "cannot be written" in err


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The tree of files that a wheel of this package holds, built by setuptools outside of the clone."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for folder in (*ROOMS, "riderless", "docs"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")  # older setuptools know a licence as a table only
    text = re.sub(r'^license = "(.*)"$', r'license = { text = "\1" }', text, flags=re.MULTILINE)
    (source / "pyproject.toml").write_text(re.sub(r"^license-files.*\n", "", text, flags=re.MULTILINE))
    build = ["setup.py", "-q", "build_py", "--build-lib", str(built)]
    subprocess.run([sys.executable, *build], cwd=source, check=True, capture_output=True)
    return built


def test_an_installed_package_has_one_name_and_the_examples(installed, tmp_path):
    assert os.listdir(installed) == ["riderless"]
    done = from_package(installed, tmp_path, "-m", "riderless.experiments.cli", "init", "lab")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "lab").iterdir()) == sorted(NAMES)
    for name in ("mapping.toml", *PROGRAMS):
        written = (tmp_path / "lab" / name).read_text(encoding="utf-8")
        assert written == (DOCS / "starter" / name).read_text(encoding="utf-8")


def from_package(installed, folder, *words):
    """Python of the installed package, run in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=550
    )


@pytest.mark.slow  # numba compiles what the driver imports anew there
def test_the_driver_and_the_log_work_from_an_installed_package(installed, tmp_path):
    """The mapping and the law are run by lessons 5 and 6, from the very files."""
    assert from_package(installed, tmp_path, "-m", "riderless.experiments.cli", "init", ".").returncode == 0
    tried = from_package(installed, tmp_path, "try_driver.py")
    assert "16702 mrad/s" in tried.stdout, tried.stderr
    assert "2 good lines, 1 damaged" in tried.stdout
    assert "-1.07+5.01j" in from_package(installed, tmp_path, "their_log.py").stdout


@pytest.mark.parametrize("page", ["5-somebody-elses-log", "6-a-controller", "7-a-device-driver"])
def test_a_lesson_explains_the_very_files(page):
    text = (DOCS / f"lessons/{page}.md").read_text(encoding="utf-8")
    named = [block for block in blocks(text) if block.file]
    assert named
    for block in named:
        assert (DOCS / "starter" / block.file).read_text(encoding="utf-8") == block.body, block.file
        assert block.file in (*NAMES, "wheel_text_twin.py")
    assert "`riderless init`" in text


@pytest.mark.realtime
def test_what_is_printed_to_be_typed_next_works(riderless, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    _, out, _ = riderless("init", "lab")
    go, *commands = printed_commands(out)
    assert go == "cd lab"
    assert commands == [command for command, _ in NEXT_STEPS]
    monkeypatch.chdir(tmp_path / "lab")
    be_patient(tmp_path / "lab/rig.toml")
    for command in commands:
        code, said, err = riderless(*shlex.split(command)[1:])
        assert code == 0, f"{command}: {said[-500:]} {err[-500:]}"  # on a starved computer the test is tried again
    assert (tmp_path / "lab/report").exists()


def test_a_driver_with_its_twin_rig_and_test(riderless, tmp_path):  # noqa: F811
    code, out, _ = riderless("init", "--driver-only", tmp_path / "lab")
    assert code == 0
    names = ["test_wheel_text.py", "wheel_rig.toml", "wheel_text.py", "wheel_text_twin.py"]
    assert sorted(path.name for path in (tmp_path / "lab").iterdir()) == names
    assert "python test_wheel_text.py" in out
    code, _, said = riderless("init", "--driver-only", "--bicycle", "Silver", tmp_path / "other")
    assert (code, "--bicycle would be ignored" in said) == (2, True)
