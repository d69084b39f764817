"""The environments of the rules: pinned as the lock pins them, and enough for the commands of their rules."""

from __future__ import annotations

import hashlib
import re
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from gate import normal, pinned
from project import PYTHON, ROOT, TOY, Project

from reprise.cli.steps import json_schemas
from reprise.config.strict_yaml import load_yaml

ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
GATE = Path(__file__).with_name("gate.py")


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {normal(name): version for name, version in pairs}


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_pins_are_those_of_the_lock(path: Path) -> None:
    assert [path.stem for path in ENVIRONMENTS] == ["data", "report", "train"]
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    pip = next(d["pip"] for d in content["dependencies"] if isinstance(d, dict))
    pins = pinned(path)
    assert len(pins) == len(pip), "every line of the pip block is name==version"
    lock = locked()
    assert pins == {name: lock.get(name) for name in pins}


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_conda_specs_are_sound(path: Path) -> None:
    rattler = pytest.importorskip("rattler")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert content.keys() == {"channels", "dependencies"}
    assert content["channels"] == ["conda-forge", "nodefaults"]
    specs = [d for d in content["dependencies"] if isinstance(d, str)]
    names = {rattler.MatchSpec(spec, strict=True).name.normalized for spec in specs}
    assert {"python", "pip"} <= names
    assert names <= {"python", "pip", "cxx-compiler"}
    assert ("cxx-compiler" in names) == (path.stem == "train")


@pytest.fixture
def gated(finished: Project) -> Project:
    """The finished project, its commands started with the gate as `sitecustomize`."""
    shutil.copy(GATE, finished.root / "src" / "sitecustomize.py")
    return finished


