"""Mutants that no test can notice, and why: by file, a part of a mutant's words and the reason.

The words hold no line numbers, so an argument outlives changes elsewhere in its file. An argument whose mutant is gone,
or is noticed after all, is told by `make mutants` as well.
"""

_ONE_RECORD = "the first of one record or of two is the same record"
_YES = "it is yes or no, and 2 is a yes"

EQUIVALENT: dict[str, dict[str, str]] = {
    "hil/loop/limits.py": {
        "number: 1 -> 2 in record = np.zeros(1, LIMITS)[0]": _ONE_RECORD,
    },
    "hil/loop/supervisor.py": {
        "number: 1 -> 2 in s = np.zeros(1, SUPERVISOR)[0]": _ONE_RECORD,
        "operator: news.T_req + e.phi": "a difference is finite where the sum is: what is asked is whether any is not",
        "comparison: news.dt > 0.0 -> news.dt >= 0.0": "no time is no time by either branch",
        "number: 1 -> 2 in s.released = 1": _YES,
        'number: 1 -> 2 in s["released"] = 1': _YES,
    },
}
