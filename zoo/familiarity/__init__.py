"""Familiarity: which attribute-object pairs and images were seen in training."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
