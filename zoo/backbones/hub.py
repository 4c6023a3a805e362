"""Models of the Hugging Face hub: reachability, the files of a repository, and errors."""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from zoo.errors import ZooError

SECONDS = 5  # to answer in
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
# files of weights, of which only the first that exists is fetched
WEIGHTS = (
    "open_clip_model.safetensors",
    "open_clip_pytorch_model.bin",
    "model.safetensors",
    "pytorch_model.bin",
)
SHARDS = re.compile(r"model-\d+-of-\d+\.safetensors")  # of a model.safetensors that was split
ZOO_WEIGHTS = "zoo.safetensors"
# suffixes of configurations, tokenizers and chat templates, and the folder of a second tokenizer
SETTINGS = (".json", ".txt", ".model", ".jinja")
SETTINGS_FOLDER = "qformer_tokenizer"

log = logging.getLogger(__name__)


@contextmanager
def hub_offline_if_unreachable() -> Iterator[None]:
    """Uses only the hub's cache if the hub is not reachable.

    Otherwise its client would try for half a minute per file, and open_clip needs several.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or _is_there():
        yield
        return
    constants.HF_HUB_OFFLINE = True  # same as the environment variable
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = False


def _is_there() -> bool:
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=SECONDS)
    except Exception:  # the client's own; which client it is depends on the hub's version
        return False
    return True


def fetch_model_folder(name: str) -> Path:
    """Downloads the model of a repository into the hub's cache, without running any of its code.

    Only configurations, tokenizers and one file of weights, or its shards, are downloaded.

    Args:
        name: USER/NAME or USER/NAME@REVISION. Without a revision, that of the newest commit is
            taken and logged.

    Returns:
        The folder in the cache.

    Raises:
        ZooError: There is no such repository or revision, it is not reachable, or it has no model.
    """
    from huggingface_hub import HfApi, constants, snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError

    repository, _, revision = name.partition("@")
    if not REPOSITORY.fullmatch(repository):
        raise ZooError(
            f"hf-hub:{name} is not a model of the Hugging Face hub: give hf-hub:USER/NAME or "
            "hf-hub:USER/NAME@REVISION"
        )
    page = f"https://huggingface.co/{repository}"
    with hub_offline_if_unreachable():
        try:
            file_names = None
            if not constants.HF_HUB_OFFLINE:
                info = HfApi().model_info(repository, revision=revision or None)
                files = [sibling.rfilename for sibling in info.siblings or []]
                file_names = _files_to_fetch(page, files)
            folder = Path(
                snapshot_download(repository, revision=revision or None, allow_patterns=file_names)
            )
        except ZooError:
            raise
        except RepositoryNotFoundError as error:
            raise ZooError(
                f"{page} does not exist or is private: check its name, or `hf auth login`"
            ) from error
        except Exception as error:
            raise hub_error(error, repository, page, "give the path of its folder") from error
    if not revision:
        log.info("hf-hub:%s: revision %s", repository, folder.name)
    return folder


def _files_to_fetch(page: str, files: Sequence[str]) -> list[str]:
    """Returns the settings of a repository, and one file of weights."""
    shards = [name for name in files if SHARDS.fullmatch(name)]
    *safe_weights, pickled_weights = ([name] for name in WEIGHTS)
    alternatives = [*safe_weights, shards, pickled_weights]
    weights = next((names for names in alternatives if names and names[0] in files), None)
    if weights is None:
        raise ZooError(
            f"{page} is not a model that zoo reads: it has none of the files {', '.join(WEIGHTS)}"
        )
    settings = [
        name
        for name in files
        if str(PurePosixPath(name).parent) in (".", SETTINGS_FOLDER)
        and PurePosixPath(name).suffix in SETTINGS
    ]
    return [*settings, *weights, *(name for name in (ZOO_WEIGHTS,) if name in files)]


def hub_error(error: Exception, name: str, page: str, advice: str) -> ZooError:
    """Returns an error that explains why the files of a model are not available.

    Args:
        error: The error of the hub's client.
        name: The model.
        page: Its page on the hub.
        advice: How to give a copy, the end of the message.
    """
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    repository = page.removeprefix("https://huggingface.co/")
    if isinstance(error, GatedRepoError):
        return ZooError(
            f"the weights of {name} are gated: accept their terms at {page}, `hf auth login`, "
            "and try again"
        )
    if isinstance(error, LocalEntryNotFoundError | OfflineModeIsEnabled):
        return ZooError(
            f"the weights of {name} are not in the cache and {page} cannot be reached: fetch "
            f"them where there is a network by `hf download {repository}`, or {advice}"
        )
    if isinstance(error, RepositoryNotFoundError | RevisionNotFoundError | EntryNotFoundError):
        return ZooError(f"{page} does not have the weights of {name}: {advice}")
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return ZooError(
        f"the weights of {name} could not be fetched from {page} ({reason}): try again, or {advice}"
    )
