from .engine import Evaluation as Evaluation
from .store import EmbeddingCache as EmbeddingCache
