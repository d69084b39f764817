"""The engines of document 001's gated networks: GRU, LSTM, r-GRU and r-LSTM."""

from reprise.engines.choice import EngineFamily
from reprise.engines.gated.grouped import GroupedEngine
from reprise.engines.gated.reference import ReferenceEngine
from reprise.models.gated import GRU, LSTM

choose_engine = EngineFamily(ReferenceEngine, GroupedEngine, model_classes=(GRU, LSTM))
