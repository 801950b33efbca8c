"""A law in Python on the command line: flown, replayed with the file that a person names, and references followed."""

import re
import time

import pytest

from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from tests.experiments.commands.test_cli import call
from tests.experiments.commands.test_run_keys import terminal
from tests.paths import DOCS

SMOOTH, SLIDING = re.findall(r"```python\n(.*?)```", (DOCS / "controllers.md").read_text(encoding="utf-8"), re.S)
SHORT = ("--model", "linear", "--speed", 5, "--duration", 1)


@pytest.fixture
def riderless(capsys, monkeypatch):
    return lambda *arguments: call(capsys, monkeypatch, *arguments)


@pytest.fixture
def nobody_named():
    """As in a process of its own."""
    from riderless.hil.controllers import law_file

    law_file._named.clear()


def test_a_law_is_flown_and_replayed_with_its_file_only(riderless, tmp_path, nobody_named):
    from riderless.hil.controllers import law_file

    law, other, out = tmp_path / "my_law.py", tmp_path / "sliding.py", tmp_path / "run"
    law.write_text(SMOOTH, encoding="utf-8")
    other.write_text(SLIDING, encoding="utf-8")
    code, _, _ = riderless("simulate", "Silver", "--controller", law, *SHORT, "-o", out)
    assert code == 0
    law_file._named.clear()
    code, _, said = riderless("replay", out)
    assert code == 2
    assert "wanted the law my_law.py" in said
    code, _, said = riderless("replay", out, "--controller", other)
    assert code == 2
    assert "another file or was changed since" in said
    code, said, _ = riderless("replay", out, "--controller", law)
    assert code == 0
    assert "bit-identical" in said


def test_plot_and_identify_take_the_file_that_they_ask_for(riderless, tmp_path, nobody_named):
    from riderless.experiments.recordings import runs
    from riderless.hil.controllers import law_file

    law, out, picture = DOCS / "starter" / "my_law.py", tmp_path / "run", tmp_path / "run.png"
    kicked = ("--speed", 5, "--kick", "0.6,4", "--duration", 8)
    assert riderless("simulate", "Silver", "--controller", law, *kicked, "-o", out)[0] == 0
    for command in (("plot", out, "-o", picture), ("identify", out, "--free", "drive_gain")):
        law_file._named.clear()
        runs._run_of.cache_clear()
        code, _, said = riderless(*command)
        assert (code, "--controller FILE.py" in said) == (2, True)
        assert riderless(*command, "--controller", law)[0] == 0
    assert picture.exists()
    assert riderless("simulate", "Silver", "--controller", "lqr", *SHORT, "-o", tmp_path / "gains")[0] == 0
    code, _, said = riderless("plot", tmp_path / "gains", "-o", tmp_path / "other.png", "--controller", law)
    assert code == 2
    assert "no run was made with a law of a Python file" in said


def test_the_page_asks_for_the_law_of_a_run_and_fits_its_kicks_with_it(riderless, tmp_path, nobody_named):
    from riderless.experiments.live.fits import Fitter
    from riderless.experiments.live.replay.recordings import OwnRun
    from riderless.hil.controllers import law_file

    law, out = DOCS / "starter" / "my_law.py", tmp_path / "run"
    kicked = ("--speed", 5, "--kick", "0.6,4", "--duration", 8)
    assert riderless("simulate", "Silver", "--controller", law, *kicked, "-o", out)[0] == 0

    def fits():
        with Fitter(print) as fitter:
            fitter.ask(out)
            while (found := fitter.found()) is None:
                time.sleep(0.1)
        return found.fits

    law_file._named.clear()
    assert "name it with --controller FILE.py" in OwnRun(out).events()[0].text
    assert not fits()
    law_file.name_law(law)
    assert not [event for event in OwnRun(out).events() if "--controller" in event.text]
    assert fits(), "the process that fits knows the file that a person named in this one"


def test_live_takes_the_file_of_a_law(riderless, tmp_path, nobody_named):
    from riderless.hil.controllers import law_file

    out, law = tmp_path / "gains", DOCS / "starter" / "my_law.py"
    assert riderless("simulate", "Silver", "--controller", "lqr", *SHORT, "-o", out)[0] == 0
    code, _, said = riderless("live", out, "--controller", law)
    assert (code, "no run was made with a law of a Python file" in said) == (2, True)
    other = tmp_path / "other.py"
    other.write_text(SLIDING, encoding="utf-8")
    assert riderless("simulate", "Silver", "--controller", law, *SHORT, "-o", tmp_path / "law")[0] == 0
    law_file._named.clear()
    code, _, said = riderless("live", tmp_path / "law", "--controller", other, "--tcp-port", 0)
    assert (code, "which is another file or was changed since" in said) == (2, True)


