"""Parts of the whole sampled loop.

Its state, the states in which it starts, and what makes it move.
"""
