"""TOML files of every kind with contents that nobody would write: one right file of each kind, spoilt in one place."""

from riderless.hil.design.methods import design
from riderless.models import catalogue
from tests.experiments.commands.odd_inputs.litter import MAPPING
from tests.paths import DOCS, ROOT

DEEP = "[" * 3000 + "]" * 3000
TABLES = "{a = " * 3000 + "1" + "}" * 3000
DIGITS = "9" * 5000
HEX = "0x" + "f" * 20_000
VALUES = {
    "deep": DEEP,
    "deep-tables": TABLES,
    "5000-digits": DIGITS,
    "hexadecimal": HEX,
    "infinite": "1e400",
    "date": "2026-02-30",
    "list": "[1, [2, [3]]]",
    "table": "{ a = 1 }",
    "text": '"\\u0000[/red]\\u001b[2J"',
    "long-text": '"' + "x" * 100_000 + '"',
    "negative": "-1e308",
}
# kind of file: the line that is spoilt, its key, and the commands that read the file
KINDS = {
    "bicycle": ("w = 1.01 ", "w", ("eig FILE", "design FILE")),
    "rig": ("rate_Hz = 200", "rate_Hz", ("run FILE", "design FILE", "migrate FILE", "check FILE")),
    "gains": (
        "rate = 200.0",
        "rate",
        ("simulate Silver --controller FILE --speed 4.5 --duration 1 -o OUT", "migrate FILE"),
    ),
    "campaign": ("seed = 1 ", "seed", ("campaign FILE --lockstep --dry-run", "run FILE", "migrate FILE")),
    "mapping": ('unit = "ms"', "unit", ("analyze log.csv -m FILE", "plot log.csv -m FILE", "migrate FILE")),
}
# of one kind only: (what stands there, what stands there instead)
SPOILT = {
    "campaign": {
        "kind-is-a-list": ('kind = "treadmill"', "kind = [1]"),
        "kind-is-a-table": ('kind = "treadmill"', "kind = { a = 1 }"),
        "repeats-endless": ("repeats = 2", "repeats = 9000000000"),
        "kicks-endless": ("kicks = 3", "kicks = 9000000000"),
        "bicycles-of-lists": ('["Silver"]', '[["Silver"]]'),
    },
    "mapping": {
        "column-is-a-list": ('column = "belt"', 'column = ["belt"]'),
        "time-column-is-a-list": ('column = "time"', 'column = ["time"]'),
        "time-column-is-empty": ('column = "time"', 'column = ""'),
        "time-column-is-a-number": ('column = "time"', "column = 5"),
        "time-unit-is-a-list": ('unit = "ms"', 'unit = ["ms"]'),
        "equals-is-a-table": ("[v]", '[free]\ncolumn = "armed"\nequals = { a = 1 }\n[v]'),
        "equals-is-a-list-of-lists": ("[v]", '[free]\ncolumn = "armed"\nequals = [[1], [2, 3]]\n[v]'),
        "times-without-end": ("[v]", "[kicks]\ntimes = [inf, nan]\n[v]"),
        "intervals-of-nan": ("[v]", "[free]\nintervals = [[nan, nan]]\n[v]"),
        "beside-elsewhere": ("[v]", '[kicks]\nbeside = "../../../etc/passwd"\n[v]'),
        "constant-endless": ('column = "belt"', "constant = 1e308"),
    },
    "rig": {
        "name-is-a-list": ('name = "node"', "name = [1]"),
        "port-is-a-number": ("[loop]", "[[limits.torque.more]]\na = 1\n[loop]"),
        "bicycle-is-a-table": ('bicycle = "Benchmark"', "bicycle = { a = 1 }"),
    },
    "gains": {
        "closed-loop-of-texts": ("closed_loop = [", 'closed_loop = ["a",'),
        "speed-is-a-number": ("[[speed]]", "[[other]]\n[[speed]]"),
    },
}


def hostile_tomls() -> dict[str, dict[str, bytes]]:
    """Files of each kind, by what is wrong with them."""
    texts = {
        "bicycle": (ROOT / "models/bicycles/Silver.toml").read_text(encoding="utf-8"),
        "rig": (DOCS / "rigs/node.toml").read_text(encoding="utf-8"),
        "gains": design(catalogue.load_bicycle("Silver"), "lqr", (4.0, 5.0)).to_toml(),
        "campaign": (DOCS / "campaigns/treadmill.toml").read_text(encoding="utf-8"),
        "mapping": MAPPING,
    }
    made: dict[str, dict[str, bytes]] = {}
    for kind, text in texts.items():
        line, key, _ = KINDS[kind]
        assert line in text, (kind, line)
        made[kind] = {name: text.replace(line, f"{key} = {value} ").encode() for name, value in VALUES.items()}
        for name, (old, new) in SPOILT.get(kind, {}).items():
            assert old in text, (kind, old)
            made[kind][name] = text.replace(old, new).encode()
        made[kind] |= {
            "utf-16": text.encode("utf-16"),
            "latin-1": (text + "# \u00fcber\n").encode("latin-1"),
            "zero-bytes": text.replace("\n", "\0\n", 3).encode(),
            "keys-in-keys": (text + "\n" + ".".join(["a"] * 20_000) + " = 1\n").encode(),
            "tables": (text + "\n" + "".join(f"[a{n}]\n" for n in range(80_000))).encode(),
        }
    return made
