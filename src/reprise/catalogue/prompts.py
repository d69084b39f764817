"""The prompts of document 002, Tables 3 and 4, by the splits of what models write after them."""

PROMPTS = {
    "hamlet": "To be, or not to be, that is the question: Whether ",
    "history": "History will be kind to me for I intend to ",
    "hansel": "Hansel and Gr",
    # The author's code ends it with the full stop; the document's print leaves open whether a blank follows.
    "operator": "Let T be a bounded linear operator in V, a vector space.",
    "operator-blank": "Let T be a bounded linear operator in V, a vector space. ",
    "bird": "Mas vale pajaro en mano que ver un ciento v",
}
"""Symbols that a book does not have are left out, as the author's code leaves them out."""
