"""Evolutionary search for unsafe cases.

Evolution takes the place of chance.
"""
