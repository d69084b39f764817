"""What the catalogue names is there, and the configuration is checked without importing it."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest

from reprise.catalogue.checks import CHECKS
from reprise.catalogue.datasets import PREPARATIONS, find_preparation
from reprise.catalogue.displays import FUNCTIONS, KINDS
from reprise.catalogue.models import MODELS, Model
from reprise.catalogue.options import MODEL_OPTIONS, PREPARATION_OPTIONS, PROTOCOL_OPTIONS
from reprise.catalogue.options.base import list_options
from reprise.catalogue.options.displays import DISPLAY_OPTIONS, Predictions
from reprise.catalogue.options.own import make_own_options
from reprise.catalogue.own import load_own
from reprise.catalogue.protocols import PROTOCOLS
from reprise.config.mistakes import complete_options
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


@pytest.mark.parametrize("pair", [{"line": "ab"}, {"line": "ab", "prediction": "a"}, {"line": "a", "prediction": "b"}])
def test_a_printed_prediction_stands_under_its_line(pair):
    with pytest.raises(UserError, match=r"options\.printed: .*line"):
        complete_options(Predictions, "gso.predictions", {"printed": [pair]}, lambda option: f"options.{option}")


@pytest.mark.parametrize("name", [name for name, entry in PREPARATIONS.items() if entry.target])
def test_a_preparation_is_there(name):
    entry, module = PREPARATIONS[name], import_module(PREPARATIONS[name].target)
    assert entry.corpus == callable(getattr(module, "prepare", None))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_is_there_and_trains_models_that_are(name):
    entry = PROTOCOLS[name]
    assert set(entry.models) <= MODELS.keys()
    assert issubclass(resolve_name(entry.target), Training)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.target])
def test_a_model_is_there(name):
    assert callable(resolve_name(MODELS[name].target))


def test_checks_are_there():
    assert not any(inspect.signature(resolve_name(target)).parameters for target in CHECKS.values())


@pytest.mark.parametrize(("kind", "function"), [(kind, name) for kind in KINDS for name in FUNCTIONS[kind]])
def test_what_a_function_draws_is_there(kind, function):
    assert callable(find_function(kind, function))
    scope = FUNCTIONS[kind][function]
    assert set(scope.protocols) <= PROTOCOLS.keys()
    options = {"model": MODEL_OPTIONS, "data": PREPARATION_OPTIONS}
    for section, option in (setting.split(".") for setting in scope.settings):
        assert any(option in list_options(one) for one in options[section].values())
    assert DISPLAY_OPTIONS[kind].keys() <= FUNCTIONS[kind].keys()


def test_the_configuration_is_checked_without_what_trains_or_draws():
    code = (
        "import sys; from reprise.config.project import load_project; from reprise.config.resolve import resolve_tier; "
        "resolve_tier(load_project('.', {'tier': 'quick'})); "
        "print(*{'torch', 'pandas', 'matplotlib', 'seaborn', 'jinja2'} & set(sys.modules))"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout.split() == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("SIZES = {}\n\nclass Broken(:\n", r"broken\.py, line 3: SyntaxError: invalid syntax; correct the file"),
        ("raise SyntaxError('no place')\n", r"broken\.py, line 1: SyntaxError: no place"),
        ("SIZES = {}\nWIDTH = SIZES['width']\n", r"broken\.py, line 2: KeyError: 'width'; correct the file"),
        ("Size = 3\n", r"no 'Broken' in .*broken\.py"),
        ("import no_such_package\n", "no_such_package, which is not installed"),
        ("import sys\nsys.exit(0)\n", r"broken\.py, line 2: SystemExit"),
        ("Broken = {'size': 3}\n", "broken:Broken: is neither a class nor a function"),
    ],
)
def test_a_mistake_in_a_file_of_ones_own_is_one_line(broken, content, message):
    broken.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        load_own("broken:Broken")


@pytest.fixture
def broken(monkeypatch, tmp_path):
    """The file of a module in the current folder, which nobody has imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    return tmp_path / "broken.py"


