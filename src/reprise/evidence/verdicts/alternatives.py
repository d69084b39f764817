"""The answer to a claim under an alternative choice of one assumption.

A reading is one choice of every assumption. The claim is judged on the comparisons whose experiments were all run under
the reading. Experiments that do not depend on the assumption count as they are. A comparison holds if its estimate is
on the side of the claim, even with one replica. Readings share no variance, so few replicas rarely decide.
"""

from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from reprise.config.claims import Claim
from reprise.config.schema import Alternative, Paper
from reprise.evidence.contrasts import list_terms
from reprise.evidence.decisions import Estimated, Settings, Verdict
from reprise.evidence.runs import Runs, Table
from reprise.evidence.verdicts import AGREES, DISAGREES, JUDGED, NOT_JUDGED, NOT_RUN
from reprise.evidence.verdicts.decide import decide, list_experiments, list_parts
from reprise.evidence.verdicts.means import find_unlearned, note_unlearned


@dataclass(frozen=True)
class Reading:
    """A claim under one alternative.

    Attributes:
        name: The assumption and the alternative, "schedule=rnnlm".
        choice: The alternative.
        under: The verdict under it.
        chosen: The verdict on the same comparisons as chosen.
        table: The runs under it.
        run: The experiments that it changes and that were run.
        comparisons_judged: How many comparisons are judged under it.
        parts: How many comparisons the claim has.
    """

    name: str
    choice: Alternative
    under: Verdict
    chosen: Verdict
    table: Table
    run: list[str]
    comparisons_judged: int
    parts: int

    @property
    def judged(self) -> bool:
        """Return whether the claim has an answer under the alternative and as chosen."""
        return self.under.answer in JUDGED and self.chosen.answer in JUDGED and self.under.holds is not None

    @property
    def changes_answer(self) -> bool:
        """Return whether the answer changes: to another side, or from undecided to decided.

        From decided to undecided counts only on the same records: other runs may be undecided for want of replicas.
        """
        answers = {self.under.answer, self.chosen.answer}
        decides = (self.choice.metrics or self.under.answer in {AGREES, DISAGREES}) and len(answers) > 1
        return self.judged and answers != {NOT_JUDGED} and bool(decides or self.under.holds != self.chosen.holds)


def list_readings(claim: Claim, paper: Paper, table: Table, chosen: Verdict) -> Iterator[Reading]:
    """Yield the claim under every alternative of an assumption that it depends on, in the order of the paper's file.

    An alternative metric uses the same records and all comparisons. An alternative that was planned for no experiment
    of the claim is left out.
    """
    for assumption, alternative, choice in paper.list_choices():
        name = f"{assumption}={alternative}"
        if choice.metrics:
            reading = _judge_with_metrics(name, choice, claim, table, chosen)
        else:
            reading = _judge_with_variants(name, choice, claim, table, chosen)
        if reading:
            yield reading


def _judge_with_metrics(name: str, choice: Alternative, claim: Claim, table: Table, chosen: Verdict) -> Reading | None:
    """Judge the claim on other metrics of the same records; None where it is about none that they stand for."""
    if not choice.metrics.keys() & {term.quantity[0] for term in list_terms(claim)}:
        return None
    under, read = _decide_with_metrics(claim, choice.metrics, table)
    parts = len(list_parts(claim))
    return Reading(name, choice, under, chosen, read, list_experiments(claim), parts, parts)


def _judge_with_variants(name: str, choice: Alternative, claim: Claim, table: Table, chosen: Verdict) -> Reading | None:
    """Judge the comparisons whose experiments were run under the alternative; None where none was planned under it."""
    experiments, parts = list_experiments(claim), list_parts(claim)
    variants = {e: runs for e in experiments if (runs := table.runs.get(f"{e}@{name}")) and runs.resolved}
    assumption = name.partition("=")[0]
    dependent = {e for e in experiments if _depends_on(table.runs[e], assumption, choice.get_changes(e))}
    covered_table = replace(table, covered=partial(_is_covered, variants.keys(), dependent))
    variant_table = covered_table.replace_by_variants(variants)
    covered_parts = list(filter(covered_table.covered, parts))
    if not covered_parts:
        is_planned = not dependent <= variants.keys()
        under = Verdict(answer=NOT_RUN)
        return Reading(name, choice, under, chosen, variant_table, [], 0, len(parts)) if is_planned else None
    before = chosen if len(covered_parts) == len(parts) else decide(claim, covered_table)
    run = [e for e in variants if any(e in part for part in covered_parts)]
    if unlearned := find_unlearned(choice.learned, variant_table.runs, run):
        note = note_unlearned(choice.learned, variant_table.runs, unlearned)
        under = Verdict(answer=NOT_JUDGED, notes=(note,))
    else:
        under = decide(claim, variant_table)
    return Reading(name, choice, under, before, variant_table, run, len(covered_parts), len(parts))


