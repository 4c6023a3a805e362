from .segments import Chunks as Chunks
from .segments import Coarse as Coarse
from .segments import Fine as Fine
from .segments import Segments as Segments
from .views import Grid as Grid
from .views import Overlap as Overlap
from .views import Views as Views
