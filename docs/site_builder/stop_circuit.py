"""Circuit of the emergency stop."""

from site_builder.circuit_parts import box, contact, dot, fuse, picture, text, wire


def power():
    """Draw the power's way from the battery to the drives."""
    y = 110
    return [
        text(14, 34, "Power", "b", "start"),
        text(14, y + 5, "BAT+", "b", "start"),
        wire((60, y), (88, y)),
        fuse(110, y, "F1"),
        wire((132, y), (160, y)),
        contact(200, y, "S0", "isolator"),
        wire((240, y), (330, y)),
        dot(290, y),
        wire((290, y), (290, 220), (318, 220)),
        fuse(340, 220, "F2"),
        wire((362, 220), (410, 220)),
        box(460, 220, 100, "DC/DC"),
        wire((510, 220), (560, 220)),
        box(690, 220, 260, "node, computer, radio,", "coil supply COIL+: stay on", height=48),
        dot(330, y),
        wire((330, y), (400, y)),
        contact(440, y, "K1", "DC contactor"),
        wire((480, y), (560, y)),
        wire((330, y), (330, 165), (350, 165)),
        contact(390, 165, "K2"),
        wire((430, 165), (448, 165)),
        box(485, 165, 74, "Rpre", height=24),
        wire((522, 165), (560, 165), (560, y)),
        dot(560, y),
        text(590, y - 12, "BUS+", "b"),
        wire((560, y), (700, y)),
        dot(640, y),
        dot(700, y),
        wire((700, y), (738, y)),
        fuse(760, y, "F3"),
        wire((782, y), (820, y)),
        box(880, y, 120, "steer drive"),
        wire((700, y), (700, 165), (738, 165)),
        fuse(760, 165, "F4"),
        wire((782, 165), (820, 165)),
        box(880, 165, 120, "rear drive"),
        wire((640, y), (640, 30), (690, 30)),
        box(820, 30, 260, "brake chopper, TVS, bleeder,", "100k / 10k to node PA0; to BAT-", height=44),
    ]


def coils():
    """Draw the chain of contacts that lets the contactor close."""
    y = 370
    return [
        text(14, 300, "Chain of the coils", "b", "start"),
        text(14, y + 5, "COIL+", "b", "start"),
        wire((66, y), (80, y)),
        contact(120, y, "S1a", "mushroom", closed=True),
        contact(230, y, "S2", "radio relay"),
        wire((160, y), (190, y)),
        wire((270, y), (430, y)),
        dot(430, y),
        contact(480, y, "S3", "start"),
        wire((430, y), (440, y)),
        wire((520, y), (560, y)),
        dot(540, y),
        contact(600, y, "P", "BUS+ > 90 %"),
        wire((640, y), (680, y)),
        dot(680, y),
        wire((430, y), (430, 450), (520, 450)),
        contact(560, 450, "K1 aux", "holds it closed"),
        wire((600, 450), (680, 450), (680, y)),
        wire((680, y), (740, y)),
        box(800, y, 120, "K1 coil", "diode + zener", height=44),
        wire((860, y), (920, y), (920, 540)),
        wire((540, y), (540, 310), (740, 310)),
        box(800, 310, 120, "K2 coil"),
        wire((860, 310), (920, 310), (920, y)),
        dot(920, y),
        text(920, 558, "0 V", "b"),
    ]


def signals():
    """Draw what the node reads and does."""
    return [
        text(14, 520, "Node", "b", "start"),
        text(14, 570, "PB12", "b", "start"),
        wire((56, 565), (100, 565)),
        contact(140, 565, "S1b", "mushroom, 2nd contact", closed=True),
        wire((180, 565), (230, 565)),
        text(256, 570, "GND", "b"),
        text(340, 570, "spare input", "b", "start"),
        wire((428, 565), (460, 565)),
        contact(500, 565, "K1 mirror", "closed while K1 is open", closed=True),
        wire((540, 565), (590, 565)),
        text(616, 570, "GND", "b"),
        text(14, 640, "PB1", "b", "start"),
        wire((56, 635), (160, 635)),
        box(240, 635, 160, "charge pump"),
        wire((320, 635), (380, 635)),
        box(440, 635, 120, "K3 coil"),
        wire((500, 635), (560, 635)),
        text(584, 640, "0 V", "b"),
        text(620, 640, "a pin that stands still, high or low, drops K3", "note", "start"),
        text(14, 710, "3.3 V of the drive", "b", "start"),
        wire((160, 705), (240, 705)),
        contact(280, 705, "K3", "heartbeat"),
        wire((320, 705), (380, 705)),
        box(500, 705, 240, "drive: enable or kill input"),
        text(640, 710, "10 kΩ to the drive's GND", "note", "start"),
        wire((120, 385), (120, 530), kind="link"),
        text(128, 460, "one mushroom", "note", "start"),
    ]


def drawing() -> str:
    """Make the whole drawing."""
    title = "Emergency stop: power, chain of the coils, and what the node reads"
    return picture(title, 980, 750, [*power(), *coils(), *signals()])
