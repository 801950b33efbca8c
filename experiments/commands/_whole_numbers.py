"""Greatest whole numbers that options take.

A list of so many things, or so many processes, still fits in memory.
"""

MOST_CASES = 1_000_000  # days of work on one computer
MOST_JOBS = 256  # processes of some 100 MB each
MOST_SEED = 2**63 - 1  # the largest whole number of TOML and of a log's columns
MOST_SEEDS = 10_000
MOST_PROCESSORS = 2**31 - 1  # an int of C; what is there is looked up, and named where it is another
MOST_PROCESS = 2**22  # the largest number that Linux gives to one
