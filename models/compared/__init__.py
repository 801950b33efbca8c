"""Equations of one's own beside ours: entries, polynomial, eigenvalues, motion."""
