"""Every kind of mistake in config/ is one line with file and key, and exit code 2."""

from pathlib import Path

import pytest
from config_helpers import copy_config, edit, mistake
from project import TOY

from reprise.cli import main
from reprise.config.base import Strict
from reprise.config.mistakes import parse_model
from reprise.config.project import load_project
from reprise.errors import EXIT_USAGE, UserError, suggest_name

CLAIM = "    compare: {lower: rnn-t5, higher: lstm-t5}\n"
KIND = "    kind: superiority\n    metric: last_ten_accuracy\n    split: train\n" + CLAIM
REPORTED = "      - {metric: last_ten_accuracy, split: train, value: 0.5, from: paper Figure 1}\n"
MARGIN = "margin: {value: 0.1, is: relative, from: 'ours: a guess'}"
TIERS = "tiers: {quick: {replicas: 2}, paper: {replicas: 2}}"
SOURCE = "    source: ours\n  precision"
OTHER = "    source: ours\n    alternatives:\n      other: {}\n  precision"
SIZE = "hidden_size: {value: 8, from: assumption x}"
TABLE = "title: a, place: b, caption: c, function: palindromes.convergence"
OF_LSTM = "settings_of: {lstm-t5: {steps: 7}}"
QUICK = "tiers: {quick: {replicas: 1}}"


