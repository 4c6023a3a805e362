"""Files of published models: looked up in the hub's cache, downloaded, and checked by hash."""

import logging
from pathlib import Path

from zoo.backbones.catalogue.entry import Hub, ModelEntry
from zoo.backbones.hub import fetch_model_folder, hub_error, hub_offline_if_unreachable
from zoo.backbones.weights import SUFFIXES
from zoo.errors import ZooError
from zoo.support.text_files import sha256

log = logging.getLogger(__name__)


def user_file(name: str, entry: ModelEntry, file: Path) -> Path:
    """Returns the user's copy of a model's weights.

    Args:
        name: The model.
        entry: Its entry.
        file: The file, or the folder if the publication has one.

    Raises:
        ZooError: It does not exist, or is not the published file.
    """
    is_folder = entry.folder or entry.scorer is not None
    if not (file.is_dir() if is_folder else file.is_file()):
        kind = "folder" if is_folder else "file"
        raise ZooError(f"the weights of {name} are given as {file}, which is not a {kind}: fix it")
    return _check_hash(name, entry, file)


def cached_file(name: str, entry: ModelEntry) -> Path:
    """Returns a model's weights from the cache of huggingface.co, downloading them if needed.

    Args:
        name: The model.
        entry: Its entry.

    Returns:
        The file, or the folder if the publication has one.

    Raises:
        ZooError: The weights are not on the hub, cannot be downloaded, or are not the published
            ones.
    """
    if entry.hub is None:
        source = "get a copy of them" if entry.url is None else f"fetch them at {entry.url}"
        raise ZooError(
            f"the weights of {name} are not on huggingface.co: {source}, and name the file, as in "
            f"{name}:FILE"
        )
    if entry.scorer is not None:
        revision = "" if entry.hub.revision is None else f"@{entry.hub.revision}"
        return _check_hash(name, entry, fetch_model_folder(f"{entry.hub.id}{revision}"))
    with hub_offline_if_unreachable():
        files = _fetch_files(name, entry.hub)
    if entry.hub.revision is None:
        log.info("%s: revision %s of %s", name, _commit_of(files[0]), entry.hub.page)
    return _check_hash(name, entry, files[0].parents[1] if entry.folder else files[0])


def _fetch_files(name: str, hub: Hub) -> list[Path]:
    """Downloads the files of a model, in the order of the entry and from one revision."""
    if not hub.files:
        return [_fetch_only_weights_file(name, hub)]
    files: list[Path] = []
    for alternatives in hub.files:
        revision = _commit_of(files[0]) if files else hub.revision
        files.append(_fetch_first_available(name, hub, alternatives, revision))
    return files


def _commit_of(file: Path) -> str:
    """Returns the commit that a file in the hub's cache belongs to."""
    parts = file.parts[::-1]
    return parts[parts.index("snapshots") - 1]


def _fetch_first_available(
    name: str, hub: Hub, alternatives: list[str], revision: str | None
) -> Path:
    """Returns the first file that exists on the hub, or in the cache if the hub is offline."""
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    absent: Exception | None = None
    for file in alternatives:
        try:
            return Path(hf_hub_download(hub.id, file, revision=revision))
        except EntryNotFoundError as error:
            # another file must not be used if only the network failed
            if isinstance(error, LocalEntryNotFoundError) and not constants.HF_HUB_OFFLINE:
                raise _unavailable_error(name, hub, error) from error
            absent = error
        except Exception as error:
            raise _unavailable_error(name, hub, error) from error
    assert absent is not None, "an entry names at least one file"
    raise _unavailable_error(name, hub, absent) from absent


def _fetch_only_weights_file(name: str, hub: Hub) -> Path:
    """Returns the only file of weights of a repository with unknown file names."""
    from huggingface_hub import snapshot_download

    patterns = [f"*{suffix}" for suffix in SUFFIXES]
    try:
        folder = Path(snapshot_download(hub.id, revision=hub.revision, allow_patterns=patterns))
    except Exception as error:
        raise _unavailable_error(name, hub, error) from error
    files = sorted(file for pattern in patterns for file in folder.rglob(pattern))
    if len(files) != 1:
        names = ", ".join(str(file.relative_to(folder)) for file in files) or "none"
        raise ZooError(
            f"{hub.page} has not one file of weights ({names}): fetch the right one there, and "
            f"name it, as in {name}:FILE"
        )
    return files[0]


def _unavailable_error(name: str, hub: Hub, error: Exception) -> ZooError:
    return hub_error(error, name, hub.page, f"name a copy, as in {name}:FILE")


def _check_hash(name: str, entry: ModelEntry, file: Path) -> Path:
    published = entry.sha256 or {}
    hashes = {"": published} if isinstance(published, str) else published
    for inner, expected in hashes.items():
        path = file / inner
        if not path.is_file():
            raise ZooError(f"{path} of {name} is missing: fetch it again")
        if (actual := sha256(path)) != expected:
            raise ZooError(
                f"{path} is not the published file of {name}: its SHA-256 is {actual[:12]}..., and "
                f"that of {entry.file or 'the published one'} is {expected[:12]}...: fetch it again"
            )
    return file
