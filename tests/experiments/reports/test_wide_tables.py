"""Tables on a narrow screen: a shade shows on which side more columns lie, in light and dark."""

import io

import numpy as np
import pytest
from matplotlib.image import imread

from tests.browser import seen_by_a_browser
from tests.experiments.reports.browser import opened
from tests.experiments.reports.test_html import everything, page  # noqa: F401

WIDTH = 400  # px, of a telephone
SHADED = 0.1  # by how much a shade differs from the card, of 1


def edges(table):
    """How much the left and the right edge of a table's frame differ from the card, of 1, beside the words in it."""
    picture = imread(io.BytesIO(table.screenshot()))[..., :3].mean(axis=2)
    row = picture[12]  # px: below the rounded corners
    return abs(row[[3, -4]] - np.median(picture))


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_more_columns_beside_are_shown_by_a_shade(page, scheme):  # noqa: F811
    def look(browser):
        sheet, *_ = opened(browser, page, viewport={"width": WIDTH, "height": 900}, color_scheme=scheme)
        table = sheet.locator(".scroll:has(th:text('measured'))").last
        seen = [edges(table)]
        table.evaluate("table => table.scrollLeft = table.scrollWidth")
        seen.append(edges(table))
        sheet.set_viewport_size({"width": 2000, "height": 900})
        return np.array([*seen, edges(table)]) > SHADED

    begin, end, whole = seen_by_a_browser(look)
    assert begin.tolist() == [False, True]
    assert end.tolist() == [True, False]
    assert whole.tolist() == [False, False]
