"""Backbones: open_clip models with two methods, their weights, adapters and architectures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
