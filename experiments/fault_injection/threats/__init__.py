"""Threats: kinds of faults and their promises.

They are sorted by where they strike, and tell how bad they may be.
"""
