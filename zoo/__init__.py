"""zoo: vision-language compositionality on any OpenCLIP backbone.

Objectives, heads and negatives are exchanged in the YAML configuration.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
