"""Pixels of the live page, as another program gets them: which row of the run do they show, and since when.

The page is looked at as a screen is: Chromium hands out each picture that it has composed (its screencast). A bar code
in a corner, drawn with each picture, tells the newest row in it. Both processes read one clock of the computer.
"""

import base64
import io
import time
from typing import Any, NamedTuple

import numpy as np

BITS, BLOCK = 24, 8  # of the bar code; pixels on the page
STEP = 1e-3  # s that the last bit tells
_AT_BOTH_ENDS = [True, False, True]  # of every code, so that nothing else is taken for one

SHOW_CODE = """([bits, block, step]) => {
    const code = document.createElement("canvas");
    code.width = (bits + 6) * block;
    code.height = block;
    code.style = "position:fixed;left:0;top:0;z-index:9999";
    document.body.append(code);
    const pen = code.getContext("2d");
    let drawn = -1;
    const look = () => {
        requestAnimationFrame(look);
        const { pictures, t } = riderless.measured;
        if (pictures === drawn || !Number.isFinite(t)) return;
        drawn = pictures;
        const told = Math.round(t / step).toString(2).padStart(bits, "0");
        [..."101", ...told, ..."101"].forEach((bit, i) => {
            pen.fillStyle = bit === "1" ? "#fff" : "#000";
            pen.fillRect(i * block, 0, block, block);
        });
    };
    requestAnimationFrame(look);
}"""


class Shown(NamedTuple):
    """Picture of the page: newest row in it [s, clock of the page's rows]; when it was composed and when it was in our
    hands [s, monotonic clock].
    """

    t: float
    composed: float
    handed: float


class Pixels:
    """Pictures of a page from now on.

    Parameters
    ----------
    page : Page
        Of Chromium.

    Attributes
    ----------
    shown : list of Shown
        Complete after `stop`.
    """

    def __init__(self, page: Any) -> None:
        self.shown: list[Shown] = []
        self._kept: list[tuple[str, float, float]] = []
        page.evaluate(SHOW_CODE, [BITS, BLOCK, STEP])
        self._session = page.context.new_cdp_session(page)
        self._session.on("Page.screencastFrame", self._take)
        self._width = page.viewport_size["width"]
        small = {"maxWidth": self._width // 2, "maxHeight": page.viewport_size["height"] // 2}  # costs the page less
        self._session.send("Page.startScreencast", {"format": "jpeg", "quality": 80, "everyNthFrame": 1, **small})

    def _take(self, frame: dict[str, Any]) -> None:
        self._kept.append((frame["data"], frame["metadata"]["timestamp"], time.monotonic()))
        self._session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    def stop(self) -> None:
        """Take no more, and read the codes of those that were taken."""
        self._session.send("Page.stopScreencast")
        shift = time.time() - time.monotonic()
        for data, composed, handed in self._kept:
            t = read_code(base64.b64decode(data), self._width)
            if t is not None:
                self.shown.append(Shown(t, composed - shift, handed))
        self._kept.clear()


def read_code(picture: bytes, width: int) -> float | None:
    """Read the row [s] that the bar code of a picture of a page so wide [px] tells; None where there is none."""
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as image:
        grey = np.asarray(image.convert("L"))
    block = BLOCK * grey.shape[1] / width
    at = (np.arange(BITS + 6) + 0.5) * block
    if grey.shape[1] < at[-1]:
        return None
    bits = grey[int(block / 2), at.astype(int)] > 127
    if list(bits[:3]) != _AT_BOTH_ENDS or list(bits[-3:]) != _AT_BOTH_ENDS:
        return None
    return float(STEP * int("".join("1" if bit else "0" for bit in bits[3:-3]), 2))


def ages(shown: list[Shown], t: np.ndarray, zero: float) -> tuple[np.ndarray, np.ndarray]:
    """Time from each row to the first picture that shows it or a newer one [s]: composed, and in our hands.

    Parameters
    ----------
    shown : list of Shown
        In their order.
    t : array
        Host clock of the rows [s]; those that no picture has come to are left out.
    zero : float
        Host clock from which the page counts [s].
    """
    newest = np.maximum.accumulate([one.t for one in shown])
    rows = t[(t - zero >= newest[0]) & (t - zero <= newest[-1])]
    first = np.searchsorted(newest, rows - zero - STEP / 2)
    composed, handed = (np.array([getattr(one, name) for one in shown]) for name in ("composed", "handed"))
    return composed[first] - rows, handed[first] - rows
