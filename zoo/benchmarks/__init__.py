"""Benchmarks: the cases of published benchmarks, and protocols (rules for right answers)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
