"""Sphinx: how `make docs` builds the site. No page fetches anything from outside."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from pygments.lexers.special import TextLexer  # noqa: E402
from site_builder import generated, mathml  # noqa: E402
from site_builder.gallery import FILES, SETTINGS  # noqa: E402

PARTS = ("lessons", "howto", "explanations", "reference")

project = "riderless"
author = copyright = "The riderless developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_gallery.gen_gallery"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["examples", "site_builder", "rigs", "campaigns", "gallery/README.rst", "**sg_execution_times.rst"]
nitpicky = False  # docstrings name types in words

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "riderless"
html_static_path = ["_static"]
html_css_files = ["riderless.css"]
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"  # MathJax would be fetched

numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's sections say them

sphinx_gallery_conf = SETTINGS | {"filename_pattern": FILES[os.environ.get("GALLERY", "all")]}


def unplaced(folder):
    """Flat pages that no part of the site names: the reference lists them, so that a new page is never lost."""
    parts = "".join((folder / part / "index.md").read_text(encoding="utf-8") for part in PARTS)
    return [
        path.stem for path in sorted(folder.glob("*.md")) if path.stem != "index" and f"../{path.stem}\n" not in parts
    ]


def list_unplaced(app, docname, source):
    """Put them at the end of the list of the reference."""
    if docname == "reference/index":
        lines = "".join(f"../{name}\n" for name in unplaced(Path(app.srcdir)))
        source[0] = source[0].replace("changelog\n", f"{lines}changelog\n")


def setup(app):
    """Let our own parts of the site take part."""
    app.add_html_math_renderer("mathml", (mathml.inline, None), (mathml.displayed, None))
    app.add_lexer("frame", TextLexer)  # of the worked examples of the node's protocol
    app.connect("source-read", list_unplaced)
    app.connect("builder-inited", lambda app: generated.write(Path(app.srcdir)))
