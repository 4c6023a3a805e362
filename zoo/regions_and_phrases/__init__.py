"""Regions and phrases: crops of images and phrases of texts, which are encoded separately."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
