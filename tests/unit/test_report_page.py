"""The page of a tier: all of a paper is on it, and it asks nothing of a network."""

from __future__ import annotations

import json
import re

import pytest
from page_helpers import Reader, read
from test_report_case import PAPER, TIER, make_context, make_project, metric, resolve

from reprise.catalogue.models import MODELS
from reprise.config.displays import entries
from reprise.errors import UserError
from reprise.report import facts
from reprise.report.context import load_contexts
from reprise.report.equations import equation
from reprise.report.page import natural, page, write_page
from reprise.report.render import render

WITHOUT_EQUATION = {"none"}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> tuple[str, Reader]:
    project = make_project(tmp_path_factory.mktemp("project"))
    contexts = load_contexts(project, resolve())
    render(project, contexts)
    text = write_page(project, contexts).read_text(encoding="utf-8")
    return text, read(text)


def test_every_display_claim_assumption_and_experiment_is_on_the_page(rendered):
    text, reader = rendered
    assert {f"toy-{name}" for name in (*PAPER.figures, *PAPER.tables)} <= set(reader.ids)
    assert {f"experiment-toy-{e.experiment}" for e in resolve()} <= set(reader.ids)
    assert {"toy-assumption-epochs", "toy-assumption-width", "toy-deviation-corpus"} <= set(reader.ids)
    assert len(reader.ids) == len(set(reader.ids))
    for words in (
        "It holds too.",
        "Licence.",
        "lstm-t30",
        "an erratum".capitalize(),
    ):
        assert words in text
    assert "First step at 100" in text


def test_a_cards_command_trains_what_has_a_record_again_and_what_has_none_where_the_pipeline_looks(tmp_path):
    made = [metric("ptb-b", 2, "perplexity", 30.0, "test"), metric("ptb-b", 1, "perplexity", 30.0, "test")]
    project = make_project(tmp_path, metrics=[made[0], made[1] | {"engine": "fused"}], curves=[])
    text = page(project, load_contexts(project, resolve()))
    found = dict(re.findall(r"<code>python -m reprise train toy/(\S+) --tier paper (.*?)</code>", text))
    assert len(found) == len(resolve())
    assert found["ptb-b"] == "--replica 1 --engine fused --output again.json"
    assert found["ptb-c"] == "--replica 0"


def test_identifiers_are_unique_where_experiments_and_displays_share_their_names(tmp_path):
    names = ("assumptions", "deviations", "experiments")
    cited = {"cited_by": [*PAPER.experiments["identity"].cited_by, *names]}
    experiments = {"identity": PAPER.experiments["identity"].model_copy(update=cited)}
    paper = PAPER.model_copy(
        update={
            "experiments": {**PAPER.experiments, **experiments, "figure-1": PAPER.experiments["ptb-a"]},
            "tables": {**PAPER.tables, **dict.fromkeys(names, PAPER.tables["checks"])},
        }
    )
    project = make_project(tmp_path, paper=paper)
    reader = read(page(project, load_contexts(project, resolve(paper))))
    assert {"toy-figure-1", "experiment-toy-figure-1", *(f"toy-{name}" for name in names)} <= set(reader.ids)
    assert len(reader.ids) == len(set(reader.ids))
    inside = {link[1:] for link in reader.links if link.startswith("#")}
    assert "experiment-toy-figure-1" in inside
    assert inside <= set(reader.ids)


def test_every_head_says_that_it_is_a_columns_and_every_table_that_scrolls_has_a_name(rendered):
    text, _ = rendered
    assert text.count("<th ") > 30
    assert re.findall(r"<th(?![a-z])(?! scope=\"col\")[^>]*>", text) == []
    wrappers = re.findall(r"<div class=\"scroll[^>]*>", text)
    assert len(wrappers) == text.count("<table")
    assert [w for w in wrappers if not re.search(r'tabindex="0" role="region" aria-label="[^"]+"', w)] == []


def test_names_are_sorted_by_their_numbers(rendered):
    text, _ = rendered
    assert sorted(["C10", "C3", "C3-b", "C", "U1"], key=natural) == ["C", "C3", "C3-b", "C10", "U1"]
    assert f'<td data-order="{natural("C2")}">C2</td>' in text
    assert f'<td data-order="{natural("rnn-t10")}"><a class="id" href="#experiment-toy-rnn-t10">' in text


def test_a_tables_notes_do_not_scroll_with_it(rendered):
    text, _ = rendered
    table = text[text.index('id="toy-perplexity"') :]
    assert re.search(r"</tbody>\s*</table></div>\s*<ul class=\"notes\">", table[: table.index('class="caption"')])


