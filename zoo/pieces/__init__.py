"""Pieces: what images and texts are taken apart into, each piece encoded by itself."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
