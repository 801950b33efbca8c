"""`riderless live` where there is nothing to look at: other tests' runs go on on this computer too."""

import pytest

from riderless.experiments.commands.live import live
from riderless.hil.live import layout
from riderless.models.errors import InputError


def test_without_a_run_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr(layout, "find_shared_areas", lambda: iter(()))
    with pytest.raises(InputError, match="no run goes on on this computer: start `riderless run` in another terminal"):
        live(run=None, host="127.0.0.1", port=0, process=None, as_json=False)
