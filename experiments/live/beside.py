"""Narration beside a running machine.

It finds the run, introduces it, and reports what happens. Rows and STOP need no teller: the server reads and writes the
run's memory itself. Nothing here can slow the loop, and nothing that happens here reaches the machine.
"""

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.analysis.comparison.condition_means import ConditionMean, FittedWindow, condition_means
from riderless.experiments.live.fits import Fitter, FoundFits, ToldFits
from riderless.experiments.live.hello import hello_of, law_wanted
from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.narrator import Narrator
from riderless.experiments.live.rows import SharedRun
from riderless.experiments.live.schema import (
    ConditionRow,
    LiveCampaign,
    LiveEvent,
    LiveFit,
    LiveStatus,
    PlayChoices,
    as_text,
)
from riderless.hil.live import layout
from riderless.hil.logs.header import RunHeader
from riderless.models.errors import InputError

DIGEST_EVERY = 0.1  # s
_LOOK_FOR_RUNS = 0.5  # s
_FITS_EVERY = 2.0  # s, at least; and four times what they take
_SETTLED = 0.3  # s that a window must have ended before its fit is shown: more rows may move its end


class LiveTeller:
    """Teller of one process's runs, one after the other.

    Parameters
    ----------
    server : LiveServerProcess
    pid : int or None
        Process to look at; None for the newest that runs, and the next when that has ended.
    look : callable or None
        Finds the run to look at, instead.
    heed : callable
        Does what pages have asked for, beyond what the server has done by itself.
    alone : callable
        Called again and again with whether a run is looked at; says after how long [s] it is to be called again.

    Attributes
    ----------
    can : list of str
        Things that a page may do to the machine, beside those that the run itself tells.
    play : PlayChoices or None
        What there is to choose among them.
    """

    def __init__(
        self,
        server: LiveServerProcess,
        pid: int | None = None,
        look: Callable[[], layout.SharedAreas | None] | None = None,
        heed: Callable[[dict[str, Any]], None] = lambda request: None,
        alone: Callable[[bool], float] = lambda connected: DIGEST_EVERY,
    ) -> None:
        self._server, self._pid = server, pid
        self._look, self._heed, self._alone = look, heed, alone
        self.can: list[str] = []
        self.play: PlayChoices | None = None
        self._areas: layout.SharedAreas | None = None
        self._shared: SharedRun | None = None
        self._number = 0  # of the text that describes the run
        self._narrator: Narrator | None = None
        self._folder = Path()
        self._row = self._marker = 0  # rows and markers told so far
        self._campaign = ""
        self._fits: list[LiveFit] = []  # of all runs of this process
        self._fitted: list[FittedWindow] = []
        self._fitter: Fitter
        self._asked_at = self._next_fits = -np.inf
        self._told_fits = ToldFits()
        self._last: dict[str, Any] = {}

    def serve(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Tell until ``stopped()``, the server is gone, or the one process that was meant has ended."""
        with ExitStack() as stack:
            self._fitter = stack.enter_context(Fitter(self._note))
            looked = -np.inf
            while not stopped() and self._server.alive:
                now = time.monotonic()
                if self._shared is None and now - looked >= _LOOK_FOR_RUNS:
                    looked = now
                    self._look_for_a_run()
                elif self._shared is not None:
                    self._tell(now)
                patience = self._alone(self._shared is not None)
                self._server.wait_for_requests(min(patience, DIGEST_EVERY))
                for request in self._server.requests():
                    self._heed(request)
                if self._pid is not None and self._shared is None and not Path(f"/proc/{self._pid}").exists():
                    return

    @property
    def zero(self) -> float:
        """Host clock from which the page counts [s]; not a number while no run is looked at."""
        return self._narrator.t_zero if self._narrator is not None else float("nan")

    def _look_for_a_run(self) -> None:
        """Open the memory of the process that was meant, or of the newest."""
        if self._look is not None:
            areas = self._look()
        else:
            areas = layout.areas_of(self._pid) if self._pid is not None else next(layout.find_shared_areas(), None)
        if areas is None:
            return
        try:
            self._shared = SharedRun(areas.rows, areas.orders)
        except (OSError, ValueError):
            return
        self._areas, self._number, self._campaign = areas, 0, ""
        self._fits, self._fitted = [], []
        self._server.read_run(areas)

    def _tell(self, now: float) -> None:
        shared = self._shared
        assert shared is not None
        assert self._areas is not None
        if not Path(f"/proc/{self._areas.pid}").exists():
            self._end()
            return
        number = layout.text_number(shared.memory, layout.RUN_TEXT)
        if number and number % 2 == 0 and number != self._number:
            self._begin(number, shared.run_text())
        if self._narrator is None:
            return
        digest = json.loads(layout.read_shared_text(shared.memory, layout.DIGEST_TEXT)[1] or "{}")
        rows = shared.newest(self._row)
        if len(rows):
            if np.isnan(self._narrator.t_zero):
                self._narrator.t_zero = shared.zero()
            self._row = shared.made
            for event in self._narrator.events(rows):
                self._server.tell(as_text(event))
            self._last = {"row": rows[-1].copy()}
        self._tell_markers(digest)
        if self._last:
            self._tell_status(digest)
        self._tell_campaign()
        self._look_at_fits(now, over=bool(digest.get("over")))

    def _begin(self, number: int, run: dict[str, Any]) -> None:
        """Say what run this is."""
        header = RunHeader.from_json(run["header"])
        self._number, self._row, self._marker, self._last = number, 0, 0, {}
        self._folder = Path(run["folder"])
        self._narrator = Narrator(header, float("nan"))
        self._told_fits = ToldFits()
        self._next_fits = -np.inf
        self._fitter.cancel()  # its times are those of the run before
        try:
            hello = hello_of(
                header,
                kind="live",
                title=header.label or self._folder.name,
                run=run["folder"],
                presence=bool(run.get("presence")),
                can=list(dict.fromkeys(["stop", *run.get("can", []), *self.can])),
                play=self.play,
            )
        except InputError as error:
            self._note(str(error))
            return
        self._server.tell(as_text(hello))
        if wanted := law_wanted(header):
            self._note(wanted)
        for fit in self._fits:
            self._server.tell(as_text(fit))
        self._campaign = ""

    def _note(self, text: str) -> None:
        self._server.tell(as_text(LiveEvent(t=None, kind="note", text=text)))

    def _end(self) -> None:
        """Say that the program is gone; what it showed last stays on the pages, and gets old."""
        self._server.read_run(None)
        if self._narrator is not None:
            over = LiveStatus(state="the program that ran the machine has ended", code="ENDED", still=True)
            self._server.tell(as_text(over))
        if self._shared is not None:
            self._shared.close()
        self._shared = self._narrator = self._areas = None

    def _tell_markers(self, digest: dict[str, Any]) -> None:
        assert self._narrator is not None
        for number, t, kind, text in digest.get("markers", []):
            if number > self._marker and not np.isnan(self._narrator.t_zero):
                self._marker = number
                event = self._narrator.marker(t, kind, text)
                if event is not None:
                    self._server.tell(as_text(event))

    def _tell_status(self, digest: dict[str, Any]) -> None:
        assert self._narrator is not None
        row, now = self._last["row"], time.monotonic()
        names = ("time_left", "recording_bytes", "disk_left", "waiting", "over")
        about = {name: digest[name] for name in names if name in digest}
        if digest.get("interrupted"):
            about["why"] = digest["interrupted"]
        status = self._narrator.status(
            row, recording=str(self._folder), age_s=max(0.0, now - float(row["t_host"])), **about
        )
        self._server.tell(as_text(status))

    def _tell_campaign(self) -> None:
        assert self._shared is not None
        text = layout.read_shared_text(self._shared.memory, layout.CAMPAIGN_TEXT)[1]
        if text and text != self._campaign:
            self._campaign = text
            campaign = LiveCampaign.model_validate_json(text)
            self._server.tell(as_text(_with_fits(campaign, self._fitted)))

    def _look_at_fits(self, now: float, over: bool) -> None:
        """Ask for the fits of the log as far as it is, now and then, and show those that are new."""
        fits = self._fitter.found()
        if fits is not None:
            self._next_fits = now + max(_FITS_EVERY, 4.0 * (now - self._asked_at))
            self._show_fits(fits, over)
        if self._fitter.free and now >= self._next_fits and self._row:
            self._fitter.ask(self._folder)
            self._asked_at, self._next_fits = now, np.inf

    def _show_fits(self, fits: FoundFits, over: bool) -> None:
        for fit, fitted in zip(fits.fits, fits.fitted, strict=True):
            settled = over or (fit.t_end or 0.0) <= fits.t_end - _SETTLED
            if not (settled and self._told_fits.is_new(fit)):
                continue
            self._fits.append(fit)
            self._fitted.append(fitted)
            self._server.tell(as_text(LiveEvent(t=fit.t_start, kind="kick", text="a kick: its motion was fitted")))
            self._server.tell(as_text(fit))
            self._server.tell(as_text(LiveEvent(t=fit.t_end, kind="verdict", text=_fit_in_words(fit))))
            self._campaign = ""  # its table has a new figure


def _fit_in_words(fit: LiveFit) -> str:
    """Say a fit in a sentence."""
    like = ""
    if fit.like_re is not None and fit.like_im is not None:
        like = f", like for like {fit.like_re:+.2f} {fit.like_im:+.2f}i"
    z = f" (z {fit.z:.1f})" if fit.z is not None else ""
    return f"{fit.mode} at {fit.speed:.2f} m/s: measured {fit.re:+.2f} {fit.im:+.2f}i 1/s{like}{z}"


def _with_fits(campaign: LiveCampaign, windows: list[FittedWindow]) -> LiveCampaign:
    """Campaign with the mean of each condition; those of one label that only speed parts follow on it."""
    means = condition_means(windows)
    rows = []
    for planned in campaign.conditions:
        own = [mean for mean in means if mean.label == planned.label]
        alone = len(own) == 1
        rows += [] if alone else [planned]
        rows += [_condition_row(mean, planned if alone else ConditionRow(label="", done=0, planned=0)) for mean in own]
    return campaign.model_copy(update={"conditions": rows})


def _condition_row(mean: ConditionMean, row: ConditionRow) -> ConditionRow:
    """Row of a condition with its name and mean."""
    part = {} if mean.eigenvalue is None else {"re": mean.eigenvalue.real, "im": mean.eigenvalue.imag}
    return row.model_copy(update={"label": mean.name, "fits": mean.windows, "speed": mean.v_mean, **part})
