"""Long rides with faults that come slowly, and with nothing wrong: which end badly, and which are stopped."""
