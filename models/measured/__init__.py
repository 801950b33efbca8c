"""Parameters of a bicycle from a lab's readings.

What was weighed, hung up and let swing; periods; payloads.
"""
