"""A person's veto, moves and additions: obeyed, told in rule and reason, refused with the line where they are wrong."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.analysis.windows.notes import apply_notes, attach_notes, read_notes
from riderless.experiments.cli import app
from riderless.experiments.datatypes import Note
from riderless.models.errors import InputError
from tests.experiments.recordings import foreign_log
from tests.experiments.recordings.foreign_log import write_csv
from tests.experiments.recordings.test_foreign_mapping import EXAMPLE
from tests.experiments.synthetic import kicked

WHOLE = kicked()  # kicks at 2 and 8 s, 14 s long
FIRST, SECOND = find_windows(WHOLE)[0]


def written(tmp_path, text):
    path = tmp_path / "windows.txt"
    path.write_text(text)
    return path


def analysed(tmp_path, text):
    notes = read_notes(written(tmp_path, text), ["synthetic"])
    return analyze_responses([replace(WHOLE, notes=notes.get("synthetic", ()), bicycle=None, kind="kooijman")])


def spans(analysis):
    return [(c.window.t_start, c.window.t_end) for c in analysis.comparisons]


def test_without_a_word_nothing_changes(tmp_path):
    assert spans(analysed(tmp_path, "# nothing\n\n")) == [(w.t_start, w.t_end) for w in (FIRST, SECOND)]


def test_a_veto_takes_the_window_out_and_says_why(tmp_path):
    analysis = analysed(tmp_path, 'veto 3.0 "hand touched"  # on the video')
    assert spans(analysis) == [(SECOND.t_start, SECOND.t_end)]
    (refusal,) = [r for r in analysis.rejected if "person" in r.reason]
    assert refusal.reason == "vetoed by a person: hand touched (line 1 of windows.txt)"
    assert (refusal.t_start, refusal.t_end) == (FIRST.t_start, FIRST.t_end)


@pytest.mark.parametrize("edge", [FIRST.t_start, FIRST.t_end])
def test_a_window_is_named_by_its_printed_ends_too(tmp_path, edge):
    assert len(spans(analysed(tmp_path, f'veto {edge:.2f} "why not"'))) == 1


def test_a_window_is_moved_and_its_rule_remembers(tmp_path):
    analysis = analysed(tmp_path, 'move 3.0 to 2.5-4.0 "kick ended later"')
    assert spans(analysis)[0] == pytest.approx((2.5, 4.0))
    rule = analysis.comparisons[0].window.rule
    assert rule.startswith("moved by a person: kick ended later (line 1 of windows.txt); was ")
    assert f"{FIRST.t_start:.2f}-{FIRST.t_end:.2f} s, {FIRST.rule}" in rule
    # the fit of the part of one decay is that of the decay: the truth of `kicked`
    fit = analysis.comparisons[0].fit
    assert (fit.re, fit.im) == pytest.approx((-1.2, 5.4), abs=0.1)


def test_a_window_is_added_after_a_veto_and_overlap_is_refused(tmp_path):
    text = 'veto 9 "too long"\nadd 8.6-10.6 "only its beginning"'
    analysis = analysed(tmp_path, text)
    assert spans(analysis)[1] == pytest.approx((8.6, 10.6))
    assert analysis.comparisons[1].window.rule == "added by a person: only its beginning (line 2 of windows.txt)"
    with pytest.raises(InputError, match=r"line 1 of windows.txt.*across the window 8\."):
        analysed(tmp_path, 'add 8.6-10.6 "why"')


def test_what_the_rules_refused_may_be_moved_into_a_window(tmp_path):
    quiet = kicked(kicks=(2.0, 8.0), length=9.0)
    windows, rejected = find_windows(quiet)
    short = next(r for r in rejected if "too short" in r.reason)
    assert len(windows) == 1
    note = Note("move", 0.5 * (short.t_start + short.t_end), (8.15, 8.95), "enough for me", "line 1 of windows.txt")
    found, refused = apply_notes(replace(quiet, notes=(note,)), (windows, rejected))
    assert len(found) == 2
    assert refused == [r for r in rejected if r is not short], "it is a window now, and refused no more"
    assert found[1].rule == (f"moved by a person: enough for me (line 1 of windows.txt); was refused: {short.reason}")


def test_a_part_that_is_not_free_is_told_in_the_rule():
    free = (WHOLE.t < 3.0) | (WHOLE.t > 3.1)
    note = Note("add", None, (5.9, 7.5), "x", "line 1")
    over = Note("add", None, (2.9, 3.5), "y", "line 2")
    response = replace(WHOLE, free=free, notes=(over,), kind="kooijman")
    (window,), _ = apply_notes(response, ([], []))
    assert window.rule == "added by a person: y (line 2); not free, says the recording, from 3.00 to 3.10 s"
    (window,), _ = apply_notes(replace(response, notes=(note,)), ([], []))
    assert window.rule == "added by a person: x (line 1)"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("veto", ["line 2", "wanted veto T", "found 'veto'"]),
        ("veto 3.0", ["line 2", '"why"']),
        ('veto 3.0 ""', ["line 2", '"why"']),
        ('veto 3,0 "comma"', ["line 2"]),
        ('move 3.0 to 5.0-4.0 "x"', ["line 2", "later end", "5.0-4.0"]),
        ('move 3.0 "x"', ["line 2"]),
        ('keep 3.0 "x"', ["line 2", "keep"]),
        ('veto 99 "x"', ["line 2", "99 s", f"{FIRST.t_start:.2f}-{FIRST.t_end:.2f}"]),
        ('add 13.0-20.0 "x"', ["line 2", "0.000 to 13.995 s", "13-20 s"]),
        ('other: veto 3.0 "x"', ["line 2", "'other'", "synthetic"]),
    ],
)
def test_errors_point_at_the_line(tmp_path, line, words):
    with pytest.raises(InputError) as caught:
        analysed(tmp_path, "# a comment\n" + line)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert all(word in sentence for word in words), sentence


def test_a_file_that_serves_several_recordings_names_them(tmp_path):
    path = written(tmp_path, 'b.csv: veto 3 "x"\n a.csv : add 1-2 "y"')
    notes = read_notes(path, ["a.csv", "b.csv"])
    assert [note.verb for note in notes["a.csv"]] == ["add"]
    assert [note.at for note in notes["b.csv"]] == [3.0]
    with pytest.raises(InputError, match=r"line 1 of .*name of a recording.*serves 2 \(a.csv, b.csv\)"):
        read_notes(written(tmp_path, 'veto 3 "x"'), ["a.csv", "b.csv"])


def test_a_run_has_its_own_file_and_one_around_it(tmp_path):
    for name in ("run-1", "run-2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.mcap").touch()
    (tmp_path / "run-1" / "windows.txt").write_text('veto 3.0 "own"')
    written(tmp_path, 'run-1: veto 9.0 "around"\nrun-2: veto 3.0 "around"')
    responses = [replace(WHOLE, source=name) for name in ("run-1", "run-2")]
    one, two = attach_notes(responses, [tmp_path / "run-1", tmp_path / "run-2" / "run.mcap"])
    assert [(note.at, note.reason) for note in one.notes] == [(3.0, "own"), (9.0, "around")]
    assert [(note.at, note.reason) for note in two.notes] == [(3.0, "around")]


def test_the_command_and_its_report_say_so(tmp_path):
    (tmp_path / "logs").mkdir()
    path = write_csv(tmp_path / "logs" / "log.csv", foreign_log.in_their_units(foreign_log.signals()))
    (tmp_path / "m.toml").write_text(EXAMPLE)
    arguments = ["analyze", str(path), "--mapping", str(tmp_path / "m.toml"), "--json"]
    before = json.loads(CliRunner().invoke(app, arguments).stdout)
    at = before["windows"][0]["t_start"] + 0.1
    (tmp_path / "logs" / "windows.txt").write_text(f'veto {at:.2f} "wind from the door"')
    done = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path / "report")])
    assert done.exit_code == 0, done.output
    after = json.loads(done.stdout)
    assert after["windows"] == before["windows"][1:]
    assert "vetoed by a person: wind from the door (line 1 of windows.txt)" in [r["reason"] for r in after["rejected"]]
    assert "vetoed by a person: wind from the door" in (tmp_path / "report" / "report.html").read_text()
    (tmp_path / "mine.txt").write_text(f'log.csv: veto {at:.2f} "mine"')
    shown = CliRunner().invoke(app, [*arguments[:-1], "--windows", str(tmp_path / "mine.txt")])
    assert "vetoed by a person: mine (line 1 of mine.txt)" in shown.output


def test_a_file_of_another_encoding_is_told_to_be_saved_anew(tmp_path):
    (tmp_path / "windows.txt").write_bytes(b"veto 6.5 \x93hand\x94")
    with pytest.raises(InputError, match=r"wanted a file of windows in UTF-8, found .*save it as UTF-8"):
        read_notes(tmp_path / "windows.txt", ["run"])
