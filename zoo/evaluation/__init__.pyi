from .embedding_cache import EmbeddingCache as EmbeddingCache
from .engine import Evaluation as Evaluation
