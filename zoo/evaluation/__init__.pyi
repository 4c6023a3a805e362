from .engine import Evaluation as Evaluation
