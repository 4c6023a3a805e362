"""Zips and tars are unpacked member by member, and only into their folders."""

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from zoo.downloads.archives import unpack_archive
from zoo.downloads.files import Archive
from zoo.errors import ZooError


def write_zip(path: Path, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def write_tar(path: Path, members: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content.encode()))
    return path


def test_only_matching_members_are_unpacked_and_the_zip_is_deleted(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"val/1.jpg": "1", "val/2.jpg": "2", "readme": "no"})
    counted: list[int] = []
    unpack_archive(path, tmp_path, (("val/*.jpg", "coco"),), counted.append)
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()) == [
        "coco/val/1.jpg",
        "coco/val/2.jpg",
    ]
    assert sum(counted) == 2


def test_members_that_are_there_are_not_written_again(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"1.txt": "same", "2.txt": "longer"})
    (tmp_path / "1.txt").write_text("mine")  # of the same size
    (tmp_path / "2.txt").write_text("half")
    unpack_archive(path, tmp_path, (("*", "."),))
    assert [(tmp_path / name).read_text() for name in ("1.txt", "2.txt")] == ["mine", "longer"]


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt", "a/../../out.txt", "a\\..\\..\\b"])
def test_a_member_that_leaves_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    path = write_zip(tmp_path / "a.zip", {"in.txt": "x", name: "bad"})
    with pytest.raises(ZooError, match="does not stay in its folder"):
        unpack_archive(path, tmp_path / "root", (("*", "set"),))
    assert [p.name for p in (tmp_path / "root").rglob("*") if p.is_file()] == ["in.txt"]


def test_a_link_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        member = zipfile.ZipInfo("link")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, "/etc/passwd")
    with pytest.raises(ZooError, match="does not stay in its folder"):
        unpack_archive(tmp_path / "a.zip", tmp_path, (("*", "set"),))


def test_a_damaged_zip_is_deleted_and_a_zip_without_the_members_is_reported(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"1.txt": "content of the first member"})
    content = path.read_bytes()
    path.write_bytes(content.replace(b"first", b"FIRST"))
    with pytest.raises(ZooError, match=r"a\.zip is damaged .* was deleted"):
        unpack_archive(path, tmp_path, (("*", "."),))
    assert not path.exists()
    assert not (tmp_path / "1.txt").exists()
    path.write_bytes(content)
    with pytest.raises(ZooError, match=r"has no member data/\*"):
        unpack_archive(path, tmp_path, (("data/*", "."),))


def test_an_archive_is_unpacked_when_all_its_files_are_there_and_the_zip_is_gone(
    tmp_path: Path,
) -> None:
    archive = Archive("a.zip", (("*", "set"),), (("set/*.jpg", 2),))
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "1.jpg").touch()
    assert not archive.is_unpacked(tmp_path)
    (tmp_path / "set" / "2.jpg").touch()
    assert archive.is_unpacked(tmp_path)
    (tmp_path / "a.zip").touch()
    assert not archive.is_unpacked(tmp_path)


def test_a_tar_is_unpacked_like_a_zip(tmp_path: Path) -> None:
    members = {"./val/1.jpg": "1", "./val/2.jpg": "two", "./readme": "no"}
    path = write_tar(tmp_path / "a.tar.gz", members)
    (tmp_path / "coco/val").mkdir(parents=True)
    (tmp_path / "coco/val/1.jpg").write_text("M")  # of the same size
    counted: list[int] = []
    unpack_archive(path, tmp_path, (("*val/*.jpg", "coco"),), counted.append)
    files = {str(p.relative_to(tmp_path)): p.read_text() for p in tmp_path.rglob("*.*")}
    assert files == {"coco/val/1.jpg": "M", "coco/val/2.jpg": "two"}
    assert sum(counted) == 2


def test_a_tar_is_refused_or_deleted_like_a_zip(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar.gz", {"../out.txt": "bad"})
    with pytest.raises(ZooError, match="does not stay in its folder"):
        unpack_archive(path, tmp_path / "root", (("*", "set"),))
    with tarfile.open(path, "w:gz") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(ZooError, match="does not stay in its folder"):
        unpack_archive(path, tmp_path, (("*", "set"),))
    write_tar(path, {"1.txt": "content"})
    with pytest.raises(ZooError, match=r"has no member data/\*"):
        unpack_archive(path, tmp_path, (("data/*", "."),))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ZooError, match=r"a\.tar\.gz is damaged .* was deleted"):
        unpack_archive(path, tmp_path, (("*", "."),))
    assert not path.exists()
