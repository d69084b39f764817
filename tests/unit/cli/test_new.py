"""A paper of one's own, in a folder outside of the clone: from `reprise new` to its page."""

import errno
import hashlib
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from project import ROOT

from reprise.cli import main, make_command_parser
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.config.strict_yaml import load_yaml
from reprise.data import prepare_corpus
from reprise.errors import UserError
from reprise.report.page.cards import find_equations

CORPUS = """
from pathlib import Path

from reprise.data.corpus import Corpus
from reprise.data.synthetic.synthetic import prepare as generate


def prepare(raw: Path, sentences: int, seed: int = 1) -> Corpus:
    return generate(raw, {"vocabulary_size": 20, "training_sentences": sentences, "seed": seed})
"""
FIGURES = """
from reprise.report.papers.shared.figures import curves


def losses(context, id, split: str = "valid"):
    return curves(context, id, {"metric": "cross_entropy", "split": split})
"""


@pytest.fixture
def project(tmp_path, monkeypatch, request):
    """A new project folder, with a name that no other test has imported."""
    folder = tmp_path / f"paper{abs(hash(request.node.nodeid)) % 10**8}"
    assert main(["new", str(folder)]) == 0
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return folder


def edit(project, file, old, new):
    path = project / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def paper_of(project):
    return f"config/papers/{project.name}.yaml"


def test_a_new_folder_is_sound_and_no_other_is_touched(project, capsys):
    assert main(["resolve"]) == 0
    assert main(["new", str(project)]) == 2
    for name in ("My Paper", "class", "9lives", "torch", "json"):
        assert main(["new", str(project / name)]) == 2
    assert {e.config["model"]["name"] for e in resolve_tier(load_project())} == {f"{project.name}.model:SCRN"}
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests"], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stdout


def test_the_readme_of_a_new_folder_has_commands_that_can_be_called(project):
    readme = (project / "README.md").read_text(encoding="utf-8")
    commands = [c.split() for c in re.findall(r"^ .*", readme, re.MULTILINE) for c in c.partition("#")[0].split("&&")]
    assert len(commands) > 5
    for reprise, command, *rest in commands:
        assert reprise == "reprise"
        make_command_parser(command).parse_args(rest)


def test_snakemake_runs_in_a_new_folder_with_the_settings_of_the_clone(project):
    """Above all it goes on after Ctrl-C, and trains nothing again because the command line changed."""
    own, ours = (load_yaml(root / "profiles/default/config.yaml") for root in (project, ROOT))
    assert own == ours


def test_the_workflow_is_where_pip_puts_data_files(monkeypatch, tmp_path, capsys):
    """Under the prefix, or with `pip install --user` under the user's base."""
    monkeypatch.setattr("reprise.cli.new.CLONE", tmp_path / "no-clone")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "prefix"))
    monkeypatch.setattr("site.getuserbase", lambda: str(tmp_path / "user"))
    assert main(["snakefile"]) == 2
    for base in ("user", "prefix"):
        path = tmp_path / base / "share/reprise/workflow/Snakefile"
        path.parent.mkdir(parents=True)
        path.touch()
        capsys.readouterr()
        assert main(["snakefile"]) == 0
        assert capsys.readouterr().out == f"{path}\n"


