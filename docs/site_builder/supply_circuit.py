"""Supply: both conductors from the battery to the drives, the brake chopper, and the order of the voltages."""

from site_builder.circuit_parts import box, contact, dot, fuse, picture, text, wire

LEVELS = (  # V, what happens there
    (21.0, "empty: bus_min of the rig"),
    (24.0, "charged to 80 %"),
    (25.2, "full pack: do not ride"),
    (27.0, "brake chopper on"),
    (28.0, "bus_max of the rig: ramp, then off"),
    (30.0, "the node reports a fault"),
)


def branches():
    """Draw the plus and the minus."""
    plus, minus = 80, 330
    return [
        box(70, 205, 110, "battery", "6 Li-ion cells", "protection", height=70),
        wire((70, 170), (70, plus), (118, plus)),
        fuse(140, plus, "F1 20 A"),
        wire((162, plus), (190, plus)),
        contact(230, plus, "S0", "isolator"),
        wire((270, plus), (350, plus)),
        dot(310, plus),
        wire((310, plus), (310, 165)),
        *_upright_fuse(310, 187, "F2 3 A"),
        wire((310, 209), (310, 230)),
        box(310, 248, 110, "DC/DC"),
        wire((310, 266), (310, minus)),
        contact(390, plus, "K1", "with K2, Rpre: page 2"),
        wire((430, plus), (640, plus)),
        text(450, plus - 10, "BUS+", "b", "start"),
        *[part for x, name in ((520, "F3 7.5 A"), (640, "F4 7.5 A")) for part in _drive(x, name, plus, minus)],
        wire((70, 240), (70, minus), (925, minus)),
        text(90, minus + 22, "BAT-: never switched, one wire for each return", "b", "start"),
        dot(310, minus),
        wire((640, plus), (800, plus), (800, 110)),
        dot(640, plus),
        box(800, 130, 120, "10 Ω, 50 W", height=40),
        wire((800, 150), (800, 195)),
        box(800, 215, 120, "transistor", height=40),
        wire((800, 235), (800, minus)),
        dot(800, minus),
        dot(800, plus),
        wire((800, plus), (925, plus), (925, 195)),
        box(925, 215, 100, "comparator", "27.0 V on", height=44),
        wire((875, 215), (860, 215)),
        wire((925, 237), (925, minus)),
        text(850, 60, "brake chopper", "b"),
    ]


def _upright_fuse(x, y, name):
    return [
        f'<rect x="{x - 8}" y="{y - 22}" width="16" height="44"/>',
        wire((x, y - 22), (x, y + 22)),
        text(x + 14, y + 5, name, "b", "start"),
    ]


def _drive(x, name, plus, minus):
    drive = "steer drive" if x < 600 else "rear drive"
    return [
        dot(x, plus),
        wire((x, plus), (x, 130)),
        *_upright_fuse(x, 152, name),
        wire((x, 174), (x, 205)),
        box(x, 225, 100, drive, height=40),
        wire((x, 245), (x, minus)),
        dot(x, minus),
    ]


def levels():
    """Draw the voltages along a line, in their order."""
    left, right, lowest, highest, y = 60, 940, 20.0, 33.0, 560
    parts = [text(14, 390, "Order of the voltages, six cells", "b", "start"), wire((left, y), (right, y))]
    for i, (voltage, event) in enumerate(LEVELS):
        x = round(left + (right - left) * (voltage - lowest) / (highest - lowest))
        top = y - 24 * (len(LEVELS) - i)
        parts += [wire((x, y + 6), (x, top)), text(x, y + 24, f"{voltage:.1f} V", "note")]
        parts += [text(x + 6, top + 10, event, "", "start")]
    return parts


def drawing() -> str:
    """Make the whole drawing."""
    return picture("Supply: branches, brake chopper, order of the voltages", 980, 600, [*branches(), *levels()])
