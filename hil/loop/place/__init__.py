"""Heading and place beside the observer's six: what a rig knows of its sensor, and how its fixes are used."""
