from .sample import ImageRef as ImageRef
from .sample import Sample as Sample
