"""Image decoding to tensors with torchvision or PIL, and a cache of decoded images."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
