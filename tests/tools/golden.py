"""Hold the numbers of twenty analysed logs, and the commands of replayed runs, while the house is rearranged.

``python -m tests.tools.golden --write`` keeps them in ``tests/reference/golden.json``, ``--check`` compares.
Scaffolding
of the rearrangement, no test: it goes when that is done. The kept numbers are of one computer; another's differ in the
last digits, so that a check begins with a state that is known to be right.
"""

import json
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256

import riderless as rl
from tests.paths import REFERENCE, SHARED

FILE = REFERENCE / "golden.json"
RELATIVE = 1e-9
DATA = SHARED / "data"


def own_run(bicycle: str, method: str, speed: float, model: str = "linear", **settings: float) -> rl.Run:
    """Ride a bicycle of the catalogue, kicked three times."""
    machine = rl.load_bicycle(bicycle)
    speeds = [speed - 1.0, speed, speed + 1.0]
    kicks = [rl.Kick(t, impulse=3.0) for t in (0.6, 6.6, 12.6)]
    gains = rl.design(machine, method, speeds, **settings)
    return rl.simulate(machine, gains, speed=speed, kicks=kicks, model=model, duration=18.0, seed=7)


RUNS: dict[str, Callable[[], rl.Run]] = {
    "Silver lqr 4": lambda: own_run("Silver", "lqr", 4.0),
    "Silver poles 4.5 nonlinear": lambda: own_run("Silver", "poles", 4.5, "nonlinear", zeta=0.2),
    "Benchmark lean 5": lambda: own_run("Benchmark", "lean", 5.0),
    "Rigid lqr 6": lambda: own_run("Rigid", "lqr", 6.0),
    "Pista poles 5.5": lambda: own_run("Pista", "poles", 5.5),
    "Benchmark lqr 3.5 nonlinear": lambda: own_run("Benchmark", "lqr", 3.5, "nonlinear"),
}
OTHERS = (
    *(f"delft_treadmill/eigen_normal_sil6.5n2_{speed}kph.log" for speed in ("5.4", "7.2", "9", "12.6", "16.2", "18")),
    "delft_treadmill/simple_test_model_matching_off.log",
    "kooijman2008/run52.csv",
    *(f"foreign_forms/{form}" for form in ("00-clean/log.csv", "08-lean-that-believes-the-accelerometer/log.csv")),
    *(f"foreign_forms/07-words-for-a-missing-value/{word}.csv" for word in ("dash", "hashna", "qnan")),
    "foreign_forms/15-two-speeds-in-one-log/log.csv",
)


def numbers(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    """List the numbers of a JSON document by their places."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from numbers(part, f"{path}/{key}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from numbers(part, f"{path}/{place}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def results() -> Iterator[tuple[str, dict[str, float] | str]]:
    """Analyse every log, and replay every run."""
    for name, ride in RUNS.items():
        run = ride()
        assert rl.replay(run).identical, name
        yield f"{name}, commands", sha256(run.ticks["T_cmd"].tobytes()).hexdigest()
        yield name, dict(numbers(rl.analyze(run).as_json()))
    for name in OTHERS:
        log = DATA / name
        mapping = log.with_suffix(".toml")
        try:
            found = rl.analyze(log, mapping=str(mapping) if mapping.exists() else "")
            yield name, dict(numbers(found.as_json()))
        except rl.InputError:
            yield name, "refused"


def differences(kept: dict, found: dict) -> Iterator[str]:
    """Compare two sets of results."""
    for name in sorted(kept.keys() | found.keys()):
        before, after = kept.get(name), found.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            for place in sorted(before.keys() | after.keys()):
                a, b = before.get(place), after.get(place)
                if a is None or b is None or abs(a - b) > RELATIVE * max(abs(a), abs(b)):
                    yield f"{name}{place}: {a} before, {b} now"
        elif before != after:
            yield f"{name}: {str(before)[:80]} before, {str(after)[:80]} now"


def main() -> None:
    """Write or check."""
    found = {}
    for name, result in results():
        found[name] = result
        print(f"{name}: {len(result) if isinstance(result, dict) else result}", flush=True)
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
        return
    different = list(differences(json.loads(FILE.read_text(encoding="utf-8")), found))
    print("\n".join(different[:40]) or "all as before")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
