"""Entry: what is known of a published model, as a YAML file says it."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from msgspec import Meta, Struct

from zoo.errors import ZooError
from zoo.support.schema import Text, record

ENTRIES = Path(__file__).parent / "entries"
MEND = "write it as docs/guides/published.md has it"
# what is wanted of every model; an entry says which of it was not found
FACTS = ("activation", "file", "sha256", "licence", "trained_on")

Commit = Annotated[str, Meta(pattern="^[0-9a-f]{40}$")]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Hub(Struct, forbid_unknown_fields=True):
    """Where the files of a model lie on huggingface.co.

    Attributes:
        id: The repository.
        files: The files that are needed, each with its alternatives in order of preference; none
            where the repository's names are not known, and its one file of weights is taken.
        revision: The commit, in full, since a branch or tag may move; the newest where None, which
            is logged when it is taken.
    """

    id: Text
    files: list[Annotated[list[Text], Meta(min_length=1)]] = []
    revision: Commit | None = None

    @property
    def page(self) -> str:
        """Its page."""
        return f"https://huggingface.co/{self.id}"


class ModelEntry(Struct, forbid_unknown_fields=True):
    """What is known of a published model.

    Attributes:
        says: What it is, in a line.
        paper: Whose it is.
        architecture: The architecture that it is built as.
        unknown: Which of `FACTS` was not found.
        activation: The activation that it was trained with; None where a file beside the weights
            says it, or where it was not found.
        preprocess: open_clip's settings of how images are prepared, where they are not OpenAI's.
        rule: The publication whose rule reads the file (`zoo ls published_weights`); None for a
            file under open_clip's names.
        arguments: Further arguments of that rule.
        folder: Whether the rule reads a folder.
        tag: The weights of open_clip that a head lies over; None where the file has the weights.
        head: The head that the file holds the weights of.
        hub: Where its files can be fetched.
        url: The page where a person can fetch them.
        file: The file's published name.
        sha256: The file's SHA-256; of a folder, those of its files by their names in it.
        licence: The licence; of the weights where they have one, else of the code, as it says.
        trained_on: What it was trained on.
        refused: Why it cannot be loaded.
        notes: What else is to be known.
    """

    says: Text
    paper: Text
    architecture: Text
    unknown: list[Literal["activation", "file", "sha256", "licence", "trained_on"]]
    activation: Literal["gelu", "quickgelu"] | None = None
    preprocess: dict[str, Any] | None = None
    rule: Text | None = None
    arguments: dict[str, str] = {}
    folder: bool = False
    tag: Text | None = None
    head: Text | None = None
    hub: Hub | None = None
    url: Text | None = None
    file: Text | None = None
    sha256: Sha256 | dict[Text, Sha256] | None = None
    licence: Text | None = None
    trained_on: Text | None = None
    refused: Text | None = None
    notes: list[Text] = []


def read(file: Path) -> ModelEntry:
    """Reads an entry.

    Args:
        file: A YAML file.

    Raises:
        ZooError: It cannot be read, or is no entry.
    """
    try:
        content = yaml.safe_load(file.read_text("utf-8"))
    except OSError as error:
        raise ZooError(
            f"the model {file} cannot be read ({error.strerror}): mend its path"
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ZooError(f"the model {file} is no YAML ({reason}): mend the file") from error
    entry = record(content, ModelEntry, str(file), MEND)
    unlike = _contradiction(entry)
    if unlike is not None:
        raise ZooError(f"{file}: {unlike}: mend the file")
    return entry


def _contradiction(entry: ModelEntry) -> str | None:
    """Returns what of an entry contradicts the rest of it, None where all agrees."""
    twice = [fact for fact in entry.unknown if getattr(entry, fact) is not None]
    if twice:
        return f"it has {twice[0]}, which it says was not found"
    absent = [f for f in FACTS if getattr(entry, f) is None and f not in entry.unknown]
    if absent:
        return f"it has no {absent[0]} and does not list it under `unknown`"
    if (entry.tag is None) != (entry.head is None):
        return "tag and head stand together, a head's weights over those of a tag"
    if entry.sha256 is not None and entry.folder != isinstance(entry.sha256, dict):
        return "sha256 is one hash for a file, and file names with their hashes for a folder"
    return None


@cache
def entries() -> dict[str, ModelEntry]:
    """Returns the entries that come with zoo, by name."""
    return {file.stem: read(file) for file in sorted(ENTRIES.glob("*.yaml"))}


def tags() -> Iterable[str]:
    """Yields the names of open_clip's own weights, TAG/ARCHITECTURE."""
    import open_clip

    for architecture, tag in open_clip.list_pretrained():
        yield f"{tag}/{architecture}"
