"""Files of data sets on huggingface.co, fetched by `huggingface_hub`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.benchmarks.hub import HubDataset
from zoo.errors import ZooError

SECONDS = 5  # in which the hub answers if it is reachable


class HubUnreachable(ZooError):
    """The hub cannot be reached, so that it need not be asked about other data sets."""


@dataclass(frozen=True)
class HubFiles:
    """Files of a data set on huggingface.co, and where they go.

    Args:
        dataset: The data set.
        folder: The folder under the data root for its files, which keep their paths.
        patterns: Patterns of the files that are needed; empty for all.
        bytes: Their size, about; None if it is not known before the hub is asked.
    """

    dataset: HubDataset
    folder: str
    patterns: tuple[str, ...] = ()
    bytes: int | None = None


@dataclass(frozen=True)
class HubPlan:
    """What has to be fetched from the hub.

    Args:
        files: The number of missing files.
        bytes: Their size.
        commit: The commit that they are fetched from.
    """

    files: int
    bytes: int
    commit: str


def plan_hub_files(hub_files: HubFiles, root: Path, ignored: tuple[str, ...] = ()) -> HubPlan:
    """Asks the hub which files are missing.

    Args:
        hub_files: The files.
        root: The data root.
        ignored: Patterns of files that are not needed any more.

    Returns:
        Their number and size.

    Raises:
        HubUnreachable: The hub cannot be reached.
        ZooError: The licence was not accepted, or the hub reports an error.
    """
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]

    class HiddenBar(tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "disable": True})  # type: ignore[no-untyped-call]

    _check_licence(hub_files.dataset)
    _check_reachable(hub_files.dataset)
    revision = hub_files.dataset.revision or None
    infos = _snapshot(hub_files, root, ignored, revision, dry_run=True, tqdm_class=HiddenBar)
    missing = [info for info in infos if info.will_download]
    commit = infos[0].commit_hash if infos else hub_files.dataset.revision
    return HubPlan(len(missing), sum(info.file_size or 0 for info in missing), commit)


def fetch_hub_files(
    hub_files: HubFiles, root: Path, commit: str, jobs: int, ignored: tuple[str, ...] = ()
) -> None:
    """Fetches the missing files. An interrupted download resumes.

    Args:
        hub_files: The files.
        root: The data root.
        commit: The commit of the plan.
        jobs: The number of parallel downloads.
        ignored: As for `plan_hub_files`.

    Raises:
        ZooError: The licence was not accepted, or the hub cannot be reached.
    """
    _snapshot(hub_files, root, ignored, commit or None, max_workers=jobs)


def _snapshot(
    hub_files: HubFiles, root: Path, ignored: tuple[str, ...], revision: str | None, **options: Any
) -> Any:
    from huggingface_hub import snapshot_download

    try:
        return snapshot_download(
            hub_files.dataset.id,
            repo_type="dataset",
            revision=revision,
            local_dir=root / hub_files.folder,
            allow_patterns=list(hub_files.patterns) or None,
            ignore_patterns=list(ignored) or None,
            **options,
        )
    except Exception as error:
        raise _translate(error, hub_files.dataset) from error


def _check_licence(dataset: HubDataset) -> None:
    from huggingface_hub import get_token

    if dataset.gated and get_token() is None:
        raise _licence_error(dataset)


def _check_reachable(dataset: HubDataset) -> None:
    """Asks the hub once, whose client would try five times in half a minute.

    Raises:
        HubUnreachable: The hub does not answer.
    """
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return  # the client itself reports it, without a request
    try:
        get_session().head(constants.ENDPOINT, timeout=SECONDS)
    except Exception as error:  # which client it is depends on the version of huggingface_hub
        raise HubUnreachable(describe_unreachable(dataset, error)) from error


def describe_unreachable(dataset: HubDataset, error: BaseException | None) -> str:
    """Returns the message about a data set of a hub that cannot be reached.

    Args:
        dataset: The data set.
        error: The reason.
    """
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return (
        f"{dataset.page} cannot be reached ({reason}): check the network, HF_ENDPOINT and "
        "HF_HUB_OFFLINE, then run the same command again, which resumes"
    )


def _translate(error: Exception, dataset: HubDataset) -> Exception:
    """Returns the error for the user, or the error itself if it is not the hub's."""
    from huggingface_hub.errors import (  # type: ignore[attr-defined]
        DryRunError,
        GatedRepoError,
        HfHubHTTPError,
        HTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if isinstance(error, DryRunError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    if isinstance(error, GatedRepoError) or (
        dataset.gated and isinstance(error, RepositoryNotFoundError)
    ):
        return _licence_error(dataset)
    if isinstance(error, RepositoryNotFoundError | RevisionNotFoundError):
        return ZooError(
            f"{dataset.page} does not exist any more, or not at revision {dataset.revision}"
        )
    if isinstance(
        error,
        HfHubHTTPError
        | HTTPError
        | LocalEntryNotFoundError
        | OfflineModeIsEnabled
        | ConnectionError
        | TimeoutError,
    ):
        return ZooError(describe_unreachable(dataset, error))
    return error


def _licence_error(dataset: HubDataset) -> ZooError:
    return ZooError(
        f"{dataset.id} is gated: accept its licence at {dataset.page}, log in with `hf auth "
        "login`, and run the same command again"
    )
