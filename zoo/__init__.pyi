from . import benchmarks as benchmarks
from . import datamodules as datamodules
from . import evaluation as evaluation
from . import heads as heads
from . import negatives as negatives
from . import objectives as objectives
from . import units as units
from .api import Model as Model
from .api import as_mteb as as_mteb
from .api import evaluate as evaluate
from .api import load as load
from .api import save as save
from .results.comparison.compare import compare as compare

__version__: str
