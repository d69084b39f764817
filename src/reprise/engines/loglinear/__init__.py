"""The engines of document 004's log-linear RNNs, window by window."""

from reprise.engines.choice import EngineFamily
from reprise.engines.loglinear.native import FusedEngine
from reprise.engines.loglinear.reference import ReferenceEngine, RMSPropSettings
from reprise.models.loglinear import LogLinearRNN

__all__ = ["RMSPropSettings", "choose_engine"]

choose_engine = EngineFamily(ReferenceEngine, FusedEngine, model_classes=(LogLinearRNN,))
