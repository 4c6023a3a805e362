from .base import PairScorer as PairScorer
from .blip_itm import BlipITM as BlipITM
from .loading import load_pair_scorer as load_pair_scorer
from .multimodal_embedder import MultimodalEmbedder as MultimodalEmbedder
from .vqa_score import VQAScore as VQAScore
