"""`zoo push`: uploads an exported folder to the Hugging Face hub."""

import json
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from zoo.backbones.weights import DESCRIPTION
from zoo.errors import ZooError
from zoo.publishing.card import ABSOLUTE, CARD
from zoo.support.text_files import parse_json

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def check_name(repo: str) -> None:
    """Checks that a repository name is valid.

    Args:
        repo: The name.

    Raises:
        ZooError: It is not valid.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        raise ZooError(f"{repo!r} is not a repository name: give USER/NAME") from error


def describe_upload(folder: Path) -> list[str]:
    """Returns what a push would upload: a line per file, and a line with the total.

    Args:
        folder: A folder that `zoo export` wrote.

    Raises:
        ZooError: It is not an exported folder, or has a link that leads out of it.
    """
    files = _files(folder)
    sizes = {file: file.stat().st_size for file in files}
    lines = [f"  {file.relative_to(folder)}  {_megabytes(size)}" for file, size in sizes.items()]
    paths = _paths_of_this_machine(folder)
    if paths:
        lines.append(f"  paths of this machine in {DESCRIPTION}: {len(paths)}, such as {paths[0]}")
    return [*lines, f"  {len(files)} files, {_megabytes(sum(sizes.values()))}"]


def push(
    folder: Path,
    repo: str,
    create: bool = False,
    private: bool = False,
    message: str | None = None,
    endpoint: str | None = None,
) -> str:
    """Uploads an exported folder in one commit; other files in the repository are kept.

    Args:
        folder: A folder that `zoo export` wrote.
        repo: The repository, USER/NAME.
        create: Whether to create the repository if it does not exist.
        private: Whether the repository is private; an existing one must already be.
        message: The commit message; None for the name of the folder.
        endpoint: The hub; None for HF_ENDPOINT or huggingface.co.

    Returns:
        The commit's address.

    Raises:
        ZooError: The folder is not an export or has a link out of it, no token was found, the
            repository does not exist, is not writable or is public despite `private`, the upload
            is interrupted, or the hub does not answer.
    """
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.errors import (  # type: ignore[attr-defined]
        HfHubHTTPError,
        HTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    check_name(repo)
    files = _files(folder)
    token = get_token()
    if token is None:
        raise ZooError(
            "no token for the Hugging Face hub was found: run `hf auth login`, or set HF_TOKEN"
        )
    api = HfApi(endpoint=endpoint, token=token)
    try:
        return _upload(api, folder, repo, files, create, private, message)
    except RepositoryNotFoundError as error:
        raise ZooError(
            f"{api.endpoint} has no repository {repo}, or this token has no access to it: create "
            "it with --create, or log in as a user with access (`hf auth login`)"
        ) from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        advice = {
            401: "the token is not valid: run `hf auth login`",
            403: "the token has no write access: log in with another one (`hf auth login`)",
        }.get(status, "try again later")
        reason = error.server_message or f"status {status}"
        raise ZooError(f"{repo} was not uploaded ({' '.join(reason.split())}): {advice}") from error
    except (HTTPError, OfflineModeIsEnabled, ConnectionError, TimeoutError) as error:
        raise ZooError(
            f"{api.endpoint} does not answer ({' '.join(str(error).split())}): check the network, "
            "HF_ENDPOINT and HF_HUB_OFFLINE"
        ) from error
    except (RuntimeError, ValueError) as error:  # of a file's upload, or of the card's metadata
        reason = " ".join(f"{error} {error.__cause__ or ''}".split())
        raise ZooError(
            f"{repo} was not uploaded ({reason}); nothing was committed: fix the cause and run "
            "the same command again"
        ) from error


def _upload(
    api: "HfApi",
    folder: Path,
    repo: str,
    files: list[Path],
    create: bool,
    private: bool,
    message: str | None,
) -> str:
    if create:
        api.create_repo(repo, private=private, exist_ok=True)
    if api.repo_info(repo).private is False and private:
        raise ZooError(
            f"{repo} exists and is public, so nothing was uploaded: make it private in its "
            "settings on the hub, or omit --private"
        )
    commit: Any = api.upload_folder(
        repo_id=repo,
        folder_path=folder,
        allow_patterns=[str(file.relative_to(folder)) for file in files],
        commit_message=message or f"{folder.resolve().name}, by zoo",
    )
    return str(commit.commit_url)


def _files(folder: Path) -> list[Path]:
    """Returns the files of an exported folder.

    Raises:
        ZooError: It is not an exported folder, or has a link that leads out of it.
    """
    if not (folder / CARD).is_file() or not (folder / DESCRIPTION).is_file():
        raise ZooError(
            f"{folder} was not written by `zoo export`: {CARD} or {DESCRIPTION} is missing. Export "
            "the checkpoint, and push that folder"
        )
    paths = sorted(
        path
        for path in folder.rglob("*")
        if not path.relative_to(folder).as_posix().startswith(".")
    )
    top = folder.resolve()
    for path in paths:
        target = path.resolve()
        if not target.is_relative_to(top):
            raise ZooError(
                f"{path} is a link to {target}, outside of the folder, and nothing was uploaded: "
                "remove the link, or copy the file into the folder if it may be published"
            )
    return [path for path in paths if path.is_file()]


def _paths_of_this_machine(folder: Path) -> list[str]:
    try:
        described = parse_json((folder / DESCRIPTION).read_text("utf-8"))
    except (OSError, ValueError, json.JSONDecodeError) as error:
        raise ZooError(
            f"{folder / DESCRIPTION} cannot be read ({' '.join(str(error).split())}): export the "
            "checkpoint again"
        ) from error
    return sorted({path for text in _iterate_strings(described) for path in _paths(text)})


def _paths(text: str) -> list[str]:
    return [text] if PurePath(text).is_absolute() else ABSOLUTE.findall(text)


def _iterate_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _iterate_strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _iterate_strings(item)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"
