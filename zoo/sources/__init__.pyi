from .negative_images import NegativeImages as NegativeImages
from .own_images import OwnImages as OwnImages
from .sample import ImageRef as ImageRef
from .sample import Sample as Sample
