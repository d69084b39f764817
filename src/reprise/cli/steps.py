"""The steps of the pipeline that are one call each, from raw files to figures."""

import argparse
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from reprise import environment
from reprise.catalogue.models import ModelRefused, find_model
from reprise.catalogue.own import is_own
from reprise.cli.common import load_tier, select_experiments
from reprise.config.datasets import NamedDataset
from reprise.config.project import CONFIG, PAPERS, Project, load_project
from reprise.config.resolve import resolve_tier
from reprise.errors import Failed, UserError, report_memory, suggest_name
from reprise.files import dump_canonical_json, require_place, write_if_changed
from reprise.records.resolved import Resolved

_LOG = logging.getLogger(__name__)
RAW = Path("data/raw")
_MAX_LENGTH = 90
"""Characters of a fact that is printed."""


def fetch_command(options: argparse.Namespace) -> None:
    """Download raw files into data/raw/, or take them from REPRISE_MIRROR; checksums are checked.

    A paper or an experiment stands for the datasets that it reads in the tier. Without a name the datasets of all
    experiments of the tier are meant. Every file is tried. The command names each one that it cannot get, and its exit
    status is then not 0.
    """
    from reprise.data.fetch import fetch_file

    project, mirror = load_project(".", {"tier": options.tier} if options.tier else None), environment.get_mirror()
    specs = [
        _select_files(project.find_dataset(name), options.file) for name in _select_datasets(project, options.name)
    ]
    for spec in specs:
        if not spec.files:
            _LOG.info("%s: nothing to fetch", spec.name)
    files = [(spec, file) for spec in specs for file in spec.files]
    _run_each("files", files, lambda one: fetch_file(*one, RAW, mirror, _LOG.info))


def _select_datasets(project: Project, names: Sequence[str]) -> list[str]:
    """Return the datasets that names stand for, each once; a dataset comes before a paper of the same name."""
    datasets = project.config.datasets
    if not (others := [name for name in names if name not in datasets]) and names:
        return list(dict.fromkeys(names))
    experiments = resolve_tier(project)
    for name in others:
        if "/" not in name and name not in project.papers:
            names_known = {*datasets, *project.papers}
            raise UserError(f"{CONFIG}: key datasets: no dataset or paper '{name}'; {suggest_name(name, names_known)}")
    stated = [name for name in names if name in datasets]
    read = [e.config["data"]["dataset"] for e in select_experiments(project, experiments, others) if e.corpus]
    return list(dict.fromkeys(stated + read))


def _select_files(spec: NamedDataset, names: Sequence[str] | None) -> NamedDataset:
    """Return the dataset with the wanted files alone; with all of them where none is named."""
    if not names:
        return spec
    files = {f.name: f for f in spec.files}
    for file in names:
        if file not in files:
            raise UserError(f"--file: dataset {spec.name} has no file '{file}'; {suggest_name(file, files)}")
    return spec.model_copy(update={"files": [files[file] for file in names]})


def _run_each(kind: str, items: Sequence[Any], function: Callable[[Any], None]) -> None:
    """Do something with each item. What goes wrong with one of several is said, and the others are done all the same.

    Raises:
        UserError: The only item is at fault.
        Failed: At least one of several is.
    """
    if len(items) == 1:
        function(items[0])
        return
    failed = 0
    for item in items:
        try:
            function(item)
        except UserError as error:
            _LOG.error("%s", error)
            failed += 1
    if failed:
        raise Failed(f"{failed} of {len(items)} {kind} failed, for the reasons above")


def prepare_command(options: argparse.Namespace) -> None:
    """Make the corpora that experiments read, from their datasets' raw files.

    A paper stands for its experiments of the tier. Without a name all experiments of the tier are meant. Where one of
    several corpora cannot be made, the others still are, and the exit status is not 0.
    """
    project, experiments = load_tier(options.tier)
    chosen = select_experiments(project, experiments, options.name)
    readers = list({e.corpus: e for e in reversed(chosen) if e.corpus}.values())[::-1]
    if not readers:
        raise UserError(f"{' '.join(options.name) or project.config.tier} needs no corpus; train it")
    if options.output and len(readers) > 1:
        raise UserError(f"--output: takes one corpus, not {len(readers)}; name one experiment")

    _run_each("corpora", readers, lambda experiment: _prepare(project, experiment, options.output))


def _prepare(project: Project, experiment: Resolved, output: Path | None) -> None:
    from reprise.data import prepare_corpus

    output = output or Path(experiment.corpus)
    require_place(output, str(output))
    data = experiment.config["data"]
    spec = project.find_dataset(data["dataset"])
    remedy = f"make the options of dataset {spec.name} in config/papers/{experiment.paper}.yaml smaller"
    with report_memory(experiment.id, remedy):
        corpus = prepare_corpus(spec, data["options"], RAW, output)
    # Long tables of facts are for the records and tables that quote them.
    lines = (f"{name} {value}" for name, value in sorted(corpus.facts.items()))
    print(f"{corpus.name}: " + ", ".join(line for line in lines if len(line) <= _MAX_LENGTH))


