"""Gaussian elimination for the small systems A N = -phi of compiled loops."""

from riderless.firmware_interface.kernels import njit


@njit(cache=True, nogil=True, error_model="numpy")
def eliminate(A):
    """Solve in place the system whose matrix is `A[:, :-1]`; the solution replaces the last column.

    Partial pivoting, no allocation. A singular matrix gives inf or nan, for the caller to notice.
    """
    n = A.shape[0]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if pivot != k:
            for j in range(k, n + 1):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            for j in range(k + 1, n + 1):
                A[i, j] -= factor * A[k, j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            A[k, n] -= A[k, j] * A[j, n]
        A[k, n] /= A[k, k]
