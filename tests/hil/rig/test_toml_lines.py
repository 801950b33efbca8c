"""Lines and words of the faults of TOML files."""

import pytest

from hil.rig.file import read_rig
from hil.rig.toml_lines import find_key_lines
from models.errors import InputError
from tests.paths import DOCS

NODE = (DOCS / "rigs/node.toml").read_text(encoding="utf-8")


def refusal(folder, old, new):
    """Sentence with which the rig of the docs is refused once ``old`` is ``new``."""
    assert old in NODE
    (folder / "rig.toml").write_text(NODE.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_rig(folder / "rig.toml")
    return str(caught.value)


def test_a_faulty_limit_is_found_where_it_stands(tmp_path):
    reason = next(line for line in NODE.splitlines() if line.startswith('reason = "45 deg'))
    line = find_key_lines(NODE)["limits", "steer", "value"]
    assert f"line {line}: limit 'steer' needs a value" in refusal(tmp_path, reason, "")
