"""Memory shared by loop and speed drive.

These places of the link's memory are the same whatever the drive's protocol. The loop leaves an order there, ten times
a second, and reads what was heard. The driver takes the order when it is asked to speak, and knows no clock.
"""

from riderless.firmware_interface.kernels import njit

# what was heard: reports, mm/s, mm/s, bits, number of the report, number of the order that it answers
SPEED_HEARD, SPEED_REPORTED, SPEED_AIM, SPEED_STATUS, SPEED_SEQ, SPEED_ANSWERED = range(6)
# the order, by the loop: 1: now, 1: run, mm/s, mm/s^2; and its number, by the driver
SPEED_SAY, SPEED_SAY_RUN, SPEED_SAY_SPEED, SPEED_SAY_CHANGE, SPEED_SAID = range(6, 11)
SPEED_OWN = 11  # from here on a driver has its own
SPEED_RUNNING, SPEED_FAULT, SPEED_STOPPED, SPEED_TIMED_OUT = 1, 2, 4, 8  # bits of the status
SPEED_LINE_RATE = 20.0  # Hz, at most, each way: twice as often as the loop speaks


@njit(cache=True, nogil=True)
def take_order(memory):
    """Take the order that the loop left, and number it; False where it left none. Runs inside the tick."""
    if memory[SPEED_SAY] == 0:
        return False
    memory[SPEED_SAY] = 0
    memory[SPEED_SAID] = (memory[SPEED_SAID] + 1) & 0xFFFF
    return True
