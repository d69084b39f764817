"""A claim has a statistic that fits its kind, and every name in it leads somewhere."""

from collections.abc import Callable
from itertools import chain, pairwise, product

from reprise.catalogue.protocols import PROTOCOLS, Measures
from reprise.config.claims import Claim
from reprise.config.formula import evaluate, find_names, read_printed
from reprise.config.schema import Experiment, Paper
from reprise.errors import UserError, require_known
from reprise.records.evaluation import BANDS, SIDES, is_loss_by_count, name_loss_metric
from reprise.units import is_ratio_scale

STATISTICS = {
    "superiority": ("compare", "gaps"),
    "non-inferiority": ("compare",),
    "equivalence": ("equal", "optimum"),
    "ordering": ("order", "gaps", "trend", "curve", "ranks"),
    "identity": ("checks",),
    "threshold": ("share", "level"),
    "unit": ("unit",),
    "descriptive": (),
}
"""Which statistics can decide a claim of each kind."""
_WITHOUT_LEARNED = ("checks", "share", "ranks", "unit")
"""The statistics that take no account of what learned."""
_MARGIN = {"superiority": "may", "non-inferiority": "must", "equivalence": "must"}


def check_claims(paper: Paper, place: Callable[..., str]) -> None:
    """Refuse the first claim that cannot be decided as it is written.

    Args:
        paper: The paper's file.
        place: Returns where a key is written, as messages begin.

    Raises:
        UserError: There is one.
    """
    for key, claim in paper.claims.items():
        where = place("claims", key)
        _check_statistic(claim, where)
        _check_numbers(claim, where)
        _check_names(claim, paper, where)
        _check_sides(claim, where)
        _check_unit(claim, paper, where)
        if claim.learned and (statistic := next((name for name in _WITHOUT_LEARNED if getattr(claim, name)), None)):
            raise UserError(
                f"{where}.learned: '{statistic}' counts every replica, whether it learned or not; remove it"
            )


def _check_statistic(claim: Claim, where: str) -> None:
    statistics = [name for name in dict.fromkeys(chain(*STATISTICS.values())) if getattr(claim, name)]
    if claim.reason and statistics:
        raise UserError(
            f"{where}.reason: says why records cannot decide it, beside '{statistics[0]}'; keep one of the two"
        )
    if claim.kind is None:
        if any(name != "checks" for name in statistics):
            raise UserError(f"{where}.kind: missing; add one that takes '{statistics[0]}'")
        return
    fitting = STATISTICS[claim.kind]
    if not claim.reason and not fitting:
        raise UserError(f"{where}.reason: missing; a claim of kind {claim.kind} says why records cannot decide it")
    if not claim.reason and (len(statistics) != 1 or statistics[0] not in fitting):
        names = ", ".join(statistics) or "none"
        raise UserError(
            f"{where}.kind: a claim of kind {claim.kind} has a key of {', '.join(fitting)}, not {names}; write one"
        )
    rule = _MARGIN.get(claim.kind, "no")
    if claim.margin and (rule == "no" or claim.gaps or claim.reason):
        raise UserError(f"{where}.margin: nothing here takes a margin; remove it")
    if rule == "must" and not claim.margin and not claim.reason:
        raise UserError(f"{where}.margin: missing; say what difference still counts as none, and why")
    if claim.optimum and len({len(sweep) for sweep in claim.optimum}) != 1:
        raise UserError(f"{where}.optimum: every sweep takes as many places as the others, in the same order")


