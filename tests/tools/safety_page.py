"""`python -m tests.tools.safety_page`: put the tables the code runs into docs/safety.md, between their marks."""

import re

from hil.loop.limits import RANGES, Limits
from hil.loop.transitions import as_markdown
from tests.paths import DOCS

PAGE = DOCS / "safety.md"


def limits_table() -> str:
    """Every limit with its default, unit and reason, and the range that is taken, with its reason."""
    rows = []
    for name, entry in Limits().as_dict().items():
        least, most, why = RANGES[name]
        told = (f"`{name}`", f"{entry['value']:g}", entry["unit"], entry["reason"], f"{least:g} to {most:g}", why)
        rows.append(f"| {' | '.join(map(str, told))} |")
    return "\n".join(["| limit | value | unit | reason | taken | for |", "|---|---|---|---|---|---|", *rows]) + "\n"


def page(text: str) -> str:
    """The page with both tables as the code has them now."""
    for mark, table in (("transitions", as_markdown()), ("limits", limits_table())):
        text, n = re.subn(
            rf"(<!-- {mark} -->\n).*?(<!-- end -->)", lambda m, t=table: m[1] + t + m[2], text, count=1, flags=re.DOTALL
        )
        if n != 1:
            raise ValueError(f"{PAGE} has no place for the table of {mark}")
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
