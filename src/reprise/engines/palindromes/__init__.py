"""The engines of document 002's networks with one loss a sequence, on its last state."""

from reprise.engines.choice import EngineFamily
from reprise.engines.palindromes.native import FusedEngine
from reprise.engines.palindromes.reference import ReferenceEngine
from reprise.models.elman import Elman
from reprise.models.lstm import LSTM

choose_engine = EngineFamily(ReferenceEngine, FusedEngine, model_classes=(Elman, LSTM))