def test_the_page_loads_nothing_and_its_links_lead_somewhere(rendered):
    text, reader = rendered
    # every figure, and the curves of the two experiments that have one
    assert sum(address.startswith("data:image/svg+xml;base64,") for address in reader.loaded) == len(PAPER.figures)
    assert sum(address.startswith("data:image/png;base64,") for address in reader.loaded) == 1
    assert len(reader.loaded) == len(PAPER.figures) + 1
    assert "@import" not in text
    assert not re.search(r"url\((?![\"']?data:)", text)
    assert text.count("<script") == 1
    assert re.findall(r"^import .* from \"([a-z:/]+);", text, re.MULTILINE) == ["data:text/javascript"]
    assert not reader.open
    inside = {link[1:] for link in reader.links if link.startswith("#")}
    assert inside <= set(reader.ids)
    assert "toy-assumption-epochs" in inside


def test_words_of_the_configuration_are_escaped(rendered):
    text, _ = rendered
    assert "Title of &lt;palindromes.training_curves&gt;" in text
    assert "Title of <" not in text


def test_the_head_counts_what_finished_diverged_and_is_missing(rendered):
    text, _ = rendered
    head = re.sub(r"<[^>]+>", " ", text[text.index("</p>", text.index("<header>")) : text.index("<nav")])
    head = head[: head.index("Search the claims")]
    numbers = [int(number) for number in re.findall(r"\d+", head)]
    # rnn-t10 with its variant, ptb-b and two checks are complete, of nine; 8 of 16 replicas finished.
    assert numbers == [5, 9, 16, 8, 1, 7]


CLAIMS = {
    "toy": {
        "C1": {
            "verdict": "not reproduced",
            "sentence": "Fails: as printed, error <0.25>.",
            "experiments": ["identity", "erratum"],
            "alternatives": {
                "width=nine": {
                    "verdict": "reproduced",
                    "before": "not reproduced",
                    "flips": True,
                    "experiments": ["rnn-t10"],
                    "parts": [1, 1],
                    "same": False,
                }
            },
        },
        "C2": {"verdict": "reproduced", "sentence": "Holds.", "experiments": ["identity"], "alternatives": {}},
    }
}


def test_claims_stand_with_verdict_sentence_and_what_would_turn_them(tmp_path):
    project = make_project(tmp_path)
    (tmp_path / "results" / TIER / "claims.json").write_text(json.dumps(CLAIMS))
    text = page(project, load_contexts(project, resolve()))
    row = text[text.index('id="toy-claim-C1"') : text.index('id="toy-claim-C2"')]
    assert '<td class="bad">not reproduced</td>' in row
    assert "error &lt;0.25&gt;." in row
    assert "Changes under width=nine (reproduced)." in row
    assert "1 of 1 alternative run." in row
    assumption = text[text.index('id="toy-assumption-width"') : text.index('id="deviations-of-toy"')]
    assert "Alternatives: nine (trained: C1: not reproduced → reproduced)." in assumption
    without = text[text.index('id="toy-assumption-epochs"') : text.index('id="toy-assumption-width"')]
    assert "No alternative is run." in without
    assert "Alternatives run" not in text
    assert 'href="#experiment-toy-erratum"' in row
    summary = text[text.index('id="summary"') : text.index("</table>")]
    found = re.findall(r'<td data-verdict="([a-z ]+)">(\d+)</td>', summary)
    one = [("reproduced", "1"), ("not reproduced", "1"), ("claims", "2")]
    assert found == one + one


def test_an_experiment_that_the_tier_has_not_is_named_and_leads_nowhere(tmp_path):
    project = make_project(tmp_path)
    found = {"toy": {"C1": {**CLAIMS["toy"]["C1"], "experiments": ["identity", "lstm-t30"]}}}
    (tmp_path / "results" / TIER / "claims.json").write_text(json.dumps(found))
    text = page(project, load_contexts(project, resolve()))
    row = text[text.index('id="toy-claim-C1"') : text.index('id="toy-claim-C2"')]
    assert 'See <a href="#experiment-toy-identity">identity</a>, lstm-t30.' in row
    reader = read(text)
    assert {link[1:] for link in reader.links if link.startswith("#")} <= set(reader.ids)


def test_what_trains_nothing_is_not_called_untrained(rendered):
    text, _ = rendered
    listed = text[text.index('id="experiments-table"') :]
    states = {name: state for name, state in re.findall(r'">([\w-]+)</a></td><td>[^<]+</td><td>([a-z ]+)</td>', listed)}
    assert (states["waiting"], states["identity"], states["ptb-c"]) == ("not run", "complete", "not trained")


def test_an_alternative_that_was_not_run_is_not_said_to_be(rendered):
    text, _ = rendered
    assumption = text[text.index('id="toy-assumption-width"') : text.index('id="deviations-of-toy"')]
    # Of the toy paper's records those of the variant are there, but claims.json is not.
    assert "Alternatives: nine (trained: no claim compares what it was run on)." in assumption