def _check_numbers(claim: Claim, where: str) -> None:
    """Require bounds and margins that records can meet and can miss."""
    margin, share, level = claim.margin, claim.share, claim.level
    if margin and (margin.measure == "share-of-gain") != (margin.over is not None):
        raise UserError(
            f"{where}.margin.over: goes with `is: share-of-gain` alone, and names its baseline; add it or remove it"
        )
    if margin and margin.measure == "share-of-gain" and claim.kind != "non-inferiority":
        raise UserError(f"{where}.margin.is: a share of the gain is for non-inferiority alone; correct either")
    if margin and margin.measure != "absolute" and margin.value >= 1:
        raise UserError(f"{where}.margin.value: {margin.value:g} is {100 * margin.value:g} %; write 0.05 for 5 %")
    if len(claim.label) > 60:
        raise UserError(f"{where}.short: missing; write what is tested in at most 60 characters")
    if claim.was and not claim.afterwards:
        raise UserError(
            f"{where}.afterwards: missing; say what of the rule was set when the answer under `was` was known"
        )
    if claim.evidence == "arithmetic" and not claim.checks:
        raise UserError(f"{where}.evidence: arithmetic is what checks are; remove it")
    sweeps = {f"curve.{i}": curve for i, curve in enumerate(claim.curve or ())}
    sweeps |= {"trend": claim.trend} if claim.trend else {}
    for key, sweep in sweeps.items():
        if len(sweep.x) != len(sweep.experiments) or sorted(set(sweep.x)) != sweep.x or sweep.x[0] <= 0:
            raise UserError(f"{where}.{key}.x: write one value above 0 an experiment, ascending")
    if share and (share.at_least is None) == (share.at_most is None):
        raise UserError(f"{where}.share: write one of at_least and at_most")
    if share and (claim.metric or "").endswith("accuracy") and not 0 < share.reaches <= 1:
        raise UserError(f"{where}.share.reaches: no accuracy is at {share.reaches:g}; write a share above 0")
    if level:
        low, high = level.at_least, level.at_most
        if (level.equals is None) == (low is None and high is None):
            raise UserError(f"{where}.level: write at_least, at_most or both, or equals alone")
        if low is not None and high is not None and low >= high:
            raise UserError(f"{where}.level: nothing is at least {low} and at most {high}; correct the bounds")


def _check_names(claim: Claim, paper: Paper, where: str) -> None:
    names = {*paper.experiments, *(name for name, *_ in paper.list_variants())}
    for key, term in claim.list_sides():
        require_known(term.experiment, names, f"{where}.{key}", "experiment")
        if paper.experiments[term.experiment.partition("@")[0]].check and not claim.level:
            raise UserError(f"{where}.{key}: '{term.experiment}' is a check; name a trained experiment")
        for part in ("metric", "split"):
            if not getattr(term, part):
                raise UserError(f"{where}.{part}: missing; say which {part} of the run records decides it")
        experiment = paper.experiments[term.experiment.partition("@")[0]]
        is_own = term.metric != claim.metric or term.split != claim.split
        check_measured(experiment, term.metric, term.split, f"{where}.{key}" if is_own else where)
        if claim.learned:
            check_measured(experiment, claim.learned.metric, claim.learned.split, f"{where}.learned")
    if len({is_loss_by_count(term.metric) for _, term in claim.list_sides()}) > 1:
        raise UserError(
            f"{where}.metric: compares losses by count, which evaluations hold, with a record's; name one kind"
        )
    for key in ("checks", "corrections"):
        for name in getattr(claim, key):
            require_known(name, paper.experiments, f"{where}.{key}", "experiment")
            if not paper.experiments[name].check:
                raise UserError(f"{where}.{key}: '{name}' is no check; name an experiment that has one")
    if claim.margin:
        kind, _, name = claim.margin.origin.partition(" ")
        if kind in {"assumption", "deviation"}:
            require_known(name, getattr(paper, f"{kind}s"), f"{where}.margin.from", kind)


def check_measured(experiment: Experiment, metric: str, split: str, where: str) -> None:
    """Refuse a metric or a split that no record of the experiment has; the error begins with `where`.

    What only records can say, `verify` refuses. The number of parameters is a record's own.
    """
    if is_loss_by_count(metric):
        _check_loss_by_count(experiment, metric, split, where)
        return
    protocol, measures = _find_measures(experiment)
    if measures is None or (metric, split) == ("parameters", "model"):
        return
    if not measures.has_metric(metric):
        candidates = [name for name in measures.names if ("@" in name) == ("@" in metric)]
        require_known(metric, candidates, f"{where}.metric", f"metric of the protocol {protocol} is called")
    require_known(split, measures.splits, f"{where}.split", "split")


