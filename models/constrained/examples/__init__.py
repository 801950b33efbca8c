"""Systems of the textbooks and papers, built with `riderless.models.constrained`."""
