"""Folders that tests read from."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REFERENCE = Path(__file__).parent / "reference"  # printed and independently computed numbers
SHARED = ROOT.parent / "shared"  # others' logs, beside the checkout
