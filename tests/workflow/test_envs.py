"""The environments of the rules: pinned as the lock pins them, and enough to fetch. The other rules: tests/conda."""

import hashlib
import re
import shutil
from pathlib import Path

import pytest
import yaml
from gate import normal, pinned
from project import ROOT, TOY, contents

from reprise.catalogue.options.reference import write_reference
from reprise.cli.steps import make_json_schemas
from reprise.config.strict_yaml import load_yaml

ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
GATE = Path(__file__).with_name("gate.py")


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pairs = (line.removesuffix(" \\").split("==") for line in lines if re.match(r"[\w.-]+==", line))
    return {normal(name): version for name, version in pairs}


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_every_pin_but_torch_has_its_files_checksums(name):
    """torch has none: pip chooses its build by the package index of the machine."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pins = [i for i, line in enumerate(lines) if re.match(r"[\w.-]+==", line)]
    assert pins
    without = [lines[i] for i in pins if not lines[i + 1 : i + 2] or "--hash=sha256:" not in lines[i + 1]]
    assert [line.partition("==")[0] for line in without] in ([], ["torch"])


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_pins_are_those_of_the_lock(path):
    assert [path.stem for path in ENVIRONMENTS] == ["data", "report", "train"]
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    pip = next(d["pip"] for d in content["dependencies"] if isinstance(d, dict))
    pins = pinned(path)
    assert len(pins) == len(pip), "every line of the pip block is name==version"
    lock = locked()
    assert pins == {name: lock.get(name) for name in pins}


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_conda_specs_are_sound(path):
    rattler = pytest.importorskip("rattler")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert content.keys() == {"channels", "dependencies"}
    assert content["channels"] == ["conda-forge", "nodefaults"]
    specs = [d for d in content["dependencies"] if isinstance(d, str)]
    names = {rattler.MatchSpec(spec, strict=True).name.normalized for spec in specs}
    assert {"python", "pip"} <= names
    assert names <= {"python", "pip", "cxx-compiler"}
    assert ("cxx-compiler" in names) == (path.stem == "train")


@pytest.mark.pipeline
def test_fetching_needs_its_environment_alone_and_keeps_no_page_in_place_of_a_file(clone, server):
    """By its rule, with the gate as `sitecustomize`. The job is tried again, says what came, and leaves nothing."""
    text, page = b"some text\n" * 1000, b"<!DOCTYPE html><html><body>Please log in</body></html>"
    bodies = [page] * 3 + [text]  # the rule has two retries
    server.answer = lambda path: (200, len(bodies[0]), bodies.pop(0))
    clone.edit(
        "config/config.yaml",
        "  synthetic:\n",
        "  small:\n    title: A text\n    licence: ours\n    homepage: ''\n    prepare: ptb\n    files:\n"
        f"      - {{name: text.txt, url: {server.url}/text.txt, algorithm: sha256, "
        f"digest: {hashlib.sha256(text).hexdigest()}}}\n  synthetic:\n",
    )
    shutil.copy(GATE, clone.root / "src" / "sitecustomize.py")
    file, variables = clone.root / "data/raw/small/text.txt", {"REPRISE_TEST_ENVIRONMENT": str(ROOT / "envs/data.yaml")}
    first = clone.snakemake(targets=["data/raw/small/text.txt"], **variables)
    assert (first.status, len(bodies), contents(file.parent)) == (1, 1, {})
    assert "an HTML page came" in first.log
    assert "Traceback" not in first.log
    second = clone.snakemake(targets=["data/raw/small/text.txt"], **variables)
    assert second.status == 0, second.log
    assert file.read_bytes() == text


def test_every_rule_says_what_it_needs():
    """log, benchmark, conda, resources, message and a command; rules that run nothing have inputs alone."""
    rules: dict[str, set[str]] = {}
    idle = {"all", "another_tier"}
    for path in [ROOT / "workflow/Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))]:
        blocks = re.split(r"^( *)rule ?(\w*):$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for indent, name, block in zip(blocks[::3], blocks[1::3], blocks[2::3], strict=True):
            rules[name or "displays"] = set(re.findall(rf"^{indent}    (\w+):", block, re.MULTILINE))
    assert rules.keys() == {
        "fetch",
        "prepare",
        "resolve",
        "train",
        "train_together",
        "collect",
        "claims",
        "displays",
        "page",
        *idle,
    }
    for name, keys in rules.items():
        if name not in idle:
            assert keys >= {"output", "log", "benchmark", "conda", "resources", "message", "shell"}, name


def test_committed_schemas_are_those_of_the_classes():
    folder = ROOT / "workflow/schemas"
    assert {p.name: p.read_text(encoding="utf-8") for p in folder.iterdir()} == {
        f"{name}.schema.json": text for name, text in make_json_schemas().items()
    }


def test_the_reference_of_options_is_that_of_the_classes():
    assert (ROOT / "docs/options.md").read_text(encoding="utf-8") == write_reference()


def test_the_schema_refuses_what_the_classes_refuse():
    """An editor that reads the schema marks the same mistakes."""
    jsonschema = pytest.importorskip("jsonschema")
    for name, file in (("config", TOY / "config.yaml"), ("paper", TOY / "papers/digits.yaml")):
        schema = yaml.safe_load((ROOT / "workflow/schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        jsonschema.validate(content, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**content, "colour": "red"}, schema)
    schema = yaml.safe_load((ROOT / "workflow/schemas/paper.schema.json").read_text(encoding="utf-8"))
    for file in (ROOT / "config/papers").glob("*.yaml"):
        jsonschema.validate(yaml.safe_load(file.read_text(encoding="utf-8")), schema)
    mistakes = (
        ("hidden_size: {value: 8", "hidden_sise: {value: 8"),
        ("value: adam", "value: adan"),
        ("replicas: 2}, paper", "replicas: 2, steps: many}, paper"),
        ("lower: rnn-t5", "lower: {mean: [rnn-t5, lstm-t5], metric: a}"),
    )
    for old, new in mistakes:
        text = (TOY / "papers/digits.yaml").read_text(encoding="utf-8")
        assert old in text
        text = text.replace(old, new)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(yaml.safe_load(text), schema)


def test_snakemake_takes_every_dataset_by_its_name():
    """Raw files are its outputs: where a name does not fit the wildcard, no rule fetches them."""
    text = (ROOT / "workflow/Snakefile").read_text(encoding="utf-8")
    pattern = re.search(r'dataset="([^"]+)"', text).group(1)
    names = load_yaml(ROOT / "config/config.yaml")["datasets"]
    assert [name for name in names if not re.fullmatch(pattern, name)] == []
