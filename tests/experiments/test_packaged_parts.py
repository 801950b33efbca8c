"""A law, an estimator and a reader of recordings that an installed package offers."""

import importlib
import shutil
import sys

import numpy as np
import pytest

import riderless as rl
from riderless.experiments.analysis.analyze import require_estimator
from riderless.experiments.analysis.estimators import estimate, single_mode
from riderless.experiments.recordings.foreign.formats.registry import read_table
from riderless.hil.controllers import law_file
from riderless.hil.controllers.registry import read_controller
from riderless.models.errors import InputError
from tests.paths import DOCS

PARTS = """
from pathlib import Path

from riderless.experiments.analysis.estimators import single_mode
from riderless.experiments.recordings.foreign.formats import text


def fit(t, y, near=None):
    return single_mode.fit(t, y, near)


def read(path, wanted=(), **how):
    table = Path(path).with_suffix(".csv")
    table.write_bytes(Path(path).read_bytes()[200:])
    return text.read(table, wanted=wanted, **how)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    inside, info = tmp_path / "lab_parts", tmp_path / "lab_parts-0.1.dist-info"
    inside.mkdir()
    info.mkdir()
    (inside / "__init__.py").write_text("")
    shutil.copy(DOCS / "starter/my_law.py", inside / "law.py")
    (inside / "parts.py").write_text(PARTS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-parts\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(
        "[riderless.controllers]\nlab_law = lab_parts.law\n[riderless.estimators]\nlab_fit = lab_parts.parts:fit\n"
        "[riderless.formats]\nlab = lab_parts.parts:read\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(law_file, "_named", {})
    importlib.invalidate_caches()
    yield inside
    for name in [name for name in sys.modules if name.startswith("lab_parts")]:
        del sys.modules[name]


def test_a_law_is_named_as_a_controller(package):
    silver = rl.load_bicycle("Silver")
    timing = rl.Rig(silver).timing
    law = read_controller("lab_law", silver, timing)
    assert law.sha256 == read_controller(DOCS / "starter/my_law.py", silver, timing).sha256
    assert "lab_parts.law" not in sys.modules, "the text that was hashed is the text that runs"
    with pytest.raises(InputError, match="lab_low cannot be read"):
        read_controller("lab_low", silver, timing)


def test_an_estimator_is_named(package):
    t = np.arange(0.0, 4.0, 0.005)
    y = np.exp(-0.5 * t) * np.cos(4.0 * t) + 1e-3 * np.sin(37.0 * t**2)
    require_estimator("lab_fit")
    assert estimate(t, y, "lab_fit").eigenvalue == estimate(t, y, single_mode.NAME).eigenvalue
    with pytest.raises(InputError, match="wanted an estimator among"):
        require_estimator("lab_fot")


def test_a_format_is_named_by_its_suffix(package, tmp_path):
    path = tmp_path / "ride.lab"
    path.write_bytes(bytes(200) + b"t,phi\n" + b"".join(b"%f,%f\n" % (0.01 * i, 0.1) for i in range(50)))
    assert "lab_parts.parts" not in sys.modules
    assert "phi" in read_table(path).columns
    (tmp_path / "ride.lob").write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="known format"):
        read_table(tmp_path / "ride.lob")
