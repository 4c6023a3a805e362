from .base import Segments as Segments
from .base import Views as Views
from .crops import Grid as Grid
from .crops import Overlap as Overlap
from .phrases import Chunks as Chunks
from .phrases import Coarse as Coarse
from .phrases import Fine as Fine
from .phrases import Triplets as Triplets
