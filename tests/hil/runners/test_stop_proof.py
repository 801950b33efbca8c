"""A rig is not armed on a day on which its hardware stop was not pressed, unless somebody says so."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from riderless.firmware_interface.errors import DeviceError
from riderless.hil.rig.file import read_rig
from riderless.hil.runners.session import run_realtime
from riderless.hil.runners.stop_proof import WITHOUT, keep_stop_proof, require_stop_proof
from riderless.models.errors import InputError
from tests.hil.machine import gains
from tests.paths import DOCS

WANTED = r"hardware stop pressed today.* run `riderless check RIG` .* --without-stop-proof"


@pytest.fixture
def rig(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return replace(read_rig(DOCS / "rigs" / "node.toml"), stop_proof=True)


def test_it_is_asked_for_until_it_was_pressed_today(rig):
    with pytest.raises(InputError, match=WANTED):
        require_stop_proof(rig)
    keep_stop_proof(rig)
    require_stop_proof(rig)


def test_another_machine_and_another_drive_want_another(rig):
    keep_stop_proof(rig)
    for other in (replace(rig, name="other"), replace(rig, ports=(replace(rig.ports[0], baud=115200),))):
        with pytest.raises(InputError, match=WANTED):
            require_stop_proof(other)


@pytest.mark.parametrize(
    "utc",
    [(datetime.now(UTC) - timedelta(days=1)).isoformat(), "2099-01-01T00:00:00+00:00", "once", None],
    ids=["yesterday", "later", "illegible", "none"],
)
def test_one_of_another_day_or_an_illegible_one_does_not_count(rig, tmp_path, utc):
    keep_stop_proof(rig)
    file = tmp_path / "riderless" / "stop.json"
    file.write_text(json.dumps({key: {"utc": utc} for key in json.loads(file.read_text())}))
    with pytest.raises(InputError, match=WANTED):
        require_stop_proof(rig)


def test_a_rig_file_asks_for_it_and_a_rig_without_a_file_does_not(rig, tmp_path):
    text = (DOCS / "rigs" / "node.toml").read_text(encoding="utf-8").replace("stop_proof = false", "")
    (tmp_path / "rig.toml").write_text(text, encoding="utf-8")
    assert read_rig(tmp_path / "rig.toml").stop_proof
    require_stop_proof(replace(rig, stop_proof=False))


def test_a_run_is_refused_before_a_port_is_opened_and_goes_on_without_proof_when_told(rig, tmp_path):
    with pytest.raises(InputError, match=WANTED):
        run_realtime(tmp_path / "run", rig, gains(rig), "/dev/no-such-port", 1.0)
    with pytest.raises(DeviceError, match="no-such-port"):
        run_realtime(tmp_path / "run", rig, gains(rig), "/dev/no-such-port", 1.0, extra={WITHOUT: True})
