"""Hub: the data set on huggingface.co that holds a benchmark's files."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hub:
    """A data set on huggingface.co.

    Args:
        id: Its name there, such as facebook/winoground.
        revision: The commit of it that the reader is written for. Empty where none is known.
        gated: Whether its licence has to be accepted there before anything can be fetched.
    """

    id: str
    revision: str = ""
    gated: bool = False

    def __str__(self) -> str:
        pinned = f"at revision {self.revision}" if self.revision else "unpinned"
        return f"{self.page} {pinned}{', gated' if self.gated else ''}"

    @property
    def page(self) -> str:
        """Its page."""
        return f"huggingface.co/datasets/{self.id}"

    def fetch(self, folder: str, only: str = "") -> str:
        """Returns in words for the user how to fetch it.

        Args:
            folder: The folder under the data root that its files go to.
            only: A pattern of the files that are needed; empty for all.
        """
        wanted = f' --include "{only}"' if only else ""
        revision = f" --revision {self.revision}" if self.revision else ""
        command = (
            f"`hf download --repo-type dataset {self.id}{revision}{wanted} "
            f"--local-dir DATA_ROOT/{folder}`"
        )
        if not self.revision:
            command += " (no revision is pinned)"
        if self.gated:
            return f"gated: accept its licence at {self.page}, `hf auth login`, then {command}"
        return command
