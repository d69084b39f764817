"""What a caption says of the runs behind a figure or table: computed, never typed."""

from __future__ import annotations

from reprise.report.papers.gso import numbers
from reprise.report.parts.context import NOT_RUN, NOT_RUN_YET, NOT_TRAINED, Context
from reprise.report.parts.rounding import interval, plural

_NAMED = 4
"""So many experiments are called by name; of more, the table or figure itself says which."""
_WITHIN = {"Diverged", "Replicas still missing"}
"""What happens to replicas within an experiment, not to all of it."""
_DRAWN = {"gso.loss_against_ratio": numbers.bars}
"""What else is computed of what a figure shows."""


def replicas(context: Context, display_id: str) -> str:
    """A few sentences on the replicas behind a display: how many ran, diverged and are missing."""
    if not context.of_experiments(display_id):
        return ""
    names = context.cited_by(display_id)
    states = {name: context.status(name) for name in names}
    run = [state for state in states.values() if state.run]
    if not run:
        return f"{context.total(names).absence.capitalize()}."
    counts = {state.run for state in run}
    each = f"{interval(min(counts), max(counts))} replica{'' if max(counts) == 1 else 's'}"
    sentences = [f"{plural(len(run), 'experiment')}, {each}{' each' if len(run) > 1 else ''}."]
    titles = {name: context.paper.experiments[name].title for name in names}
    kinds = {
        "Diverged": {n: f"{s.diverged} of {s.run}" for n, s in states.items() if s.diverged},
        "Replicas still missing": {n: f"{s.missing} of {s.wanted}" for n, s in states.items() if s.run and s.missing},
        NOT_TRAINED.capitalize(): {n: "" for n, s in states.items() if s.wanted and not s.run and s.trains},
        NOT_RUN_YET.capitalize(): {n: "" for n, s in states.items() if s.wanted and not s.run and not s.trains},
        NOT_RUN.capitalize(): {n: "" for n, s in states.items() if not s.wanted},
        "On another corpus at this tier": {n: "" for n, s in states.items() if s.run and context.replaced_dataset(n)},
    }
    for words, found in kinds.items():
        if len(found) > _NAMED:
            joined = f"{words} in" if words in _WITHIN else f"{words}:"
            sentences.append(f"{joined} {plural(len(found), 'experiment')}.")
        elif found:
            named = (f"{titles[name]} ({count})" if count else titles[name] for name, count in found.items())
            sentences.append(f"{words}: {'; '.join(named)}.")
    more = _DRAWN.get(context.display(display_id).function)
    return " ".join(filter(None, [*sentences, more(context, names) if more else ""]))