def _find_measures(experiment: Experiment) -> tuple[str, Measures | None]:
    """Return an experiment's protocol and what it measures; no measures where records alone can say."""
    protocol = experiment.training.protocol if experiment.training else ""
    return protocol, PROTOCOLS[protocol].measures if protocol else None


def _check_loss_by_count(experiment: Experiment, metric: str, split: str, where: str) -> None:
    """Refuse a loss by counts of words that no evaluation of the experiment has."""
    protocol = experiment.training.protocol if experiment.training else "none"
    tests = PROTOCOLS[protocol].losses_by_count if protocol in PROTOCOLS else ()
    if not tests:
        raise UserError(f"{where}.metric: the protocol {protocol} has no losses of single words; name another metric")
    require_known(
        metric, [name_loss_metric(*keys) for keys in product(SIDES, BANDS)], f"{where}.metric", "loss by count"
    )
    require_known(split, [*tests, *(["tests"] if len(tests) > 1 else [])], f"{where}.split", "split")


def _check_unit(claim: Claim, paper: Paper, where: str) -> None:
    """Require that a claim on the unit of entropies is about entropies, above 0 where they are printed."""
    if not claim.unit:
        return
    if is_ratio_scale(claim.metric or ""):
        raise UserError(f"{where}.metric: {claim.metric} is no entropy, and has no unit; name a cross-entropy")
    is_per_character = any(unit.endswith("/character") for unit in (claim.unit.stated, claim.unit.other))
    for name in claim.unit.experiments:
        numbers = [one.value for one in paper.experiments[name].reported if one.metric == claim.metric]
        if any(number is not None and number <= 0 for number in numbers):
            raise UserError(f"{where}.unit.experiments: '{name}' reports no number above 0; omit it")
        protocol, measures = _find_measures(paper.experiments[name])
        is_counted = measures is None or measures.has_metric("predicted_characters")
        if is_per_character and claim.metric == "cross_entropy" and not is_counted:
            raise UserError(f"{where}.unit: the protocol {protocol} does not count characters; name units per token")


def _check_sides(claim: Claim, where: str) -> None:
    """Refuse what is compared with itself or counts twice: a side is an experiment with its metric and split."""
    groups = claim.group_sides()
    for group, sides in groups.items():
        for i, (key, term) in enumerate(sides):
            if all(term != other for _, other in sides[:i]):
                continue
            if group.partition(".")[0] in ("share", "level", "unit", "trend", "curve", "ranks"):
                raise UserError(f"{where}.{key}: '{term.experiment}' stands twice; keep one of the two")
            raise UserError(f"{where}.{group}: compares '{term.experiment}' with itself; name two")
    gaps = [[term for _, term in sides] for group, sides in groups.items() if group.startswith("gaps")]
    if any(one == other for one, other in pairwise(gaps)):
        raise UserError(f"{where}.gaps: compares a difference with itself; name two")


def check_arithmetic(paper: Paper, place: Callable[..., str]) -> None:
    """Refuse the first printed number whose formula cannot be worked out."""
    for key, entry in paper.arithmetic.items():
        where = place("arithmetic", key)
        if (entry.printed is None) == (entry.equals is None):
            raise UserError(f"{where}: write one of printed and equals")
        used_names: set[str] = set()
        for part in ("formula", "equals"):
            formula = getattr(entry, part)
            try:
                if formula is not None:
                    evaluate(formula, entry.values)
                    used_names |= find_names(formula)
            except ValueError as error:
                raise UserError(f"{where}.{part}: {error}; correct the formula or its values") from None
        for name in entry.values.keys() - used_names:
            raise UserError(f"{where}.values.{name}: no formula uses it; remove it, or correct its spelling")
        if entry.experiment:
            require_known(entry.experiment, paper.experiments, f"{where}.experiment", "experiment")
        printed = read_printed(entry.printed) if entry.printed is not None else None
        if entry.printed is not None and printed is None:
            raise UserError(f"{where}.printed: '{entry.printed}' is no number; write it as 3M, 82 %, 463,069 or 2.7")
        if (printed[0] if printed else evaluate(entry.equals, entry.values)) == 0:
            part = "printed" if printed else "equals"
            raise UserError(f"{where}.{part}: is 0, and no relative difference from 0 exists; omit the entry")
