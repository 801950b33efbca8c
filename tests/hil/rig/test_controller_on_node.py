"""A controller on board of the node: in C as in the tick, within the bound that the computer commands."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import riderless as rl
from riderless.firmware_interface.twins.c_node import SOURCES
from riderless.hil.rig.controller_in_c import NODE_FILE, controller_in_c, name_on_board
from riderless.hil.rig.fitting import emulated_rig
from riderless.hil.rig.rig import Rig
from riderless.models.errors import InputError
from tests.firmware_interface.firmware.test_c_build import needs
from tests.firmware_interface.firmware.test_c_qemu import HERE, MACHINES, played
from tests.hil.rig.on_node import MOUNTED, node_library, spoken, wishes_alone, wishes_of
from tests.hil.rig.test_controller_in_c import CONTROLLERS, SILVER
from tests.tools.controller_on_boards import C

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
ON_BOARD = ("gains", "lqg", "integrator that waits", "no state")


@pytest.mark.parametrize("name", ON_BOARD)
def test_node_and_tick_wish_the_same(name, tmp_path):
    """Each value, wish and byte of 8000 instants: silence, faults, readings off their scale, clock over its wrap."""
    controller = CONTROLLERS[name]()
    rig = replace(emulated_rig(controller.bicycle, controller), calibration=MOUNTED)
    wishes = wishes_of(node_library(tmp_path, controller, rig), controller, rig, 8000)
    assert np.ptp(wishes) > 5000
    assert len(set(wishes.tolist())) > 3000


def test_at_1000_hz_too(tmp_path):
    controller = rl.design(SILVER, "lqr", (3.0, 5.0, 7.0), rl.LoopTiming(rate=1000.0))
    rig = replace(emulated_rig(SILVER, controller), calibration=MOUNTED)
    assert np.ptp(wishes_of(node_library(tmp_path, controller, rig), controller, rig, 4000)) > 5000


def test_in_single_precision_it_is_off_by_1_mNm_at_most(tmp_path):
    """Of noise that asks for up to 13 N m; the calibration is in single precision too."""
    controller = CONTROLLERS["lqg"]()
    rig = replace(emulated_rig(SILVER, controller), calibration=MOUNTED)
    (tmp_path / "single").mkdir()
    single = node_library(tmp_path / "single", controller, rig, "-DRIDERLESS_SINGLE", "-Wdouble-promotion")
    double = wishes_alone(node_library(tmp_path, controller, rig), rig, 4000)
    assert np.abs(wishes_alone(single, rig, 4000) - double).max() <= 1


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("processor", MACHINES)
def test_it_says_every_byte_that_this_computer_says(processor, tmp_path):
    """With the same exp(), which no two libraries have alike; the first test has the tick's."""
    controller = CONTROLLERS["lqg"]()
    rig = replace(emulated_rig(SILVER, controller), calibration=MOUNTED)
    exp = C / "without_newlib"
    library = node_library(tmp_path, controller, rig, "-Wl,-Bsymbolic", "-fno-builtin", str(exp / "exp.c"))
    written, wanted = spoken(library, rig, 3000)
    (tmp_path / "instants.bin").write_bytes(written)
    sources = [HERE / "c_instants.c", SOURCES / "node.c", *tmp_path.glob("riderless_*.c"), exp / "exp.c"]
    assert played(processor, tmp_path, sources, "-DCONTROLLER", f"-I{exp}", f"-I{tmp_path}") == wanted


def test_another_calibration_or_law_has_another_name():
    gains, rig = CONTROLLERS["gains"](), Rig(SILVER)
    names = {
        name_on_board(gains, rig),
        name_on_board(gains, replace(rig, calibration={"torque_sign": -1})),
        name_on_board(replace(gains, K=2.0 * gains.K), rig),
    }
    assert len(names) == 3
    assert name_on_board(gains, replace(rig, name="the same, by another name")) in names
    assert all(len(name) == 15 for name in names)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("lane", "heading and place"),
        ("steer rate", "steer rate"),
        ("one speed, obeyed at once", "delay of 0.3 samples"),
    ],
)
def test_what_a_node_cannot_do_is_refused(name, why):
    controller = CONTROLLERS[name]()
    rig = emulated_rig(SILVER, controller)
    assert NODE_FILE not in controller_in_c(controller, rig)
    with pytest.raises(InputError, match=why):
        name_on_board(controller, rig)
