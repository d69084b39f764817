"""What a registry names and nobody wrote, or wrote otherwise, is one line that names the registry and the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from config_helpers import copy_config, mistake
from experiment_helpers import make_corpus
from run_command_helpers import run, small, write

from reprise import checks
from reprise.catalogue.models import MODELS, ModelEntry
from reprise.catalogue.protocols import PROTOCOLS
from reprise.errors import EXIT_FAILED, UserError
from reprise.report.render import find_function
from reprise.training.protocol import build_training


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("reprise.models.mgu:MGU", "no file src/reprise/models/mgu.py; write it, or mend the name"),
        ("reprise.models.gated:GRUs", "no 'GRUs' in src/reprise/models/gated.py; did you mean 'GRU'?"),
        (
            "reprise.models.rntn:RNTN",
            "RNTN of src/reprise/models/rntn.py takes vocabulary, hidden, matrices, mapping, bias, h_0, and is made "
            "with vocabulary, embedding, hidden; give its arguments the names of the options",
        ),
    ],
)
def test_a_model_that_is_not_as_registered(target, says, monkeypatch):
    monkeypatch.setitem(MODELS, "mgu", ModelEntry(target, {}))
    with pytest.raises(UserError) as caught:
        MODELS["mgu"].build(vocabulary=5, embedding=2, hidden=2)
    assert str(caught.value) == f"src/reprise/catalogue/models.py: key MODELS['mgu']: {says}"


def test_a_file_that_a_model_imports_and_a_package_that_it_needs(monkeypatch, tmp_path):
    package = Path(str(__import__("reprise.models").models.__path__[0]))
    monkeypatch.setattr("reprise.models.__path__", [str(package), str(tmp_path)])
    (tmp_path / "borrowing.py").write_text("from reprise.models.lent import A\n", encoding="utf-8")
    (tmp_path / "needing.py").write_text("import no_such_package\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"no file src/reprise/models/lent\.py, which src/reprise/models/borrowing\.py"):
        ModelEntry("reprise.models.borrowing:A", {}).build()
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        ModelEntry("reprise.models.needing:A", {}).build()


def test_a_protocol_that_nobody_wrote(monkeypatch):
    monkeypatch.setitem(PROTOCOLS, "recall", replace(PROTOCOLS["recall"], target="reprise.training.recal:Recall"))
    one = small("a")
    one.config["training"]["protocol"] = "recall"
    with pytest.raises(UserError, match=r"key PROTOCOLS\['recall'\]: no file src/reprise/training/recal\.py; write it"):
        build_training(one, 0, None, "auto", torch.device("cpu"))


def test_a_check_that_nobody_wrote(monkeypatch):
    monkeypatch.setitem(checks.CHECKS, "sum", "reprise.checks.books:summed")
    with pytest.raises(UserError, match=r"key CHECKS\['sum'\]: no 'summed' in src/reprise/checks/books\.py"):
        checks.run_check("sum")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("minimal.curves", "minimal.curves: no file src/reprise/report/papers/minimal"),
        ("books.curves", "books.curves: no 'curves' in src/reprise/report/papers/books/figures.py; did you"),
    ],
)
def test_a_figure_that_nobody_wrote(name, says):
    with pytest.raises(UserError) as caught:
        find_function("figures", name)
    assert str(caught.value).startswith(f"src/reprise/report/papers: {says}")


def test_a_run_leaves_out_the_model_that_nobody_wrote(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpora").mkdir()
    made = make_corpus(tmp_path)
    made.rename(tmp_path / "corpora/c.npz")
    other = replace(MODELS["m-rnn"], target="reprise.models.mrn:MRNN")
    monkeypatch.setitem(MODELS, "m-rnn", other)
    there, missing = small("a"), small("b")
    missing.config["model"] = {
        "name": "m-rnn",
        "options": {"hidden_size": 2, "factors": 2, "factor_law": "normal", "h_0": 0.0, "weight_std": 0.1}
        | {"bias_law": "zero"},
    }
    write([there, missing])
    assert run("--minutes", "5") == EXIT_FAILED
    log = capsys.readouterr().err
    assert "p/b replica 0: left out: src/reprise/catalogue/models.py: key MODELS['m-rnn']: no file" in log
    assert log.splitlines()[-1].endswith("1 failed")


def test_an_option_that_the_protocol_asks_of_a_model_is_told_before_anything_runs(tmp_path, monkeypatch):
    options = {name: kind for name, kind in MODELS["gru-lm"].options.items() if name != "weight_range"}
    monkeypatch.setitem(MODELS, "gru-lm", replace(MODELS["gru-lm"], options=options))
    assert mistake(copy_config(tmp_path)) == (
        "src/reprise/catalogue/models.py: key MODELS['gru-lm']: batched-sgd needs the option 'weight_range' of it; "
        "add it"
    )


def test_a_model_that_a_protocol_names_alone_is_told_before_anything_runs(tmp_path, monkeypatch):
    models = (*PROTOCOLS["batched-sgd"].models, "gru-ln")
    monkeypatch.setitem(PROTOCOLS, "batched-sgd", replace(PROTOCOLS["batched-sgd"], models=models))
    assert mistake(copy_config(tmp_path)) == (
        "src/reprise/catalogue/protocols.py: key PROTOCOLS['batched-sgd']: no model 'gru-ln' in "
        "src/reprise/catalogue/models.py; did you mean 'gru-lm'?"
    )