DIGITS = [
    # keys and values as such
    ("paper: digits\n", "paper: digit\n", "paper"),
    ("\nassumptions:\n", "\nassumption:\n", "assumption"),
    ("    like: small\n", "    likes: small\n", "experiments.rnn-t5.likes"),
    ("like: small", "like: smal", "experiments.rnn-t5.like"),
    ("  small:\n", "  small:\n    like: other\n", "families.small.like"),
    ("like: small", "like: [small]", "experiments.rnn-t5.like"),
    ("year: 2017\n", "", "year"),
    ("year: 2017\n", "year: -1\n", "year"),
    ("authors: ", "authors: '' # ", "authors"),
    ("paper: digits\n", f"paper: {'a' * 5000}\n", "paper"),
    ("year: 2017\n", "year: 2017\nlink: javascript:alert(1)\n", "link"),
    ("hidden_size: {value", "hidden_size: {vallue", "families.small.model.hidden_size.vallue"),
    ('from: "ours: small"}\n      weight', "from: hearsay}\n      weight", "families.small.model.hidden_size.from"),
    ("from: paper §1}\n    training", "from: paper §1, 2}\n    training", "families.small.data.length.2"),
    ("replicas: 2}, paper", "replicas: 0}, paper", "experiments.rnn-t5.tiers.quick.replicas"),
    ("replicas: 2}, paper", "replica: 2}, paper", "experiments.rnn-t5.tiers.quick.replicas"),
    ("replicas: 2}, paper", "replicas: 2, steps: [1]}, paper", "experiments.rnn-t5.tiers.quick.steps"),
    ("tolerance: 0.0", "tolerance: -1.0", "experiments.count.check.tolerance"),
    ("kind: superiority", "kind: superior", "claims.D1.kind"),
    # names in the catalogue
    ("name: elman", "name: elmann", "families.small.model.name"),
    ("name: elman", "name: gru-lm", "families.small.model.weight_law"),
    ("protocol: final-digit", "protocol: last-digit", "families.small.training.protocol"),
    ("name: lstm-parameter-count", "name: count", "experiments.count.check.name"),
    ("dataset: palindromes", "dataset: palindrome", "families.small.data.dataset"),
    ("replicas: 2}, paper", "replicas: 2, dataset: ''}, paper", "experiments.rnn-t5.tiers.quick.dataset"),
    ("training_curves\n", "training_curve\n", "figures.curves.function"),
    # options
    ("hidden_size: {value: 8", "hidden_size: {value: wide", "families.small.model.hidden_size.value"),
    ("hidden_size: {value: 8", "hidden_size: {value: '8'", "families.small.model.hidden_size.value"),
    ("hidden_size: {value: 8", "hidden_size: {value: 0", "families.small.model.hidden_size.value"),
    ("hidden_size:", "hidden_sise:", "families.small.model.hidden_sise"),
    ("value: float32", "value: float16", "families.small.precision.value"),
    ("replicas: 2}, paper", "replicas: 2, epochs: 1}, paper", "experiments.rnn-t5.tiers.quick.epochs"),
    ("replicas: 2}, paper", "replicas: 2, steps: 0}, paper", "experiments.rnn-t5.tiers.quick.steps"),
    ("replicas: 2}, paper", "replicas: 2, optimiser: adan}, paper", "experiments.rnn-t5.tiers.quick.optimiser"),
    # a side of a comparison is a name, a metric of one, or a mean
    ("lower: rnn-t5", "lower: {experimen: rnn-t5}", "claims.D1.compare.lower.experimen"),
    ("lower: rnn-t5", "lower: {mean: [rnn-t5, lstm-t5], metric: a}", "claims.D1.compare.lower.metric"),
    ("lower: rnn-t5", "lower: {mean: rnn-t5}", "claims.D1.compare.lower.mean"),
    ("lower: rnn-t5", "lower: 5", "claims.D1.compare.lower"),
    (
        "replicas: 2}, paper",
        "replicas: 2, dataset: synthetic, seed: 1}, paper",
        "experiments.rnn-t5.tiers.quick.vocabulary_size",
    ),
    ("    caption: Accuracy", "    options: {smoth: 2}\n    caption: Accuracy", "figures.curves.options.smoth"),
    ("    caption: Accuracy", "    options: {smooth: x}\n    caption: Accuracy", "figures.curves.options.smooth"),
    # names in the file
    ("cited_by: [curves,", "cited_by: [curve,", "experiments.rnn-t5.cited_by"),
    ("year: 2017\n", "year: 2017\nheadline: {claim: D9, words: the gain}\n", "headline.claim"),
    *(
        (
            "year: 2017\n",
            f"year: 2017\nheadline: {{claim: D1, words: a, remark: {{words: b, while: {{{key}: agrees}}}}}}\n",
            "headline.remark.while",
        )
        for key in ("D9", "D1@weight=other", "D1@weight-law=others")
    ),
    ("assumption weight-law", "assumption law", "families.small.model.weight_law.from"),
    ("assumption precision", "deviation x", "families.small.precision.from"),
    ("{name: lstm}", f"{{name: lstm, {SIZE}}}", "experiments.lstm-t5.model.hidden_size.from"),
    (TIERS, "tiers: {}", "experiments.rnn-t5.tiers"),
    (REPORTED, REPORTED * 2, "experiments.rnn-t5.reported.1"),
    (REPORTED, REPORTED.replace("value", "unit: bits/token, value"), "experiments.rnn-t5.reported.0.unit"),
    # figures and tables
    ("\nassumptions:\n", f"\n  none: {{{TABLE}}}\nassumptions:\n", "tables.none"),
    ("function: palindromes.convergence", "function: checks.errors", "tables.convergence.function"),
    ("function: palindromes.training_curves", "function: lecture.error_surface", "figures.curves.function"),
    # claims
    ("tested: The formula counts", f"tested: {'very ' * 17}The formula counts", "claims.D2.tested"),
    ("tested: The formula counts the parameters", "tested: ''", "claims.D2.tested"),
    (CLAIM, f"    was: [{{criterion: a, answer: b, why: c}}]\n{CLAIM}", "claims.D1.afterwards"),
    ("lower: rnn-t5", "lower: rnn-t50", "claims.D1.compare.lower"),
    ("lower: rnn-t5", "lower: rnn-t5@weight-law=other", "claims.D1.compare.lower"),
    ("lower: rnn-t5", "lower: count", "claims.D1.compare.lower"),
    ("lower: rnn-t5", "lower: lstm-t5", "claims.D1.compare"),
    ("    metric: last_ten_accuracy\n    split", "    split", "claims.D1.metric"),
    ("    split: train\n    compare", "    compare", "claims.D1.split"),
    ("kind: superiority", "kind: ordering", "claims.D1.kind"),
    ("    kind: superiority\n", "", "claims.D1.kind"),
    ("    kind: superiority\n", "    kind: superiority\n    reason: No.\n", "claims.D1.reason"),
    ("kind: superiority", "kind: non-inferiority", "claims.D1.margin"),
    (KIND, "    kind: descriptive\n", "claims.D1.reason"),
    ("kind: superiority", f"kind: superiority\n    {MARGIN.replace('0.1', '5.0')}", "claims.D1.margin.value"),
    ("checks: [count]", "checks: [cuont]", "claims.D2.checks"),
    ("checks: [count]", "checks: [rnn-t5]", "claims.D2.checks"),
    ("checks: [count]", f"checks: [count]\n    {MARGIN}", "claims.D2.margin"),
    *(
        (KIND, f"    kind: threshold\n    metric: accuracy\n    split: b\n    {bound}\n", f"claims.D1.{key}")
        for bound, key in [
            ("level: {experiments: [rnn-t5]}", "level"),
            ("level: {experiments: [rnn-t5], at_least: 2, at_most: 1}", "level"),
            ("level: {experiments: [rnn-t5, rnn-t5], at_least: 1}", "level.experiments.1"),
            (f"level: {{experiments: [rnn-t5], equals: 1{'0' * 400}}}", "level.equals"),
            ("share: {experiments: [rnn-t5], reaches: 1, at_least: 1}", "share.at_least"),
            ("share: {experiments: [rnn-t5], reaches: 2, at_least: 0.5}", "share.reaches"),
        ]
    ),
    (
        KIND,
        f"    kind: equivalence\n    metric: a\n    split: b\n    {MARGIN}\n"
        "    optimum: [[rnn-t5, lstm-t5], [rnn-t5, lstm-t5, rnn-t5]]\n",
        "claims.D1.optimum",
    ),
    # names and values inside lists, and nothing that is compared with itself
    *(
        (CLAIM, f"    {line}\n", f"claims.D1.{key}")
        for line, key in [
            ("compare: [{lower: rnn-t5, higher: lstm-t5}, {lower: rnn-t5}]", "compare.1.higher"),
            ("compare: {lower: rnn-t5, higher: {experiment: a, split: 3}}", "compare.higher.split"),
            ("order: [a, [b, {experiment: c, splt: d}]]", "order.1.1.splt"),
            ("gaps: [{name: a, lower: a, higher: b}, {name: b, lower: a, higher: B}]", "gaps.1.higher"),
            ("gaps: [{name: a, lower: a, higher: b}, {lower: a, higher: c}]", "gaps.1.name"),
            ("compare: {lower: a, higher: 3}", "compare.higher"),
            ("order: [a, 3]", "order.1"),
            ("order: [rnn-t5]", "order"),
            ("compare: {lower: rnn-t5, higher: rnn-t5}", "compare"),
            ("compare: [{lower: rnn-t5, higher: {experiment: rnn-t5, split: train}}]", "compare.0"),
            ("gaps: [&one {name: a, lower: rnn-t5, higher: lstm-t5}, *one]", "gaps"),
            (f"{CLAIM.strip()}\n    {MARGIN.replace('0.1', '.inf')}", "margin.value"),
            (f"{CLAIM.strip()}\n    {MARGIN.replace('ours: a guess', 'deviation x')}", "margin.from"),
        ]
    ),
    ("kind: superiority", "kind: ordering\n    order: [rnn-t5, [lstm-t5, rnn-t5]]", "claims.D1.kind"),
    ("    why: The usual one.\n    unrun: A test needs none.\n", "    why: One.\n", "assumptions.precision.unrun"),
    # alternatives
    *(
        (SOURCE, OTHER.format(f"{{{text}}}"), f"assumptions.weight-law.alternatives.other.{key}")
        for text, key in [
            ("metrics: {accuracy: loss}", "metrics"),
            ("metrics: {last_ten_accuracy: loss}, experiments: [rnn-t5]", "experiments"),
            (f"settings: {{hidden_size: 9}}, {QUICK}", "experiments"),
            ("settings: {hidden_size: 9}, experiments: [rnn-t5]", "tiers"),
            (f"experiments: [rnn-t5], {QUICK}", "settings"),
            (f"settings: {{hidden_size: 8}}, experiments: [rnn-t5], {QUICK}", "settings"),
            (f"settings: {{hidden_sice: 8}}, experiments: [rnn-t5], {QUICK}", "settings.hidden_sice"),
            (f"settings: {{steps: 9}}, {OF_LSTM}, experiments: [rnn-t5], {QUICK}", "settings_of"),
        ]
    ),
    # printed numbers
    *(
        ("\nclaims:\n", f"\narithmetic:\n  total: {{text: t, place: p, {text}}}\nclaims:\n", f"arithmetic.total{key}")
        for text, key in [
            ('formula: a + b, values: {a: 1}, printed: "3"', ".formula"),
            ('formula: a, values: {a: 1, b: 2}, printed: "3"', ".values.b"),
            ('formula: a.real, values: {a: 1}, printed: "3"', ".formula"),
            ('formula: exp((a - 9) ** 0.5), values: {a: 1}, printed: "3"', ".formula"),
            ('formula: a, values: {a: .nan}, printed: "3"', ".values.a"),
            ("formula: a, values: {a: 1}, printed: about 3", ".printed"),
            ('formula: a, values: {a: 1}, printed: "0"', ".printed"),
            ("formula: a, values: {a: 1}, equals: a - a", ".equals"),
            ("formula: a, values: {a: 1}", ""),
            ('formula: a, values: {a: 1}, printed: "1", experiment: rnn', ".experiment"),
        ]
    ),
]
FILE = "    files:\n      - {name: a.txt, url: 'https://example.org/a', algorithm: sha256, digest: " + "a" * 64 + "}\n"
CONFIG = [
    ("engine: auto", "engnie: auto", "engnie"),
    ("engine: auto", "engine: fussed", "engine"),
    ("device: cpu", "device: tpu", "device"),
    ("  - words\n", "  - words\n  - words\n", "papers"),
    ("  - words\n", "  - word\n", "papers"),
    ("prepare: synthetic\n", "prepare: syntetic\n", "datasets.synthetic.prepare"),
    ("    prepare: synthetic\n", "", "datasets.synthetic.prepare"),
    ("runtime: 5", "runtime: 0", "resources.fetch.runtime"),
    ("", FILE.replace("aaaa}", "AAAA}"), "datasets.synthetic.files.0.digest"),
    ("", FILE.replace("sha256", "sha1"), "datasets.synthetic.files.0"),
    ("", FILE.replace("sha256", "md5"), "datasets.synthetic.files.0.algorithm"),
    ("", FILE.replace("https", "ftp"), "datasets.synthetic.files.0.url"),
    ("", FILE.replace("name: a.txt", "name: ../a"), "datasets.synthetic.files.0.name"),
    ("", FILE.replace("{name", "{prefix: 3, name"), "datasets.synthetic.files.0"),
    ("", FILE.replace("{name: a.txt", "{member: b/c, name: a"), "datasets.synthetic.files.0"),
    ("", FILE + FILE.partition("\n")[2], "datasets.synthetic"),
]
PERPLEXITY = "  s-rnn-4:\n    reported: [{metric: perplexity, split: test, value: 9, from: paper Table 1}]\n"
LOW = "    tested: It is low\n    place: a\n    kind: threshold\n    split: test\n    metric: "
LEVEL = "\n    level: {experiments: [s-rnn-4], at_most: 9}\n"
SHARE = "{experiments: [s-rnn-4], reaches: 9, at_least: 0.5}"
LEARNED = "{metric: perplexity, split: test, below: 9, why: a}"
UNIT = "{stated: bits/character, other: nats/character, experiments: [s-rnn-4]}"
WORDS = [
    # what no record of the protocol has
    ("  s-rnn-4:\n", PERPLEXITY.replace("perplexity", "perplexitty"), "experiments.s-rnn-4.reported.0.metric"),
    ("  s-rnn-4:\n", PERPLEXITY.replace("test", "tets"), "experiments.s-rnn-4.reported.0.split"),
    *(
        ("\ntables:\n", f"\nclaims:\n  W1:\n{LOW}{metric}{LEVEL}\ntables:\n", f"claims.W1.{key}")
        for metric, key in [
            ("perplexity@epoch=2", "metric"),
            ("cross_entropy@2", "metric"),
            ("cross_entropi", "metric"),
            ("perplexity\n    learned: {metric: perplexiti, split: test, below: 9, why: a}", "learned.metric"),
        ]
    ),
    *(
        ("\ntables:\n", f"\nclaims:\n  W1:\n{low}{rest}\ntables:\n", f"claims.W1.{key}")
        for low, rest, key in [
            (LOW, f"perplexity\n    share: {SHARE}\n    learned: {LEARNED}", "learned"),
            (LOW.replace("threshold", "unit"), f"perplexity\n    unit: {UNIT}", "metric"),
            (LOW.replace("threshold", "unit"), f"cross_entropy\n    unit: {UNIT}", "unit"),
        ]
    ),
    (
        "\ntables:\n",
        f"\nclaims:\n  W1:\n{LOW}perplexity{LEVEL}\ntables:\n".replace("split: test", "split: dev"),
        "claims.W1.split",
    ),
    ('document: "001"', 'link: https://example.org\ndocument: "002"', "document"),
]
ROWS = [
    *(("papers/digits.yaml", *row) for row in DIGITS),
    *(("papers/words.yaml", *row) for row in WORDS),
    *(("config.yaml", *row) for row in CONFIG),
]


