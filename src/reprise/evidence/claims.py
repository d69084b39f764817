"""claims.json: a verdict, or a reason, for every claim of every paper, from the run records of a tier alone.

    {paper: {claim: {
        verdict, kind, sentence, method,
        parts         numbers of every comparison (see `comparisons`, `shares`, `unit_audit`)
        experiments   what decides it, in the claim's order
        n             finished replicas of each
        replicas      how many of each would decide what is not decided; null where none is known to
        records       the verdict of the records alone, where the paper contradicts itself
        alternatives  {"<assumption>=<alternative>": {verdict, sentence, flips, experiments that were run under it,
                      parts [looked at, of all], before: the verdict on these parts under the choice, with as few
                      replicas; fewer: whether that is another verdict than with all of its replicas; same: whether
                      both compare the same numbers}}
    }}}

Floats are rounded to six significant digits, so that machines agree on every byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from reprise.config.claims import Claim
from reprise.config.project import PAPERS, Project
from reprise.config.schema import Paper
from reprise.errors import UserError, known
from reprise.evidence.alternatives import alternatives, renamed
from reprise.evidence.contrasts import terms_of
from reprise.evidence.decide import decide, experiments_of
from reprise.evidence.letters import LETTERS
from reprise.evidence.reductions import reduced
from reprise.evidence.runs import Runs, load_runs
from reprise.evidence.unit_audit import in_unit
from reprise.evidence.verdicts import CONTRADICTED, NOT_TESTED
from reprise.evidence.wording import listed
from reprise.records.resolved import Resolved

_DIGITS = 6


def judge_claims(project: Project, experiments: Iterable[Resolved]) -> dict[str, Any]:
    """The content of claims.json.

    Errors: `UserError` for a damaged record, and for a claim, an alternative to what it measures, or a number of the
    paper, about a metric that no finished replica has.
    """
    runs = load_runs(project, experiments)
    found: dict[str, Any] = {}
    for paper_id, paper in project.papers.items():
        file = project.root / PAPERS / f"{paper_id}.yaml"
        found[paper_id] = {}
        _check_reported(paper, runs[paper_id], file)
        for key, claim in paper.claims.items():
            _check_metrics(claim, runs[paper_id], f"{file}: key claims.{key}")
            _check_alternatives(claim, paper, runs[paper_id], file)
            entry = _entry(claim, paper, runs[paper_id])
            elsewhere = dict.fromkeys(filter(None, (runs[paper_id][e].replaced_dataset for e in entry["experiments"])))
            if elsewhere:
                titles = listed([project.config.datasets[name].title for name in elsewhere])
                entry["sentence"] += f" Trained on another corpus at this tier: {titles}."
            less = reduced(runs[paper_id][e] for e in entry["experiments"])
            entry["sentence"] = f"{entry['sentence']} {less}".strip()
            found[paper_id][key] = _rounded(entry)
    return found


def _entry(claim: Claim, paper: Paper, runs: Mapping[str, Runs]) -> dict[str, Any]:
    decision = decide(claim, runs, runs)
    names = experiments_of(claim)
    contradicted = bool(claim.contradicted_by) and decision.verdict != NOT_TESTED
    return {
        "kind": claim.kind or ("identity" if claim.checks else None),
        "verdict": CONTRADICTED if contradicted else decision.verdict,
        "sentence": " ".join(filter(None, (claim.contradicted_by if contradicted else "", decision.sentence))),
        "records": decision.verdict if contradicted else None,
        "method": decision.method,
        "parts": decision.parts,
        "experiments": names,
        "n": {name: len(runs[name].finished) for name in names},
        "replicas": decision.replicas,
        "alternatives": alternatives(claim, paper, runs, decision),
    }


def _check_metrics(claim: Claim, runs: Mapping[str, Runs], where: str) -> None:
    """A metric that no finished replica of the paper has is a mistake, or not recorded yet."""
    there = {quantity for r in runs.values() for replica in r.finished for quantity in replica.metrics}
    there |= {quantity for r in runs.values() for replica in r.replicas for quantity in replica.best}
    # Where a text has no word that long, a record with the curve lacks them, and the claim is told so.
    there |= {(metric, split) for name, split in there if name in LETTERS for metric in LETTERS}
    for term in terms_of(claim):
        quantity = term.quantity
        # A curve may lack the point that is asked for, where a tier stops before it: the claim is told so.
        known_as = {quantity, (quantity[0].partition("@")[0], quantity[1])}
        if runs[term.experiment].finished and not known_as & there:
            names = (f"{metric} ({split})" for metric, split in there)
            raise UserError(f"{where}: no record has the metric {quantity[0]} ({quantity[1]}); {known('', names)}")
    asked = [*claim.unit.experiments, claim.unit.reference] if claim.unit else []
    for name, unit in product(filter(None, asked), (claim.unit.stated, claim.unit.other) if asked else ()):
        try:
            in_unit(runs[name], (claim.metric, claim.split), unit)
        except ValueError as error:
            raise UserError(f"{where}.unit: {name}: {error}; name a metric that has them") from None


def _check_reported(paper: Paper, runs: Mapping[str, Runs], file: Path) -> None:
    """A number of the paper that stands beside none of ours, though the experiment was run, has a misspelt name."""
    there = {quantity for r in runs.values() for replica in r.finished for quantity in replica.metrics}
    for name, experiment in paper.experiments.items():
        # Another dataset, in the place of the paper's, may lack what the paper counts.
        comparable = runs[name].finished and not runs[name].replaced_dataset
        for i, reported in enumerate(experiment.reported if comparable else []):
            if (reported.metric, reported.split) not in there:
                asked, names = f"{reported.metric} ({reported.split})", (f"{metric} ({s})" for metric, s in there)
                where = f"{file}: key experiments.{name}.reported.{i}"
                raise UserError(f"{where}: no record has the metric {asked}; {known(asked, names)}")


def _check_alternatives(claim: Claim, paper: Paper, runs: Mapping[str, Runs], file: Path) -> None:
    """The metrics that alternatives put in the place of the claim's are held to the same."""
    for name, assumption in paper.assumptions.items():
        for alternative, choice in assumption.alternatives.items():
            if choice.metrics.keys() & {term.quantity[0] for term in terms_of(claim)}:
                where = f"{file}: key assumptions.{name}.alternatives.{alternative}.metrics"
                _check_metrics(renamed(claim, choice.metrics), runs, where)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list | tuple) else value
