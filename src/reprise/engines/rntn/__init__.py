"""The engines of document 001's batch-1 language models: s-RNN, RNTN, r-RNTN and m-RNN."""

from reprise.engines.choice import EngineFamily
from reprise.engines.rntn.native import FusedEngine
from reprise.engines.rntn.reference import ReferenceEngine
from reprise.engines.rntn.subsequences import SGDSettings, Subsequences, cut_subsequences
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN

__all__ = ["SGDSettings", "Subsequences", "choose_engine", "cut_subsequences"]

choose_engine = EngineFamily(ReferenceEngine, FusedEngine, model_classes=(RNTN, MRNN))
