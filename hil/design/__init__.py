"""Controllers designed off line; nothing here is imported by a run, which only reads their gains."""