def test_many_experiments_with_missing_replicas_are_counted_in_english(tmp_path):
    experiments = {f"ptb-{i}": PAPER.experiments["ptb-a"] for i in range(5)}
    paper = PAPER.model_copy(update={"experiments": {**PAPER.experiments, **experiments}})
    metrics = [metric(f"ptb-{i}", 0, "perplexity", 100.0, "test") for i in range(5)]
    context = make_context(tmp_path, paper=paper, metrics=metrics)
    assert "Replicas still missing in 5 experiments." in facts.replicas(context, "perplexity")


def test_a_card_shows_the_equation_and_leads_to_its_records(rendered):
    text, reader = rendered
    card = text[
        text.index('<details id="experiment-toy-rnn-t10">') : text.index('<details id="experiment-toy-rnn-t20">')
    ]
    assert "h(t) = tanh(W_hx x(t) + W_hh h(t-1) + b_h)" in card
    record = next(e for e in resolve() if e.experiment == "rnn-t10").record_path(2)
    assert record.removeprefix(f"results/{TIER}/") in reader.links


def test_a_number_printed_in_another_unit_than_ours_says_so(rendered, tmp_path, monkeypatch):
    before, _ = rendered
    entry = PAPER.experiments["ptb-a"]
    printed = [entry.reported[0].model_copy(update={"unit": "bits/character"})]
    monkeypatch.setitem(PAPER.experiments, "ptb-a", entry.model_copy(update={"reported": printed}))
    project = make_project(tmp_path)
    contexts = load_contexts(project, resolve())
    after = page(project, contexts)
    for text, found in ((before, 0), (after, 2)):  # in its card and in the list of experiments
        assert text.count(">146.7 (printed as bits/character)</td>") == found
    assert contexts["toy"].printed_unit("ptb-a", "perplexity", "valid") is None
    assert "<td>146.7</td>" in before


def test_every_model_that_is_trained_shows_an_equation():
    without = [name for name in MODELS if not equation(name) and name not in WITHOUT_EQUATION]
    assert without == []
    assert "U_h^{f(x_t)}" in equation("r-rntn")
    # The output layer is what document 004 is about, and what the gated models share.
    assert "exp(a_t . phi(x))" in equation("log-linear")
    assert all("Softmax(W_o h_t + b_o)" in equation(name) for name in ("gru-lm", "lstm-lm"))
    assert equation("no such model") == ""


def test_captions_tell_of_the_replicas(tmp_path):
    context = load_contexts(make_project(tmp_path), resolve())["toy"]
    assert facts.replicas(context, "figure-1") == (
        "1 experiment, 3 replicas. Diverged: ELMAN, T = 10 (1 of 3). "
        "Not trained yet: ELMAN, T = 20. Not run at this tier: LSTM, T = 30."
    )
    found = facts.replicas(context, "perplexity")
    assert "Replicas still missing: A (1 of 3). Not trained yet: C." in found
    assert found.endswith("On another corpus at this tier: B | b.")
    empty = load_contexts(make_project(tmp_path, metrics=[], curves=[]), resolve())["toy"]
    assert facts.replicas(empty, "figure-1") == "Not trained yet."


def test_a_display_that_is_not_rendered_is_named_with_its_command(tmp_path):
    project = make_project(tmp_path)
    text = page(project, load_contexts(project, resolve()))
    assert "python -m reprise render --tier paper toy-figure-1" in text
    assert "python -m reprise render --tier paper toy-checks" in text
    assert all(address.startswith("data:image/png") for address in read(text).loaded)
    assert not [link for link in read(text).links if link.startswith(("figures/", "tables/"))]


def test_a_display_that_is_rendered_links_its_files(rendered):
    _, reader = rendered
    assert {f"figures/toy-figure-1.{kind}" for kind in ("svg", "png", "pdf")} <= set(reader.links)
    assert {f"tables/toy-checks.{kind}" for kind in ("csv", "md")} <= set(reader.links)


def test_a_diverged_replica_stands_in_its_experiments_card(rendered):
    text, _ = rendered
    card = text[text.index('id="experiment-toy-rnn-t10"') : text.index('id="experiment-toy-rnn-t20"')]
    assert "1 diverged" in card
    assert '<td class="bad">diverged</td>' in card
    assert "0.7 ± 4.4" in card


def test_two_displays_of_one_name_are_refused():
    paper = PAPER.model_copy(update={"tables": {**PAPER.tables, "figure-1": PAPER.tables["checks"]}})
    with pytest.raises(UserError, match=r"toy\.yaml: key tables\.figure-1: 'toy-figure-1' is taken"):
        entries({"toy": paper})
