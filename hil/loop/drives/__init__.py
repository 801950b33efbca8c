"""Rate and angle drives inside the loop."""
