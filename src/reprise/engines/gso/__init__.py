"""The engines of document 000's networks, batch by batch of lines that are packed without padding."""

from reprise.engines.choice import EngineFamily
from reprise.engines.gso.native import FusedEngine
from reprise.engines.gso.reference import ReferenceEngine
from reprise.models.gso import GSO, FirstOrder, MultiplicativeIntegration

choose_engine = EngineFamily(ReferenceEngine, FusedEngine, model_classes=(GSO, FirstOrder, MultiplicativeIntegration))
