"""Write the CRC of an image into its last four bytes, which the node checks at its start: ``checksum.py IMAGE``."""

import binascii
import sys
from pathlib import Path

image = Path(sys.argv[1])
code = image.read_bytes()[:-4]
image.write_bytes(code + binascii.crc_hqx(code, 0xFFFF).to_bytes(4, "little"))
