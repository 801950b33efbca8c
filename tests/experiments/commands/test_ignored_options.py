"""No option is ignored in silence: one that would have no effect beside the others is refused in one sentence.

The table has, for each command, what it refuses. What is accepted although it changes nothing says what happens
anyhow: --yes or --emulated where nothing else is possible, or --dry-run behind the command that is to be run.
"""

import re
import shlex

import pytest

from tests.experiments.commands.test_cli import riderless, run_folder  # noqa: F401
from tests.experiments.recordings.foreign_log import write_csv
from tests.paths import DOCS

NODE = DOCS / "rigs/node.toml"

IGNORED = {  # command line: what is said
    "run {node} --bicycle Yellow --emulated": "--bicycle would be ignored: the rig file .* carries the bicycle",
    "run --port /dev/x --speed 4": "--speed would be ignored: only a virtual bicycle",
    "run --port /dev/x --model linear --seed 1": "--model and --seed would be ignored",
    "run --port /dev/x --host-delays": "--host-delays would be ignored",
    "run --emulated --controller lqr --allow-mismatch": "--allow-mismatch would be ignored: lqr is designed for this",
    "run --emulated --port /dev/x": "either --port or --emulated, not both",
    "monitor --emulated --port /dev/x": "either --port or --emulated, not both",
    "check --emulated --port /dev/x": "either --port or --emulated, not both",
    "calibrate {node} --emulated --port /dev/x": "either --port or --emulated, not both",
    "calibrate {node} --emulated --only gyro --rollout-m 5": "--rollout-m would be ignored: --only leaves the wheel",
    "calibrate {node} --emulated --only gyro --sweep-torque 1 --added-inertia 0": "--sweep-torque and --added-inertia",
    "calibrate {node} --emulated --dry-run --yes": "--yes would be ignored: --dry-run writes nothing",
    "simulate Silver --rolling 0.01": "--rolling would be ignored: a treadmill keeps the speed",
    "simulate Silver --drag-area 0.5": "--drag-area would be ignored",
    "simulate Silver --floor --belt 0.5": "belt_width belongs to a treadmill",
    "simulate Silver --dask tcp://h:1 --jobs 2": "--jobs would be ignored: the cluster",
    "simulate Silver --allow-mismatch": "--allow-mismatch would be ignored: off is designed for each",
    "campaign --lockstep --fifo 50": "--fifo would be ignored: simulated time has no priority",
    "campaign --dry-run --resume": "--resume would be ignored: --dry-run rehearses",
    "campaign --port /dev/x": "--port wants a campaign file with a wired rig",
    "campaign {campaign} --seed 2": "a campaign file has its own seed and model",
    "analyze {run} --mapping mine.toml": "mapping would be ignored: only files of others need that",
    "analyze {run} --preset kooijman --trust": "preset and trust would be ignored",
    "analyze {run} --bicycle Yellow": "bicycle would be ignored",
    "analyze {run} --window 1:2 --windows windows.txt": "notes on windows would be ignored: one window is given",
    "analyze {csv} --preset kooijman --mapping mine.toml": "the mapping mine.toml would be ignored beside the preset",
    "analyze {csv} --bicycle Yellow": "wanted a mapping to use the bicycle Yellow with",
    "identify {run} --free drive_gain --mapping mine.toml": "mapping would be ignored: only files of others need that",
    "identify {run} --free drive_gain --bicycle Yellow": "bicycle would be ignored",
    "identify {run} --free drive_gain --plot p.png --jobs 2": "--plot and --jobs would be ignored: they are for",
    "latency --all --no-load": "--no-load would be ignored: --all measures both",
    "latency --all --load": "--load would be ignored: --all measures both",
    "faults --case 3 --count 10": "--count would be ignored: --case plays one case",
    "faults --case 3 --jobs 2 --doc page.md": "--jobs and --doc would be ignored",
    "faults --real-time --case 3 --doc page.md": "--doc would be ignored",
    "faults --real-time --count 10": "--count would be ignored: --real-time has its own cases",
    "turns Silver --hands-free --lean 3": "one of three ways; found --lean --hands-free",
}


@pytest.mark.parametrize("line", IGNORED)
def test_an_option_without_effect_is_refused(riderless, run_folder, tmp_path, monkeypatch, line):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    places = {"node": NODE, "campaign": DOCS / "campaigns/treadmill.toml", "run": run_folder}
    if "{csv}" in line:
        places["csv"] = write_csv(tmp_path / "log.csv", {"t": [0.0, 0.1, 0.2], "x": [1.0, 2.0, 3.0]})
    arguments = [word.format(**places) for word in shlex.split(line)]
    code, out, err = riderless(*arguments)
    assert code == 2, out
    *_, sentence = err.splitlines()  # after a bar of progress, where one was shown
    assert sentence.startswith("riderless: ")
    assert "Traceback" not in err
    assert re.search(IGNORED[line], sentence), err
    assert list(tmp_path.iterdir()) == ([places["csv"]] if "csv" in places else []), "nothing was begun"


def test_a_campaign_on_the_devices_of_a_rig_says_that_its_bicycle_is_not_the_one(riderless, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    _, _, err = riderless("campaign", str(NODE), "--dry-run", "--resume")
    assert f"the emulated devices of {NODE} carry Benchmark and Silver, not the bicycle it names" in err
    _, _, err = riderless("campaign", "--dry-run", "--resume")
    assert "carry" not in err


def test_gains_for_another_bicycle_are_refused_before_anything_starts(riderless, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    assert riderless("design", "Silver", "--speeds", "4:6:1", "-o", "silver.toml")[0] == 0
    for line in ("run --emulated --controller silver.toml", "simulate Silver,Yellow --controller silver.toml"):
        code, _, err = riderless(*line.split())
        assert code == 2
        assert "the gains were designed for Silver, not for" in err
    assert not (tmp_path / "runs").exists()


def test_the_design_that_a_refusal_names_is_one_that_fits(riderless, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    rig = DOCS / "rigs/vectornav-vesc.toml"  # whose drive obeys 2 ms after a sample
    for bicycle, file in (("Benchmark", "gains.toml"), (rig, "for_rig.toml")):
        assert riderless("design", bicycle, "--speeds", "4:6:1", "-o", file)[0] == 0
    run = ["run", rig, *["--port", "/dev/no-such-port"] * 3, "--controller"]
    code, _, err = riderless(*run, "gains.toml")
    assert code == 2
    options = err[err.index("--delay") : err.index(", or run them")].split()
    assert riderless("design", "Benchmark", "--speeds", "4:6:1", *options, "-o", "again.toml")[0] == 0
    for fitting in ("again.toml", "for_rig.toml"):
        code, _, err = riderless(*run, fitting)
        assert code == 2
        assert "/dev/no-such-port" in err, "the gains fit: on to the ports"
