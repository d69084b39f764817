"""Make the corpus that an experiment reads, from its dataset's raw files."""

from __future__ import annotations

import argparse
from pathlib import Path

from reprise.cli.common import add_tier, find_experiment
from reprise.errors import UserError, report_memory
from reprise.refusals import output_file, require_place

_LONGEST = 90
"""Characters of a fact that is printed."""

EXAMPLE = "reprise prepare rrntn/s-rnn-100 --tier quick"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", help="<paper>/<experiment> whose corpus is wanted")
    parser.add_argument(
        "--output", type=output_file("--output", "corpus.npz"), help="default: where the pipeline puts it"
    )
    add_tier(parser)


def run(given: argparse.Namespace) -> None:
    project, experiment = find_experiment(given.tier, given.experiment)
    if experiment.corpus is None:
        raise UserError(f"{experiment.id} needs no corpus; train it")
    from reprise.data import prepare_corpus

    output = given.output or Path(experiment.corpus)
    require_place(output, str(output))
    data = experiment.config["data"]
    spec = project.spec(data["dataset"])
    remedy = f"make the options of dataset {spec.name} in config/papers/{experiment.paper}.yaml smaller"
    with report_memory(experiment.id, remedy):
        corpus = prepare_corpus(spec, data["options"], Path("data/raw"), output)
    # Long tables of facts are for the records and tables that quote them.
    lines = (f"{name} {value}" for name, value in sorted(corpus.facts.items()))
    print(f"{corpus.name}: " + ", ".join(line for line in lines if len(line) <= _LONGEST))
