"""Notes of a person on windows.

A small text file vetoes, moves or adds some, each with a reason. One line each; times in s; a window is named by any
time within it; what follows ``#`` is a comment::

    veto 12.3 "hand touched"
    move 12.3 to 12.6-15.1 "kick ended later"
    add 20.0-23.5 "weak, but a clean decay"
    run52.csv: veto 9.9 "a recording's name in front, where the file serves several"

The file ``windows.txt`` lies in a run's folder, or beside the recordings it is about.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.datatypes import Note, Rejected, Response, Window
from riderless.experiments.recordings import published
from riderless.experiments.recordings.read import find_recordings
from riderless.hil.logs.log import RUN_FILE as LOG
from riderless.models.errors import InputError
from riderless.models.text_file import read_text_file, why_unreadable

FILE = "windows.txt"
PRINTED_ROUNDING = 0.0051  # s; windows are printed to 0.01 s
LEAST_ROWS = 10
BY_PERSON = "by a person"
Part = TypeVar("Part", Window, Rejected)
_TIME = r"[-+]?(?:\d+\.?\d*|\.\d+)"
_SPAN = rf"({_TIME})\s*(?:-|:|to)\s*({_TIME})"
_LINE = re.compile(
    rf"(?:(?P<recording>[^:\"]+?)\s*:\s*)?"
    rf"(?:(?P<veto>veto)\s+(?P<at>{_TIME})"
    rf"|(?P<move>move)\s+(?P<old>{_TIME})\s+to\s+(?P<new>{_SPAN})"
    rf"|(?P<add>add)\s+(?P<span>{_SPAN}))"
    r"\s+\"(?P<reason>[^\"]*\S[^\"]*)\"\s*(?:#.*)?"
)
NOTE_FORMS = 'veto T "why", move T to A-B "why" or add A-B "why", with times in s'


def read_notes(path: Path, recordings: Sequence[str]) -> dict[str, tuple[Note, ...]]:
    """Read notes, by the name of their recording.

    Parameters
    ----------
    path : Path
    recordings : sequence of str
        Names of all recordings that the file serves, whether they are analysed or not.

    Raises
    ------
    InputError
        A line is not understood, names no recording though there are several, or one that is not there.
    """
    try:
        lines = read_text_file(path).splitlines()
    except UnicodeDecodeError as error:
        raise InputError(
            f"wanted a file of windows in UTF-8, found {path}: {why_unreadable(error)}; save it as UTF-8"
        ) from None
    except OSError as error:
        raise InputError(
            f"wanted a readable file of windows, found {path}: {why_unreadable(error)}; check the path"
        ) from None
    notes: dict[str, tuple[Note, ...]] = {}
    for number, line in enumerate(lines, start=1):
        text, where = line.strip(), f"line {number} of {path}"
        if not text or text.startswith("#"):
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            raise InputError(f"{where}: wanted {NOTE_FORMS}, found {text!r}; correct that line")
        name = match["recording"] or ""
        if not name and len(recordings) != 1:
            listed = ", ".join(recordings[:6]) + (" ..." if len(recordings) > 6 else "")
            raise InputError(
                f"{where}: wanted the name of a recording and a colon in front, for the file serves "
                f"{len(recordings)} ({listed}), found {text!r}; add it"
            )
        if name and name not in recordings:
            raise InputError(f"{where}: wanted one of {', '.join(recordings)}, found {name!r}; correct the name")
        note = _note(match, f"line {number} of {path.name}", where)
        notes[name or recordings[0]] = (*notes.get(name or recordings[0], ()), note)
    return notes


def _note(match: re.Match[str], short: str, where: str) -> Note:
    """Note of one line that was understood."""
    verb = match["veto"] or match["move"] or match["add"]
    at = match["at"] or match["old"]
    text = match["new"] or match["span"]
    span = None
    if text:
        span_text = re.fullmatch(_SPAN, text)
        assert span_text is not None
        span = float(span_text[1]), float(span_text[2])
        if span[1] <= span[0]:
            raise InputError(f"{where}: wanted a start and a later end, found {text}; swap them")
    return Note(verb, float(at) if at else None, span, match["reason"].strip(), short)


def apply_notes(response: Response, cut: tuple[list[Window], list[Rejected]]) -> tuple[list[Window], list[Rejected]]:
    """Apply a person's notes on a response, in their order, to the windows and refusals found in it.

    A vetoed window becomes a refusal; a moved or added one says so in its rule.

    Raises
    ------
    InputError
        A note names a time where there is nothing, or a span outside the recording or across another window.
    """
    windows, rejected = list(cut[0]), list(cut[1])
    for note in response.notes:
        where = f"{note.where}, {response.source}"
        old = None if note.at is None else _at(windows, note.at)
        refused = None if note.at is None else _at(rejected, note.at)
        if note.at is not None and old is None and refused is None:
            spans = ", ".join(f"{w.t_start:.2f}-{w.t_end:.2f}" for w in windows) or "none"
            raise InputError(f"{where}: wanted a time within a window ({spans} s), found {note.at:g} s; correct it")
        if old is not None:
            windows.remove(old)
        elif refused is not None:
            rejected.remove(refused)
        if note.verb == "veto":
            part = old or refused
            assert part is not None
            reason = f"vetoed {BY_PERSON}: {note.reason} ({note.where})"
            if old is None and refused is not None:
                reason += f"; refused anyway: {refused.reason}"
            rejected.append(Rejected(response.source, part.t_start, part.t_end, reason))
            continue
        assert note.span is not None
        window = _given(response, note, where, old, refused)
        across = next((w for w in windows if w.start < window.stop and window.start < w.stop), None)
        if across is not None:
            raise InputError(
                f"{where}: wanted a part of its own, found {note.span[0]:g}-{note.span[1]:g} s across the window "
                f"{across.t_start:.2f}-{across.t_end:.2f} s; veto or move that one first"
            )
        windows.append(window)
    windows.sort(key=lambda w: w.start)
    return windows, sorted(rejected, key=lambda r: r.t_start)


def _at(parts: Sequence[Part], t: float) -> Part | None:
    """Part that a time lies in, the shortest if several do."""
    here = [part for part in parts if part.t_start - PRINTED_ROUNDING <= t <= part.t_end + PRINTED_ROUNDING]
    return min(here, key=lambda part: part.t_end - part.t_start) if here else None


def _given(response: Response, note: Note, where: str, old: Window | None, refused: Rejected | None) -> Window:
    """Window that a note adds, or to which it moves another."""
    assert note.span is not None
    a, b = note.span
    t, half = response.t, 0.5 * response.dt
    rows = np.flatnonzero((t >= a - half) & (t <= b + half))
    if len(rows) < LEAST_ROWS or a < t[0] - PRINTED_ROUNDING or b > t[-1] + PRINTED_ROUNDING:
        raise InputError(
            f"{where}: wanted a window within the recording, {t[0]:.3f} to {t[-1]:.3f} s, "
            f"of at least {LEAST_ROWS} rows, found {a:g}-{b:g} s ({len(rows)} rows); correct it"
        )
    start, stop = int(rows[0]), int(rows[-1]) + 1
    if note.verb == "add":
        rule = f"added {BY_PERSON}: {note.reason} ({note.where})"
    else:
        before = f"{old.t_start:.2f}-{old.t_end:.2f} s, {old.rule}" if old else ""
        before = before or (f"refused: {refused.reason}" if refused else "")
        rule = f"moved {BY_PERSON}: {note.reason} ({note.where}); was {before}"
    return make_window(response, start, stop, rule + across_not_free(response, start, stop))


def across_not_free(response: Response, start: int, stop: int) -> str:
    """Addition to the rule of a person's window of rows start to stop, where it crosses what is not free."""
    if response.free is None or response.free[start:stop].all():
        return ""
    bad = response.t[start:stop][~response.free[start:stop]]
    return f"; not free, says the recording, from {bad[0]:.2f} to {bad[-1]:.2f} s"


