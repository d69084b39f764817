"""Every claim of every paper, judged from the run records of a tier alone: the content of claims.json."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from reprise.config.claims import Claim, Learned
from reprise.config.project import PAPERS, Project
from reprise.config.schema import Paper
from reprise.errors import UserError, suggest_name
from reprise.evidence.contrasts import list_terms
from reprise.evidence.decisions import Alternative, CoPrimary, Decision, Estimated, Printed, Verdict
from reprise.evidence.estimation import estimate_replica_sd
from reprise.evidence.numbers import LETTERS
from reprise.evidence.runs import Quantity, Runs, Table
from reprise.evidence.statistics import compute_mean
from reprise.evidence.verdicts import AGREES, DISAGREES, JUDGED, TRAINED, UNDECIDED
from reprise.evidence.verdicts.alternatives import (
    Reading,
    compares_same_numbers,
    list_readings,
    rename_metrics,
    summarise_readings,
)
from reprise.evidence.verdicts.decide import classify_evidence, decide, list_experiments
from reprise.records.evaluation import is_loss_by_count
from reprise.records.resolved import FULL
from reprise.units import is_ratio_scale


def judge_claims(project: Project, loaded: Mapping[str, Mapping[str, Runs]]) -> dict[str, dict[str, Decision]]:
    """Judge every claim, by paper and key, from what `load_runs` gives.

    Raises:
        UserError: A record is damaged. Or a claim, its alternative metric or a number of the paper is about a metric
            that no finished replica has.
    """
    decisions: dict[str, dict[str, Decision]] = {}
    for paper_id, runs in loaded.items():
        paper, file = project.papers[paper_id], project.root / PAPERS / f"{paper_id}.yaml"
        table = Table(runs)
        _check_reported(paper, runs, file)
        decisions[paper_id] = {}
        for assumption, alternative, choice in paper.list_choices():
            variants = (f"{name}@{assumption}={alternative}" for name in choice.experiments)
            where = f"{file}: key assumptions.{assumption}.alternatives.{alternative}"
            _check_learned(choice.learned, [name for name in variants if name in runs], runs, where)
        for key, claim in paper.claims.items():
            where = f"{file}: key claims.{key}"
            if not asks_evaluations(claim):  # their metrics are known, and a text may lack the words of a band
                _check_metrics(claim, runs, where)
            _check_learned(claim.learned, [term.experiment for term in list_terms(claim)], runs, where)
            for assumption, alternative, choice in paper.list_choices():
                if choice.metrics.keys() & {term.quantity[0] for term in list_terms(claim)}:
                    where = f"{file}: key assumptions.{assumption}.alternatives.{alternative}.metrics"
                    _check_metrics(rename_metrics(claim, choice.metrics), runs, where)
            decisions[paper_id][key] = judge(key, claim, paper, table, project.config.tier)
    return decisions


def judge(key: str, claim: Claim, paper: Paper, table: Table, tier: str) -> Decision:
    """Judge one claim, as chosen and under every alternative setting.

    One about losses by the counts of words is judged by the evaluations in the place of the records.
    """
    if asks_evaluations(claim):
        table = table.replace_by_evaluations()
    verdict = decide(claim, table)
    evidence = classify_evidence(claim, table)
    under = list(list_readings(claim, paper, table, verdict))
    primary = [reading for reading in under if reading.choice.co_primary and reading.comparisons_judged]
    return Decision(
        **_list_judged_fields(claim, verdict, table),
        claim=key,
        text=claim.label,
        evidence=evidence,
        kind=claim.kind or ("identity" if claim.checks else None),
        budget=tier if tier != FULL and evidence == TRAINED else "full",
        afterwards=claim.afterwards,
        was=tuple(claim.was),
        contradicted_by=claim.contradicted_by,
        own_sds=_decide_by_own_sds(claim, verdict, table),
        settings=summarise_readings(under, verdict),
        co_primary={
            r.name: CoPrimary(
                **_list_judged_fields(claim, _decide_on_all(r), r.table),
                declared_afterwards=r.choice.declared_afterwards,
            )
            for r in primary
        },
        alternatives={reading.name: _summarise_reading(reading) for reading in under},
    )


def asks_evaluations(claim: Claim) -> bool:
    """Return whether the claim's metrics stand in evaluation records."""
    return any(is_loss_by_count(term.quantity[0]) for term in list_terms(claim))


def _decide_by_own_sds(claim: Claim, verdict: Verdict, table: Table) -> str | None:
    """Return the answer where families lend no SD: each experiment has that of its seeds, each comparison of its folds.

    For seeds this is Welch's test, for folds the corrected paired t-test (Nadeau and Bengio, Mach. Learn. 52, 2003).
    """
    if not any(isinstance(one, Estimated) and one.counts in {"seeds", "folds"} for one in verdict.comparisons):
        return None
    return decide(claim, replace(table, lends_sds=False)).answer


