"""Wiring of sensors, node, drives and computer; all boards have these pins."""

from site_builder.circuit_parts import box, dot, picture, text, wire

NODE_LEFT, NODE_RIGHT = 370, 560
SENSORS = (  # y, part, note under it, pins
    (80, "wheel sensor", "open collector, or 5 V", "PB10"),
    (140, "steer encoder A, B", "quadrature, 5 V allowed", "PB6, PB7"),
    (200, "or AS5047P", "3.3 V; clock and data as below", "PB0"),
    (260, "inertial sensor", "3.3 V: select, clock, in, out", "PA4 to PA7"),
    (320, "mushroom S1b", "1 kΩ to 3.3 V, 10 nF; other side GND", "PB12"),
    (380, "BUS+", "over 100 kΩ; 10 kΩ to GND", "PA0"),
    (440, "DC/DC, 5 V", "behind fuse F2", "5 V"),
)
AMPLIFIER = (  # y, signal, pin
    (70, "PWM, 10 kΩ to GND", "PA8"),
    (95, "ENABLE, 10 kΩ to GND", "PA11"),
    (120, "direction", "PB14"),
    (145, "ready", "PB13"),
    (170, "torque monitor", "PA1"),
)


def node():
    """Draw the node with all that ends at it."""
    parts = [
        f'<rect x="{NODE_LEFT}" y="40" width="{NODE_RIGHT - NODE_LEFT}" height="440"/>',
        text(465, 30, "node: Blue Pill, F405 or G431", "b"),
    ]
    for y, part, note, pin in SENSORS:
        parts += [
            box(105, y, 170, part, height=30),
            text(20, y + 30, note, "note", "start"),
            wire((190, y), (NODE_LEFT, y)),
            text(NODE_LEFT + 8, y + 5, pin, "", "start"),
        ]
    parts += ['<rect x="760" y="50" width="200" height="140" class="link"/>']
    parts += [text(860, 42, "only where the node drives", "note"), text(860, 115, "servo amplifier")]
    for y, signal, pin in AMPLIFIER:
        parts += [
            wire((NODE_RIGHT, y), (760, y)),
            text(NODE_RIGHT - 8, y + 5, pin, "", "end"),
            text(572, y - 4, signal, "note", "start"),
        ]
    parts += [
        wire((NODE_RIGHT, 430), (640, 430)),
        text(NODE_RIGHT - 8, 435, "PB1", "", "end"),
        text(572, 426, "heartbeat", "note", "start"),
        box(690, 430, 100, "charge pump", height=30),
        text(640, 460, "to K3", "note", "start"),
    ]
    return parts


def computer():
    """Draw the lines to the computer, and the bus of a drive that obeys it."""
    high, low = 575, 605
    return [
        wire((NODE_RIGHT, 250), (640, 250)),
        text(NODE_RIGHT - 8, 255, "PA9, PA10", "", "end"),
        text(572, 246, "out, in", "note", "start"),
        box(715, 250, 150, "adapter, 3.3 V", "isolated", height=44),
        wire((790, 250), (860, 250), (860, 310)),
        text(800, 242, "USB", "note", "start"),
        box(860, 335, 200, "computer", height=50),
        wire((NODE_RIGHT, 320), (640, 320)),
        text(NODE_RIGHT - 8, 325, "SWDIO, SWCLK", "", "end"),
        box(690, 320, 100, "ST-Link", height=30),
        text(640, 350, "to flash alone", "note", "start"),
        wire((860, 360), (860, 440)),
        text(868, 400, "USB", "note", "start"),
        box(860, 465, 200, "CAN adapter, slcan", "isolated", height=50),
        wire((830, 490), (830, high), (480, high)),
        wire((890, 490), (890, low), (480, low)),
        wire((860, 490), (860, 640), (480, 640), kind="link"),
        text(600, high - 8, "CANH and CANL, twisted"),
        text(600, 632, "ground of the bus", "note"),
        *_terminator(750, high, low),
        *_terminator(510, high, low),
        box(380, 605, 200, "steer drive", "VESC or ODrive", height=100),
    ]


def _terminator(x, high, low):
    return [
        dot(x, high),
        dot(x, low),
        f'<rect x="{x - 6}" y="{high + 4}" width="12" height="{low - high - 8}" style="fill:#fff"/>',
        text(x + 12, (high + low) / 2 + 5, "120 Ω", "note", "start"),
    ]


def star():
    """Draw the one point at which all grounds meet."""
    return [
        dot(60, 600),
        text(20, 625, "0 V: star at BAT-", "b", "start"),
        wire((60, 600), (60, 560), (220, 560), (220, 505), (465, 505), (465, 480)),
        text(240, 500, "GND of the node", "note", "start"),
        wire((60, 600), (280, 600)),
        text(160, 594, "DC-, thick, short", "note", "start"),
        wire((150, 455), (150, 530), (60, 530), (60, 600)),
        text(20, 522, "0 V of the DC/DC", "note", "start"),
    ]


def drawing() -> str:
    """Make the whole drawing."""
    return picture("Wiring: sensors, node, drive, computer", 980, 670, [*node(), *computer(), *star()])