def attach_notes(responses: Sequence[Response], paths: Sequence[Path], given: Path | None = None) -> list[Response]:
    """Attach the notes that a person left to their responses.

    They stand in ``given``, or in ``windows.txt`` in a run or beside recordings.

    Raises
    ------
    InputError
        As `read_notes` does.
    """
    if given is not None:
        notes = read_notes(given, [response.source for response in responses])
        return [replace(response, notes=notes.get(response.source, ())) for response in responses]
    in_folder: dict[Path, dict[str, tuple[Note, ...]]] = {}
    out = []
    for response, path in zip(responses, paths, strict=True):
        folder = path if path.is_dir() else path.parent
        notes_here: tuple[Note, ...] = ()
        if (folder / LOG).exists():  # a run: its own file, and one for all runs around it
            if (folder / FILE).exists():
                notes_here = read_notes(folder / FILE, [response.source]).get(response.source, ())
            folder = folder.parent
        if folder not in in_folder:
            in_folder[folder] = (
                read_notes(folder / FILE, _recordings_served(folder)) if (folder / FILE).exists() else {}
            )
        out.append(replace(response, notes=(*notes_here, *in_folder[folder].get(response.source, ()))))
    return out


def _recordings_served(folder: Path) -> list[str]:
    """Names of the recordings in a folder, which a file of windows there may name."""
    return [path.name for path in find_recordings([folder]) if not published.is_table(path)]
