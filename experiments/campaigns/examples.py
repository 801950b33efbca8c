"""Example files of the documentation.

They are found in a clone and in an installed package.
"""

from pathlib import Path

_PACKED = Path(__file__).with_name("examples")  # setup.py copies them there; a clone has docs/
_DOCS = Path(__file__).resolve().parents[2] / "docs"


def example_text(name: str) -> str:
    """Read an example by its path below ``docs/``, such as ``campaigns/usual.toml``."""
    return (_PACKED if _PACKED.is_dir() else _DOCS).joinpath(name).read_text(encoding="utf-8")
