"""What is missing of a set, and fetching it with zips that are unpacked."""

import hashlib
import io
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.file_server import serve_files
from zoo.downloads import archives as archives_module
from zoo.downloads.files import Archive, PublishedFile, format_bytes
from zoo.downloads.plan import fetch_sets, plan_set
from zoo.downloads.sets import PublishedSet
from zoo.errors import ZooError

IMAGES = {f"val/{i}.jpg": bytes([i]) * 1000 for i in range(5)}


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in IMAGES.items():
            archive.writestr(name, content)
    return buffer.getvalue()


ZIP = zipped()
FILE = PublishedFile(
    "https://a.org/val.zip", "coco/val.zip", len(ZIP), f"md5:{hashlib.md5(ZIP).hexdigest()}"
)
ARCHIVE = Archive("coco/val.zip", (("val/*", "coco"),), (("coco/val/*.jpg", 5),), 5000)
SET = PublishedSet("images", "free", "a.org", (FILE,), archives=(ARCHIVE,))


def test_a_zip_needs_its_own_space_and_that_of_its_members(tmp_path: Path) -> None:
    plan = plan_set(SET, tmp_path)
    assert plan.download_bytes(tmp_path) == len(ZIP)
    assert plan.disk_bytes(tmp_path) == len(ZIP) + 5000
    part = tmp_path / "coco" / ".val.zip.download"
    part.parent.mkdir()
    part.write_bytes(ZIP[:100])
    assert plan_set(SET, tmp_path).download_bytes(tmp_path) == len(ZIP) - 100


def test_a_zip_is_fetched_unpacked_and_deleted_once(tmp_path: Path) -> None:
    (tmp_path / "coco" / "val").mkdir(parents=True)
    (tmp_path / "coco" / "val" / "0.jpg").write_bytes(IMAGES["val/0.jpg"])  # came alone before
    with serve_files({"a.org/val.zip": ZIP}) as server:
        fetch_sets([plan_set(SET, tmp_path)], tmp_path, server.url, 2)
        assert len(server.requests) == 1
    files = [path for path in (tmp_path / "coco").rglob("*") if path.is_file()]
    assert {f"val/{path.name}": path.read_bytes() for path in files} == IMAGES
    assert plan_set(SET, tmp_path).is_empty


def test_an_interrupted_unpacking_resumes_without_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[str] = []
    unpack_member = archives_module._unpack_member

    def interrupt(archive: Path, member: archives_module._Member, folder: Path) -> None:
        if len(unpacked) == 2:
            raise KeyboardInterrupt
        unpacked.append(member.name)
        unpack_member(archive, member, folder)

    with serve_files({"a.org/val.zip": ZIP}) as server:
        with monkeypatch.context() as patch:
            patch.setattr(archives_module, "_unpack_member", interrupt)
            with pytest.raises(KeyboardInterrupt):
                fetch_sets([plan_set(SET, tmp_path)], tmp_path, server.url, 2)
        plan = plan_set(SET, tmp_path)
        assert (plan.files, plan.archives) == ((), (ARCHIVE,))
        fetch_sets([plan], tmp_path, server.url, 2)
        assert len(server.requests) == 1
    assert ARCHIVE.is_unpacked(tmp_path)


def test_one_set_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    other = replace(
        SET, name="other", files=(PublishedFile("https://a.org/x", "x", 1, ""),), archives=()
    )
    with serve_files({"a.org/val.zip": ZIP}) as server:
        plans = [plan_set(item, tmp_path, server.url) for item in (other, SET)]
        with pytest.raises(ZooError, match=r"/a\.org/x cannot be downloaded \(not found\)"):
            fetch_sets(plans, tmp_path, server.url, 2)
    assert ARCHIVE.is_unpacked(tmp_path)


def test_sizes_are_in_decimal_units() -> None:
    sizes = [999, 57_569, 99_999, 1_706_289, 999_999_999, 19_336_861_798]
    assert [format_bytes(n) for n in sizes] == [
        "1.0 kB",
        "57.6 kB",
        "100.0 kB",
        "1.7 MB",
        "1,000.0 MB",
        "19.3 GB",
    ]
