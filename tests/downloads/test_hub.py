"""Data sets of the Hugging Face hub, from a stand-in on loopback."""

import io
import json
import os
import socket
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from tests.support.hub_server import COMMIT, HubServer, serve_hub
from zoo.benchmarks.countercurate import CounterCurate
from zoo.benchmarks.long_retrieval import URBAN_IMAGES, LongRetrieval
from zoo.benchmarks.mmvp import MMVP
from zoo.cli import main
from zoo.downloads.sets import published_sets

MMVP_FILES = {
    "Questions.csv": b"Question ID,Type,Statement\n",
    "MLLM_VLM Images/Orientation/1.jpg": b"1" * 3000,
    "README.md": b"about",
}


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # of its retries


def get(
    hub: HubServer, root: Path, monkeypatch: pytest.MonkeyPatch, names: str, *flags: str
) -> int:
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    template = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    return main(
        ["data", "get", names, "--data_root", str(root), "--images", "none", "--jobs", "1", *flags]
    )


def test_a_data_set_of_the_hub_arrives_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert MMVP.hub is not None
    root = tmp_path / "root"
    with serve_hub({MMVP.hub.id: MMVP_FILES}) as hub:
        assert get(hub, root, monkeypatch, "mmvp", "--dry_run") == 0
        assert hub.downloads == []
        assert get(hub, root, monkeypatch, "mmvp") == 0
        out = capsys.readouterr().out
        assert "mmvp: 3 files, 3.0 kB; licence: MIT; from huggingface.co/datasets/MMVP/MMVP" in out
        assert {
            str(path.relative_to(root / "mmvp")): path.read_bytes()
            for path in (root / "mmvp").rglob("*")
            if path.is_file() and ".cache" not in path.parts
        } == MMVP_FILES
        hub.downloads.clear()
        assert get(hub, root, monkeypatch, "mmvp") == 0
        assert hub.downloads == []
        assert capsys.readouterr().out == "mmvp: complete\n"


def test_a_failed_download_from_the_hub_resumes_and_a_cut_one_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert MMVP.hub is not None
    image = "MLLM_VLM Images/Orientation/1.jpg"
    with serve_hub({MMVP.hub.id: MMVP_FILES}, faults={image: ["503", "cut"]}) as hub:
        assert get(hub, tmp_path, monkeypatch, "mmvp") == 1
        assert "run the same command again, which resumes" in capsys.readouterr().err
        assert get(hub, tmp_path, monkeypatch, "mmvp") == 0
        assert [file for file, _ in hub.downloads].count(image) == 3
    assert (tmp_path / "mmvp" / image).read_bytes() == MMVP_FILES[image]


@pytest.mark.slow
def test_the_address_of_the_hub_is_the_setting_of_huggingface_hub(tmp_path: Path) -> None:
    assert MMVP.hub is not None
    with serve_hub({MMVP.hub.id: MMVP_FILES}) as hub:
        settings = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": "reader"}
        words = ["data", "get", "mmvp", "--data_root", str(tmp_path), "--images", "none"]
        subprocess.run(
            [sys.executable, "-m", "zoo.cli", *words], check=True, env={**os.environ, **settings}
        )
    assert (tmp_path / "mmvp" / "Questions.csv").is_file()


def test_a_gated_set_names_its_licence_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"data/test-00000-of-00001.parquet": b"parquet"}
    message = (
        "zoo: facebook/winoground is gated: accept its licence at "
        "huggingface.co/datasets/facebook/winoground, log in with `hf auth login`, and run the "
        "same command again\n"
    )
    name = "facebook/winoground"
    with serve_hub({name: files}, gated=frozenset({name})) as hub:
        assert get(hub, tmp_path, monkeypatch, "winoground") == 1
        printed = capsys.readouterr()
        assert printed.err == message
        assert printed.out.startswith("winoground: licence: Meta's research licence of Winoground")
        monkeypatch.setenv("HF_TOKEN", "somebody")
        assert get(hub, tmp_path, monkeypatch, "winoground") == 1
        assert capsys.readouterr().err == message
        assert hub.downloads == []
        monkeypatch.setenv("HF_TOKEN", "reader")
        assert get(hub, tmp_path, monkeypatch, "winoground") == 0
    assert (tmp_path / "winoground" / "data" / "test-00000-of-00001.parquet").is_file()


def test_a_zip_of_the_hub_is_unpacked_deleted_and_not_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("count/image2text.json", "[]")
    with serve_hub({"wjpoom/SPEC": {"data.zip": packed.getvalue(), "other.txt": b""}}) as hub:
        assert get(hub, tmp_path, monkeypatch, "spec") == 0
        assert [file for file, _ in hub.downloads] == ["data.zip"]
        assert (tmp_path / "spec" / "count" / "image2text.json").read_text() == "[]"
        assert not (tmp_path / "spec" / "data.zip").exists()
        assert get(hub, tmp_path, monkeypatch, "spec") == 0
        assert len(hub.downloads) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "spec: complete"


