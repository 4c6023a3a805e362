from .benchmarks import EvaluationDataModule as EvaluationDataModule
from .captions import CaptionDataModule as CaptionDataModule
from .features import Features as Features
from .plain_loop import TrainingLoader as TrainingLoader