@pytest.mark.slow
def test_several_runs_fly_it_in_processes_of_their_own(riderless, tmp_path):
    law, out = tmp_path / "my_law.py", tmp_path / "runs"
    law.write_text(SMOOTH, encoding="utf-8")
    code, _, _ = riderless("simulate", "Silver", "--controller", law, *SHORT, "--seeds", 2, "--jobs", 2, "-o", out)
    assert code == 0
    assert len(list(out.glob("*/run.mcap"))) == 2


def test_a_file_is_refused_beside_a_run_that_has_its_gains(riderless, tmp_path):
    law, out = tmp_path / "my_law.py", tmp_path / "run"
    law.write_text(SMOOTH, encoding="utf-8")
    riderless("simulate", "Silver", "--controller", "lqr", *SHORT, "-o", out)
    code, _, said = riderless("replay", out, "--controller", law)
    assert code == 2
    assert "no run was made with a law of a Python file" in said


def test_a_simulated_bicycle_follows_a_reference(riderless, tmp_path):
    law, out = tmp_path / "turn.py", tmp_path / "run"
    turning = SMOOTH.replace('"phi", "delta",', '"psi_dot_ref", "phi", "delta",').replace(
        "    T += settings[3]", "    T -= 2.0 * reference.psi_dot_ref\n    T += settings[3]"
    )
    law.write_text(turning, encoding="utf-8")
    asked = ("--reference", "psi_dot=0.2@0.5")
    code, _, _ = riderless("simulate", "Silver", "--controller", law, *asked, *SHORT, "-o", out)
    assert code == 0
    ticks = read_run(out).ticks
    running = ticks[ticks["state"] == State.RUNNING]
    t = running["t"] - running["t"][0]
    assert (
        abs(running["T_req"][(t > 0.6) & (t < 0.7)]).mean() > 3.0 * abs(running["T_req"][(t > 0.2) & (t < 0.45)]).mean()
    )
    code, _, said = riderless("simulate", "Silver", "--controller", "lqr", *asked, *SHORT, "-o", tmp_path / "no")
    assert code == 2
    assert "follows no reference" in said


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("not python at all", "is not Python"), ("LAW = {}", "wants a function step")],
)
def test_a_file_that_is_no_law_ends_with_code_2(riderless, tmp_path, text, sentence):
    law = tmp_path / "law.py"
    law.write_text(text, encoding="utf-8")
    code, _, said = riderless("simulate", "Silver", "--controller", law, *SHORT, "-o", tmp_path / "no")
    assert code == 2
    assert sentence in said
    assert "Traceback" not in said


def test_a_law_that_switches_is_refused_by_run_before_a_twin_starts(riderless, tmp_path):
    law = tmp_path / "sliding.py"
    law.write_text(SLIDING, encoding="utf-8")
    code, _, said = riderless(
        "run", "--emulated", "--bicycle", "Silver", "--controller", law, "--speed", 5, "--duration", 3, "-o", tmp_path
    )
    assert code == 2
    assert "is not smooth" in said
    assert "--allow-unstable" in said


@pytest.fixture
def campaign_with_a_law(tmp_path):
    """A campaign file that names a law, and the mark that the law leaves as it is run."""
    mark, file = tmp_path / "mark", tmp_path / "campaign.toml"
    (tmp_path / "its_law.py").write_text(f"open({str(mark)!r}, 'w').close()\nraise OSError('law runs')\n", "utf-8")
    file.write_text(
        'name = "of a stranger"\ntime = "lockstep"\n[[controller]]\nfile = "its_law.py"\n'
        '[[protocol]]\nkind = "treadmill"\nspeeds_m_s = [5.0]\n',
        encoding="utf-8",
    )
    return file, mark


def test_a_script_is_told_before_a_campaign_runs_a_law_and_migrate_runs_none(riderless, campaign_with_a_law):
    file, mark = campaign_with_a_law
    assert riderless("migrate", file)[0] == 0
    assert not mark.exists()
    code, _, said = riderless("campaign", file, "--dry-run")
    assert code == 2
    assert mark.exists()
    assert said.index("its_law.py: Python code") < said.index("law runs")


@pytest.mark.parametrize("answer", ["\n", "y\n"])
def test_a_person_is_asked_before_a_campaign_runs_a_law(answer, campaign_with_a_law):
    file, mark = campaign_with_a_law
    with terminal("campaign", str(file), "--dry-run", columns=200) as screen:
        screen.see("run it?")
        assert not mark.exists()
        screen.press(answer)
        assert screen.ended() == 2
    assert mark.exists() == (answer == "y\n")


def test_a_law_that_the_person_names_is_not_asked_for(riderless, campaign_with_a_law):
    file, mark = campaign_with_a_law
    _, _, said = riderless("campaign", file, "--dry-run", "--controller", file.parent / "its_law.py")
    assert mark.exists()
    assert "Python code" not in said
    assert "leave it out" in riderless("campaign", file, "--controller", file.parent / "another.py")[2]
