"""The public names of each package in the reference: those in the stub of its `__init__.py`."""

from typing import Any

import griffe


class PublicNames(griffe.Extension):
    """Takes the public names of a package from its stub, as `lazy_loader` does at import."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Sets the public names of each package from its stub."""
        pending = [pkg]
        while pending:
            module = pending.pop()
            pending += [m for m in module.modules.values() if not m.is_alias]
            if "lazy_loader" in module.members:
                shown = [name for name, member in module.members.items() if member.is_alias]
                module.exports = [name for name in shown if name != "lazy_loader"]
