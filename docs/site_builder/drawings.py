"""Drawings of the coordinates as SVG, to the measures of the Benchmark bicycle."""

from math import cos, pi, radians, sin

from riderless.models import load_bicycle

INK, BLUE, RED, GREY = "#222222", "#0072b2", "#d55e00", "#777777"
SCALE = 230.0  # pixels a metre
FONT = "font-family='sans-serif' font-size='15'"


class Drawing:
    """Lines, circles, arrows and words on a white card; places in pixels, y down."""

    def __init__(self, width: int, height: int, title: str) -> None:
        """Begin a card."""
        self.parts = [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' role='img'>",
            f"<title>{title}</title>",
            *(
                f"<marker id='{name}' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='8' markerHeight='8' "
                f"orient='auto-start-reverse'><path d='M0 1 L10 5 L0 9 z' fill='{colour}'/></marker>"
                for name, colour in (("a", INK), ("b", BLUE), ("r", RED), ("g", GREY))
            ),
            f"<rect width='{width}' height='{height}' rx='8' fill='white'/>",
        ]

    def line(self, *points: tuple[float, float], colour: str = INK, width: float = 2.0, more: str = "") -> None:
        """Draw a line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='{width}' {more}/>")

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], colour: str = INK, both: bool = False
    ) -> None:
        """Draw an arrow, or with ``both`` a measure."""
        mark = {INK: "a", BLUE: "b", RED: "r", GREY: "g"}[colour]
        self.line(start, end, colour=colour, more=f"marker-end='url(#{mark})'" + f" marker-start='url(#{mark})'" * both)

    def turn(self, centre: tuple[float, float], radius: float, first: float, last: float, colour: str = BLUE) -> None:
        """Draw an arc with an arrow from one angle to another, deg clockwise from the right on the page."""
        (x0, y0), (x1, y1) = (
            (centre[0] + radius * cos(radians(a)), centre[1] + radius * sin(radians(a))) for a in (first, last)
        )
        mark = {INK: "a", BLUE: "b", RED: "r", GREY: "g"}[colour]
        sweep = int(last > first)
        self.parts.append(
            f"<path d='M{x0:.1f} {y0:.1f} A{radius} {radius} 0 0 {sweep} {x1:.1f} {y1:.1f}' fill='none' "
            f"stroke='{colour}' stroke-width='2.5' marker-end='url(#{mark})'/>"
        )

    def circle(self, centre: tuple[float, float], radius: float, colour: str = INK, fill: str = "none") -> None:
        """Draw a circle."""
        self.parts.append(
            f"<circle cx='{centre[0]:.1f}' cy='{centre[1]:.1f}' r='{radius:.1f}' fill='{fill}' stroke='{colour}' "
            "stroke-width='2'/>"
        )

    def word(self, at: tuple[float, float], text: str, colour: str = INK, anchor: str = "start") -> None:
        """Write a word."""
        self.parts.append(
            f"<text x='{at[0]:.1f}' y='{at[1]:.1f}' {FONT} fill='{colour}' text-anchor='{anchor}'>{text}</text>"
        )

    def text(self) -> str:
        """SVG of the card."""
        return "\n".join([*self.parts, "</svg>", ""])


def side_view() -> str:
    """Draw the bicycle from its right side: axes, wheelbase, trail, tilt of the steer axis."""
    b = load_bicycle("Benchmark")
    card = Drawing(560, 400, "Bicycle from the right: x forward, z down")

    def at(x: float, z: float) -> tuple[float, float]:
        """Place on the card of a place on the bicycle."""
        return 120 + SCALE * x, 300 + SCALE * z

    card.line(at(-0.45, 0), at(1.8, 0), colour=GREY)
    card.circle(at(0, -b.rR), SCALE * b.rR)
    card.circle(at(b.w, -b.rF), SCALE * b.rF)
    foot = b.w + b.c  # where the steer axis meets the ground

    def axis(height: float) -> tuple[float, float]:
        """Place on the steer axis at a height."""
        return foot - height * sin(b.lam) / cos(b.lam), -height

    card.line(at(*axis(0.0)), at(*axis(1.12)), colour=RED, more="stroke-dasharray='7 5'")
    card.word(at(axis(1.1)[0] - 0.42, -1.08), "steer axis", RED)
    crown = axis(0.75)
    card.line(at(0, -b.rR), at(0.45, -0.75), at(*crown), width=4)
    card.line(at(0.45, -0.75), at(0.42, -0.3), at(0, -b.rR), width=4)
    card.line(at(0.42, -0.3), at(*crown), width=4)
    card.line(at(*axis(0.95)), at(*axis(0.5)), at(b.w, -b.rF), width=4)
    card.line(at(0, 0.08), at(0, 0.2), colour=GREY)
    card.line(at(b.w, 0.03), at(b.w, 0.2), colour=GREY)
    card.line(at(foot, 0.03), at(foot, 0.2), colour=GREY)
    card.arrow(at(0, 0.14), at(b.w, 0.14), GREY, both=True)
    card.word(at(b.w / 2, 0.25), "w, wheelbase", GREY, "middle")
    card.word(at(foot + 0.03, 0.2), "c, trail", GREY)
    card.line(at(foot, 0), at(foot, -0.92), colour=GREY, more="stroke-dasharray='3 4'")
    start = -90.0
    card.turn(at(foot, 0), 0.85 * SCALE, start, start - b.lam * 180 / pi, RED)
    card.word(at(foot + 0.03, -0.82), "λ, tilt", RED)
    card.arrow(at(0, 0), at(0.36, 0), BLUE)
    card.word(at(0.3, 0.09), "x", BLUE)
    card.arrow(at(0, 0), at(0, 0.34), BLUE)
    card.word(at(0.04, 0.34), "z", BLUE)
    card.circle(at(0, 0), 4, BLUE, BLUE)
    card.word(at(-0.06, -0.04), "P", BLUE, "end")
    card.arrow(at(1.3, -1.05), at(1.7, -1.05))
    card.word(at(1.3, -1.1), "forward", INK)
    return card.text()


def rear_view() -> str:
    """Draw the bicycle from behind, leaning to the right."""
    card = Drawing(320, 320, "Bicycle from behind: positive lean is to the right")
    foot, lean, length = (150.0, 250.0), radians(22.0), 190.0
    top = (foot[0] + length * sin(lean), foot[1] - length * cos(lean))
    card.line((30, 250), (290, 250), colour=GREY)
    card.line(foot, (foot[0], 40), colour=GREY, more="stroke-dasharray='5 5'")
    card.line(foot, top, width=7)
    across = (38 * cos(lean), 38 * sin(lean))
    card.line((top[0] - across[0], top[1] - across[1]), (top[0] + across[0], top[1] + across[1]), width=5)
    card.turn(foot, 120.0, -90.0, -71.0, BLUE)
    card.word((140, 130), "φ &gt; 0, lean", BLUE, "end")
    card.arrow(foot, (235, 250), BLUE)
    card.word((222, 242), "y", BLUE)
    card.arrow(foot, (150, 305), BLUE)
    card.word((158, 305), "z", BLUE)
    card.word((60, 275), "left", GREY, "middle")
    card.word((262, 275), "right", GREY, "middle")
    card.word((20, 28), "seen from behind")
    return card.text()


def top_view() -> str:
    """Draw the bicycle from above, steered to the right and heading to the right."""
    card = Drawing(340, 320, "Bicycle from above: positive steer and yaw are to the right")
    heading, steer, length = radians(15.0), radians(25.0), 120.0
    rear = (130.0, 250.0)
    front = (rear[0] + length * sin(heading), rear[1] - length * cos(heading))

    def wheel(centre: tuple[float, float], angle: float) -> None:
        """Draw a wheel that points that far to the right of up."""
        dx, dy = 34 * sin(angle), -34 * cos(angle)
        card.line((centre[0] - dx, centre[1] - dy), (centre[0] + dx, centre[1] + dy), width=8)

    card.arrow(rear, (rear[0], 60), GREY)
    card.word((122, 74), "x, ahead", GREY, "end")
    card.line(rear, front, width=3)
    card.line(
        front, (front[0] + 95 * sin(heading), front[1] - 95 * cos(heading)), colour=GREY, more="stroke-dasharray='5 5'"
    )
    card.line(
        front,
        (front[0] + 95 * sin(heading + steer), front[1] - 95 * cos(heading + steer)),
        colour=RED,
        more="stroke-dasharray='5 5'",
    )
    wheel(rear, heading)
    wheel(front, heading + steer)
    card.turn(rear, 90.0, -90.0, -75.0, BLUE)
    card.word((122, 168), "ψ &gt; 0, yaw", BLUE, "end")
    card.turn(front, 75.0, -75.0, -50.0, RED)
    card.word((222, 62), "δ &gt; 0, steer", RED)
    card.arrow(rear, (rear[0] + 90, rear[1]), GREY)
    card.word((rear[0] + 95, rear[1] + 5), "y, right", GREY)
    card.word((20, 28), "seen from above")
    return card.text()
