"""What has to be fetched for sets, how much space it needs, and fetching it."""

import logging
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from zoo.downloads.archives import unpack_archive
from zoo.downloads.fetch import ask_size, download_files
from zoo.downloads.files import (
    MB,
    Archive,
    PublishedFile,
    format_bytes,
    is_published_version,
    mirror_url,
    part_path,
)
from zoo.downloads.hub import HubFiles, HubPlan, fetch_hub_files, plan_hub_files
from zoo.downloads.sets import PublishedSet
from zoo.errors import ZooError
from zoo.support.progress import show_progress

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SetPlan:
    """What has to be fetched of a set.

    Args:
        published: The set.
        files: The missing files.
        hub: The missing files on the hub.
        archives: The archives to unpack.
        changed: Local files that differ from the published ones.
    """

    published: PublishedSet
    files: tuple[PublishedFile, ...]
    hub: tuple[tuple[HubFiles, HubPlan], ...]
    archives: tuple[Archive, ...]
    changed: tuple[Path, ...]

    def download_bytes(self, root: Path) -> int:
        """Returns the size of the missing downloads, without those of unknown size.

        Args:
            root: The data root. What was downloaded before does not count.
        """
        sizes = (max((file.bytes or 0) - _part_bytes(file, root), 0) for file in self.files)
        return sum(sizes) + sum(plan.bytes for _, plan in self.hub)

    def disk_bytes(self, root: Path) -> int:
        """Returns the disk space that is needed, with the unpacked members of archives.

        Args:
            root: The data root.
        """
        unpacked = sum(archive.unpacked_bytes for archive in self.archives)
        return self.download_bytes(root) + unpacked

    @property
    def is_empty(self) -> bool:
        """Whether nothing is missing."""
        return not (self.files or self.archives or any(plan.files for _, plan in self.hub))


def plan_set(
    published: PublishedSet, root: Path, mirror: str = "", overwrite: bool = False
) -> SetPlan:
    """Returns what is missing of a set, with sizes from the server where the table has none.

    Args:
        published: The set.
        root: The data root.
        mirror: As for `mirror_url`.
        overwrite: Whether local files that differ from the published ones are replaced.

    Raises:
        HubUnreachable: The hub cannot be reached.
        ZooError: The hub reports an error, or its licence was not accepted.
    """
    unpacked = {archive.path for archive in published.archives if archive.is_unpacked(root)}
    missing, changed = list[PublishedFile](), list[Path]()
    for file in published.files:
        path = file.find(root)
        if file.path in unpacked:
            continue
        if path is None:
            missing.append(file)
        elif path.suffix != ".gz" and not is_published_version(file, path):
            if overwrite:
                missing.append(file)
            else:
                changed.append(path)
    hub = tuple(
        (hub_files, plan_hub_files(hub_files, root, _paths_in_repository(hub_files, unpacked)))
        for hub_files in published.hub
    )
    incoming = any(plan.files for _, plan in hub)
    archives = tuple(
        archive
        for archive in published.archives
        if archive.path not in unpacked
        and (incoming or published.files or (root / archive.path).exists())
    )
    return SetPlan(published, _with_sizes(missing, mirror), hub, archives, tuple(changed))


def _with_sizes(files: Sequence[PublishedFile], mirror: str) -> tuple[PublishedFile, ...]:
    """Asks the servers for the sizes that the table does not have."""
    urls = [mirror_url(file.url, mirror) for file in files if file.bytes is None]
    with ThreadPoolExecutor(max(len(urls), 1)) as pool:
        sizes = pool.map(ask_size, urls)
        return tuple(
            replace(file, bytes=next(sizes)) if file.bytes is None else file for file in files
        )


