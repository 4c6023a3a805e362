"""Models of transformers that score pairs of image and text, or embed both by one network."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
