"""Options of the functions that draw figures and write tables; a function that is not listed takes none."""

from typing import Annotated, Literal

from pydantic import AfterValidator

from reprise.catalogue.options.base import Count, Options, index_by_name


class Curves(Options):
    """A panel with the curves of every experiment."""

    name: Literal["shared.curves"]
    metric: str = "cross_entropy"
    """metric of the curves"""
    split: str = "valid"
    """part of the data that the metric is measured on"""


class TrainingCurves(Options):
    """Accuracy over the update."""

    name: Literal["palindromes.training_curves"]
    smooth: Count = 1
    """points of the rolling mean"""


class LadderFigure(Options):
    """Perplexity and BLEU of translation models."""

    name: Literal["lecture.translation_ladder"]
    lines: str = ""
    """models of the right panel, by blanks"""


class Convergence(Options):
    """Updates to full accuracy."""

    name: Literal["palindromes.convergence"]
    variant: str = ""
    """<assumption>=<alternative> that has rows of its own"""


class Assumptions(Options):
    """Numbers under every alternative."""

    name: Literal["shared.assumptions"]
    numbers: str = ""
    """"<metric> <split>" of the numbers, by commas"""


class LossByCount(Options):
    """Losses by the counts of words in training, from evaluation records."""

    name: Literal["shared.loss_by_count"]
    split: str = "test"
    """part of the data that losses are measured on"""


class UnitAudit(Options):
    """Printed numbers read as bits and as nats."""

    name: Literal["gso.unit_audit"]
    claim: str = ""
    """the claim about the unit"""


def _check_prediction(pair: dict[str, str]) -> dict[str, str]:
    if pair.keys() != {"line", "prediction"}:
        raise ValueError("each pair has a line and a prediction; write both")
    if len(pair["line"]) != len(pair["prediction"]) or len(pair["line"]) < 2:
        raise ValueError("line and prediction have one length, of two characters or more; correct one of them")
    return pair


class Predictions(Options):
    """Lines and the likeliest characters."""

    name: Literal["gso.predictions"]
    printed: list[Annotated[dict[Literal["line", "prediction"], str], AfterValidator(_check_prediction)]] = []
    """the paper's pairs"""


class LanguageModels(Options):
    """Perplexities of the notes' language models."""

    name: Literal["lecture.language_models"]
    cited: str = ""
    """experiments of other papers, by blanks: <paper>/<experiment>"""


class Controls(Options):
    """Log-linear networks with fewer features."""

    name: Literal["loglinear.controls"]
    base: str = ""
    """the experiment without features"""
    full: str = ""
    """the experiment with all features"""


class NoOptions(Options):
    """A function without options."""

    name: str


DISPLAY_OPTIONS = {
    "figures": index_by_name(Curves, TrainingCurves, LadderFigure),
    "tables": index_by_name(Convergence, Assumptions, LossByCount, UnitAudit, Predictions, LanguageModels, Controls),
}
"""Kind -> "<folder>.<function>" -> its options."""


def find_display_options(kind: str, function: str) -> type[Options]:
    """Return the options of a function."""
    return DISPLAY_OPTIONS[kind].get(function, NoOptions)
