from .engine import Evaluation as Evaluation
from .vector_store import EmbeddingCache as EmbeddingCache
