"""Questions asked of the loop, and the command line."""

import os

# Matrices here are small. On a busy machine OpenBLAS's threads wait for one another: an exponential of four by four
# takes 37 ms instead of 0.07. Counts if numpy is not loaded yet; who has set it keeps his.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
