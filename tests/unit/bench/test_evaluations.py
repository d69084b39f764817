"""The table of evaluation records in docs/weights.md."""

from config_helpers import ROOT
from evaluation_helpers import evaluation, place

from benchmarks.evaluations import NONE_YET, make_evaluations_table


def test_a_row_is_one_evaluation_of_a_committed_tier(tmp_path):
    assert make_evaluations_table(tmp_path) == NONE_YET
    one = evaluation(relative=3e-7)
    place(tmp_path, one, tier="reduced")
    place(tmp_path, evaluation(replica=1, recorded=False), tier="paper")
    place(tmp_path, evaluation(replica=2), tier="quick")
    lines = make_evaluations_table(tmp_path).splitlines()
    head, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]
    first, second = (dict(zip(head, row, strict=True)) for row in rows)
    assert (first["tier"], first["replica"], first["largest relative difference"]) == ("paper", "1", "–")
    assert (second["tier"], second["seconds"], second["trained on"]) == ("reduced", "12", "cpu (B)")
    assert float(second["largest relative difference"]) == 3e-7


def test_the_committed_table_is_that_of_the_committed_evaluations():
    assert make_evaluations_table(ROOT) in (ROOT / "docs/weights.md").read_text(encoding="utf-8")