def within(project: Project, environment: str, *arguments: str, **more: str) -> str:
    """Runs a command under the gate of an environment; it has to succeed."""
    file = str(ROOT / "envs" / f"{environment}.yaml")
    done = project.reprise(*arguments, REPRISE_TEST_ENVIRONMENT=file, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.pipeline
def test_the_gate_refuses(gated: Project) -> None:
    """Or the tests below would show nothing."""
    for environment, refused, allowed in (("train", "pandas", "numpy"), ("report", "torch", "numpy")):
        more = {"PYTHONPATH": "src", "REPRISE_TEST_ENVIRONMENT": str(ROOT / "envs" / f"{environment}.yaml")}
        done = gated.run(PYTHON, "-c", f"import {allowed}; import {refused}", **more)
        assert f"ModuleNotFoundError: No module named '{refused}'" in done.stderr


@pytest.mark.pipeline
def test_training_needs_its_environment_alone(gated: Project) -> None:
    for record in gated.records():
        record.unlink()
    names = ("digits/rnn-t5", "digits/count", "words/s-rnn-4")
    # In one process, which imports torch once.
    calls = [
        f"main(['train', '{name}', '--replica', '0', '--config', 'results/quick/config/{name}.json'])" for name in names
    ]
    done = gated.run(
        PYTHON,
        "-c",
        f"from reprise.cli import main; raise SystemExit(max({', '.join(calls)}))",
        PYTHONPATH="src",
        REPRISE_TEST_ENVIRONMENT=str(ROOT / "envs/train.yaml"),
    )
    assert done.returncode == 0, done.stderr
    assert len(gated.records()) == len(names)


@pytest.mark.pipeline
def test_data_need_their_environment_alone(gated: Project) -> None:
    shutil.rmtree(gated.root / "data")
    within(gated, "data", "prepare", "words/s-rnn-4", "--tier", "quick")
    assert len(list((gated.root / "data/corpora").glob("*.npz"))) == 1


@pytest.mark.pipeline
def test_fetching_needs_its_environment_alone(gated: Project, tmp_path: Path) -> None:
    """By the command of the rule, from a folder and over a network."""
    text = b"some text\n"
    gated.edit(
        "config/config.yaml",
        "  synthetic:\n",
        "  small:\n    title: A text\n    licence: ours\n    homepage: ''\n    prepare: ptb\n    files:\n"
        "      - name: text.txt\n        url: http://127.0.0.1:PORT/small/text.txt\n        algorithm: sha256\n"
        f"        digest: {hashlib.sha256(text).hexdigest()}\n  synthetic:\n",
    )
    mirror = tmp_path / "mirror"
    (mirror / "small").mkdir(parents=True)
    (mirror / "small" / "text.txt").write_bytes(text)
    fetched = gated.root / "data/raw/small/text.txt"
    command = ("fetch", "small", "--file", "text.txt")
    within(gated, "data", *command, REPRISE_MIRROR=str(mirror))
    assert fetched.read_bytes() == text
    fetched.unlink()
    handler = partial(SimpleHTTPRequestHandler, directory=str(mirror))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            gated.edit("config/config.yaml", "PORT", str(server.server_port))
            within(gated, "data", *command, NO_PROXY="127.0.0.1")
        finally:
            server.shutdown()
    assert fetched.read_bytes() == text


@pytest.mark.pipeline
def test_the_report_needs_its_environment_alone(gated: Project) -> None:
    results = gated.root / "results/quick"
    for name in ("figures", "tables"):
        shutil.rmtree(results / name)
    for name in ("metrics.csv", "claims.json", "../report.html"):
        (results / name).unlink()
    within(gated, "report", "collect", "--tier", "quick")
    within(gated, "report", "verify", "--tier", "quick")
    assert (results / "claims.json").is_file()
    within(gated, "report", "render", "--tier", "quick")
    assert (results / "../report.html").is_file()
    assert len(list((results / "figures").iterdir())) == 3
    assert len(list((results / "tables").iterdir())) == 6


def test_every_rule_says_what_it_needs() -> None:
    """log, benchmark, conda, resources, message and a command; `all`, which runs nothing, has inputs alone."""
    rules: dict[str, set[str]] = {}
    for path in [ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))]:
        blocks = re.split(r"^rule (\w+):$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for name, block in zip(blocks[::2], blocks[1::2], strict=True):
            rules[name] = set(re.findall(r"^    (\w+):", block, re.MULTILINE))
    assert rules.keys() == {"fetch", "prepare", "train", "train_together", "collect", "claims", "page", "all"}
    for name, keys in rules.items():
        if name != "all":
            assert keys >= {"output", "log", "benchmark", "conda", "resources", "message", "shell"}, name


@pytest.mark.pipeline
def test_snakemake_finds_nothing_to_object_to(clone: Project) -> None:
    done = clone.run(PYTHON, "-m", "snakemake", "--lint")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "in a good condition" in done.stdout + done.stderr


def test_committed_schemas_are_those_of_the_classes() -> None:
    folder = ROOT / "workflow/schemas"
    assert {p.name: p.read_text(encoding="utf-8") for p in folder.iterdir()} == {
        f"{name}.schema.json": text for name, text in json_schemas().items()
    }


@pytest.mark.pipeline
def test_the_schema_refuses_what_the_classes_refuse(clone: Project) -> None:
    """An editor that reads the schema marks the same mistakes."""
    jsonschema = pytest.importorskip("jsonschema")
    for name, file in (("config", TOY / "config.yaml"), ("paper", TOY / "papers/digits.yaml")):
        schema = yaml.safe_load((ROOT / "workflow/schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        jsonschema.validate(content, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**content, "colour": "red"}, schema)


def test_snakemake_takes_every_dataset_by_its_name() -> None:
    """Raw files are its outputs: where a name does not fit the wildcard, no rule fetches them."""
    text = (ROOT / "Snakefile").read_text(encoding="utf-8")
    pattern = re.search(r'dataset="([^"]+)"', text).group(1)
    names = load_yaml(ROOT / "config/config.yaml")["datasets"]
    assert [name for name in names if not re.fullmatch(pattern, name)] == []
