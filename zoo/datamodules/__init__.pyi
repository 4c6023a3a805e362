from .captions import CaptionDataModule as CaptionDataModule
from .features import Features as Features
from .sample import ImageRef as ImageRef
from .sample import Sample as Sample
