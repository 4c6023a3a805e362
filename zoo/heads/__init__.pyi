from .base import Head as Head
from .com_clip import ComCLIP as ComCLIP
from .cosine import Cosine as Cosine
from .cross_modal import CrossModal as CrossModal
from .linear import Linear as Linear
from .max_sim import MaxSim as MaxSim
from .structure_guided import StructureGuided as StructureGuided
from .text_conditioned_pooling import TextConditionedPooling as TextConditionedPooling
