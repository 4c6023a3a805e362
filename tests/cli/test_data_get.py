"""`zoo data get` against a mirror on loopback."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path, PurePosixPath

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.support.file_server import COCO, FileServer, mirrored_sugarcrepe, serve_files
from zoo.benchmarks.sugarcrepe import SugarCrepe
from zoo.cli import data_get, main
from zoo.cli.data_get import find_missing_images
from zoo.downloads.files import listed_files
from zoo.downloads.plan import check_disk_space
from zoo.downloads.sets import published_sets
from zoo.sources import remote_files
from zoo.sources.images import ImageFinder

SPLITS = ("train", "dev", "test")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_files, "PAUSE", 0.01)


@pytest.fixture
def sugarcrepe(shared_data: Path) -> dict[str, bytes]:
    return mirrored_sugarcrepe(shared_data)


def get(server: FileServer, root: Path, *flags: str) -> int:
    return main(["data", "get", *flags, "--data_root", str(root), "--mirror", server.url])


def test_sugarcrepe_arrives_with_the_images_that_its_cases_need(
    sugarcrepe: dict[str, bytes],
    shared_data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = tmp_path / "root"
    with serve_files(sugarcrepe) as server:
        assert get(server, root, "sugarcrepe:swap_obj") == 1
        out, err = capsys.readouterr()
        lines = out.splitlines()
        assert lines[0] == (
            "sugarcrepe: 7 files, 1.7 MB; licence: MIT; from github.com/RAIVNLab/sugar-crepe"
        )
        assert re.fullmatch(rf"needed: 1\.7 MB; free: [\d,.]+ [GM]B at {root}", lines[1])
        cases = json.loads((shared_data / "sugarcrepe" / "swap_obj.json").read_text()).values()
        names = {case["filename"] for case in cases}
        here = {p.name for p in (shared_data / "coco" / "val2017").iterdir()} & names
        size = f"{len(names) * (815_585_330 // 5000) / 1e6:.1f} MB"
        assert lines[2].startswith(f"sugarcrepe: {len(names)} images, about {size}; free: ")
        # the mirror has only some of the photographs
        assert f"{len(names) - len(here)} of {len(names)} files are missing, such as " in err
        assert {p.name for p in (root / "coco" / "val2017").iterdir()} == here
        for name in published_sets()["sugarcrepe"].files:
            assert (root / name.path).read_bytes() == (shared_data / name.path).read_bytes()
        # the second time only the missing images are asked for
        server.requests.clear()
        assert get(server, root, "sugarcrepe:swap_obj") == 1
        assert {Path(path).name for path, _ in server.requests} == names - here
        assert capsys.readouterr().out.splitlines()[0] == "sugarcrepe: complete"
        server.requests.clear()
        assert get(server, root, "sugarcrepe", "--images", "none") == 0
        assert server.requests == []


def test_a_dry_run_prints_every_file_and_fetches_none(
    sugarcrepe: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve_files(sugarcrepe) as server:
        assert get(server, tmp_path / "root", "sugarcrepe", "--dry_run") == 0
        assert server.requests == []
    out = capsys.readouterr().out
    assert "  sugarcrepe/swap_obj.json, 57.6 kB, sha256:073cdb8e253d053614e80710834d9773b0" in out
    assert not (tmp_path / "root").exists()


def test_a_changed_file_is_kept_unless_it_may_be_overwritten(
    sugarcrepe: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = tmp_path / "sugarcrepe" / "swap_obj.json"
    changed.parent.mkdir()
    changed.write_text("{}")
    with serve_files(sugarcrepe) as server:
        assert get(server, tmp_path, "sugarcrepe", "--images", "none") == 0
        assert f"{changed} differs from the published file and is kept" in capsys.readouterr().out
        assert changed.read_text() == "{}"
        assert get(server, tmp_path, "sugarcrepe", "--images", "none", "--overwrite") == 0
    assert changed.stat().st_size == 57569


def test_files_that_were_gathered_in_benchmarks_or_gzipped_are_found(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(shared_data / "sugarcrepe", tmp_path / "benchmarks" / "sugarcrepe")
    packed = tmp_path / "benchmarks" / "sugarcrepe" / "swap_obj.json"
    packed.rename(packed.with_suffix(".json.gz"))
    with serve_files({}) as server:
        assert get(server, tmp_path, "sugarcrepe", "--images", "none") == 0
        assert server.requests == []
    assert capsys.readouterr().out == "sugarcrepe: complete\n"


def test_a_disk_that_is_too_small_is_refused_before_anything_is_fetched(
    sugarcrepe: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=10**6)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage)
    with serve_files(sugarcrepe) as server:
        assert get(server, tmp_path / "new" / "root", "sugarcrepe") == 1
        assert server.requests == []
    assert capsys.readouterr().err == (
        f"zoo: 1.7 MB are needed, but only 1.0 MB are free at {tmp_path / 'new' / 'root'}: free "
        "some space, name fewer sets, or choose another --data_root\n"
    )
    assert check_disk_space(10**6, tmp_path) == 10**6


def test_a_stopped_command_says_how_to_resume_and_resumes(
    sugarcrepe: dict[str, bytes], tmp_path: Path
) -> None:
    slow = next(path for path in sugarcrepe if path.endswith("add_obj.json"))
    words = ["data", "get", "sugarcrepe", "--images", "none", "--data_root", str(tmp_path)]
    with serve_files(sugarcrepe, {slow: ["drip"]}) as server:
        command = [sys.executable, "-m", "zoo.cli", *words, "--mirror", server.url]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
        part = tmp_path / "sugarcrepe" / ".add_obj.json.download"
        deadline = time.monotonic() + 120
        while not (part.exists() and part.stat().st_size == 64 << 10):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        while len(list((tmp_path / "sugarcrepe").glob("*.json"))) < 6:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGINT
        assert "finished files are kept, run the same command to resume" in err
        assert "Traceback" not in err
        assert not (tmp_path / "sugarcrepe" / "add_obj.json").exists()
        server.requests.clear()
        assert main([*words, "--mirror", server.url]) == 0
        assert server.requests == [(slow, f"bytes={64 << 10}-")]


def test_several_failures_are_one_message_and_the_rest_arrives(
    sugarcrepe: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faulty = sorted(path for path in sugarcrepe if path.endswith(".json"))[:5]
    with serve_files(sugarcrepe, {path: ["404"] for path in faulty}) as server:
        assert get(server, tmp_path, "sugarcrepe", "--images", "none") == 1
    err = capsys.readouterr().err.strip()
    assert err.startswith("zoo: 5 of 7 files are missing, such as http://127.0.0.1:")
    assert err.endswith(" cannot be downloaded (not found): check the address")
    assert len(list((tmp_path / "sugarcrepe").iterdir())) == 2


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("sugarcrep", "unknown data set 'sugarcrep' (did you mean sugarcrepe"),
        ("sugarcrepe,,aro", "has an empty name"),
        ("sugarcrepe,sugarcrepe", "sugarcrepe is repeated"),
        ("sugarcrepe:swap_ob", "sugarcrepe has no subset 'swap_ob' (did you mean swap_obj"),
        ("eqben", "eqben cannot be fetched: "),
        ("retrieval:mine.csv", "retrieval has no source 'mine.csv': name one of"),
        ("pairs", "pairs reads your own files, which `zoo data get` cannot fetch"),
        ("pairs:a.csv", "pairs cannot be fetched: write a.csv with the columns"),
    ],
)
def test_a_wrong_name_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: str, message: str
) -> None:
    with serve_files({}) as server:
        assert get(server, tmp_path, names) == 1
        assert server.requests == []
    assert message in capsys.readouterr().err


def test_the_cases_name_the_images(shared_data: Path, tmp_path: Path) -> None:
    shutil.copytree(shared_data / "sugarcrepe", tmp_path / "sugarcrepe")
    missing = find_missing_images(SugarCrepe(), ImageFinder([tmp_path]))
    assert len(missing) == 1560  # as the documentation of the shared data counts them
    shared = ImageFinder([shared_data])
    assert find_missing_images(SugarCrepe(), ImageFinder([tmp_path, shared_data])) == [
        image for image in missing if shared.find(image) is None
    ]


@pytest.mark.slow
def test_validate_can_fetch_first(
    sugarcrepe: dict[str, bytes],
    shared_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with serve_files(sugarcrepe) as server:
        monkeypatch.setenv("ZOO_MIRROR", server.url)
        words = ["--benchmarks", "sugarcrepe:swap_obj", "--data_root", str(tmp_path / "root")]
        model = ["--model.backbone.name", "zoo-tiny"]
        assert main(["validate", "--get", *words, *model, "--out", str(tmp_path / "out")]) == 0
        err = capfd.readouterr().err
        assert "sugarcrepe: 7 files, 1.7 MB" in err
        n_requests = len(server.requests)
        assert main(["validate", *words, *model, "--out", str(tmp_path / "again")]) == 0
        assert len(server.requests) == n_requests
    results = (tmp_path / "out" / "results.json").read_text()
    # the cases whose photographs the mirror has, as the documentation of the shared data counts
    assert json.loads(results)["benchmarks"]
    table = pq.read_table(tmp_path / "out" / "cases.parquet")
    assert len(set(table.filter(pc.is_valid(table["right"]))["case"].to_pylist())) == 14


def test_validate_fetches_nothing_that_is_in_another_root(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["sugarcrepe:swap_obj", "pairs:pairs.csv"]
    photograph = next((shared_data / "coco" / "val2017").glob("*.jpg"))
    Path("pairs.csv").write_text(f"image,caption,foil\n{photograph},a cat,a dog\n")
    with serve_files({}) as server:
        monkeypatch.setenv("ZOO_MIRROR", server.url)
        words = ["--benchmarks", ",".join(names), "--data_root", "new", str(shared_data)]
        model = ["--model.backbone.name", "zoo-tiny", "--out", "out"]
        assert main(["validate", "--get", *words, *model]) == 0
        # only the photographs that no root has were asked for
        assert {Path(path).suffix for path, _ in server.requests} == {".jpg"}
    assert list(Path("new").rglob("*.json")) == []


def test_captions_are_not_fetched_by_validate(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = ["--data", "CaptionDataModule", "--data.train", "PlainText", "--data.train.file", "a"]
    data += ["--data.image_roots", "[.]"]
    assert main(["validate", "--get", *data, "--model.backbone.name", "zoo-tiny"]) == 1
    message = "zoo: --get fetches the files of benchmarks: name these by --benchmarks\n"
    assert capsys.readouterr().err == message


def test_sizes_that_the_table_lacks_are_asked_of_the_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [file] = listed_files()["flickr8k"]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in ("Flickr8k.token.txt", *(f"Flickr_8k.{s}Images.txt" for s in SPLITS), "other"):
            archive.writestr(name, name)
    path = file.url.partition("://")[2]
    with serve_files({path: content.getvalue()}) as server:
        assert get(server, tmp_path, "flickr8k") == 0
        size = len(content.getvalue()) / 1000
        assert f"flickr8k: 1 file, {size:.1f} kB; licence: only research" in capsys.readouterr().out
        assert get(server, tmp_path, "flickr8k") == 0
        assert len(server.requests) == 1
    assert sorted(path.name for path in (tmp_path / "flickr8k").iterdir()) == [
        "Flickr8k.token.txt",
        "Flickr_8k.devImages.txt",
        "Flickr_8k.testImages.txt",
        "Flickr_8k.trainImages.txt",
    ]
    assert capsys.readouterr().out == "flickr8k: complete\n"


def test_a_page_of_google_drive_is_named_and_the_next_try_completes_the_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contents: dict[str, bytes] = {}
    for file in listed_files()["whatsup"]:
        content = io.BytesIO(b"[]")
        if file.path.endswith(".tar.gz"):
            folder = PurePosixPath(file.path).name.removesuffix(".tar.gz")
            with tarfile.open(fileobj=content, mode="w:gz") as archive:
                for i in range(412):
                    archive.addfile(tarfile.TarInfo(f"{folder}/{i}.jpeg"))
        contents[file.url.partition("://")[2]] = content.getvalue()
    with serve_files(contents, {next(iter(contents)): ["page"]}) as server:
        assert get(server, tmp_path, "whatsup", "--images", "none") == 1
        assert "answered with a web page instead of the file" in capsys.readouterr().err
        assert get(server, tmp_path, "whatsup", "--images", "none") == 0
        assert len(server.requests) == len(contents) + 1
    assert len(list((tmp_path / "whatsup" / "controlled_clevr").iterdir())) == 412
    assert len(list((tmp_path / "whatsup").glob("*.json"))) == 6
    assert not list((tmp_path / "whatsup").glob("*.tar.gz"))


def test_the_table_has_a_row_for_each_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "ls"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.partition(" ")[0] for line in lines} == {"name", "", *published_sets()}
    line = next(line for line in lines if line.startswith("visual_genome"))
    assert "15.2 GB" in line
    assert "not checked" in line


def test_a_suite_is_fetched_without_those_benchmarks_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    members = ["eqben", "sugarcrepe"]
    monkeypatch.setattr(data_get, "expand_suites", lambda names: members)
    with serve_files({}) as server:
        assert get(server, tmp_path, "suite:mine", "--dry_run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "eqben: cannot be fetched, `zoo doctor` explains how to get it"
    assert lines[1].startswith("sugarcrepe: 7 files, 1.7 MB; ")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--mirror", "nowhere"], "mirror 'nowhere' is not the address of a server"),
        (["--data_root", "file"], "--data_root file is not a folder"),
    ],
)
def test_a_wrong_place_is_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert main(["data", "get", "sugarcrepe", *flags]) == 1
    assert message in capsys.readouterr().err


def test_a_copy_is_not_fetched_in_whose_place_other_files_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "aro").mkdir()
    captions = tmp_path / "aro" / "coco_karpathy_test.json"
    captions.write_text(json.dumps([{"image": f"COCO_val2014_{9:012}.jpg", "caption": ["a"]}]))
    image = f"{COCO}/val2014/COCO_val2014_{9:012}.jpg"
    with serve_files({image: b"image"}) as server:
        assert get(server, tmp_path, "retrieval:coco_karpathy") == 0
        assert [path for path, _ in server.requests] == [image]
    first_line = capsys.readouterr().out.splitlines()[0]
    assert first_line == f"coco_captions: not needed, {captions} is read in its place"
    assert (tmp_path / "coco" / "val2014" / f"COCO_val2014_{9:012}.jpg").read_bytes() == b"image"


def test_nothing_is_fetched_for_your_own_captions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("filepath,title\na.jpg,a cat\n")
    with serve_files({}) as server:
        monkeypatch.setenv("ZOO_MIRROR", server.url)
        words = ["--benchmarks", "retrieval:mine.csv", "--data_root", "root", "--out", "out"]
        assert main(["validate", "--get", *words, "--model.backbone.name", "zoo-tiny"]) == 1
        assert server.requests == []
    assert "no case has its images under root" in capsys.readouterr().err
