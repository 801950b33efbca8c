"""Inspection of every recording before it is analysed: its flaws are named, its units and signs checked."""

from dataclasses import replace

from experiments.datatypes import Response
from experiments.recordings import artefacts, unit_checks
from experiments.recordings.checked import Recorded
from experiments.recordings.lean_estimates import find_lean_faults
from experiments.recordings.torque_law import go_by_logged_torque
from models.errors import InputError

WHAT_TO_CORRECT = "correct the file or its mapping, or say --trust to analyse it all the same"


def inspect_recording(recorded: Recorded, refuse: bool = True) -> Response:
    """Make the response of a recording, with remarks on what is wrong with it.

    Parameters
    ----------
    recorded
    refuse
        A clear contradiction with physics is an error; else it is a remark like the others.

    Raises
    ------
    InputError
        A unit or a sign is clearly wrong, unless ``refuse`` is False.
    """
    said_free = recorded.response.free
    recorded = find_lean_faults(artefacts.mend_flaws(recorded))
    # a wrong unit looks like jumps everywhere, so physics looks at all that the recording itself calls free
    findings = unit_checks.check_units(replace(recorded, response=replace(recorded.response, free=said_free)))
    fatal = [finding for finding in findings if finding.clear]
    if fatal and refuse:
        raise InputError(f"{recorded.response.source}: {fatal[0].sentence}; {WHAT_TO_CORRECT}")
    return go_by_logged_torque(recorded.remarked(*(finding.sentence for finding in findings)))
