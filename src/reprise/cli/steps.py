"""The steps of the pipeline that are one call each, from raw files to figures."""

import argparse
import json
import logging
from collections.abc import Iterable
from pathlib import Path

from reprise import environment
from reprise.catalogue.models import ModelRefused, find_model
from reprise.catalogue.own import is_own
from reprise.cli.common import find_experiment, project_and_experiments
from reprise.config.project import CONFIG, PAPERS, Project, load_project
from reprise.errors import UserError, known, report_memory
from reprise.files import canonical_json, require_place, write_if_changed
from reprise.records.resolved import Resolved

_LOG = logging.getLogger(__name__)
RAW = Path("data/raw")
_LONGEST = 90
"""Characters of a fact that is printed."""


def fetch_command(options: argparse.Namespace) -> None:
    """Download the raw files of datasets into data/raw/, or take them from REPRISE_MIRROR; checksums are checked."""
    from reprise.data.fetch import fetch

    project, mirror = load_project("."), environment.mirror()
    datasets = project.config.datasets
    say = _LOG.info
    for name in options.dataset:
        if name not in datasets:
            raise UserError(f"{CONFIG}: key datasets: no dataset '{name}'; {known(name, datasets)}")
        spec = project.spec(name)
        if options.file:
            files = {f.name: f for f in spec.files}
            for file in options.file:
                if file not in files:
                    raise UserError(f"--file: dataset {name} has no file '{file}'; {known(file, files)}")
            spec = spec.model_copy(update={"files": [files[file] for file in options.file]})
        if not spec.files:
            say(f"{name}: nothing to fetch")
        fetch(spec, RAW, mirror, say)


def prepare_command(options: argparse.Namespace) -> None:
    """Make the corpus that an experiment reads, from its dataset's raw files."""
    project, experiment = find_experiment(options.tier, options.experiment)
    if experiment.corpus is None:
        raise UserError(f"{experiment.id} needs no corpus; train it")
    from reprise.data import prepare_corpus

    output = options.output or Path(experiment.corpus)
    require_place(output, str(output))
    data = experiment.config["data"]
    spec = project.spec(data["dataset"])
    remedy = f"make the options of dataset {spec.name} in config/papers/{experiment.paper}.yaml smaller"
    with report_memory(experiment.id, remedy):
        corpus = prepare_corpus(spec, data["options"], RAW, output)
    # Long tables of facts are for the records and tables that quote them.
    lines = (f"{name} {value}" for name, value in sorted(corpus.facts.items()))
    print(f"{corpus.name}: " + ", ".join(line for line in lines if len(line) <= _LONGEST))


def resolve_command(options: argparse.Namespace) -> None:
    """Check config/ and write the resolved configuration of every experiment of a tier to results/<tier>/config/."""
    project, experiments = project_and_experiments(options.tier)
    _check_own_models(project, experiments)
    for experiment in experiments:
        write_if_changed(project.root / experiment.config_path(), experiment.to_json())
    for file in sorted((project.root / PAPERS).glob("*.yaml")):
        if file.stem not in project.papers:
            _LOG.warning("%s: not read, since the key papers of %s does not name it", file, CONFIG)
    replicas = sum(e.replicas for e in experiments)
    print(f"tier {project.config.tier}: {len(experiments)} experiments, {replicas} replicas; configuration is sound")


_VOCABULARY = 1000


def _check_own_models(project: Project, experiments: Iterable[Resolved]) -> None:
    """Make a first step with every model of one's own, on two words and a small vocabulary.

    Raises:
        UserError: where one is not what its protocol trains.
    """
    trained = [experiment for experiment in experiments if not experiment.is_check]
    own = {canonical_json(e.config["model"]): e for e in trained if is_own(e.config["model"]["name"])}
    for experiment in own.values():
        from reprise.training.protocol import report_model
        from reprise.training.protocols.language_model import check_contract

        model = experiment.config["model"]
        try:
            with report_model(experiment):
                check_contract(find_model(model["name"]).build(model["options"], vocabulary=_VOCABULARY), _VOCABULARY)
        except (UserError, ModelRefused) as error:
            place = project.place(experiment.paper, "experiments", experiment.base, "model", "name")
            raise UserError(f"{place}: {error}") from error


