"""Result of an analysis.

Windows, verdicts, frequency responses and what stands beside them; as text, JSON, report.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riderless.experiments.analysis.analyze import Analysis
from riderless.experiments.analysis.comparison.compare import Summary, figure7_residuals
from riderless.experiments.analysis.frequency_response.goodness_of_fit import response_document as frequency_document
from riderless.experiments.analysis.frequency_response.response import FrequencyResponse
from riderless.experiments.analysis.verdict.goodness_of_fit import GoodnessOfFit
from riderless.experiments.datatypes import Comparison, Rejected, Response
from riderless.experiments.recordings import author_windows
from riderless.experiments.recordings.author_windows import BesideAuthors
from riderless.experiments.recordings.published import Figure7
from riderless.experiments.reports.analysis_text import (
    analysis_blocks,
    answer_blocks,
    beside_table,
    condition_table,
    frequency_blocks,
    published_blocks,
    remark_blocks,
    remarks_json,
    remarks_of,
)
from riderless.experiments.reports.answer import Answer, answer_of
from riderless.experiments.reports.text import TextBlock, plain_text
from riderless.hil.logs.log import Run
from riderless.models.tables import require_pandas

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class AnalysisResult:
    """Everything found in a set of recordings, as `riderless analyze` shows it.

    Attributes
    ----------
    analysis : Analysis
        Windows, fits and comparisons.
    title : str
        Of the report.
    runs : sequence of Run or Path
        Our own runs, for the gains, timing and faults of the report.
    published : Figure7 or None
        Table of published eigenvalues among the sources.
    published_name : str
        Name of its file.
    hand_cut : sequence of BesideAuthors
        Automatic windows beside those that the authors of a data set cut.
    frequency_responses : sequence of FrequencyResponse
        Of the runs that played a torque.
    no_frequency_response : sequence of str
        Why a run that played one has none.
    """

    analysis: Analysis
    title: str = "Analysis"
    runs: Sequence[Run | Path] = ()
    published: Figure7 | None = None
    published_name: str = ""
    hand_cut: Sequence[BesideAuthors] = ()
    frequency_responses: Sequence[FrequencyResponse] = ()
    no_frequency_response: Sequence[str] = ()

    @property
    def responses(self) -> tuple[Response, ...]:
        """Recordings that were analysed."""
        return self.analysis.responses

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Windows with their fits, each beside its prediction."""
        return self.analysis.comparisons

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """Parts that looked like a window and were refused, with the reasons."""
        return self.analysis.rejected

    @property
    def remarks(self) -> list[tuple[str, str]]:
        """Sentences on what was noticed about the recordings, each behind the recording's name."""
        return remarks_of(self.responses)

    @property
    def verdicts(self) -> list[GoodnessOfFit]:
        """Verdict on the model of each bicycle, over all its windows together."""
        return self.analysis.verdicts

    @property
    def answer(self) -> Answer:
        """One sentence on whether theory explains what was measured, and what it rests on."""
        return answer_of(self.verdicts, self.responses, self.comparisons, self.frequency_responses)

    @property
    def summary(self) -> Summary:
        """Number of windows that agree with the prediction, and the pooled values of each condition."""
        return self.analysis.summary

    def blocks(self) -> Iterator[TextBlock]:
        """Tables and sentences for a person, in the order in which they are read."""
        yield from answer_blocks(self.analysis, self.frequency_responses)
        yield from remark_blocks(self.responses)
        if self.responses and (self.comparisons or not self.frequency_responses):
            yield from analysis_blocks(self.analysis)
        yield from frequency_blocks(self.frequency_responses, self.no_frequency_response)
        if self.hand_cut:
            yield beside_table(self.hand_cut)
        if self.published is not None:
            yield from published_blocks(self.published_name, self.published)

    def table(self) -> str:
        """Plain text of what `riderless analyze` prints."""
        return plain_text(self.blocks())

    def as_json(self) -> dict[str, Any]:
        """Document that `riderless analyze --json` prints; SI, nothing rounded."""
        document = {"answer": self.answer.as_json(), **self.analysis.as_json()}
        document["remarks"] = remarks_json(self.responses)
        if self.frequency_responses or self.no_frequency_response:
            document["frequency_responses"] = [frequency_document(response) for response in self.frequency_responses]
            document["no_frequency_response"] = list(self.no_frequency_response)
        if self.hand_cut:
            document["beside_hand_cut"] = author_windows.beside_json(self.hand_cut)
        if self.published is not None:
            document["published"] = vars(figure7_residuals(self.published))
        return document

    def to_frame(self) -> "DataFrame":
        """One row for each window compared, with the columns of ``windows`` in `as_json`.

        Raises
        ------
        InputError
            When pandas is not installed.
        """
        return require_pandas().DataFrame(self.analysis.as_json()["windows"])

    def write_report(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write ``report.html``, ``report.json`` and the figures into a folder (made when absent); returns the page.

        An older report there is replaced, something else of these names only with ``force``.
        """
        from riderless.experiments.reports.gather import report_on

        return report_on(
            Path(folder),
            self.title,
            self.analysis,
            self.runs,
            self.published,
            self.hand_cut,
            self.frequency_responses,
            self.no_frequency_response,
            force,
        )

    def __repr__(self) -> str:
        s = self.summary
        more = f", {len(self.frequency_responses)} frequency responses" if self.frequency_responses else ""
        return (
            f"<AnalysisResult: {s.n} windows of {len(self.responses)} recordings, {s.agreeing} alone within 3 standard "
            f"deviations, {len(self.rejected)} parts rejected{more}>"
        )

    def _repr_html_(self) -> str:
        """Conditions in a table, for a notebook."""
        return condition_table(self.summary.pooled).as_html() if self.comparisons else ""
