"""What a package shows in the reference: the names in the stub beside its `__init__.py`."""

from typing import Any

import griffe


class Faces(griffe.Extension):
    """Takes a package's public names from its stub, as `lazy_loader` does when it is imported."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Names what each package below shows."""
        pending = [pkg]
        while pending:
            module = pending.pop()
            pending += [m for m in module.modules.values() if not m.is_alias]
            if "lazy_loader" in module.members:
                shown = [name for name, member in module.members.items() if member.is_alias]
                module.exports = [name for name in shown if name != "lazy_loader"]
