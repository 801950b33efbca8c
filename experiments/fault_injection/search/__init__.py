"""Search for the unsafe: cases made by evolution instead of chance."""
