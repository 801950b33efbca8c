"""Hand bytes to the driver in wheel_text.py, as a serial line would: in pieces, and one line damaged."""

import numpy as np
from wheel_text import DEVICE

from riderless.firmware_interface.devices.link import LINK_STATE, hear, new_link

links = np.zeros(1, LINK_STATE)
links[0] = new_link()
link = links[0]
link["hear"] = DEVICE.hear
for piece in (b"W 16667*47\nW 16", b"70", b"2*45\n", b"W 16703*45\n"):
    came = hear(link, np.frombuffer(bytearray(piece), np.uint8), len(piece))
    print(piece, "->", came, "reading,", link["raw"]["wheel_mrad_s"], "mrad/s")
counted = link["receiver"]
print(DEVICE, counted["frames_ok"], "good lines,", counted["frames_bad_crc"], "damaged")