def _is_covered(run: Set[str], dependent: Set[str], names: set[str]) -> bool:
    """Return whether a comparison can be judged under an alternative: all its dependent experiments were run."""
    return bool(names & run) and names & dependent <= run


def compares_same_numbers(reading: Reading) -> bool:
    """Return whether both verdicts compare the same means, which the alternative does not change."""
    means = [
        [term.mean for one in verdict.comparisons if isinstance(one, Estimated) for term in one.terms]
        for verdict in (reading.under, reading.chosen)
    ]
    return bool(means[0]) and means[0] == means[1]


def summarise_readings(under: Collection[Reading], chosen: Verdict) -> Settings | None:
    """Count the readings under which a claim holds, and name the others; None where no alternative touches it."""
    if not under:
        return None
    judged = [reading for reading in under if reading.judged]
    against = [reading.name for reading in judged if not reading.under.holds]
    own = [chosen.holds] if chosen.answer in JUDGED and chosen.holds is not None else []
    total = len(judged) + len(own)
    held = [reading.under for reading in judged if reading.under.holds] + [chosen] * sum(own)
    decided = all(one.answer == AGREES for one in held) and bool(held)
    return Settings(holds=len(held), of=total, decided=decided, chosen=bool(own and own[0]), against=tuple(against))


def _depends_on(runs: Runs, assumption: str, changed: Collection[str]) -> bool:
    """Return whether a setting of the experiment comes from the assumption.

    Settings that a tier restates for its own dataset count. Where the experiment has settings that the alternative
    changes, only these decide: the alternative leaves what the paper fixes.
    """
    if runs.resolved is None:
        return False
    sections = {name: getattr(runs.entry, name) for name in ("model", "data", "training")}
    stated = {
        f"{name}.{k}": s.origin for name, section in sections.items() if section for k, s in section.settings.items()
    }
    origins = runs.resolved.origins
    keys = [key for key in origins if key.rpartition(".")[2] in changed] or list(origins)
    return f"assumption {assumption}" in {origin for key in keys for origin in (origins[key], stated.get(key))}


def rename_metrics(value: Any, metrics: Mapping[str, str]) -> Any:
    """Return a claim, or a part of one, with its metrics renamed by `metrics`."""
    if isinstance(value, list):
        return [rename_metrics(entry, metrics) for entry in value]
    if not isinstance(value, BaseModel):
        return value
    update = {name: metrics.get(v, v) if name == "metric" else rename_metrics(v, metrics) for name, v in value}
    return value.model_copy(update=update)


def _decide_with_metrics(claim: Claim, metrics: Mapping[str, str], table: Table) -> tuple[Verdict, Table]:
    """Decide the claim on the other metrics; "not run" where a record lacks one of them."""
    other = rename_metrics(claim, metrics)
    pairs = list(zip(list_terms(claim), list_terms(other), strict=True))
    finished = [(old, new, r) for old, new in pairs for r in table.runs[old.experiment].finished]
    if any(old.quantity in r.metrics and new.quantity not in r.metrics for old, new, r in finished):
        return Verdict(answer=NOT_RUN), table
    runs = {name: _relabel_metrics(experiment, metrics) for name, experiment in table.runs.items()}
    read = Table(runs)
    return decide(other, read), read


def _relabel_metrics(runs: Runs, metrics: Mapping[str, str]) -> Runs:
    """Return the same records with the paper's numbers assigned to the other metrics.

    Sizes stay those of the claim's metrics, since tokens convert units, and a mean over lines counts lines.
    """
    replicas = []
    for replica in runs.replicas:
        sizes = {(metrics[metric], split): n for (metric, split), n in replica.sizes.items() if metric in metrics}
        replicas.append(replace(replica, sizes={**replica.sizes, **sizes}))
    entry = runs.entry.model_copy(update={"reported": rename_metrics(runs.entry.reported, metrics)})
    return replace(runs, entry=entry, replicas=replicas)