def read_block(language, text, module):
    """The first block of docs/adding.md in a language that has a text, for the package `module`."""
    docs = (ROOT / "docs/adding.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"```{language}\n(.*?)```", docs, re.DOTALL)
    return next(block for block in blocks if text in block).replace("mypaper", module)


def test_the_text_and_the_table_of_the_docs_can_be_copied(project, monkeypatch):
    """From a file of one's own to the corpus, and from the corpus to records and their table."""
    text = "the cat sees the dog.\n" * 200
    (project / "texts/tales").mkdir(parents=True)
    (project / "texts/tales/tales.txt").write_text(text, encoding="utf-8")
    (project / project.name / "corpus.py").write_text(read_block("python", "tales.txt", project.name))
    (project / project.name / "displays.py").write_text(read_block("python", "def losses", project.name))
    digest = hashlib.sha256(text.encode()).hexdigest()
    entry = re.sub("digest: .*", f"digest: {digest}", read_block("yaml", "tales.txt", project.name))
    edit(project, "config/config.yaml", "datasets:\n", f"datasets:\n{entry}")
    old = (
        (project / paper_of(project))
        .read_text(encoding="utf-8")
        .partition("    data:\n")[2]
        .partition("    training:")[0]
    )
    edit(project, paper_of(project), old, '      dataset: tales\n      held_out: {value: 300, from: "ours: any"}\n')
    edit(project, paper_of(project), "max_epochs: {value: 8", "max_epochs: {value: 1")
    edit(project, paper_of(project), "function: shared.perplexity", f"function: {project.name}.displays:losses")
    monkeypatch.setenv("REPRISE_MIRROR", "texts")
    name = f"{project.name}/srn"
    for command in ("resolve", "fetch tales", f"prepare {name}", f"train {name} --replica 0", "collect", "verify"):
        assert main(command.split()) == 0, command
    assert main(["render", f"{project.name}-table-1"]) == 0
    table = (project / f"results/quick/tables/{project.name}-table-1.csv").read_text(encoding="utf-8")
    assert [row.partition(",")[0] for row in table.splitlines()] == ["model", "SRN"]


def test_a_file_that_a_preparation_does_not_find_is_no_matter_of_room(project, capsys):
    text = CORPUS.replace("    return", '    (raw / "none.txt").read_text()\n    return')
    (project / project.name / "corpus.py").write_text(text)
    edit(project, "config/config.yaml", "prepare: synthetic", f"prepare: {project.name}.corpus:prepare")
    edit(project, paper_of(project), "      vocabulary_size: {value: 100, from: deviation small}\n", "")
    edit(project, paper_of(project), "training_sentences:", "sentences:")
    assert main(["prepare", f"{project.name}/srn"]) != 0
    (line,) = capsys.readouterr().err.splitlines()
    assert "none.txt" in line
    assert "room" not in line


def test_a_project_of_the_quick_tier_alone_lists_the_answers_of_that_tier(project, capsys):
    assert main(["verify"]) == 0
    decisions = json.loads((project / "results/quick/claims.json").read_text(encoding="utf-8"))
    decisions[project.name]["C1"]["answer"] = "undecided"
    (project / "results/quick/claims.json").write_text(json.dumps(decisions), encoding="utf-8")
    capsys.readouterr()
    assert main(["list", project.name, "--json"]) == 0
    (claim,) = json.loads(capsys.readouterr().out)["papers"][0]["claims"]
    assert claim["answer"].startswith("undecided")


def test_a_model_of_ones_own_shows_its_own_equation_alone(project):
    """An option called `unit` is not ours, whose gates would be shown with it."""
    (project / project.name / "gated.py").write_text('class Net:\n    """h = f(x)"""\n')
    model = SimpleNamespace(name=f"{project.name}.gated:Net", settings={"unit": SimpleNamespace(value="lstm")})
    assert find_equations(model) == "h = f(x)"
    (project / project.name / "package").mkdir()
    # Nothing is imported: where pages are made its libraries need not be installed.
    text = 'import no_such_library\nclass Net:\n    """s = g(x)"""\n'
    for file, module in (("__init__.py", "package"), ("net.py", "package.net")):
        (project / project.name / "package" / file).write_text(text)
        model = SimpleNamespace(name=f"{project.name}.{module}:Net", settings={})
        assert find_equations(model) == "s = g(x)"
    assert find_equations(SimpleNamespace(name="installed.elsewhere:Net", settings={})) == ""


def test_the_current_folder_may_be_the_new_one(tmp_path, monkeypatch):
    (tmp_path / "mypaper").mkdir()
    monkeypatch.chdir(tmp_path / "mypaper")
    assert main(["new", "."]) == 0
    assert Path("config/papers/mypaper.yaml").is_file()


def test_what_stops_halfway_is_not_in_the_way_of_the_next_try(tmp_path, monkeypatch):
    write, count = Path.write_text, itertools.count()

    def write_some(self, *arguments, **keywords):
        if next(count) == 3:
            raise OSError(errno.ENOSPC, "No space left on device", str(self))
        return write(self, *arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", write_some)
        assert main(["new", str(tmp_path / "mypaper")]) == 1
    assert main(["new", str(tmp_path / "mypaper")]) == 0


def test_options_of_ones_own_are_the_annotated_arguments_and_defaults_are_not_hashed(project):
    before = {e.id: e.config_hash for e in resolve_tier(load_project())}
    edit(project, paper_of(project), "      alpha: {value: 0.95, from: paper §3}\n", "")
    experiments = {e.id: e for e in resolve_tier(load_project())}
    assert {name: e.config_hash for name, e in experiments.items()} == before
    scrn = experiments[f"{project.name}/scrn"]
    assert scrn.config["model"]["options"]["alpha"] == 0.95
    assert "alpha" not in scrn.hashed_config["model"]["options"]


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("context_size: {value: 10", "context_size: {value: ten", "model.context_size"),
        ("context_size: {value: 10", "contextsize: {value: 10", "model.contextsize"),
        ("model:SCRN", "model:SRN", ""),
        ("model:SCRN", "models:SCRN", ""),
        ("protocol: language-model", "protocol: batched-sgd", ""),
        ("settings: {learning_rate: 4.0}", "settings: {learning_rat: 4.0}", "settings.learning_rat"),
        ("options: {metric: perplexity", "options: {metric: perplexty", "figures.figure-1.options.metric"),
        ("learning_rate: {value: 2.0", "learning_rate: {value: '2.0'", "is a word; remove the quotes"),
        ("alpha: {value: 0.95", "alpha: {value: '0.95'", "is a word; remove the quotes"),
        *(("alpha: {value: 0.95", f"alpha: {{value: {x}", "model.alpha") for x in (".nan", "-.inf", "1.0e+200")),
        ("context_size: {value: 10", f"context_size: {{value: {10**30}", "model.context_size"),
        (".model:SCRN", "/../../x", "model.name"),
        ("      context_size: {value: 10, from: paper §3}\n", "", "experiments.scrn.model.context_size: missing"),
        ("model:SCRN", "model.SCRN", ".model:SCRN'"),
    ],
)
def test_a_mistake_is_one_line(project, old, new, key):
    edit(project, paper_of(project), old, new)
    with pytest.raises(UserError) as caught:
        resolve_tier(load_project())
    assert key in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dataset_and_a_figure_of_ones_own(project):
    (project / project.name / "corpus.py").write_text(CORPUS)
    (project / project.name / "figures.py").write_text(FIGURES)
    edit(project, "config/config.yaml", "prepare: synthetic", f"prepare: {project.name}.corpus:prepare")
    edit(project, paper_of(project), "      vocabulary_size: {value: 100, from: deviation small}\n", "")
    edit(project, paper_of(project), "training_sentences:", "sentences:")
    edit(project, paper_of(project), "options: {metric: perplexity, split: valid}", "options: {split: test}")
    edit(project, paper_of(project), "function: shared.curves", f"function: {project.name}.figures:losses")
    experiment = resolve_tier(load_project())[0]
    assert experiment.config["data"]["options"] == {"sentences": 500, "seed": 1}
    corpus = prepare_corpus(
        load_project().find_dataset("synthetic"), {"sentences": 30, "seed": 2}, Path("data/raw"), Path("corpus.npz")
    )
    assert len(corpus.vocabulary) == 20
    edit(project, paper_of(project), "options: {split: test}", "options: {split: 3}")
    with pytest.raises(UserError, match=r"options\.split"):
        resolve_tier(load_project())


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("return logits, (s, h)", "return logits", "families.small.model.name"),
        ("def initial_state", "def first_state", "families.small.model.name"),
        ("self.R(h)", "self.R(h) + self.Q", "families.small.model.name"),
        ("self.R(h)", "self.R(h[:, :3])", "families.small.model.name"),
        ("self.alpha,", "assert hidden_size < 10\n        self.alpha,", "experiments.srn.model"),
    ],
)
def test_a_model_without_a_first_step_is_refused_by_resolve(project, capsys, old, new, key):
    """The contract of the protocol is checked where torch is, before anything trains."""
    edit(project, f"{project.name}/model.py", old, new)
    assert main(["resolve"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"config/papers/{project.name}.yaml: key {key}: " in line


def test_an_initialisation_that_does_not_fit_the_model_is_refused_by_resolve(project, capsys):
    key = "      learning_rate: {value: 2.0"
    edit(project, paper_of(project), key, f"      initialisation: {{value: 'Q*: zero', from: paper §3}}\n{key}")
    assert main(["resolve"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"config/papers/{project.name}.yaml: key families.small.training.initialisation" in line


@pytest.mark.slow
def test_the_commands_of_the_docs_print_what_they_say(project, capsys):
    """Those of the tutorial, from the text to the page, on the example with less of everything."""
    edit(project, paper_of(project), "max_epochs: {value: 8", "max_epochs: {value: 1")
    edit(project, paper_of(project), "training_sentences: {value: 500", "training_sentences: {value: 60")
    tutorial = (ROOT / "docs/adding.md").read_text(encoding="utf-8").partition("Then replace the example")[0]
    commands = re.findall(r"^    reprise (.*?) +# (.*)$", tutorial.replace("mypaper", project.name), re.MULTILINE)
    assert len(commands) == 8
    for command, output in commands:
        capsys.readouterr()
        assert main(command.split()) == 0, command
        printed = " ".join("".join(capsys.readouterr()).split())
        pattern = ".*".join(re.escape(" ".join(part.split())) for part in output.split("…"))
        assert re.search(pattern, printed), f"{command}: {printed}"
    page = (project / "results/report.html").read_text(encoding="utf-8")
    assert "The SCRN has a lower perplexity than the SRN" in page
    records = sorted((project / "results/quick/runs").rglob("*.json"))
    assert len(records) == 12
    sources = json.loads(records[0].read_text(encoding="utf-8"))["run"]["sources"]
    assert [*sources] == [f"{project.name}/model.py"]