FUTURE = "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{FUTURE}def draw(context, size: Unknown = 3): pass", "Unknown, is not known when the file runs"),
        ("def draw(context, name: str): pass", "its argument 'name' cannot be an option"),
        ("def draw(context, _size: int): pass", "its argument '_size' cannot be an option"),
        ("import torch\ndef draw(context, file: torch.device): pass", "cannot be options"),
        ("draw = print", "has no type"),
        ("draw = min", "no arguments that can be read"),
    ],
)
def test_arguments_that_are_no_options_are_one_line(broken, content, message):
    broken.write_text(f"{content}\n", encoding="utf-8")
    with pytest.raises(UserError, match=message):
        make_own_options("broken:draw", load_own("broken:draw"), "context")


def test_types_of_options_may_be_texts_and_those_of_other_arguments_unknown(broken):
    broken.write_text(f"{FUTURE}def draw(context: Context, size: int = 3) -> Figure: pass\n", encoding="utf-8")
    kind = make_own_options("broken:draw", load_own("broken:draw"), "context")
    assert kind.model_validate({"name": "broken:draw"}).model_dump(exclude={"name"}) == {"size": 3}


def test_types_of_what_is_imported_or_inherited_are_looked_up_in_its_file(broken, monkeypatch):
    monkeypatch.delitem(sys.modules, "drawing", raising=False)
    drawing = f"""{FUTURE}Size = int
def draw(context, size: Size = 3): pass
class Model:
    def __init__(self, context, size: Size = 3): pass
"""
    broken.with_name("drawing.py").write_text(drawing, encoding="utf-8")
    broken.write_text("from drawing import draw, Model\nclass Deep(Model): pass\n", encoding="utf-8")
    for path in ("broken:draw", "broken:Model", "broken:Deep"):
        kind = make_own_options(path, load_own(path), "context")
        assert kind.model_validate({"name": path}).model_dump(exclude={"name"}) == {"size": 3}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return None", "broken:make: returns NoneType, not {}"),
        ("return {}['key']", "broken.py, line 2: KeyError"),
        ("raise SystemExit(0)", "broken.py, line 2: SystemExit"),
    ],
)
def test_what_a_function_of_ones_own_gets_wrong_is_one_line(broken, body, message):
    broken.write_text(f"def make(*arguments, **options):\n    {body}\n", encoding="utf-8")
    for call, kind in (
        (lambda: find_preparation("broken:make").prepare(Path(), {}), "Corpus"),
        (lambda: find_function("tables", "broken:make")(None, "table-1", {}), "Table"),
        (lambda: find_function("figures", "broken:make")(None, "figure-1", {}), "Figure"),
    ):
        with pytest.raises(UserError) as caught:
            call()
        assert message.format(kind) in str(caught.value)


@pytest.mark.parametrize(
    ("counts", "tokens", "reason"),
    [("None", "int32", "counts"), ("np.array([1])", "int64", "rows of int32")],
)
def test_a_corpus_of_ones_own_that_is_not_sound_is_one_line(broken, counts, tokens, reason):
    broken.write_text(
        "import numpy as np\nfrom reprise.data.corpus import Corpus, Split\ndef make(raw):\n"
        f"    split = Split(np.array([0], np.{tokens}), np.array([0, 1]))\n"
        f"    return Corpus('own', {{'train': split}}, ['a'], {counts}, {{'boundaries': 'none'}})\n"
    )
    with pytest.raises(UserError, match=f"broken:make: returns no sound corpus.*{reason}"):
        find_preparation("broken:make").prepare(Path(), {})


def test_what_goes_wrong_below_a_function_of_ones_own_keeps_its_traceback(broken):
    """Such as a mistake of ours, in a function that it calls."""
    text = "def make(raw):\n    from reprise import units\n    units.convert_to_bits('a')\n"
    broken.write_text(text, encoding="utf-8")
    with pytest.raises(TypeError):
        find_preparation("broken:make").prepare(Path(), {})


def test_a_mistake_in_a_file_of_the_package_keeps_its_traceback():
    with pytest.raises(ModuleNotFoundError, match="reprise.models.mgu"):
        Model("reprise.models.mgu:MGU").build({}, vocabulary=5)
