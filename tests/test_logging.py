"""The package logs what it reads, opens, loads and writes, one logger a room; silent until somebody listens."""

import logging
import re
import subprocess
import sys
from dataclasses import replace

import pytest

import riderless as rl
from riderless.experiments.analysis import analyze as analysis
from riderless.firmware_interface.devices.outside import name_driver, outside_device
from tests.paths import DOCS, ROOT
from tests.sources import ROOMS, sources

IN_THE_TICK = ("hil/loop/", "hil/guidance/", "hil/runners/realtime.py", "firmware_interface/node/", "models/plant/")


@pytest.fixture
def logged(caplog):
    """What each room has said since it was last asked."""
    caplog.set_level(logging.INFO, "riderless")

    def said():
        lines = [(record.name, record.levelname, record.getMessage()) for record in caplog.records]
        caplog.clear()
        return lines

    return said


def test_each_room_has_one_logger_and_none_speaks_in_the_tick():
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(ROOMS):
            found = re.findall(r'getLogger\("(riderless[\w.]*)"\)', path.read_text(encoding="utf-8"))
            own = f"riderless.{name.split('/')[0]}"
            assert set(found) <= {own, "riderless.live"} or name == "experiments/cli.py", name
            assert not (found and name.startswith(IN_THE_TICK)), name


def test_it_is_silent_until_somebody_listens():
    code = "import riderless as rl, logging; logging.getLogger('riderless.hil').warning('a warning')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout + done.stderr == ""


def test_files_that_are_read_and_written(logged, tmp_path):
    (tmp_path / "mine.toml").write_bytes((ROOT / "models/bicycles/Silver.toml").read_bytes())
    silver = rl.load_bicycle(tmp_path / "mine.toml")
    assert logged() == [("riderless.models", "INFO", f"read the bicycle 'Silver' from {tmp_path / 'mine.toml'}")]
    run = rl.simulate(silver, rl.design(silver, "off", [5.0]), speed=5.0, duration=2.0)
    logged()
    run.save(tmp_path / "run")
    ((room, _, line),) = logged()
    assert (room, line) == (
        "riderless.hil",
        f"wrote the log {tmp_path / 'run'}: {len(run.ticks)} rows, success, the planned duration was reached",
    )
    rl.read_run(tmp_path / "run")
    assert logged() == [("riderless.hil", "INFO", f"read {len(run.ticks)} rows of {tmp_path / 'run' / 'run.mcap'}")]
    rl.export_run(tmp_path / "run", "csv")
    assert logged()[-1][2] == f"exported {tmp_path / 'run'} to {tmp_path / 'run' / 'ticks.csv'}"
    rl.read_rig(DOCS / "rigs/node.toml")
    assert logged()[-1][2].startswith("read the rig ")


def test_code_of_others_that_is_loaded(logged, tmp_path):
    driver = tmp_path / "logged_wheel.py"
    driver.write_bytes((DOCS / "starter/wheel_text.py").read_bytes())
    name_driver(driver)
    outside_device("logged_wheel.py", ())
    assert [line for room, _, line in logged() if room == "riderless.firmware_interface"][-1].startswith(
        "loaded the driver logged_wheel.py of logged_wheel.py "
    )
    law = tmp_path / "my_law.py"
    law.write_text((DOCS / "starter/my_law.py").read_text(encoding="utf-8") + f"\n# {tmp_path}\n", encoding="utf-8")
    rl.read_law(law, rl.load_bicycle("Silver"), rl.LoopTiming())
    assert any(line.startswith(f"loaded the law {law}, sha256 ") for _, _, line in logged())


def test_fits_that_fail(logged, monkeypatch):
    silver = rl.load_bicycle("Silver")
    kicks = [rl.Kick(0.6, impulse=3.0)]
    run = rl.simulate(silver, rl.design(silver, "off", [5.0]), speed=5.0, kicks=kicks, duration=4.0)
    fitted = analysis.fitted
    monkeypatch.setattr(
        analysis, "fitted", lambda *given: replace(fitted(*given), ok=False, status="it did not settle")
    )
    logged()
    rl.analyze(run)
    ((room, level, line),) = logged()
    assert (room, level) == ("riderless.experiments", "WARNING")
    assert line.endswith(" s: it did not settle")


def test_verbose_says_it_on_standard_error(tmp_path):
    (tmp_path / "mine.toml").write_bytes((ROOT / "models/bicycles/Silver.toml").read_bytes())
    command = [sys.executable, "-m", "riderless", "-v", "eig", "mine.toml", "--speeds", "5"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stderr == "riderless.models: read the bicycle 'Silver' from mine.toml\n"
    assert "weave" in done.stdout
