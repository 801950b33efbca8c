"""A port in memory whose bus has something else on it, beside the twin."""

from riderless.firmware_interface.twins.conformance import BAUD, TRUE_READINGS
from riderless.firmware_interface.twins.twin_in_memory import TwinPort


class BusPort(TwinPort):
    """A twin whose bus has something else on it too; ``others`` are lines, now and then."""

    def __init__(self, twin, others=b"", name="can0"):
        super().__init__(twin, name, BAUD, TRUE_READINGS)
        self.others = others

    def step(self, data=b""):
        return super().step(data) + (self.others if self.k % 20 == 0 else b"")
