"""Identification from kicks and from a shaken handle, from each alone and from both together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from riderless.experiments.analysis.identification.forced_windows import forced_windows
from riderless.experiments.analysis.identification.identify import Identification, identify, possible_bounds
from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.analysis.identification.profile_likelihood import Profile, profiles
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.datatypes import Segment
from riderless.experiments.recordings.read import find_recordings, read_recording
from riderless.models.errors import InputError

KICKS, SHAKEN = "delft_treadmill", "delft_bode"  # folders of the data
EXPERIMENTS = {"kicks": (KICKS,), "shaken handle": (SHAKEN,), "both": (KICKS, SHAKEN)}
SLOWEST = 1.9  # m/s; below, the motion is nearly over-damped and dry friction is most of it
FREE = ("drive_gain", "steer_damping", "steer_dry_friction", "steer_scale", "steer_lag")
MODELS = {  # what is free beside nothing
    "nothing": (),
    "viscous friction alone": ("steer_damping",),
    "gain, viscous friction, scale, lag": ("drive_gain", "steer_damping", "steer_scale", "steer_lag"),
    "these, and dry friction": FREE,
    "lean inertia in place of the scale": (*(name for name in FREE if name != "steer_scale"), "M_phi_phi"),
    "scale and lean inertia": (*FREE, "M_phi_phi"),
    "these, and a delay of the drive": (*FREE, "M_phi_phi", "more_delay"),
}
LATE = "these, and a delay of the drive"  # the model that keeps to what is possible: no torque before it is told
WHOLE = "scale and lean inertia"  # the model whose quantities are profiled


@dataclass(frozen=True, eq=False)
class ExperimentAnswer:
    """Answer of one experiment or both: models identified, what each leaves, profiles of the whole one."""

    experiment: str
    found: Mapping[str, Identification]
    left: Mapping[str, Mapping[str, float]]  # rms of each channel's residual as a share of the signal's
    profiles: tuple[Profile, ...]


def segments_in(data: Path, folders: tuple[str, ...]) -> list[Segment]:
    """Windows of the kicks and forced parts of the shaken handle in some folders, from `SLOWEST` up.

    In one log of the kicks a hand rests on the handle for seconds between them: that is no part of either experiment.

    Raises
    ------
    InputError
        A folder is not there.
    """
    segments = []
    for folder in folders:
        if not (data / folder).is_dir():
            raise InputError(f"wanted the logs of the Delft bicycle in {data / folder}, found no such folder")
        logs = [path for path in find_recordings([data / folder]) if "eigen" in path.name or "bode" in path.name]
        for response in map(read_recording, logs):
            if folder == SHAKEN:
                segments += forced_windows(response)
            else:
                segments += [AveragedWindow.of(Segment(response, window)) for window in find_windows(response)[0]]
    return [one for one in segments if one.window.v_mean > SLOWEST]


def answer(
    data: Path,
    experiment: str,
    models: Sequence[str] = (WHOLE,),
    jobs: int = 1,
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
) -> ExperimentAnswer:
    """Identify models from one of `EXPERIMENTS`, and profile the whole one.

    Parameters
    ----------
    data : Path
        Folder that holds the folders of both experiments.
    experiment : str
    models : sequence of str
        Of `MODELS`, the whole one among them.
    jobs : int
        Processes for the profiles.
    on_progress : callable
        Told how many models and quantities are done, of how many, and the last one's name.
    """
    segments = segments_in(data, EXPERIMENTS[experiment])
    total = len(models) + len(MODELS[WHOLE])
    found, left = {}, {}
    for n, model in enumerate(models, 1):
        names = MODELS[model]
        bounds = possible_bounds(segments[0].theory, names) if model == LATE else None
        known = None if names else {"steer_damping": 1e-9}
        found[model] = identify(segments, names or ("steer_damping",), known, bounds=bounds)
        left[model] = _left(segments, found[model])
        on_progress(n, total, model)
    likelihood = profiles(
        segments,
        found[WHOLE],
        jobs=jobs,
        on_progress=lambda done, _, name: on_progress(len(models) + done, total, name),
    )
    return ExperimentAnswer(experiment, found, left, tuple(likelihood))


def _left(segments: list[Segment], found: Identification) -> dict[str, float]:
    """Root mean square of what is left of lean rate and steer, as a share of the signal."""
    shares = {}
    for name in ("phi_dot", "delta"):
        left = np.concatenate(
            [
                (y := one.channels[name] - curve[name]) - y.mean()
                for one, curve in zip(segments, found.curves, strict=True)
            ]
        )
        whole = np.concatenate([one.channels[name] for one in segments])
        shares[name] = float(np.std(left) / np.std(whole))
    return shares
