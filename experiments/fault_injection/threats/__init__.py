"""Threats: kinds of faults by where they strike, how bad they may be, and what is promised for each."""
