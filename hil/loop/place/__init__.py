"""Heading and place in the loop.

They come beside the observer's six states: what a rig knows of its sensor, and how its fixes are used.
"""
