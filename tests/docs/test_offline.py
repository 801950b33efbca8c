"""What would fetch something from the network is found in pages, and links that lead nowhere."""

import pytest

from tests.tools.offline import faults

GOOD = '<a href="https://example.org">not fetched</a> <a href="other.html#x">there</a> <img src="data:image/png,">'


@pytest.mark.parametrize(
    "bad",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/x.css">',
        '<img src="http://example.org/x.png">',
        '<a href="gone.html">nowhere</a>',
        '<img src="gone.png">',
    ],
)
def test_a_page_that_fetches_or_leads_nowhere_is_found(tmp_path, bad):
    (tmp_path / "other.html").write_text("there")
    (tmp_path / "page.html").write_text(GOOD)
    assert faults(tmp_path) == []
    (tmp_path / "page.html").write_text(GOOD + bad)
    assert len(faults(tmp_path)) == 1
    assert faults(tmp_path)[0].startswith("page.html ")


def test_so_is_a_style(tmp_path):
    (tmp_path / "x.css").write_text("@import url(https://fonts.example.org/x);")
    assert faults(tmp_path) == ["x.css fetches https:"]
