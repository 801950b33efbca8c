"""Reasons for which no verdict is given: p is not to be trusted where fits, or errors, are not what it rests on."""

from riderless.experiments.analysis.comparison.process_noise import FEWEST_WINDOWS, estimate_process_noise, may_tell
from riderless.experiments.analysis.process_noise.share import driven_share
from riderless.experiments.analysis.windows.grouping import WindowsOfBicycle

UNCALIBRATED = {  # estimator: why no p is given for its fits (docs/truth.md has the counts)
    "era": "windows fitted by era reject true models ten times as often as p says, as noise moves its poles by more "
    "than to first order; fit them with --estimator single_mode or several_modes",
}
BLIND_TO_WIND = ("four_state",)  # estimators whose errors count no random torques
GREATEST_DRIVEN_SHARE = 0.2  # of the measured lean rate, that wind, belt or road may drive in the windows


def why_withheld(group: WindowsOfBicycle) -> str:
    """Reason for which no verdict may be given on the windows of one bicycle; empty if one may.

    Parameters
    ----------
    group : sequence of (Response, Comparison)
        Windows of one bicycle, each with the recording it was cut from.
    """
    fitted = {c.fit.estimator for _, c in group}
    return next((why for name, why in UNCALIBRATED.items() if name in fitted), "") or why_not_in_wind(group)


def why_not_in_wind(group: WindowsOfBicycle) -> str:
    """Reason for which the random torques in these windows forbid a verdict; empty if they do not."""
    blind = next((c.fit.estimator for r, c in group if r.process_noise and c.fit.estimator in BLIND_TO_WIND), "")
    if blind:
        return (
            f"wind, belt or road moved it, and the errors of windows fitted by {blind} count none of that; fit them "
            "with --estimator single_mode or several_modes"
        )
    share = driven_share(group)
    if share > GREATEST_DRIVEN_SHARE:
        return (
            f"wind, belt or road moved it {share:.2f} times as much as its kicks, and errors are known up to "
            f"{GREATEST_DRIVEN_SHARE:g} times only; kick harder, or where it is calmer; "
            "in still air see that the steer meets no stop"
        )
    if 0 < len(group) < FEWEST_WINDOWS and _may_be_wind(group):
        found = "one window does" if len(group) == 1 else "two windows do"
        return (
            f"{found} not tell wind, belt or road from a wrong model, and something moved it beside its kicks; "
            f"kick it until {FEWEST_WINDOWS} windows or more are kept"
        )
    return ""


def _may_be_wind(group: WindowsOfBicycle) -> bool:
    """Tell whether few windows show what would be taken for random torques, were they more."""
    telling = [pair for pair in group if may_tell(pair[0])]
    return bool(telling) and estimate_process_noise(telling, fewest=1) is not None
