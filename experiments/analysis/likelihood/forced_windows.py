"""Windows of motion forced by a known torque, for identification: free motion and forced answer are fitted together."""

from experiments.analysis.output_error import Segment
from experiments.analysis.windows import make_window
from experiments.datatypes import Response
from experiments.recordings.played_parts import played_parts

MAX_SPEED_CHANGE = 0.15  # m/s over a part; more, and the belt starts or stops in it


def forced_segments(response: Response) -> list[Segment]:
    """Cut the parts of a recording with a known torque, each with its answer's end, at a steady speed."""
    windows = [make_window(response, a, b, "known torque") for a, b in played_parts(response)]
    return [Segment.of(response, one) for one in windows if abs(one.v_start - one.v_end) < MAX_SPEED_CHANGE]
