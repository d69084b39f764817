"""CONTRIBUTING names files that exist, and its walk follows an option as the code does."""

import re
from pathlib import Path

from reprise.catalogue.models import find_model
from reprise.catalogue.options import MODEL_OPTIONS
from reprise.config.strict_yaml import load_yaml

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILE = re.compile(r"`((?:src|config|docs|tests|workflow)/[\w./-]+\.\w+)`")


def test_the_files_that_it_names_exist():
    names = FILE.findall(TEXT)
    assert len(names) > 10
    assert [name for name in names if not (ROOT / name).is_file()] == []


def test_the_walk_leads_from_the_yaml_to_the_constructor_in_six_files():
    walk = TEXT.partition("## One option, from YAML to the constructor")[2].partition("\n## ")[0]
    steps = [FILE.search(step).group(1) for step in re.findall(r"^\d\. .*", walk, re.MULTILINE)]
    assert len(steps) == len(set(steps)) <= 6
    model = load_yaml(ROOT / steps[0])["families"]["rnn"]["model"]
    assert model["hidden_size"]["value"] > 0
    kind = MODEL_OPTIONS[model["name"]]
    assert "hidden_size" in kind.model_fields
    assert f"src/{kind.__module__.replace('.', '/')}.py" == steps[1]
    assert find_model(model["name"]).file == steps[-1]
