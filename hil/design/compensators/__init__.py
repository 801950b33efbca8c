"""Controllers with states of their own."""
