"""Parts of a report for a paper.

Sources, tables, figures.
"""