def test_an_unpinned_data_set_is_fetched_at_one_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "reader")
    [wanted] = published_sets()["colorswap"].hub
    assert wanted.dataset.revision == ""
    with serve_hub({wanted.dataset.id: {"test.json": b"[]"}}) as hub:
        assert get(hub, tmp_path, monkeypatch, "colorswap") == 0
    metadata = tmp_path / "colorswap" / ".cache" / "huggingface" / "download"
    assert COMMIT in (metadata / "test.json.metadata").read_text()


def test_an_unreachable_hub_is_asked_once_for_all_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    connections: list[str] = []
    connect = socket.create_connection

    def count(address: tuple[str, int], *args: Any, **options: Any) -> socket.socket:
        connections.append(f"{address[0]}:{address[1]}")
        return connect(address, *args, **options)

    monkeypatch.setattr(socket, "create_connection", count)
    with serve_hub({}) as hub:
        hub.url = "http://127.0.0.1:9"
        assert get(hub, tmp_path, monkeypatch, "mmvp,colorswap,biscor") == 1
    assert connections == ["127.0.0.1:9"]
    message = capsys.readouterr().err
    for name in ("MMVP/MMVP_VLM", "stanfordnlp/colorswap", "imirandam/BiSCoR"):
        assert message.count(f"huggingface.co/datasets/{name} cannot be reached (") == 1


@pytest.mark.parametrize("gone", ["no server", "no data set"])
def test_an_unreachable_hub_is_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    gone: str,
) -> None:
    with serve_hub({}) as hub:
        if gone == "no server":
            hub.url = "http://127.0.0.1:9"
        assert get(hub, tmp_path, monkeypatch, "mmvp") == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("zoo: huggingface.co/datasets/MMVP/MMVP_VLM ")
    assert ("cannot be reached" in message) == (gone == "no server")


def test_of_a_zero_shot_set_only_the_test_split_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = dict.fromkeys(
        ("classnames.txt", "test/nshards.txt", "test/0.tar", "train/nshards.txt"), b"1"
    )
    with serve_hub({"clip-benchmark/wds_vtab-cifar10": files}) as hub:
        assert get(hub, tmp_path, monkeypatch, "zero_shot:cifar10") == 0
        assert {file for file, _ in hub.downloads} == {*files} - {"train/nshards.txt"}
    assert (tmp_path / "zero_shot" / "cifar10" / "test" / "0.tar").is_file()


def test_urban1k_arrives_with_its_captions_and_unpacked_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for i in range(1, 1001):
            archive.writestr(f"Urban1k/image/{i}.jpg", b"i")
            archive.writestr(f"Urban1k/caption/{i}.txt", "c")
    captions = {"annotations": [{"image_id": 0, "image": "7.jpg", "caption": "A street"}]}
    (tmp_path / "Urban1k/annotations").mkdir(parents=True)
    (tmp_path / "Urban1k/annotations/annotations.json").write_text(json.dumps(captions))
    with serve_hub({URBAN_IMAGES.id: {"Urban1k.zip": packed.getvalue()}}) as hub:
        assert get(hub, tmp_path, monkeypatch, "long_retrieval:urban1k") == 0
    assert "urban1k: 1 file, 0.2 MB; licence: CC BY-NC 4.0" in capsys.readouterr().out
    [case] = LongRetrieval(subsets=["urban1k"]).read(tmp_path).cases
    assert (tmp_path / case.images[0].key).read_bytes() == b"i"
    assert not (tmp_path / "Urban1k/Urban1k.zip").exists()
    assert not (tmp_path / "Urban1k/caption").exists()


def test_images_of_countercurate_are_unpacked_where_its_cases_name_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed, picture = io.BytesIO(), "train_data/up_down/neg/7_12.png"
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in ("train_data/up_down.json", picture):
            member = tarfile.TarInfo(f"./{name}")
            member.size = 1
            archive.addfile(member, io.BytesIO(b"i"))
    row = f"train_data/up_down/pos/7.jpg\tA cup\t{picture}\tA hat"
    table = f"images\tcaptions\tneg_images\tneg_captions\n{row}\n".encode()
    files = {
        "clip_sample_data/test_up_down_.csv": table,
        "clip_sample_data/test_left_right_.csv": table,
        "train_data.tar.gz": packed.getvalue(),
    }
    assert CounterCurate.hub is not None
    with serve_hub({CounterCurate.hub.id: files}) as hub:
        assert get(hub, tmp_path, monkeypatch, "countercurate:up_down") == 0
        n_downloads = len(hub.downloads)
        assert get(hub, tmp_path, monkeypatch, "countercurate:up_down") == 0
        assert len(hub.downloads) == n_downloads
    [case] = CounterCurate(subsets=["up_down"]).read(tmp_path).cases
    assert (tmp_path / case.images[1].key).read_bytes() == b"i"
    assert not (tmp_path / "countercurate/train_data.tar.gz").exists()
