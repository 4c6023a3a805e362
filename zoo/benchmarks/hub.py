"""HubDataset: a data set on huggingface.co with the files of a benchmark."""

from dataclasses import dataclass

from zoo.benchmarks.download_commands import download_command


@dataclass(frozen=True)
class HubDataset:
    """A data set on huggingface.co.

    Args:
        id: Its name there, such as facebook/winoground.
        revision: The commit that the reader was written for; empty if unknown.
        gated: Whether its licence must be accepted there before its files can be downloaded.
    """

    id: str
    revision: str = ""
    gated: bool = False

    def __str__(self) -> str:
        revision = f" at revision {self.revision}" if self.revision else ", newest revision"
        return f"{self.page}{revision}{', gated' if self.gated else ''}"

    @property
    def page(self) -> str:
        """The address of its page."""
        return f"huggingface.co/datasets/{self.id}"

    def download_instructions(self, name: str) -> str:
        """Returns instructions for fetching it.

        Args:
            name: The benchmark that needs it.
        """
        command = download_command(name)
        if self.gated:
            return f"accept the licence at {self.page}, run `hf auth login`, then {command}"
        return command
