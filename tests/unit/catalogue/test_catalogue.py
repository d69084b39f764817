"""What the catalogue names is there, and the configuration is checked without importing it."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from reprise.catalogue.checks import CHECKS, run_check
from reprise.catalogue.datasets import PREPARATIONS
from reprise.catalogue.displays import FUNCTIONS, KINDS
from reprise.catalogue.loading import load
from reprise.catalogue.models import MODELS, Model
from reprise.catalogue.options import MODEL_OPTIONS, PREPARATION_OPTIONS, PROTOCOL_OPTIONS
from reprise.catalogue.options.base import options_of
from reprise.catalogue.options.displays import DISPLAY_OPTIONS
from reprise.catalogue.protocols import PROTOCOLS
from reprise.errors import UserError
from reprise.report.render import find_function
from reprise.training.protocol import Training

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("rows", "options"),
    [(MODELS, MODEL_OPTIONS), (PROTOCOLS, PROTOCOL_OPTIONS), (PREPARATIONS, PREPARATION_OPTIONS)],
    ids=["models", "protocols", "preparations"],
)
def test_whatever_may_be_named_has_options(rows, options):
    assert rows.keys() == options.keys()


@pytest.mark.parametrize("name", [name for name, entry in PREPARATIONS.items() if entry.target])
def test_a_preparation_is_there(name):
    entry, module = PREPARATIONS[name], import_module(PREPARATIONS[name].target)
    assert entry.corpus == callable(getattr(module, "prepare", None))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_is_there_and_trains_models_that_are(name):
    entry = PROTOCOLS[name]
    assert set(entry.models) <= MODELS.keys()
    assert issubclass(load(entry.target, ""), Training)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.target])
def test_a_model_is_there(name):
    assert callable(load(MODELS[name].target, ""))


def test_checks_are_there():
    assert not any(inspect.signature(load(target, "")).parameters for target in CHECKS.values())


@pytest.mark.parametrize(("kind", "function"), [(kind, name) for kind in KINDS for name in FUNCTIONS[kind]])
def test_what_a_function_draws_is_there(kind, function):
    draws = FUNCTIONS[kind][function]
    assert set(draws.protocols) <= PROTOCOLS.keys()
    options = {"model": MODEL_OPTIONS, "data": PREPARATION_OPTIONS}
    for section, option in (setting.split(".") for setting in draws.settings):
        assert any(option in options_of(one) for one in options[section].values())
    assert DISPLAY_OPTIONS[kind].keys() <= FUNCTIONS[kind].keys()


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
        Model(target).build({}, vocabulary=5, embedding_size=2, hidden_size=2)


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
