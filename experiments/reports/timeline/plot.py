"""Picture of a recording for `riderless plot`."""

from dataclasses import replace
from pathlib import Path

from riderless.experiments.recordings.read import find_recordings, is_run
from riderless.experiments.recordings.runs import run_of
from riderless.experiments.reports.analyze import analyze
from riderless.experiments.reports.result import AnalysisResult
from riderless.experiments.reports.theory import check_figure_format, save_figure
from riderless.experiments.reports.timeline.figure import timeline_figure
from riderless.experiments.reports.timeline.recorded import states_text, timeline_of
from riderless.experiments.reports.timeline.ridden_path import ridden_path
from riderless.hil.logs.folders import own_name
from riderless.hil.output_file import OutputFile, files_read
from riderless.models.errors import InputError


def plot_recording(
    source: str | Path,
    out: str | Path | None = None,
    *,
    mapping: str | Path = "",
    preset: str = "",
    bicycle: str = "",
    trust: bool = False,
    force: bool = False,
) -> tuple[Path, AnalysisResult]:
    """Draw lean, steer, torque and speed of a run or of somebody else's log, with its windows; the file written.

    Parameters
    ----------
    source : str or Path
        Run folder, or a file of any known format.
    out : str, Path or None
        SVG, PDF or PNG; by default a PNG with the recording's name, here.
    mapping : str or Path
        TOML file that says which column of others' files is what, or a shipped one's name.
    preset : str
        Kind of the file, as `riderless.experiments.reports.analyze.analyze` takes it.
    bicycle : str
        With a mapping: its bicycle.
    trust : bool
        Draw also where physics contradicts a unit or a sign.
    force : bool
        The picture may take the place of another file, but never of a log or a file that it is made of.

    Raises
    ------
    InputError
        Not one recording, or one that is not understood; a file that cannot be written.
    """
    source = Path(source)
    recordings = find_recordings([source])
    if len(recordings) != 1:
        raise InputError(f"wanted one recording to plot, found {len(recordings)} in {source}: give one of them")
    (recording,) = recordings
    path = Path(out) if out is not None else Path(f"{own_name(recording)}.png")
    check_figure_format(path)
    OutputFile(path, "the figure", force, files_read(recording, mapping, bicycle)).require_free()
    result = analyze(source, mapping=mapping, preset=preset, bicycle=bicycle, trust=trust)
    if not result.responses:
        raise InputError(f"wanted a recording over time, found a table of eigenvalues in {recording}: give a log")
    run = run_of(recording) if is_run(recording) else None
    response = result.responses[0]
    numbered = list(enumerate(result.comparisons, start=1))
    title = [f"{response.label}: {response.source}" if response.label else response.source]
    if run is not None:
        title.append(f"{states_text(response.states)}; {run.stop.reason}: {run.stop.cause}")
    title.append(result.answer.headline)
    about = "; ".join([*title, *([run.header.made_by] if run is not None else [])])
    timeline = timeline_of(response, numbered, result.rejected)
    timeline = replace(timeline, ridden=ridden_path(run) if run is not None else None)
    save_figure(timeline_figure(timeline, "\n".join(title)), path, about)
    return path, result
