"""Metrics in the words of sentences: none of the claims' numbers is called by the key that its record has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reprise.config.project import load_project
from reprise.evidence.words import name_of

ROOT = Path(__file__).parents[3]


WORDS = """
perplexity test: test perplexity
bleu test: test BLEU
cross_entropy_best test1: Test1 cross-entropy at the best epoch
agreement/all/all/3-8 tests: share of agreements judged right on Test1 and Test2 at a distance of 3 to 8 tokens
agreement/Gender/x-y/all tests: share of agreements judged right on Test1 and Test2 at any distance, Gender, x-y
cross_entropy_mark_0 train: training loss at the start
cross_entropy_mark_21 train: training loss at the tables' step no. 21
words_in_licence bird: share of the licence's words after “Mas vale pajaro …”
words_in_licence sample: share of the licence's words in sampled texts
cross_entropy@epoch=5 valid: validation cross-entropy at epoch 5
words_in_book@750 sample: share of words that the book has in sampled texts at step 750
distinct_2 argmax: share of different sequences of 2 words in argmax texts
small_the_is_cat_order_2 phrases: ln P of “small the is cat” for n = 2
stored_order_1_halved_1_times train: number of different 1-grams in 1/2 of the training text
stored_order_5 train: number of different 5-grams in the training text
log10_jacobian_at_72 start: log10 of the Jacobian's norm over 72 words before training
accuracy_at_25 test: test accuracy over 25 words
longest_step plain: longest step without clipping
a_new_metric test: test a new metric
"""


@pytest.mark.parametrize("line", WORDS.strip().splitlines())
def test_words(line):
    metric, _, words = line.partition(": ")
    assert name_of(*metric.split(" ")) == words


def test_no_claim_is_about_a_key():
    told = set()
    for paper in load_project(ROOT).papers.values():
        for claim in paper.claims.values():
            told |= {name_of(term.metric, term.split) for _, term in claim.sides()}
    keys = re.compile(r"_|/all|\bmark \d|\border \d|halved|\b(all|train|tests|phrases|bird|hamlet|start) ")
    assert len(told) > 50
    assert not [words for words in told if keys.search(words.replace("before training", ""))]
