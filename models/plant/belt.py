"""Emulated bicycle on a belt driven from outside.

Its speed is that of the belt, not of a profile.
"""

from riderless.firmware_interface.kernels import njit
from riderless.models.plant.plant import Plant
from riderless.models.plant.records import CORNER_SLOPE, CORNER_SPEED, CORNER_TIME


@njit(cache=True, nogil=True)
def run_with_belt(p, s, v, v_dot):
    """Let the bicycle run at ``v`` [m/s] from now on, changing by ``v_dot`` [m/s^2].

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    v, v_dot : float
        Of the belt.
    """
    corner = p.speed[0]
    corner[CORNER_TIME] = 0.0 if s.held else s.t - s.t_release
    corner[CORNER_SPEED], corner[CORNER_SLOPE] = v, v_dot
    p.n_speed, s.segment = 1, 0


class BeltPlant(Plant):
    """Plant whose belt runs as a treadmill says."""

    def keep_speed(self, v: float, v_dot: float) -> None:
        """Run at ``v`` [m/s] from now on, changing by ``v_dot`` [m/s^2]."""
        run_with_belt(self.p[0], self.s[0], v, v_dot)
