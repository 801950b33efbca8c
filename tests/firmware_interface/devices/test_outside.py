"""Drivers from outside: of a file that a rig names, and of an installed package."""

import hashlib
import importlib
import shutil
import subprocess
import sys

import pytest

from riderless.firmware_interface.devices import outside
from riderless.firmware_interface.devices.outside import driver_origin, name_driver, twin_file
from riderless.firmware_interface.devices.registry import DEVICES, device
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.twins.conformance import check_driver
from riderless.hil.rig.file import drivers_of, read_rig
from riderless.hil.rig.recorded_rig import require_drivers_of, rig_of_record, rig_to_record
from tests.paths import DOCS

STARTER = DOCS / "starter"
CHECKSUM = "if memory[TOLD] != memory[SUM]:"


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch):
    """As in a process of its own."""
    monkeypatch.setattr(outside, "_files", {})
    monkeypatch.setattr(outside, "_devices", {})
    monkeypatch.delenv(outside._HANDED_ON, raising=False)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("wheel_", "lab_wheel")):
            del sys.modules[name]


@pytest.fixture
def folder(tmp_path):
    for name in ("wheel_text.py", "wheel_text_twin.py", "wheel_rig.toml"):
        shutil.copy(STARTER / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def package(folder, monkeypatch):
    """An installed package with a driver and its twin."""
    inside, info = folder / "lab_wheel", folder / "lab_wheel-1.2.dist-info"
    inside.mkdir()
    info.mkdir()
    (inside / "__init__.py").write_text("")
    shutil.copy(folder / "wheel_text.py", inside / "driver.py")
    shutil.copy(folder / "wheel_text_twin.py", inside / "twin.py")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-wheel\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(
        "[riderless.devices]\nlab_wheel = lab_wheel.driver:DEVICE\nnode = lab_wheel.driver:DEVICE\n"
        "[riderless.twins]\nlab_wheel = lab_wheel.twin:make\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    return inside


def test_a_driver_of_a_file_keeps_the_rules(folder):
    result = check_driver(folder / "wheel_text.py", rates=(200,))
    assert result.passed, result
    assert str(result).startswith("wheel_text.py: all ")


@pytest.mark.parametrize(
    ("right", "wrong", "rule"),
    [
        (CHECKSUM, "if memory[TOLD] < 0:", "a damaged message is no reading"),
        ("rate_hz=rate)", "rate_hz=100)", "it samples at the loop's rate"),
        (
            "= memory[NUMBER]\n            link",
            "= -memory[NUMBER]\n            link",
            "v_meas is what the twin measures",
        ),
    ],
)
def test_a_fault_of_a_driver_is_found(folder, right, wrong, rule):
    text = (folder / "wheel_text.py").read_text(encoding="utf-8")
    assert right in text
    (folder / "wheel_text.py").write_text(text.replace(right, wrong), encoding="utf-8")
    result = check_driver(folder / "wheel_text.py", rates=(200,))
    assert any(rule in finding.rule for finding in result.failures), result


def test_a_rig_names_a_file_and_a_log_keeps_its_origin_but_runs_nothing(folder):
    assert drivers_of(folder / "wheel_rig.toml") == [folder / "wheel_text.py", folder / "wheel_text_twin.py"]
    rig = read_rig(folder / "wheel_rig.toml")
    sha256 = hashlib.sha256((folder / "wheel_text.py").read_bytes()).hexdigest()
    recorded = rig_to_record(rig, rig.calibrated())
    recorded["ports"] = [vars(port) for port in recorded["ports"]]
    assert recorded["drivers"] == {"wheel_text.py": {"package": "wheel_text.py", "version": "", "sha256": sha256}}
    outside._files.clear()
    outside._devices.clear()
    outside.os.environ.pop(outside._HANDED_ON)
    again = rig_of_record(recorded, rig.bicycle, rig.calibrated())
    assert again.drivers == recorded["drivers"]
    assert not outside._devices, "reading a log loads no driver"
    with pytest.raises(DeviceError, match="no log brings it along: name its file with --driver"):
        require_drivers_of(again)
    changed = folder / "other" / "wheel_text.py"
    changed.parent.mkdir()
    changed.write_text((folder / "wheel_text.py").read_text(encoding="utf-8") + "\n", encoding="utf-8")
    name_driver(changed)
    with pytest.raises(DeviceError, match="which is another or was changed since"):
        require_drivers_of(again)
    with pytest.raises(DeviceError, match=r"one driver called wheel_text\.py in one process"):
        name_driver(folder / "wheel_text.py")


def test_a_process_that_this_one_begins_knows_the_file(folder):
    name_driver(folder / "wheel_text.py")
    program = "from riderless import device; print(device('wheel_text.py').name)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "wheel_text\n"
    with (folder / "wheel_text.py").open("a") as file:
        file.write("# later\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "was changed since this program began" in done.stderr


def test_only_the_package_that_a_rig_names_is_imported(package, folder):
    assert device("node").name == "node", "no package takes the place of a device of ours"
    origin = driver_origin("lab_wheel")
    assert origin[:2] == ("lab-wheel", "1.2")
    assert "lab_wheel" not in sys.modules
    rig = folder / "wheel_rig.toml"
    rig.write_text(rig.read_text(encoding="utf-8").replace('"wheel_text.py"', '"lab_wheel"'), encoding="utf-8")
    assert drivers_of(rig) == []
    made = read_rig(rig)
    assert "lab_wheel.driver" in sys.modules
    assert "lab_wheel.twin" not in sys.modules
    assert made.ports[1].device == "lab_wheel"
    assert rig_to_record(made, made.calibrated())["drivers"]["lab_wheel"] == origin._asdict()
    (package / "helper.py").write_text("")
    (package / "driver.py").write_text("# changed\n")
    assert driver_origin("lab_wheel").sha256 != origin.sha256
    assert check_driver("lab_wheel", rates=(200,)).passed


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 +", "is not Python"),
        ("raise OSError('no')", "stops .OSError: no."),
        ("DEVICE = 3", "wanted a driver DEVICE = Device.* found int"),
        ("", "found none"),
    ],
)
def test_a_file_that_is_no_driver(tmp_path, text, sentence):
    (tmp_path / "wheel_bad.py").write_text(text)
    with pytest.raises(DeviceError, match=sentence):
        device(name_driver(tmp_path / "wheel_bad.py"))


def test_names_that_cannot_be(tmp_path):
    with pytest.raises(DeviceError, match=r"unknown device 'arduino': the devices are node, .* no installed package"):
        device("arduino")
    with pytest.raises(DeviceError, match="cannot be read"):
        name_driver(tmp_path / "none.py")
    (tmp_path / "json.py").write_text("")
    with pytest.raises(DeviceError, match="give it another name"):
        device(name_driver(tmp_path / "json.py"))
    assert twin_file(tmp_path / "json.py").name == "json_twin.py"
    assert all("." not in name for name in DEVICES)
