"""Parts of a circuit diagram, as SVG."""

STYLE = (
    "path,rect,circle{fill:none;stroke:#222;stroke-width:2}text{font:14px sans-serif;fill:#222}"
    ".note{font-size:12px;fill:#555}.b{font-weight:bold}.dot{fill:#222}.link{stroke-dasharray:5 4}"
)


def text(x, y, words, kind="", anchor="middle"):
    """Write words at a place."""
    words = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" class="{kind}">{words}</text>'


def wire(*points, kind=""):
    """Join points (x, y) by a line."""
    return f'<path class="{kind}" d="M' + " L".join(f"{x},{y}" for x, y in points) + '"/>'


def dot(x, y):
    """Mark where wires are joined."""
    return f'<circle class="dot" cx="{x}" cy="{y}" r="3"/>'


def box(x, y, width, *lines, height=36):
    """Draw a part, centred at a place, with words in it."""
    first = y + 5 - 8 * (len(lines) - 1)
    words = "".join(text(x, first + 16 * i, line) for i, line in enumerate(lines))
    return f'<rect x="{x - width / 2}" y="{y - height / 2}" width="{width}" height="{height}"/>' + words


def contact(x, y, name, note="", closed=False):
    """Draw a contact 40 wide in a horizontal wire: open, or closed while nothing acts on it."""
    blade = wire((x - 20, y), (x + 16, y - (4 if closed else 16)))
    stop = wire((x + 12, y - 10), (x + 12, y)) if closed else ""
    parts = [wire((x - 40, y), (x - 20, y)), blade, stop, wire((x + 12, y), (x + 40, y))]
    return "".join(parts) + text(x, y - 24, name, "b") + text(x, y + 20, note, "note")


def fuse(x, y, name):
    """Draw a fuse in a horizontal wire."""
    return (
        f'<rect x="{x - 22}" y="{y - 8}" width="44" height="16"/>'
        + wire((x - 22, y), (x + 22, y))
        + text(x, y - 16, name, "b")
    )


def picture(title, width, height, parts) -> str:
    """Make a whole drawing of its parts."""
    return (
        "\n".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
                f"<title>{title}</title>",
                f"<style>{STYLE}</style>",
                '<rect x="0" y="0" width="100%" height="100%" style="fill:#fff;stroke:none"/>',
                *parts,
                "</svg>",
            )
        )
        + "\n"
    )
