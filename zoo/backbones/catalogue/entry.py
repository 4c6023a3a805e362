"""The entry of a published model, a YAML file."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from msgspec import Meta, Struct

from zoo.backbones.factory import shipped_weights
from zoo.errors import ZooError
from zoo.support.renames import ENTRY, translate_keys
from zoo.support.schema import Text, validate_record

ENTRIES = Path(__file__).parent / "entries"
ADVICE = "write it as described in docs/guides/published.md"
# required facts of every model; an entry lists those that are unknown
FACTS = ("activation", "file", "sha256", "licence", "trained_on")

Commit = Annotated[str, Meta(pattern="^[0-9a-f]{40}$")]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Hub(Struct, forbid_unknown_fields=True):
    """The location of a model's files on huggingface.co.

    Attributes:
        id: The repository.
        files: The needed files, each with its alternatives in order of preference; empty if the
            file names are unknown, which takes the only file of weights.
        revision: The full commit, since a branch or tag may move; None takes the newest, which is
            logged.
    """

    id: Text
    files: list[Annotated[list[Text], Meta(min_length=1)]] = []
    revision: Commit | None = None

    @property
    def page(self) -> str:
        """Its page."""
        return f"https://huggingface.co/{self.id}"


class ModelEntry(Struct, forbid_unknown_fields=True):
    """A published model.

    Attributes:
        description: A description in one line.
        paper: The paper.
        architecture: The architecture; of a model that scores pairs its class in transformers.
        unknown: Which of `FACTS` are unknown.
        activation: The activation that it was trained with; None if a file next to the weights
            records it, or if it is unknown.
        preprocess: open_clip's preprocessing settings, if they are not OpenAI's.
        weights_class: The publication that reads the file (`zoo ls published_weights`); None for a
            file under open_clip's names.
        arguments: Further arguments of the publication, or of the scorer.
        folder: Whether the publication is a folder.
        tag: The weights of open_clip below a head, or weights that come with zoo; None if the file
            has the weights.
        head: The head whose weights the file holds.
        scorer: The class in `zoo.evaluation.pair_scorers` of a model that scores pairs, whose files
            are a folder of transformers.
        hub: The repository of its files.
        url: The page for manual downloads.
        file: The file's published name.
        sha256: The file's SHA-256; for a folder, those of its files by name.
        licence: The licence of the weights if they have one, else of the code, which it says.
        trained_on: The training data.
        unsupported: Why it cannot be loaded.
        warning: What the model does not know; logged when the model is loaded.
        notes: Further notes.
    """

    description: Text
    paper: Text
    architecture: Text
    unknown: list[Literal["activation", "file", "sha256", "licence", "trained_on"]]
    activation: Literal["gelu", "quickgelu"] | None = None
    preprocess: dict[str, Any] | None = None
    weights_class: Text | None = None
    arguments: dict[str, str | int] = {}
    folder: bool = False
    tag: Text | None = None
    head: Text | None = None
    scorer: Literal["BlipITM", "MultimodalEmbedder", "VQAScore"] | None = None
    hub: Hub | None = None
    url: Text | None = None
    file: Text | None = None
    sha256: Sha256 | dict[Text, Sha256] | None = None
    licence: Text | None = None
    trained_on: Text | None = None
    unsupported: Text | None = None
    warning: Text | None = None
    notes: list[Text] = []

    @property
    def is_shipped(self) -> bool:
        """Whether the weights come with zoo."""
        return self.tag is not None and shipped_weights(self.architecture, self.tag) is not None


def read_entry(file: Path) -> ModelEntry:
    """Reads an entry.

    Args:
        file: A YAML file.

    Raises:
        ZooError: It cannot be read, or is not an entry.
    """
    try:
        content = yaml.safe_load(file.read_text("utf-8"))
    except OSError as error:
        raise ZooError(
            f"the model {file} cannot be read ({error.strerror}): check its path"
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ZooError(f"the model {file} is not valid YAML ({reason}): fix the file") from error
    if isinstance(content, dict):
        content = translate_keys(content, ENTRY)
    entry = validate_record(content, ModelEntry, str(file), ADVICE)
    contradiction = _contradiction(entry)
    if contradiction is not None:
        raise ZooError(f"{file}: {contradiction}: fix the file")
    return entry


def _contradiction(entry: ModelEntry) -> str | None:
    """Returns what of an entry contradicts the rest of it, None where all agrees."""
    twice = [fact for fact in entry.unknown if getattr(entry, fact) is not None]
    if twice:
        return f"it has {twice[0]} and lists it under `unknown`"
    absent = [f for f in FACTS if getattr(entry, f) is None and f not in entry.unknown]
    if absent:
        return f"it has no {absent[0]} and does not list it under `unknown`"
    if entry.tag is not None and entry.head is None and not entry.is_shipped:
        return "it has a tag and no head: a tag is for a file that only has the weights of a head"
    if entry.scorer is not None and (entry.head or entry.weights_class or entry.tag):
        return "it has a scorer, and parts of a model with two towers"
    if entry.head is not None and entry.tag is None and entry.weights_class is None:
        return "it has a head, and neither a tag nor a weights_class for the backbone below it"
    is_folder = entry.folder or entry.scorer is not None
    if entry.sha256 is not None and is_folder != isinstance(entry.sha256, dict):
        return "sha256 is one hash for a file, and file names with their hashes for a folder"
    return None


@cache
def entries() -> dict[str, ModelEntry]:
    """Returns the entries that come with zoo, by name."""
    return {file.stem: read_entry(file) for file in sorted(ENTRIES.glob("*.yaml"))}


def open_clip_model_names() -> Iterable[str]:
    """Yields the names of open_clip's own weights, TAG/ARCHITECTURE."""
    import open_clip

    for architecture, tag in open_clip.list_pretrained():
        yield f"{tag}/{architecture}"
