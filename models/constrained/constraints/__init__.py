"""Constraints, one a file; a new file with a `Constraint` in it is all it takes to add one."""
