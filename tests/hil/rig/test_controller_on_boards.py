"""A controller in C on emulated processors: what it costs, and that it wishes there what it does here."""

import shutil

import numpy as np
import pytest

from riderless.hil.rig.fitting import emulated_rig
from tests.hil.rig.c_rides import compiled, ridden
from tests.hil.rig.test_controller_in_c import CONTROLLERS, SINGLE_WORST
from tests.tools.controller_on_boards import BOARDS, cost, rows_of_all_speeds

pytest.importorskip("unicorn", reason="unicorn, an emulator of processors, is not installed")
for program in ("gcc", "arm-none-eabi-gcc"):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed", allow_module_level=True)
M3, M4F, M7 = BOARDS
DOUBLE_WORST = 1e-12  # of the greatest wish: another library's exp, which may differ in its last bits


@pytest.mark.parametrize(
    ("name", "board", "precision", "bytes_of_flash", "share_of_period"),
    [
        ("gains", M3, "double", 3000, 0.25),
        ("gains", M3, "single", 2000, 0.1),
        ("gains", M4F, "single", 1500, 0.005),
        ("gains", M7, "double", 2000, 0.005),
        ("lqg", M4F, "single", 4000, 0.01),
        ("steer angle", M4F, "single", 1500, 0.005),
    ],
    ids=lambda value: getattr(value, "cpu", str(value)),
)
def test_it_fits_and_wishes_the_same(name, board, precision, bytes_of_flash, share_of_period, tmp_path):
    controller, rows = CONTROLLERS[name](), rows_of_all_speeds()
    found = cost(controller, board, precision, rows, tmp_path)
    flags = ["-DRIDERLESS_SINGLE"] if precision == "single" else []
    here = ridden(compiled(tmp_path, controller, emulated_rig(controller.bicycle, controller), *flags), rows)["wish"]
    assert np.abs(found.wishes - here).max() < {"double": DOUBLE_WORST, "single": SINGLE_WORST}[precision] * np.ptp(
        here
    )
    assert found.flash < bytes_of_flash
    assert found.ram < 256
    assert 0 < found.stack < 512
    assert 0.0 < found.time < share_of_period * controller.loop.dt
