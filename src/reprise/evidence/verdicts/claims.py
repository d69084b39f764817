"""claims.json: what was found of every claim of every paper, from the run records of a tier alone.

    {paper: {claim: {
        short         the claim in at most 60 characters
        evidence      trained, counted, equation or arithmetic: counts of claims are kept apart by it
        kind          superiority, ordering, ...
        verdict       its direction: agrees, disagrees, open, void; or why there is none: not run, data not available
                      here, not tested
        answer        the same in words; "at a reduced budget: agrees" of models trained at a tier below `paper`
        budget        full or reduced
        size          consistent, smaller, larger, opposite; mixed; null where the paper gives no effect
        sizes         how many comparisons have each size
        ratio         {value, low, high, part}: our effect over the paper's with its 95 % interval, of the least sure
                      comparison (its place in `parts`) for which the paper gives one; of perplexities, of logs
        levels        [{experiment, title, metric, split, unit, ours, paper, percent, deviations, n}]: every number of
                      the claim that the paper prints, beside ours; deviations are those of one replica
        afterwards    what of the rule was set after its numbers were known; null
        contradicted_by   what the paper itself says against it; null
        sentence      what was found, in words
        method        how means are compared
        replicas      how many of each experiment would find the paper's own effect; null where that is not known
        parts         the numbers of every comparison; `scale` "log": estimate, interval and paper_here are logarithms
        experiments   what decides it, in the claim's order
        n             finished replicas of each
        readings      {holds, of, decided, chosen, not, line}: under how many readings it holds, whether each of those
                      decides it; null where none but one is there
        co_primary    {"<assumption>=<alternative>": the same keys from verdict to n}: readings of equal rank
        alternatives  {"<assumption>=<alternative>": {verdict, sentence, holds, flips: holds and the choice does not, or
                      the other way round, or decides what the choice does not; before: the verdict as chosen on the
                      same comparisons; parts: [looked at, of all]; experiments: those run under it; same: whether
                      both compare the same numbers}}
    }}}

Floats are rounded to six significant digits, so that machines agree on every byte.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reprise.config.claims import Claim, Learned
from reprise.config.project import PAPERS, Project
from reprise.config.schema import Paper
from reprise.errors import UserError, known
from reprise.evidence.contrasts import Contrast, terms_of
from reprise.evidence.measure import measure
from reprise.evidence.numbers import LETTERS
from reprise.evidence.runs import Quantity, Runs, Table, load_runs
from reprise.evidence.verdicts import JUDGED, TRAINED, Decision, size_of, sizes
from reprise.evidence.verdicts.alternatives import Reading, readings, renamed, same_numbers, summary
from reprise.evidence.verdicts.decide import decide, evidence_of, experiments_of
from reprise.evidence.words.reductions import reduced
from reprise.evidence.words.sentences import answer, least_sure, reading_line, sentence
from reprise.records.resolved import FULL, Resolved

_DIGITS = 6


def judge_claims(project: Project, experiments: Iterable[Resolved]) -> dict[str, Any]:
    """The content of claims.json.

    Errors: `UserError` for a damaged record, and for a claim, an alternative to what it measures, or a number of the
    paper, about a metric that no finished replica has.
    """
    titles = {name: dataset.title for name, dataset in project.config.datasets.items()}
    found: dict[str, Any] = {}
    for paper_id, runs in load_runs(project, experiments).items():
        paper, file = project.papers[paper_id], project.root / PAPERS / f"{paper_id}.yaml"
        table = Table(runs)
        _check_reported(paper, runs, file)
        found[paper_id] = {}
        for assumption, alternative, choice in paper.choices():
            variants = (f"{name}@{assumption}={alternative}" for name in choice.experiments)
            where = f"{file}: key assumptions.{assumption}.alternatives.{alternative}"
            _check_learned(choice.learned, [name for name in variants if name in runs], runs, where)
        for key, claim in paper.claims.items():
            where = f"{file}: key claims.{key}"
            _check_metrics(claim, runs, where)
            _check_learned(claim.learned, [term.experiment for term in terms_of(claim)], runs, where)
            for assumption, alternative, choice in paper.choices():
                if choice.metrics.keys() & {term.quantity[0] for term in terms_of(claim)}:
                    where = f"{file}: key assumptions.{assumption}.alternatives.{alternative}.metrics"
                    _check_metrics(renamed(claim, choice.metrics), runs, where)
            found[paper_id][key] = _rounded(entry(claim, paper, table, project.config.tier, titles))
    return found


def entry(claim: Claim, paper: Paper, table: Table, tier: str, datasets: Mapping[str, str]) -> dict[str, Any]:
    """A claim of claims.json, not rounded; `datasets` are titles by name."""
    decision = decide(claim, table)
    evidence = evidence_of(claim, table)
    budget = "reduced" if tier != FULL and evidence == TRAINED else "full"
    found = list(readings(claim, paper, table, decision))
    line, primary = summary(found, decision), [r for r in found if r.choice.co_primary and r.looked_at]
    return {
        "short": claim.label,
        "evidence": evidence,
        "kind": claim.kind or ("identity" if claim.checks else None),
        **_judged(claim, decision, table, budget, datasets),
        "budget": budget,
        "afterwards": claim.afterwards,
        "contradicted_by": claim.contradicted_by,
        "readings": line and {**line, "line": reading_line(line)},
        "co_primary": {
            r.name: _judged(claim, r.under, r.table, budget, datasets) | {"found": r.choice.found} for r in primary
        },
        "alternatives": {reading.name: _alternative(reading) for reading in found},
    }


def _judged(claim: Claim, decision: Decision, table: Table, budget: str, datasets: Mapping[str, str]) -> dict[str, Any]:
    """What one reading says of a claim."""
    names = experiments_of(claim)
    there = [table.runs[name] for name in names]
    said, judged = [sentence(decision)], decision.verdict in JUDGED
    if judged:
        replaced = dict.fromkeys(datasets[of.replaced_dataset] for of in there if of.replaced_dataset)
        said += [f"Trained on another corpus: {'; '.join(replaced)}."] if replaced else []
        said.append(reduced(there))
    counts = sizes(decision.parts)
    rated = [part for part in decision.parts if part.get("ratio")]
    least = least_sure(rated) if rated else None
    return {
        "verdict": decision.verdict,
        "answer": answer(decision.verdict, budget),
        "size": size_of(counts),
        "sizes": counts,
        "ratio": least and least["ratio"] | {"part": decision.parts.index(least)},
        "levels": _levels(claim, table) if judged else [],
        "sentence": " ".join(filter(None, said)),
        "method": decision.method,
        "replicas": decision.replicas,
        "parts": decision.parts,
        "experiments": names,
        "n": {name: len(of.finished) for name, of in zip(names, there, strict=True)},
    }


def _alternative(reading: Reading) -> dict[str, Any]:
    return {
        "verdict": reading.under.verdict,
        "sentence": sentence(reading.under),
        "holds": reading.under.holds,
        "flips": reading.turns,
        "before": reading.chosen.verdict,
        "parts": [reading.looked_at, reading.parts],
        "experiments": reading.run,
        "same": same_numbers(reading),
    }


def _levels(claim: Claim, table: Table) -> list[dict[str, Any]]:
    """Every number of the claim that the paper prints, beside ours: in per cent and in deviations of one replica."""
    found = []
    for term in dict.fromkeys(terms_of(claim)):
        runs, (metric, split) = table.runs[term.experiment], term.quantity
        ours, paper = runs.mean(term.quantity), runs.reported_in_our_unit(term.quantity)
        if ours is None or paper is None:
            continue
        log = metric == "perplexity" and paper > 0
        measured = measure(Contrast(((1.0, term),), log=log), table)
        deviation = math.sqrt(measured.variances[0]) if measured and measured.variances else None
        gap = measured.estimate.value - math.log(paper) if log else ours - paper
        found.append(
            {"experiment": runs.name, "title": runs.title, "metric": metric, "split": split, "ours": ours,
             "unit": runs.unit(term.quantity), "paper": paper, "percent": 100 * (ours / paper - 1) if paper else None,
             "deviations": gap / deviation if deviation else None,
             "n": sum(term.quantity in r.metrics for r in runs.finished)}
        )  # fmt: skip
    return found


def _quantities(runs: Mapping[str, Runs]) -> set[Quantity]:
    """What the finished replicas of a paper have."""
    return {quantity for of in runs.values() for replica in of.finished for quantity in replica.metrics}


def _no_record(where: str, quantity: Quantity, there: Iterable[Quantity], asked: str = "") -> UserError:
    names = (f"{metric} ({split})" for metric, split in there)
    return UserError(f"{where}: no record has the metric {quantity[0]} ({quantity[1]}); {known(asked, names)}")


def _check_metrics(claim: Claim, runs: Mapping[str, Runs], where: str) -> None:
    """A metric that no finished replica of the paper has is a mistake, or not recorded yet."""
    there = _quantities(runs) | {quantity for r in runs.values() for replica in r.replicas for quantity in replica.best}
    # Where a text has no word that long, a record with the curve lacks them, and the claim is told so.
    there |= {(metric, split) for name, split in there if name in LETTERS for metric in LETTERS}
    for term in terms_of(claim):
        # A curve may lack the point that is asked for, where a tier stops before it: the claim is told so.
        known_as = {term.quantity, (term.quantity[0].partition("@")[0], term.quantity[1])}
        if runs[term.experiment].finished and not known_as & there:
            raise _no_record(where, term.quantity, there)


def _check_learned(rule: Learned | None, names: Iterable[str], runs: Mapping[str, Runs], where: str) -> None:
    """What shows that a model learnt has to be a metric that a finished replica has, once one of `names` has run."""
    if rule is None or not any(runs[name].finished for name in names):
        return
    if (rule.metric, rule.split) not in (there := _quantities(runs)):
        raise _no_record(f"{where}.learned", (rule.metric, rule.split), there)


def _check_reported(paper: Paper, runs: Mapping[str, Runs], file: Path) -> None:
    """A number of the paper that stands beside none of ours, though the experiment was run, has a misspelt name."""
    there = _quantities(runs)
    for name, experiment in paper.experiments.items():
        # Another dataset, in the place of the paper's, may lack what the paper counts.
        comparable = runs[name].finished and not runs[name].replaced_dataset
        for i, reported in enumerate(experiment.reported if comparable else []):
            quantity = (reported.metric, reported.split)
            if quantity not in there:
                where = f"{file}: key experiments.{name}.reported.{i}"
                raise _no_record(where, quantity, there, f"{quantity[0]} ({quantity[1]})")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list | tuple) else value
