"""Values that a quantity can have on a real machine, and where the best value lies outside of them.

A machine's quantities have ranges of their own (`riderless.experiments.dynamics`); a parameter of the bicycle may be
moved as far as the bicycle can exist (`riderless.models.parameters`) and no trait of it leaves what is plausible
(`riderless.models.plausibility.traits`).
"""

from riderless.experiments.dynamics import Theory, unit_of
from riderless.models.errors import InputError
from riderless.models.plausibility.traits import odd_traits

INSIDE = 0.99  # of the way to the edge of what can be: a little beside a value must be possible too
BISECTIONS = 30  # of the way to a value that cannot be: its edge is then known to 1e-9 of that way


def impossible(theory: Theory, name: str, value: float) -> str:
    """Reason for which a quantity cannot have a value (SI); empty if it can."""
    unit = f" {unit_of(name)}" if unit_of(name) else ""
    allowed = theory.range(name)
    if not allowed.allows(value):
        return f"possible are {allowed.least:.3g} to {allowed.most:.3g}{unit}: {allowed.why}"
    try:
        moved = theory.variant({name: value})[0].bicycle
    except InputError:
        return f"no bicycle with this and its other parameters can be, found {name} = {value:.4g}{unit}"
    known = {trait.words for trait in odd_traits(theory.bicycle.as_dict())}  # an odd bicycle may stay as odd as it is
    odd = [trait for trait in odd_traits(moved.as_dict()) if trait.words not in known]
    return odd[0].phrase(moved.as_dict()) if odd else ""


def nearest_possible(theory: Theory, name: str, value: float) -> float:
    """Value [SI] nearest to the one given that a quantity can have, on the way to it from its nominal value."""
    if not impossible(theory, name, value):
        return value
    nominal = theory.nominal(name)
    allowed, forbidden = 0.0, 1.0  # shares of the way
    for _ in range(BISECTIONS):
        middle = 0.5 * (allowed + forbidden)
        if impossible(theory, name, nominal + middle * (value - nominal)):
            forbidden = middle
        else:
            allowed = middle
    return nominal + INSIDE * allowed * (value - nominal)
