"""Speed control of the machine.

The speed is requested, ramped, held, and judged.
"""
