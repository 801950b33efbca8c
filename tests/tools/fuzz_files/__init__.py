"""Readers of files against files that attack: `python -m tests.tools.fuzz_files`."""
