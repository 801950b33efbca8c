"""Command line as ``python -m riderless``."""

from riderless.experiments.cli import main

main()
