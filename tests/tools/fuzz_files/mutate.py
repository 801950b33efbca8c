"""Mutations of bytes, of text and of what JSON and TOML hold; each draws what it does from a `random.Random`."""

import copy
import re
import struct
from random import Random
from typing import Any

NUMBERS = (0, 1, -1, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**31), -(2**63))
WORDS = (
    *("nan", "inf", "-inf", "1e400", "-0.0", "0", "-1", "1e300", "9" * 5000, "true", '""', "[]", "{}", "''", "0x1F"),
    *("1979-05-27T07:32:00Z", "07:32:00", "[/x]", "=cmd|' /C calc'!A0", "\x1b[2J", "\u202e", "\x00", "[" * 3000),
    *("{a=" * 500, '"' + "x" * 9000 + '"', '"""', "../../etc/passwd", "\ud7ff", "é", ",", ";", "\t", "\r", "\n\n", "#"),
)
VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3.5, -0.0, 1e-300, 1e300, -1e300, 10**30, 2**63, -(2**63), True, False),
    *(float("nan"), float("inf"), float("-inf")),
    *("", "x", "nan", "é" * 50, "a" * 5000, "[/x]", "\x1b[31mred", "../x", "Silver", "a\nb", "\u202etxt"),
    *([], {}, [[]], [0], [1.0, 2.0], [[1.0]], ["x"], {"x": 1}, {"x": {"x": {}}}, [True], [float("nan")], [[[[[]]]]]),
)
_TOKEN = re.compile(r"[\w.+-]+|\"[^\"\n]*\"|\s+|.", re.S)


def mutated_bytes(rng: Random, data: bytes) -> bytes:
    """Flip, set, cut, double and move bytes, and set integers to what breaks sums; one to eight times."""
    made = bytearray(data)
    for _ in range(_times(rng)):
        n = len(made)
        at = rng.randrange(n + 1)
        match rng.randrange(9):
            case 0 if n:
                made[at % n] ^= 1 << rng.randrange(8)
            case 1 if n:
                made[at % n] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 2 if n:
                code = rng.choice(["<H", ">H", "<I", ">I", "<Q", ">Q"])
                size = struct.calcsize(code)
                number = rng.choice(NUMBERS) % 2 ** (8 * size)
                made[at : at + size] = struct.pack(code, number)
            case 3:
                del made[at : at + rng.choice((1, 2, 4, 8, 64, 1024))]
            case 4:
                made[at:at] = rng.randbytes(rng.choice((1, 2, 4, 8, 64, 1024)))
            case 5:
                made[at:at] = made[at : at + rng.choice((1, 8, 64, 1024))]
            case 6 if rng.random() < 0.3:
                del made[at:]
            case 7 if n:
                other, size = rng.randrange(n), rng.choice((1, 4, 8, 64))
                made[at : at + size] = made[other : other + size]
            case _ if n:
                made[at % n] = rng.randrange(256)
    return bytes(made)


def mutated_text(rng: Random, text: str) -> str:
    """Change tokens and lines of a text."""
    for _ in range(_times(rng)):
        if rng.random() < 0.6:
            parts = _TOKEN.findall(text) or [""]
            i = rng.randrange(len(parts))
            match rng.randrange(4):
                case 0:
                    parts[i] = rng.choice(WORDS)
                case 1:
                    parts[i] = rng.choice(parts)
                case 2:
                    del parts[i]
                case 3:
                    parts.insert(i, rng.choice((rng.choice(WORDS), rng.choice(parts))))
            text = "".join(parts)
            continue
        lines = text.split("\n")
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        match rng.randrange(5):
            case 0:
                del lines[i]
            case 1:
                lines.insert(i, lines[j])
            case 2:
                lines[i], lines[j] = lines[j], lines[i]
            case 3:
                lines = lines[: i + 1]
            case 4:
                lines[i] = lines[i] + rng.choice(WORDS)
        text = "\n".join(lines)
    return text


def encoded(rng: Random, text: str) -> bytes:
    """Write a text as UTF-8, now and then as something else."""
    code = rng.choice(("utf-16", "latin-1", "utf-8-sig", "utf-32")) if rng.random() < 0.02 else "utf-8"
    return text.encode(code, "replace" if code == "latin-1" else "surrogatepass")


def mutated_tree(rng: Random, document: Any, most: int | None = None) -> Any:
    """Replace, delete, rename, wrap and move values of a document of dicts and lists; the one given stays as it is."""
    document = copy.deepcopy(document)
    for _ in range(_times(rng) if most is None else most):
        places = list(_places(document))
        if not places:
            return document
        holder, key = rng.choice(places)
        match rng.randrange(8):
            case 0 | 1 | 2:
                holder[key] = copy.deepcopy(rng.choice(VALUES))
            case 3:
                del holder[key]
            case 4 if isinstance(holder, dict):
                holder[rng.choice((f"{key}x", "x", "", key.upper()))] = holder.pop(key)
            case 5:
                holder[key] = [holder[key]]
            case 6:
                other, there = rng.choice(places)
                holder[key] = copy.deepcopy(other[there]) if _has(other, there) else None or 0
            case _:
                holder[key] = _nudged(rng, holder[key])
    return document


def _nudged(rng: Random, value: Any) -> Any:
    """Value near another: numbers grow or change sign, lists and texts grow and shrink."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice((-value, value * 10, value * 1e6, value + 1, value / 1000.0, value * 0.99))
    if isinstance(value, str):
        return rng.choice((value[:-1], value * 2, value.upper(), f" {value}", value + rng.choice(WORDS)))
    if isinstance(value, list):
        return rng.choice((value[:-1], value * 2, value * 50, list(reversed(value)), [*value, 0.0]))
    return {str(i): value for i in range(3)}


def _places(document: Any) -> Any:
    """Every place of a value in a document, as its holder and key."""
    keys = document.keys() if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    for key in list(keys):
        yield document, key
        yield from _places(document[key])


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _times(rng: Random) -> int:
    return 1 if rng.random() < 0.6 else rng.randint(2, 8)
