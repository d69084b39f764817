"""The words of answers and evidence with their meanings, for page, README and tables."""

from reprise.evidence.verdicts import AGREES, DISAGREES, UNDECIDED

ANSWER_MEANINGS = {
    AGREES: "every judged comparison is significant (one-sided, 2.5 %; for equality two tests at 5 %).",
    DISAGREES: "the opposite of one comparison is significant after Holm's correction over all comparisons.",
    UNDECIDED: "the runs show neither the claim nor its opposite.",
}
"""When a claim has which answer."""
TERMS = {
    "CI": "95 % confidence interval: over seeds or folds, not over test items.",
    "fold": "one part of the data that is held out for the test while a model is trained on the others.",
    "replica": "one training of a model, with a seed or a fold of its own. It leaves one run record.",
    "tier": (
        "how much is trained: paper (the paper's protocol but for the deviations listed), reduced (fewer epochs or "
        "folds, less or other text), quick (a test of the pipeline)."
    ),
    "replicates": "the main claim of a document agrees.",
    **ANSWER_MEANINGS,
    "not judged": (
        "a model that should be better did not learn its task by the claim's rule, and nothing refutes the claim."
    ),
    "weakest comparison": "of the judged comparisons, the one with the largest p-value.",
    "alternative setting": "another choice of something that the paper leaves open.",
    "as chosen": (
        "with our own choices of what the paper leaves open. They were fixed before their results unless the "
        "assumption says otherwise."
    ),
}
"""The terms that the page explains where they stand first."""
