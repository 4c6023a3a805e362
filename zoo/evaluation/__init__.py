"""Evaluation: the engine that scores benchmarks, and wrappers for models of other libraries."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