@pytest.mark.parametrize(("file", "old", "new", "key"), ROWS, ids=[f"{row[3]}-{i}" for i, row in enumerate(ROWS)])
def test_a_mistake_is_one_line_with_file_and_key(tmp_path, monkeypatch, capsys, file, old, new, key):
    clone = copy_config(tmp_path, TOY)
    if file == "config.yaml":
        old, new = (old, new) if old else ("    prepare: synthetic\n", "    prepare: synthetic\n" + new)
    edit(clone, file, old, new)
    monkeypatch.chdir(clone)
    assert main(["resolve", "--tier", "quick"]) == EXIT_USAGE
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith(f"reprise: error: config/{file}")
    assert f": key {key}: " in error


@pytest.mark.parametrize(
    ("old", "new", "overrides", "beginning"),
    [
        ("device: cpu", "device: tpu", {"tier": "quick"}, ": key device"),
        ("device: cpu", "device: cpu", {"device": "tpu"}, " (with --config device=tpu): key device"),
        ("tier: paper", "tier: banana", {"tier": "quick"}, ": key tier"),
    ],
)
def test_the_command_line_is_named_for_what_it_said_alone(tmp_path, old, new, overrides, beginning):
    edit(copy_config(tmp_path, TOY), "config.yaml", old, new)
    with pytest.raises(UserError) as caught:
        load_project(tmp_path, overrides)
    assert str(caught.value).startswith(f"{tmp_path / 'config/config.yaml'}{beginning}")