def check_disk_space(needed: int, root: Path) -> int:
    """Checks that there is enough disk space.

    Args:
        needed: The needed bytes.
        root: The data root, which need not exist.

    Returns:
        The free bytes.

    Raises:
        ZooError: The free space is too small.
    """
    place = next(
        folder for folder in (root.absolute(), *root.absolute().parents) if folder.is_dir()
    )
    free = shutil.disk_usage(place).free
    if needed > free:
        raise ZooError(
            f"{format_bytes(needed)} are needed, but only {format_bytes(free)} are free at {root}: "
            "free some space, name fewer sets, or choose another --data_root"
        )
    return free


def fetch_sets(plans: Sequence[SetPlan], root: Path, mirror: str, jobs: int) -> None:
    """Fetches what is missing of sets, and unpacks archives.

    Args:
        plans: What is missing.
        root: The data root.
        mirror: As for `mirror_url`; files of the hub come from HF_ENDPOINT.
        jobs: The number of parallel downloads.

    Raises:
        ZooError: Files could not be fetched. All others were.
    """
    errors: list[str] = []
    try:
        fetch_files(tuple(file for plan in plans for file in plan.files), root, mirror, jobs, "MB")
    except ZooError as error:
        errors.append(str(error))
    for plan in plans:
        try:
            _fetch_from_hub(plan, root, jobs)
            for archive in plan.archives:
                _unpack(archive, root)
        except ZooError as error:
            errors.append(str(error))
    if errors:
        raise ZooError("; ".join(errors))


def _fetch_from_hub(plan: SetPlan, root: Path, jobs: int) -> None:
    packed = {archive.path for archive in plan.archives}
    unpacked = {a.path for a in plan.published.archives if a.path not in packed}
    for hub_files, missing in plan.hub:
        if missing.files:
            ignored = _paths_in_repository(hub_files, unpacked)
            fetch_hub_files(hub_files, root, missing.commit, jobs, ignored)


def _unpack(archive: Archive, root: Path) -> None:
    path = root / archive.path
    if path.exists():
        with show_progress(f"unpacking {path.name}") as advance:
            unpack_archive(path, root, archive.members, advance)


def fetch_files(
    files: Sequence[PublishedFile], root: Path, mirror: str, jobs: int, unit: str
) -> None:
    """Fetches files, and shows the progress.

    Args:
        files: The files.
        root: The data root.
        mirror: As for `mirror_url`.
        jobs: The number of parallel downloads.
        unit: What the progress counts: `MB` or `images`.

    Raises:
        ZooError: Files could not be fetched. All others were.
    """
    if not files:
        return
    n_bytes = sum(max((file.bytes or 0) - _part_bytes(file, root), 0) for file in files)
    total = n_bytes // MB if unit == "MB" else len(files)
    with show_progress(unit, total) as advance:
        counter = _MegabyteCounter(advance)
        failures = download_files(
            files,
            root,
            mirror,
            jobs,
            *((counter, lambda n: None) if unit == "MB" else (lambda n: None, advance)),
        )
    if failures:
        first_error = str(failures[0].error)
        count = f"{len(failures):,} of {len(files):,} files are missing, such as "
        raise ZooError(first_error if len(failures) == 1 else count + first_error)


class _MegabyteCounter:
    """Adds up bytes, and advances a progress bar by whole megabytes."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self.advance, self.rest = advance, 0
        self.lock = threading.Lock()

    def __call__(self, n_bytes: int) -> None:
        with self.lock:
            megabytes, self.rest = divmod(self.rest + n_bytes, MB)
            if megabytes:
                self.advance(megabytes)


def _part_bytes(file: PublishedFile, root: Path) -> int:
    part = part_path(root / file.path)
    return part.stat().st_size if file.checksum and part.is_file() else 0


def _paths_in_repository(hub_files: HubFiles, paths: set[str]) -> tuple[str, ...]:
    """Returns those paths that are below the folder of a data set, as paths in its repository."""
    return tuple(
        str(PurePosixPath(path).relative_to(hub_files.folder))
        for path in sorted(paths)
        if PurePosixPath(path).is_relative_to(hub_files.folder)
    )
