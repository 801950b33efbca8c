"""Page that a program opens beside itself: a process of its own, which leaves nothing behind when it ends first."""

import sys
import time
from pathlib import Path

from riderless.experiments.live.launch import open_page


def test_a_page_that_fails_leaves_no_zombie(tmp_path, monkeypatch):
    told = tmp_path / "number"
    failing = tmp_path / "python"  # in place of the interpreter that would serve the page
    failing.write_text(f"#!/bin/sh\necho $$ > {told}.part && mv {told}.part {told}\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(failing))
    open_page()
    end = time.monotonic() + 10.0
    while not told.exists() or Path(f"/proc/{told.read_text().strip()}").exists():
        assert time.monotonic() < end, "the process was never reaped"
        time.sleep(0.01)
