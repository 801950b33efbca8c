"""Equations of a user beside the package's.

Compared are matrix entries, characteristic polynomial, eigenvalues and motion.
"""
