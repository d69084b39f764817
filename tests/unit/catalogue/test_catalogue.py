"""What the catalogue names is there, and states its options so that they can be read without importing it."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from reprise.catalogue import stated as stated_
from reprise.catalogue.checks import CHECKS, run_check
from reprise.catalogue.datasets import PREPARATIONS
from reprise.catalogue.displays import KINDS, functions
from reprise.catalogue.models import MODELS, ModelEntry
from reprise.catalogue.protocols import PROTOCOLS
from reprise.catalogue.stated import load, stated
from reprise.errors import UserError
from reprise.report.render import find_function
from reprise.training.protocol import Training

ROOT = Path(__file__).parents[3]
TARGETS = [(entry.target, entry) for entry in [*MODELS.values(), *PROTOCOLS.values()] if entry.target]


@pytest.mark.parametrize(("target", "entry"), TARGETS, ids=[target for target, _ in TARGETS])
def test_a_class_is_there_and_states_what_is_read_of_it(target, entry):
    made = load(target, "")
    assert dict(entry.options) == dict(getattr(made, "OPTIONS", {}))


@pytest.mark.parametrize("name", [name for name, entry in PREPARATIONS.items() if entry.target])
def test_a_preparation_is_there_and_states_what_is_read_of_it(name):
    entry, module = PREPARATIONS[name], import_module(PREPARATIONS[name].target)
    assert (entry.options, entry.tokens) == (module.OPTIONS, module.TOKENS)
    assert entry.corpus == callable(getattr(module, "prepare", None))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_trains_models_that_are_there_and_have_what_it_reads(name):
    entry = PROTOCOLS[name]
    assert set(entry.models) <= MODELS.keys()
    assert all(set(entry.model_options) <= MODELS[model].options.keys() for model in entry.models)
    assert issubclass(load(entry.target, ""), Training)


def test_checks_are_there():
    assert not any(inspect.signature(load(target, "")).parameters for target in CHECKS.values())


@pytest.mark.parametrize(("kind", "function"), [(kind, name) for kind in KINDS for name in functions()[kind]])
def test_what_a_function_draws_is_there(kind, function):
    draws = functions()[kind][function]
    assert set(draws.protocols) <= PROTOCOLS.keys()
    options = {"model": MODELS, "data": PREPARATIONS}
    for section, option in (setting.split(".") for setting in draws.settings):
        assert any(option in entry.options for entry in options[section].values())


@pytest.mark.parametrize("name", ["X", "READ"], ids=["nowhere stated", "to be run"])
def test_what_is_not_stated_names_the_file(tmp_path, monkeypatch, name):
    (tmp_path / "new.py").write_text("class New:\n    READ = open('/dev/null').read()\n", encoding="utf-8")
    monkeypatch.setattr(stated_, "_path", lambda module: tmp_path / "new.py")
    with pytest.raises(UserError, match=r"^src/reprise/models/new\.py: "):
        stated("reprise.models.new:New", name)


def test_the_configuration_is_checked_without_what_trains_or_draws():
    code = (
        "import sys; from reprise.config.project import load_project; from reprise.config.resolve import resolve_tier; "
        "resolve_tier(load_project('.', {'tier': 'quick'})); "
        "print(*{'torch', 'pandas', 'matplotlib', 'seaborn', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("target", ["reprise.models.mgu:MGU", "reprise.models.gated:GRUs", "reprise.models.rntn:RNTN"])
def test_a_model_that_is_not_as_registered_is_one_line(target):
    with pytest.raises(UserError, match="src/reprise/"):
        ModelEntry(target).build(vocabulary=5, embedding=2, hidden=2)


def test_a_check_or_figure_that_nobody_wrote_is_one_line(monkeypatch):
    monkeypatch.setitem(CHECKS, "sum", "reprise.checks.books:summed")
    with pytest.raises(UserError, match=r"src/reprise/checks/books\.py"):
        run_check("sum")
    for name in ("minimal.curves", "books.curves"):
        with pytest.raises(UserError, match="src/reprise/"):
            find_function("figures", name)


def test_a_package_that_is_missing_is_no_mistake_of_the_catalogue(monkeypatch, tmp_path):
    package = Path(str(__import__("reprise.models").models.__path__[0]))
    monkeypatch.setattr("reprise.models.__path__", [str(package), str(tmp_path)])
    (tmp_path / "borrowing.py").write_text("from reprise.models.lent import A\n", encoding="utf-8")
    (tmp_path / "needing.py").write_text("import no_such_package\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"no file src/reprise/models/lent\.py"):
        load("reprise.models.borrowing:A", "here")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        load("reprise.models.needing:A", "here")
