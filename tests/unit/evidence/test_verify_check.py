"""`reprise verify --check` beyond the claims: README's results and their plot."""

import shutil
from pathlib import Path

import pytest
from config_helpers import ROOT
from verify_helpers import verify

from reprise.cli import main
from reprise.errors import EXIT_FAILED
from reprise.report.page.readme import BEGIN, END, PLOT


@pytest.mark.slow
def test_check_covers_the_results_in_readme_and_their_plot(clone, capsys):
    shutil.copytree(ROOT / "config/reference", "config/reference", dirs_exist_ok=True)
    config = Path("config/config.yaml")
    config.write_text(config.read_text(encoding="utf-8").replace("tier: paper", "tier: quick"), encoding="utf-8")
    readme = Path("README.md")
    readme.write_text(f"# Toy\n{BEGIN}\n{END}\n", encoding="utf-8")
    for command in (["collect"], ["verify"], ["render"]):
        assert main([*command, "--tier", "quick"]) == 0
    assert main(["render", "--readme"]) == 0
    assert verify("--check") == 0
    for path in (readme, PLOT):
        content = path.read_text(encoding="utf-8")
        path.write_text(content.replace("</svg>", "<g/></svg>").replace(END, f"9 of 9\n{END}"), encoding="utf-8")
        assert verify("--check") == EXIT_FAILED
        assert str(path) in capsys.readouterr().err
        path.write_text(content, encoding="utf-8")
