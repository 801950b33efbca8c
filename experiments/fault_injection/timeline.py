"""Timeline of one case.

Events in order, on both sides of the wire.
"""

import numpy as np

from riderless.experiments.fault_injection.cases import FaultCase
from riderless.experiments.fault_injection.simulate import Played
from riderless.hil.loop.states import Cause, Demand, State, Symptom

TIMELINE_COLUMNS = ("what happened", "t s", "state", "cause", "T cmd", "T asked", "T true", "lean", "lean est", "steer")

MANY_FAULTS = 14  # of one part, beyond which not all are told


def describe_case(case: FaultCase) -> str:
    """Describe a case in a few lines."""
    bicycle, method = case.machine
    title = "case of a search" if case.code else f"case {case.index} of seed {case.seed}"
    length = f", {case.plan.length:g} s" if case.plan.is_long else ""
    speeds = " to ".join(f"{v:.2f}" for v in dict.fromkeys(v for _, v in case.scenario.speed))
    kick = f", kick {case.kick:+.1f} N s" if case.kick else ""
    about = f", {case.circumstances}" if case.options.pool.varied else ""
    lines = [
        f"{title}: {case.name}, {case.moment.value}" if case.threat.what is not None else f"{title}: {case.name}",
        f"{bicycle}, {method}, {speeds} m/s{kick}{length}{about}",
    ]
    for part in case.parts:
        shown = [str(fault) for fault in part.faults]
        if len(shown) > MANY_FAULTS:
            shown = [shown[0], f"{len(shown) - 2} more", shown[-1]]
        lines.append(f"fault: {'; '.join(shown) or 'none in the machine'}")
        lines.append(f"promise: {part.threat.promise} ({part.threat.why})")
    return "\n".join(lines)


def timeline(case: FaultCase, played: Played) -> list[list[str]]:
    """Tell when something changed, with what was believed and what was true then; cells of `TIMELINE_COLUMNS`."""
    rows, diary = played.rows, played.diary
    events: dict[int, list[str]] = {}

    def note(at: np.ndarray, words: list[str]) -> None:
        for k, word in zip(at, words, strict=True):
            events.setdefault(int(k), []).append(word)

    for name, kind in (("demand", Demand), ("state", State), ("cause", Cause), ("symptoms", Symptom)):
        changed = np.flatnonzero(np.diff(rows[name].astype(np.int64), prepend=-1 if name == "demand" else 0))
        note(changed, [f"{name} {kind(int(rows[name][k])).name or 'NONE'}" for k in changed])
    for name, on, off in (
        ("on", "drive on", "drive off"),
        ("tripped", "watchdog struck", "watchdog cleared"),
        ("fallen", "the bicycle falls", "the bicycle is picked up"),
        ("awake", "the node answers", "the node is silent"),
    ):
        changed = np.flatnonzero(np.diff(diary[name].astype(np.int64), prepend=1 if name == "awake" else 0))
        note(changed, [on if diary[name][k] else off for k in changed])
    for part in case.parts:
        which = f" ({part.threat.name})" if case.others else ""
        begins = np.searchsorted(diary["t"], part.onset)
        if part.threat.what is not None:
            note(np.array([min(begins, len(rows) - 1)]), ["FAULT BEGINS" + which])
        if part.onset < part.grown < diary["t"][-1]:
            note(np.array([np.searchsorted(diary["t"], part.grown)]), ["FAULT HAS GROWN" + which])
        if part.over < diary["t"][-1]:
            note(np.array([np.searchsorted(diary["t"], part.over)]), ["FAULT ENDS" + which])
    return [_cells(rows[k], diary[k], ", ".join(events[k])) for k in sorted(events)]


def _cells(row: np.void, entry: np.void, words: str) -> list[str]:
    cause = Cause(int(row["cause"])).name if row["cause"] else "-"
    angles = np.degrees([entry["phi"], row["phi_est"], entry["delta"]])
    torques = (row["T_cmd"], entry["T_asked"], entry["T"])
    numbers = [f"{T:+.2f}" for T in torques] + [f"{angle:+.1f}" for angle in angles]
    return [words, f"{entry['t']:.3f}", State(int(row["state"])).name, cause, *numbers]