def resolve_command(options: argparse.Namespace) -> None:
    """Check config/ and write the resolved configuration of every experiment of a tier to results/<tier>/config/.

    Configurations there of experiments that are no longer in config/ are removed.
    """
    project, experiments = load_tier(options.tier)
    _check_own_models(project, experiments)
    for experiment in experiments:
        write_if_changed(project.root / experiment.get_config_path(), experiment.to_json())
    written = {project.root / experiment.get_config_path() for experiment in experiments}
    for path in (project.root / "results" / project.config.tier / "config").glob("*/*.json"):
        if path not in written:
            path.unlink()
    for file in sorted((project.root / PAPERS).glob("*.yaml")):
        if file.stem not in project.papers:
            _LOG.warning("%s: not read, since the key papers of %s does not name it", file, CONFIG)
    replicas = sum(e.replicas for e in experiments)
    print(f"tier {project.config.tier}: {len(experiments)} experiments, {replicas} replicas; configuration is sound")


_VOCABULARY = 1000


def _check_own_models(project: Project, experiments: Iterable[Resolved]) -> None:
    """Initialise every model of one's own and make a first step with it, on two words and a small vocabulary.

    Raises:
        UserError: A model is not what its protocol trains, or its initialisation does not fit it.
    """
    trained = [experiment for experiment in experiments if not experiment.is_check]
    own_models = {
        (dump_canonical_json(e.config["model"]), e.config["training"]["options"].get("initialisation")): e
        for e in trained
        if is_own(e.config["model"]["name"])
    }
    for (_, initialisation), experiment in own_models.items():
        from reprise.training.protocol import report_model
        from reprise.training.protocols.language_model import check_contract, initialise

        place = partial(project.locate_key, experiment.paper, "experiments", experiment.base)
        name, options = experiment.config["model"]["name"], experiment.config["model"]["options"]
        with _report_place(place("model")), report_model(experiment):
            model = find_model(name).build(options, vocabulary=_VOCABULARY)
        with _report_place(place("model", "name")), report_model(experiment):
            check_contract(model, _VOCABULARY)
        with _report_place(place("training", "initialisation")):
            initialise(model, initialisation or "")


@contextmanager
def _report_place(place: str) -> Iterator[None]:
    """Begin the error of a refused model with the place of the key."""
    try:
        yield
    except (UserError, ModelRefused) as error:
        raise UserError(f"{place}: {error}") from error


def collect_command(options: argparse.Namespace) -> None:
    """Gather the run records of a tier into metrics.csv, curves.csv.gz, samples.jsonl and metrics.json."""
    from reprise.evidence.collect import collect_tier

    project, experiments = load_tier(options.tier)
    folder = project.root / "results" / project.config.tier
    count, total = collect_tier(project, experiments)
    print(f"{folder}: {count} of {total} run records collected")


def render_command(options: argparse.Namespace) -> None:
    """Draw the figures and write the tables of a tier, and the page of all tiers.

    Without names and options all of these are written; --readme writes README's results and the forest plot alone.
    Names are those of the files: <paper>-<figure or table>.
    """
    if options.readme and (options.name or options.report or options.tier):
        raise UserError("--readme: writes README's results alone; put names, --report and --tier into another call")
    project, experiments = load_tier(options.tier)
    from reprise.report.parts.context import load_all_tiers, load_contexts

    if options.readme:
        from reprise.report.page.readme import write_results

        print(*write_results(project, load_all_tiers(project)), sep="\n")
        return
    written = []
    page = options.report or not options.name
    tiers = load_all_tiers(project) if page else {project.config.tier: load_contexts(project, experiments)}
    if options.name or not options.report:
        from reprise.report.render import render_displays

        written += render_displays(project, tiers[project.config.tier], options.name)
    if page:
        from reprise.report.page.page import Origin, write_page

        written.append(write_page(project, tiers, Origin.read(project.root)))
    print(*written, sep="\n")


OPTIONS_PAGE = Path("docs/options.md")


def schemas_command(options: argparse.Namespace) -> None:
    """Write the JSON Schemas of the configuration and of claims.json to workflow/schemas/, and docs/options.md."""
    if options.folder == Path("workflow/schemas") and not CONFIG.is_file():
        raise UserError(f"{CONFIG}: no such file; run from the root of the clone, or name a folder with --folder")
    for name, text in make_json_schemas().items():
        path = options.folder / f"{name}.schema.json"
        print(f"{path}: {'written' if write_if_changed(path, text) else 'unchanged'}")
    if CONFIG.is_file() and OPTIONS_PAGE.is_file():
        from reprise.catalogue.options.reference import write_reference

        print(f"{OPTIONS_PAGE}: {'written' if write_if_changed(OPTIONS_PAGE, write_reference()) else 'unchanged'}")


def make_json_schemas() -> dict[str, str]:
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
    description = "the family that fills in what is not said here"
    experiment["properties"]["like"] = {"type": "string", "description": description}
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