def _decide_on_all(reading: Reading) -> Verdict:
    """Return the verdict under the alternative; undecided where a part of the claim's comparisons was left out."""
    decided = reading.under.answer in {AGREES, DISAGREES} and reading.comparisons_judged < reading.parts
    return reading.under.model_copy(update={"answer": UNDECIDED} if decided else {})


def _list_judged_fields(claim: Claim, verdict: Verdict, table: Table) -> dict[str, object]:
    """Return the fields of `Judged`: a verdict, and what stands beside it under one choice of assumptions."""
    names = list_experiments(claim)
    runs = [table.runs[name] for name in names]
    kinds = {one.counts for one in verdict.comparisons}
    return {
        **dict(verdict),
        "experiments": tuple(names),
        "n": {name: len(experiment.finished) for name, experiment in zip(names, runs, strict=True)},
        "counts": next((kind for kind in ("folds", "seeds") if kind in kinds), "exact"),
        "levels": tuple(_compare_with_paper(claim, table)) if verdict.answer in JUDGED else (),
    }


def _summarise_reading(reading: Reading) -> Alternative:
    return Alternative(
        answer=reading.under.answer,
        holds=reading.under.holds,
        weakest=reading.under.weakest,
        notes=reading.under.notes,
        before=reading.chosen.answer,
        flips=reading.changes_answer,
        comparisons_judged=reading.comparisons_judged,
        of=reading.parts,
        experiments=tuple(reading.run),
        same=compares_same_numbers(reading),
    )


def _compare_with_paper(claim: Claim, table: Table) -> Iterator[Printed]:
    """Compare every printed number of the claim with ours, in per cent and in SDs of one replica."""
    for term in dict.fromkeys(list_terms(claim)):
        runs, (metric, split) = table.runs[term.experiment], term.quantity
        paper, log = runs.get_reported_in_our_unit(term.quantity), is_ratio_scale(metric)
        values = list(runs.combine([(1.0, term.quantity)], log=log).values())
        if paper is None or not values or (log and paper <= 0):
            continue
        known = estimate_replica_sd(term, table) if len(values) > 1 else None
        gap = compute_mean(values) - (math.log(paper) if log else paper)
        ours = math.exp(compute_mean(values)) if log else compute_mean(values)
        yield Printed(
            experiment=runs.name,
            title=runs.title,
            metric=metric,
            split=split,
            unit=runs.get_unit(term.quantity),
            ours=ours,
            paper=paper,
            percent=100 * (ours / paper - 1) if paper else None,
            deviations=gap / known[0] if known else None,
            n=sum(term.quantity in r.metrics for r in runs.finished),
        )


def _list_quantities(runs: Mapping[str, Runs]) -> set[Quantity]:
    """Return what the finished replicas of a paper have."""
    return {quantity for experiment in runs.values() for replica in experiment.finished for quantity in replica.metrics}


def _report_no_record(where: str, quantity: Quantity, recorded: Iterable[Quantity], name: str = "") -> UserError:
    names = (f"{metric} ({split})" for metric, split in recorded)
    return UserError(f"{where}: no record has the metric {quantity[0]} ({quantity[1]}); {suggest_name(name, names)}")


def _check_metrics(claim: Claim, runs: Mapping[str, Runs], where: str) -> None:
    """Refuse a metric that no finished replica of the paper has: a mistake, or not recorded yet."""
    recorded = _list_quantities(runs) | {
        quantity for r in runs.values() for replica in r.replicas for quantity in replica.best
    }
    # Where a text has no word that long, a record with the curve lacks them, and the claim is told so.
    recorded |= {(metric, split) for name, split in recorded if name in LETTERS for metric in LETTERS}
    for term in list_terms(claim):
        # A curve may lack the point that is asked for, where a tier stops before it: the claim is told so.
        known_as = {term.quantity, (term.quantity[0].partition("@")[0], term.quantity[1])}
        if runs[term.experiment].finished and not known_as & recorded:
            raise _report_no_record(where, term.quantity, recorded)


def _check_learned(rule: Learned | None, names: Iterable[str], runs: Mapping[str, Runs], where: str) -> None:
    """Refuse a rule of learning whose metric no finished replica has, once one of `names` has run."""
    if rule is None or not any(runs[name].finished for name in names):
        return
    if (rule.metric, rule.split) not in (recorded := _list_quantities(runs)):
        raise _report_no_record(f"{where}.learned", (rule.metric, rule.split), recorded)


def _check_reported(paper: Paper, runs: Mapping[str, Runs], file: Path) -> None:
    """Refuse a number of the paper that stands beside none of ours, though the experiment was run: misspelt."""
    recorded = _list_quantities(runs)
    for name, experiment in paper.experiments.items():
        # Another dataset, in the place of the paper's, may lack what the paper counts.
        comparable = runs[name].finished and not runs[name].replaced_dataset
        for i, reported in enumerate(experiment.reported if comparable else []):
            quantity = (reported.metric, reported.split)
            if quantity not in recorded:
                where = f"{file}: key experiments.{name}.reported.{i}"
                raise _report_no_record(where, quantity, recorded, f"{quantity[0]} ({quantity[1]})")