def test_a_file_that_is_no_mapping_is_not_shown_whole(tmp_path):
    path = copy_config(tmp_path, TOY) / "config/papers/digits.yaml"
    path.write_text("".join(f"- {line!r}\n" for line in path.read_text(encoding="utf-8").splitlines()))
    assert len(mistake(tmp_path)) < 500


def test_of_many_names_few_are_listed():
    names = [f"{paper}/{kind}-{n}" for paper in ("digits", "words") for kind in ("rnn", "lstm") for n in range(20)]
    assert suggest_name("nosuch", names) == "known are digits, words"
    assert suggest_name("words/feed-forward", names).endswith("and 28 more")
    assert suggest_name("words/rnn3", names) == "did you mean 'words/rnn-3'?"
    assert suggest_name("lstm-7", ["digits/rnn-7", "words/lstm-7"]) == "did you mean 'words/lstm-7'?"
    assert suggest_name("gru", ["rnn", "lstm"]) == "known are lstm, rnn"


class Entry(Strict):
    title: str


class Entries(Strict):
    alpha: Entry
    beta: Entry


@pytest.mark.parametrize(
    ("second", "ending"),
    [({"title": "b"}, "did you mean 'title'?"), ({}, "(and 1 more)"), ({"titel": "b"}, "(and 1 more)")],
)
def test_other_mistakes_are_counted_and_a_misspelt_key_is_one(second, ending):
    with pytest.raises(UserError) as caught:
        parse_model(Entries, {"alpha": {"titel": "a"}, "beta": second}, Path("f.yaml"))
    assert str(caught.value).endswith(ending)
