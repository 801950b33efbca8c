"""Parts of a report that a paper takes over: sources, tables, figures."""
