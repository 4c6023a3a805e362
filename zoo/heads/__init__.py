"""Heads: compute scores of encoded images and texts, one module per method."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
