"""Only a file that a person names becomes a law."""

import hashlib

import pytest
import tomli_w

from riderless.hil.controllers import law_file
from riderless.hil.controllers.registry import controller_from_text
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError


def test_a_header_that_names_a_python_file_runs_nothing(tmp_path, monkeypatch):
    """The text of a log with a law whose file lies beside it, its hash right: only a person's word brings it to run."""
    monkeypatch.setattr(law_file, "_named", {})  # as in a process of its own
    trap, executed = tmp_path / "trap.py", tmp_path / "executed"
    trap.write_text(f"open({str(executed)!r}, 'w').close()\n")
    text = tomli_w.dumps(
        {
            "format": "riderless compiled law 1",
            "file": str(trap),
            "sha256": hashlib.sha256(trap.read_bytes()).hexdigest(),
            "method": "trap",
            "inputs": ["phi"],
            "states": [],
            "settings": {},
            "speeds": [4.0, 7.0],
            "loop": {"rate": 200.0, "delay": 1, "drive_lag": 0.005},
            "bicycle": load_bicycle("Silver").as_dict(),
        }
    )
    made = controller_from_text(text)
    for use in (made.law, lambda: made.linearised(5.0)):
        with pytest.raises(InputError, match="which no log brings along"):
            use()
    assert not executed.exists()
