from .image_paths import OwnImages as OwnImages
from .negative_images import NegativeImages as NegativeImages
from .sample import ImageRef as ImageRef
from .sample import Sample as Sample
