"""Benchmarks: published sets of cases, one file each; nothing here scores."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
