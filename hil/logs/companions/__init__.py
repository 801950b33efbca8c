"""Companion files of an export.

They open the export in another program; one program a file, one line in `hil.logs.export`.
"""
