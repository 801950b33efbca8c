"""Questions asked of the loop, and the command line."""
