"""Windows: free responses cut out of recordings.

Rules decide, and every refused part has its reason. A window begins after a kick is over and ends before the motion
sinks into the background, before the next kick, where the recording stops being free, or at a greatest length.
Everything that looked like a window and was refused is returned as well, with the reason: a choice that is not reported
cannot be checked.
"""
