"""Notebook and prompt display of results.

Short texts and small HTML tables.
"""

from collections.abc import Mapping
from html import escape


def plus_minus(value: float, std: float, unit: str = "") -> str:
    """Value with its standard deviation; without it where it is not known, as for a refused fit."""
    spread = f" ± {std:.2g}" if std == std else ""
    return f"{value:.4g}{spread}{f' {unit}' if unit else ''}"


def eigenvalue_with_unit(value: complex) -> str:
    """Eigenvalue as "-1.16 ± 5.44i 1/s"; a real one without its imaginary part."""
    oscillation = f" ± {abs(value.imag):.4g}i" if value.imag else ""
    return f"{value.real:.4g}{oscillation} 1/s"


def value_table(title: str, rows: Mapping[str, str]) -> str:
    """Small HTML table of names and values under a title."""
    lines = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows.items())
    return f"<table><caption>{escape(title)}</caption>{lines}</table>"
