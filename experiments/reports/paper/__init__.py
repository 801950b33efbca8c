"""What a paper wants of a report: its sources, its tables, its figures."""
