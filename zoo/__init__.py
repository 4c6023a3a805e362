"""zoo: vision-language compositionality on any OpenCLIP backbone, with objectives, heads and negatives that swap by YAML."""

from typing import Any

__version__ = "0.1.0"
__all__ = ["Model", "evaluate", "load"]


def __getattr__(name: str) -> Any:
    """Resolve the Python API on first use, so that `import zoo` stays free of torch."""
    if name in __all__:
        from zoo import api

        return getattr(api, name)
    raise AttributeError(f"module 'zoo' has no attribute {name!r}")
