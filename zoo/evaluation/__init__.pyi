from .datamodule import EvaluationDataModule as EvaluationDataModule
from .engine import Evaluation as Evaluation
from .report import Results as Results