def collect_command(options: argparse.Namespace) -> None:
    """Gather the run records of a tier into metrics.csv, curves.csv.gz, samples.jsonl and metrics.json."""
    from reprise.evidence.collect import collect_tier

    project, experiments = project_and_experiments(options.tier)
    folder = project.root / "results" / project.config.tier
    count, wanted = collect_tier(project, experiments)
    print(f"{folder}: {count} of {wanted} run records collected")


def render_command(options: argparse.Namespace) -> None:
    """Draw the figures and write the tables of a tier, and the page of all tiers.

    Without names and options all of these are written; --readme writes README's results and the forest plot alone.
    Names are those of the files: <paper>-<figure or table>.
    """
    if options.readme and (options.name or options.report or options.tier):
        raise UserError("--readme: writes README's results alone; put names, --report and --tier into another call")
    project, experiments = project_and_experiments(options.tier)
    from reprise.report.parts.context import every_tier, load_contexts

    if options.readme:
        from reprise.report.page.readme import write_results

        print(*write_results(project, every_tier(project)), sep="\n")
        return
    written = []
    page = options.report or not options.name
    tiers = every_tier(project) if page else {project.config.tier: load_contexts(project, experiments)}
    if options.name or not options.report:
        from reprise.report.render import render

        written += render(project, tiers[project.config.tier], options.name)
    if page:
        from reprise.report.page.page import Origin, write_page

        written.append(write_page(project, tiers, Origin.of(project.root)))
    print(*written, sep="\n")


OPTIONS_PAGE = Path("docs/options.md")


def schemas_command(options: argparse.Namespace) -> None:
    """Write the JSON Schemas of the configuration and of claims.json to workflow/schemas/."""
    if options.folder == Path("workflow/schemas") and not CONFIG.is_file():
        raise UserError(f"{CONFIG}: no such file; run from the root of the clone, or name a folder with --folder")
    for name, text in json_schemas().items():
        path = options.folder / f"{name}.schema.json"
        print(f"{path}: {'written' if write_if_changed(path, text) else 'unchanged'}")
    if CONFIG.is_file() and OPTIONS_PAGE.is_file():
        from reprise.catalogue.options.reference import options_reference

        print(f"{OPTIONS_PAGE}: {'written' if write_if_changed(OPTIONS_PAGE, options_reference()) else 'unchanged'}")


def json_schemas() -> dict[str, str]:
    """Return the schemas' texts by name. A paper's file may have families, and experiments that borrow from them."""
    from pydantic.json_schema import GenerateJsonSchema

    from reprise.config.schema import Config, Paper
    from reprise.config.sections import NAMES
    from reprise.evidence.decisions import Claims

    class Untitled(GenerateJsonSchema):
        """A title that repeats the key tells an editor nothing."""

        def field_title_should_be_set(self, schema: object) -> bool:
            return False

    paper = Paper.model_json_schema(schema_generator=Untitled)
    paper["properties"]["families"] = {
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/Experiment"},
        "description": "what experiments have in common: `like: <family>` in an experiment takes it over",
    }
    experiment = paper["$defs"]["Experiment"]
    says = "the family that fills in what is not said here"
    experiment["properties"]["like"] = {"type": "string", "description": says}
    experiment["required"] = []
    # What a family has said already, an experiment need not say again.
    for name, definition in paper["$defs"].items():
        if name.endswith("Section") and name != "CheckSection":
            definition["required"] = []
    for section in NAMES:
        (choice,) = (one for one in experiment["properties"][section]["anyOf"] if "oneOf" in one)
        choice["anyOf"] = choice.pop("oneOf")
    kinds = {"config": Config.model_json_schema(schema_generator=Untitled), "paper": paper}
    kinds["claims"] = Claims.model_json_schema(schema_generator=Untitled)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {name: json.dumps({**head, **kind}, indent=1, ensure_ascii=False) + "\n" for name, kind in kinds.items()}
