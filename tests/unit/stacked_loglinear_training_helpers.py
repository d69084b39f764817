"""What the tests of the training of stacks of log-linear RNNs share: experiments, and the records of solo runs."""

from __future__ import annotations

from loglinear_helpers import config
from stacked_helpers import experiment
from stacked_training_helpers import solo_of

SIZES = {"embedding_size": 8, "hidden_size": 7, "top_types": 15}
LL = config("ll-rnn", SIZES, batch_size=100, sample_words=5)
RNN = config("rnn", SIZES, batch_size=100, sample_words=5)
STREAMS = config("ll-rnn", SIZES, batch_size=20, scheme="streams")


def unlike(corpus, base=LL):
    """Experiments of one stack that stop at different epochs; the last one diverges."""
    return [
        experiment("two", base, corpus, replicas=2),
        experiment("few", base, corpus, top_types=3, features_from="train", background="none", max_epochs=1),
        experiment("long", base, corpus, replicas=2, max_epochs=4, word_identity=False, rho=0.95),
        experiment("diverges", base, corpus, learning_rate=1e38),
    ]


def solo(job, folder):
    return solo_of(job, folder, "hand")


def together(corpus, base=LL):
    """Experiments that stop in the same epoch."""
    return [experiment("a", base, corpus, replicas=2), experiment("b", base, corpus, top_types=4)]
