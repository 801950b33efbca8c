"""Rules for finding, cutting and refusing windows."""

from dataclasses import dataclass, field

from riderless.experiments.analysis.windows.kicks import KickRules


@dataclass(frozen=True)
class WindowRules:
    """Rules by which windows are cut; each number with its reason."""

    kicks: KickRules = field(default_factory=KickRules)
    settle: float = 0.3  # s left out after a kick: caster dies within it, and it biases d by 0.1 1/s
    settle_needs: float = 1.5  # s of response after an unmarked kick, without which 0.3 s is too dear
    margin: float = 0.05  # s kept away from the next kick: half the time the smoothing spreads it
    margin_swinging: float = 0.15  # ... from one into a swinging: it begins softly, up to 0.12 s before it is seen
    longest: float = 4.0  # s; later the speed, the slow modes and the drift of the bias rule
    slowest: float = 1.6  # s, half a cycle of 2 rad/s, within which the swing back is sought
    least_cycles: float = 1.5  # from turning points, which a kick and damping draw together by a quarter
    least_marked: float = 2.0  # ... after a listed kick, whose recording is quiet enough to afford more
    faded: float = 0.08  # of the peak: 2.5 time constants, after which nothing is learnt
    weak: float = 0.25  # of the peak, under which a response that ...
    steady: float = 0.8  # ... keeps this much of its size over one more cycle has sunk into other motion
    peak_marked: float = 4.0  # times the background that a marked kick must reach
    peak_unmarked: float = 8.0  # ... and one known from the signal alone, where bumps are common
    alike: float = 0.4  # of the largest kick: one person kicks alike, and a bump under this is none
    rest: float = 3.0  # s since the last push, if unmarked: sooner it is a hand that brings it back
    stirred: float = 0.33  # of the peak: a push that counts here, be it too small for a window of its own ...
    calmed: float = 2.3  # s, after which it has died away if it ...
    soft: float = 0.5  # ... was no more than this of the peak: a harder one is waited for as long as ``rest``
    unrest: float = 0.1  # of the peak, and ...
    unrest_noise: float = 4.0  # ... times the background: a way back smaller than both is no turning point
    again: float = 1.25  # times the smallest swing before, and by ...
    pushed: float = 0.25  # ... this share of the first: what decays and then grows so has been pushed again
    longest_push: float = 0.3  # s, by hand; a window that begins within it has a force in it
    swift: float = 0.2  # of a cycle: a rise that takes longer was turned by the motion, and the hand may still push
    begun: float = 0.15  # s that a push may have lasted when the motion turns: half the longest push by hand
    speed_change: float = 0.2  # of the mean speed, over which one eigenvalue means nothing
    speed_rise: float = 0.15  # m/s^2; a free bicycle slows down: somebody pushes
    stuck: float = 0.1  # s of the very same value while the bicycle moves: a signal lost
    clipped: int = 3  # rows in a row at the greatest value of the recording: a range exceeded
