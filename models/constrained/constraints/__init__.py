"""Constraints of the bodies, one a file.

A new file with a `Constraint` in it is all it takes to add one.
"""
