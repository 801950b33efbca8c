"""Systems of the textbooks and papers, built with `models.constrained`."""
