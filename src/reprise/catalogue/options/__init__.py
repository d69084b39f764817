"""The options of everything that the configuration names, one class a name: validation, editors and docs use them.

Training has no pydantic: it reads resolved configurations and imports nothing of this package.
"""

from reprise.catalogue.options import (
    books,
    gated,
    generated,
    gso,
    language_model,
    loglinear,
    ngrams,
    nothing,
    palindromes,
    recall,
    rntn,
    sentences,
    texts,
    window,
)
from reprise.catalogue.options.base import index_by_name

MODEL_OPTIONS = index_by_name(
    nothing.NoModel,
    palindromes.PalindromeNetwork,
    books.StackedLSTM,
    rntn.RNTN,
    rntn.MRNN,
    gated.GatedNetwork,
    gso.GSO,
    gso.FirstOrder,
    gso.MultiplicativeIntegration,
    loglinear.LogLinear,
    ngrams.CharacterNGram,
    ngrams.WordNGram,
    ngrams.AdditiveNGram,
    ngrams.StupidBackoff,
    window.WindowModel,
    recall.NotesNetwork,
    recall.NotesRNN,
    recall.SingleUnit,
    sentences.Tagger,
    sentences.SentenceClassifier,
    sentences.Translator,
)
"""`model: {name: …}` -> its options."""

PROTOCOL_OPTIONS = index_by_name(
    nothing.CorpusFacts,
    palindromes.FinalDigit,
    books.CharacterWindows,
    rntn.SubsequenceSGD,
    gated.BatchedSGD,
    gso.LineEpochs,
    language_model.LanguageModel,
    loglinear.Windows,
    ngrams.NGramCount,
    ngrams.WordNGramCount,
    ngrams.WordOrder,
    window.WindowSGD,
    recall.Recall,
    recall.RandomJacobians,
    recall.ErrorSurface,
    sentences.Tagging,
    sentences.SentenceLabels,
    sentences.Translation,
)
"""`training: {protocol: …}` -> its options."""

PREPARATION_OPTIONS = index_by_name(
    nothing.NoPreparation,
    palindromes.Palindromes,
    books.Books,
    recall.Names,
    texts.PTB,
    texts.Text8,
    texts.CharacterLines,
    texts.UDFrench,
    texts.UDTags,
    texts.Multi30k,
    generated.Synthetic,
    generated.SyntheticProse,
    generated.SyntheticPairs,
    generated.SyntheticTags,
    generated.SyntheticTagged,
    generated.SyntheticLines,
)
"""`prepare: …` of a dataset -> its options."""
