"""Texts that a model of a book writes: texts from a random character, the document's prompts, and their measures.

Document 002, question 2.1 and the bonus. The document shows texts; here they are also counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reprise import counters
from reprise.catalogue.prompts import PROMPTS
from reprise.data.corpus import Corpus
from reprise.evaluation.sampling import compute_log_probabilities, compute_next_symbol_entropy, continue_texts
from reprise.evaluation.text_measures import BookVocabulary, measure_texts
from reprise.models.deep_lstm import DeepLSTM
from reprise.records.record import make_metric

DECODERS = ("sample", "argmax")
_FIRST, _DRAWS, _FINAL, _COMPLETIONS, _EXCERPTS = range(11, 16)  # streams of random numbers
_EXPECTED = ("hansel", "etel")  # "Gr" is to become "Gretel"

Metric = dict[str, Any]
"""An entry of `Outcome.metrics`."""


class BookTexts:
    """Write texts with a book's model and measure them.

    Options are those of the protocol `character-windows`: samples, sample_length, final_length, temperature, ...
    """

    def __init__(self, corpus: Corpus, options: Mapping[str, Any], seed: int) -> None:
        self.options, self.seed = options, seed
        self.symbols = corpus.vocabulary
        self.ids = {symbol: i for i, symbol in enumerate(self.symbols)}
        self.tokens = corpus.splits["train"].tokens
        self.text = self.spell(self.tokens)
        begin, end = corpus.extra.get("licence", (0, len(self.text)))
        self.vocabulary = BookVocabulary(self.text[begin:end], f"{self.text[:begin]} {self.text[end:]}")

    def spell(self, tokens: Sequence[int]) -> str:
        return "".join(self.symbols[i] for i in tokens)

    def encode(self, text: str) -> Tensor:
        """Return the symbols of a text, (T, 1); those that the book does not have are left out."""
        return torch.tensor([self.ids[s] for s in text if s in self.ids], dtype=torch.int64)[:, None]

    def measure_during_training(self, model: DeepLSTM, step: int) -> tuple[list[Metric], list[dict[str, Any]]]:
        """Measure `samples` texts from random characters by either way of drawing, and the first text of each."""
        measured, texts = self._write_from_characters(model, step, self.options["sample_length"], _DRAWS)
        return [*self._measure_expected_text(model), *measured], texts

    def measure_final_texts(
        self, model: DeepLSTM, step: int, windows: Tensor
    ) -> tuple[list[Metric], list[dict[str, Any]]]:
        """Measure longer texts and excerpts of the book of either length, completions of the prompts, entropies.

        `windows` (T, B) are symbols of the book, on which the entropy of the next one is taken.
        """
        measured, _ = self._write_from_characters(model, step, self.options["final_length"], _FINAL)
        metrics = [*self._measure_expected_text(model), *self._measure_full_stop(model), *measured]
        for split, length in (("book", "final_length"), ("book-short", "sample_length")):
            metrics += self._measure_texts(split, self._draw_excerpts(self.options[length]))
        for temperature in (1.0, self.options["temperature"]):
            entropy = compute_next_symbol_entropy(model, windows, temperature)
            split = f"temperature-{temperature:g}"
            metrics.append(make_metric(split, "next_character_entropy", entropy, "nats/character", windows.numel()))
        samples = []
        for number, (name, prompt) in enumerate(PROMPTS.items()):
            measured, texts = self._complete_prompt(model, step, name, prompt, number)
            metrics += measured
            samples += texts
        return metrics, samples

    def _write_from_characters(
        self, model: DeepLSTM, step: int, length: int, stream: int
    ) -> tuple[list[Metric], list[dict[str, Any]]]:
        """Measure texts that begin with characters drawn uniformly, by decoder; return one text of each."""
        numbers = counters.draw_uniform32(
            counters.compute_key(self.seed, _FIRST, step), 0, self.options["samples"]
        ).astype(np.int64)
        first = torch.from_numpy(numbers * len(self.symbols) >> 32)[None]
        key, metrics, texts = counters.compute_key(self.seed, stream, step), [], []
        for decoder in DECODERS:
            written = continue_texts(model, first, length, decoder, self.options["temperature"], key)
            whole = [self.spell(text) for text in torch.cat([first, written]).t().tolist()]
            metrics += self._measure_texts(decoder, whole)
            texts.append(self._make_sample("start", step, decoder, whole[0][:1], whole[0][1:]))
        return metrics, texts

    def _draw_excerpts(self, length: int) -> list[str]:
        """Draw excerpts of the book, as many as texts, a character longer than `length`: texts have a first one too."""
        length = min(length + 1, len(self.text))
        numbers = counters.draw_uniform32(
            counters.compute_key(self.seed, _EXCERPTS), 0, self.options["samples"]
        ).astype(np.int64)
        return [self.text[i : i + length] for i in (numbers * (len(self.text) - length + 1) >> 32).tolist()]

    def _complete_prompt(
        self, model: DeepLSTM, step: int, name: str, prompt: str, number: int
    ) -> tuple[list[Metric], list[dict[str, Any]]]:
        """Measure `samples` continuations of a prompt; return the argmax one and the first `completions`."""
        read = self.encode(prompt)
        if not len(read):
            return [], []
        B, length = self.options["samples"], self.options["sample_length"]
        key = counters.compute_key(self.seed, _COMPLETIONS, step, number)
        drawn = continue_texts(model, read.expand(-1, B), length, "sample", self.options["temperature"], key)
        texts = [self.spell(text) for text in drawn.t().tolist()]
        likeliest = self.spell(continue_texts(model, read, length, "argmax")[:, 0].tolist())
        examples = [("sample", text) for text in texts[: self.options["completions"]]] + [("argmax", likeliest)]
        metric_names = ("words_in_book", "words_in_licence")
        metrics = [m for m in self._measure_texts(name, texts) if m["metric"] in metric_names]
        shown_prompt = self.spell(read[:, 0].tolist())
        return metrics, [self._make_sample(name, step, decoder, shown_prompt, text) for decoder, text in examples]

    def _measure_expected_text(self, model: DeepLSTM) -> Iterator[Metric]:
        """Yield ln P of the expected continuation of a prompt, and its first symbol's rank, 1 the likeliest."""
        name, rest = _EXPECTED
        before, after = self.encode(PROMPTS[name]), self.encode(rest)
        if not len(before) or len(after) < len(rest):
            return
        log_p = compute_log_probabilities(model, torch.cat([before, after])[:-1])[-len(after) :, 0]  # (|rest|, V)
        value = log_p.gather(1, after).sum().item()
        yield make_metric(name, "expected_log_probability", value, "nats", 1)
        rank = int((log_p[0] > log_p[0, after[0, 0]]).sum()) + 1
        yield make_metric(name, "expected_rank", rank, "rank", 1)

    def _measure_full_stop(self, model: DeepLSTM) -> Iterator[Metric]:
        capitals = [i for i, symbol in enumerate(self.symbols) if symbol.isupper()]
        for name, symbols, share in (
            ("operator", [self.ids[" "]] if " " in self.ids else [], "blank_probability"),
            ("operator-blank", capitals, "capital_probability"),
        ):
            read = self.encode(PROMPTS[name])
            if len(read) and symbols:
                value = compute_log_probabilities(model, read)[-1, 0, symbols].exp().sum().item()
                yield make_metric(name, share, value, "share", 1)

    def _measure_texts(self, split: str, texts: Sequence[str]) -> list[Metric]:
        return [make_metric(split, name, value, "share", n) for name, value, n in measure_texts(texts, self.vocabulary)]

    def _make_sample(self, kind: str, step: int, decoder: str, prompt: str, text: str) -> dict[str, Any]:
        temperature = self.options["temperature"] if decoder == "sample" else None
        named = {"kind": kind, "step": step, "decoder": decoder, "temperature": temperature}
        return {**named, "prompt": prompt, "text": text}
