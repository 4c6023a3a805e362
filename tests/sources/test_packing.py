"""Captions and images packed into tars, and read again."""

import io
import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest
from PIL import Image

from tests.support.shards import picture
from zoo.cli import main
from zoo.errors import ZooError
from zoo.sources import packing
from zoo.sources.images import BrokenImage, ImageFinder, image_identity
from zoo.sources.packing import PackingSettings, check_output_folder, pack_samples
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.jsonl import JsonLines
from zoo.sources.readers.web_dataset import WebDataset
from zoo.sources.sample import ImageRef, Sample


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def captions(folder: Path) -> Path:
    """Four captions of three images, those of one image apart, with all that captions have."""
    (folder / "coco/val2017").mkdir(parents=True)
    (folder / "coco/val2017/000000000724.jpg").write_bytes(picture(1))
    (folder / "b.png").write_bytes(picture(2, "PNG"))
    (folder / "c.jpg").write_bytes(picture(60))
    lines = [
        {"image": "coco:724", "caption": "a", "caption_id": "x", "negatives": ["na", "nb"]},
        {"image": "b.png", "caption": "b", "split": "train", "companions": [0, 3]},
        {"image": "c.jpg", "caption": "c", "image_id": "an image"},
        {"image": "coco:724", "caption": "d", "split": "train", "companions": [2]},
    ]
    (folder / "captions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "captions.jsonl"


def packed(samples: list[Sample], out: Path, finder: ImageFinder, **how: object) -> list[Sample]:
    pack_samples(samples, range(len(samples)), out, PackingSettings(finder, **how))  # type: ignore[arg-type]
    return WebDataset(str(out)).read()


def test_captions_are_read_as_they_were_packed(tmp_path: Path) -> None:
    samples, finder = JsonLines(captions(tmp_path)).read(), ImageFinder([tmp_path])
    found = packed(samples, tmp_path / "out", finder, per_shard=2)
    same = [replace(s, image=o.image, origin=o.origin) for s, o in zip(found, samples, strict=True)]
    assert same == samples
    contents = [finder.read_stored_bytes(s.image) for s in found]
    assert contents == [picture(1), picture(2, "PNG"), picture(60), picture(1)]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        f"0000{n}.tar{ending}" for n in (0, 1) for ending in ("", ".arrow")
    ]
    assert [s.image.key.partition("#")[2] for s in found] == [
        "coco/000000000724.jpg",
        "000000001.png",
        "000000002.jpg",
        "coco/000000000724.jpg",
    ]
    assert image_identity(found[0].image) == "coco:724"


def test_packed_captions_are_given_as_they_are_read_up_to_one_that_comes_too_early(
    tmp_path: Path,
) -> None:
    finder = ImageFinder([captions(tmp_path).parent])
    names = ("b.png", "c.jpg", "b.png")
    images = [ImageRef("file", str(tmp_path / name)) for name in names]
    samples = [Sample(image, str(i), str(image), str(i)) for i, image in enumerate(images)]
    packed(samples, tmp_path / "out", finder, per_shard=1)
    each = WebDataset(str(tmp_path / "out")).checked_samples()
    assert next(each).caption == "0"
    (tmp_path / "out/00001.tar.arrow").write_bytes(b"")
    with pytest.raises(ZooError, match="is a damaged tar index"):
        next(each)
    assert [s.caption for s in packed(samples, tmp_path / "out", finder)] == ["0", "1", "2"]


def test_processes_pack_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "IMAGES_PER_TASK", 1)
    monkeypatch.setattr(packing, "QUEUED_TASKS", 1)  # so that of three handfuls one waits
    samples, finder = JsonLines(captions(tmp_path)).read(), ImageFinder([tmp_path])
    for workers in (0, 2):
        packed(samples, tmp_path / str(workers), finder, workers=workers, side=20)
    alone, many = ((tmp_path / name / "00000.tar").read_bytes() for name in ("0", "2"))
    assert alone == many


class Deadly(ImageFinder):
    """Kills the process that reads an image."""

    def read_stored_bytes(self, image: ImageRef) -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""


def test_a_process_that_is_killed_ends_the_packing_with_a_sentence(tmp_path: Path) -> None:
    samples = JsonLines(captions(tmp_path)).read()
    with pytest.raises(
        ZooError, match="was killed while packing images: run the command again with fewer"
    ):
        packed(samples, tmp_path / "out", Deadly([tmp_path]), workers=1)
    assert not list(tmp_path.glob("*out*"))


def test_the_processes_of_a_packing_end_before_a_broken_image_is_reported(tmp_path: Path) -> None:
    samples = JsonLines(captions(tmp_path)).read()
    (tmp_path / "c.jpg").write_bytes(b"no image")
    with pytest.raises(ZooError, match="is damaged or not an image") as _kept:
        packed(samples, tmp_path / "out", ImageFinder([tmp_path]), workers=1)
    assert not active_children()


def test_companions_of_images_that_are_left_out_are_left_out_and_the_others_found(
    tmp_path: Path,
) -> None:
    samples = JsonLines(captions(tmp_path)).read()
    pack_samples(samples, [1, 2, 3], tmp_path / "out", PackingSettings(ImageFinder([tmp_path])))
    found = WebDataset(str(tmp_path / "out")).read()
    assert [(s.caption, s.companions) for s in found] == [("b", (2,)), ("c", ()), ("d", (1,))]
    of_train = WebDataset(str(tmp_path / "out"), splits=["train"]).read()
    assert [(s.caption, s.companions) for s in of_train] == [("b", (1,)), ("d", ())]
    with pytest.raises(
        ZooError, match=r"has no split 'trian' \(did you mean train\?\): its splits are train"
    ):
        WebDataset(str(tmp_path / "out"), splits=["trian"]).read()


def test_larger_images_are_resized_to_their_shorter_side_and_keep_their_orientation(
    tmp_path: Path,
) -> None:
    image = Image.linear_gradient("L").resize((90, 40)).convert("RGB")
    turned = Image.Exif()
    turned[0x0112] = 6
    image.save(tmp_path / "a.png", exif=turned)
    sample = Sample(ImageRef("file", str(tmp_path / "a.png")), "a", "a", "0")
    (found,) = packed([sample], tmp_path / "out", ImageFinder([]), side=20, quality=90)
    made = io.BytesIO()
    image.resize((45, 20), Image.Resampling.BICUBIC).save(made, "JPEG", quality=90, exif=turned)
    content = ImageFinder([]).read_stored_bytes(found.image)
    assert content == made.getvalue()
    assert Image.open(io.BytesIO(content)).getexif()[0x0112] == 6


def test_a_crop_is_an_image_of_its_own(tmp_path: Path) -> None:
    file = captions(tmp_path).parent / "coco/val2017/000000000724.jpg"
    Image.linear_gradient("L").save(file)
    refs = [ImageRef("coco", "724"), ImageRef("coco", "724", (10, 20, 30, 40))]
    samples = [Sample(ref, "a", "a", str(i)) for i, ref in enumerate(refs)]
    finder = ImageFinder([tmp_path])
    whole, crop = packed(samples, tmp_path / "out", finder)
    assert finder.load(whole.image).size == (256, 256)
    assert finder.load(crop.image).size == (30, 40)
    assert image_identity(crop.image) != image_identity(whole.image)


def test_a_broken_image_is_named_or_left_out_and_nothing_half_written_stays(
    tmp_path: Path,
) -> None:
    samples, finder = JsonLines(captions(tmp_path)).read(), ImageFinder([tmp_path])
    out = tmp_path / "out"
    packed(samples, out, finder)
    before = (out / "00000.tar").read_bytes()
    (tmp_path / "c.jpg").write_bytes(b"no image")
    with pytest.raises(BrokenImage, match=r"c\.jpg .*is damaged or not an image"):
        packed(samples, out, finder)
    assert (out / "00000.tar").read_bytes() == before
    assert not list(tmp_path.glob(".out*"))
    found = packed(samples, out, finder, tolerate_broken=True)
    assert [s.caption for s in found] == ["a", "b", "d"]


def test_the_command_tells_the_size_first_and_puts_texts_beside(
    made_root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tsv, out = str(made_root / "captions.tsv"), tmp_path / "out"
    files = {"units": made_root / "units.jsonl", "negatives": tmp_path / "negatives.jsonl"}
    texts = [sample.caption for sample in guess_reader(tsv).read()]
    lines = [json.dumps({"caption": text, "negative": f"no {text}"}) for text in texts]
    files["negatives"].write_text("\n".join(lines) + "\n")
    beside = ["--units", str(files["units"]), "--negatives", str(files["negatives"])]
    command = ["data", "pack", tsv, "--out", str(out), "--per_shard", "5", "--workers", "0"]
    assert main([*command, *beside]) == 0
    assert "12 images are packed into 3 tars of about 0.0 MiB in total" in caplog.text
    for name, file in files.items():
        assert (out / f"{name}.jsonl").read_bytes() == file.read_bytes()
    samples = guess_reader(out).read()
    assert [s.caption_id for s in samples] == [str(i) for i in range(12)]


def _full(made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=10))


def _foreign(made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/notes.txt").write_text("mine")


def _there(made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()


@pytest.mark.parametrize(
    ("given", "arrange", "told"),
    [
        ([], _there, "out exists: choose another folder, or add --overwrite"),
        (["--overwrite"], _foreign, "out has files that `zoo data pack` did not write"),
        (
            [],
            _full,
            r"12 images are packed into 1 tar of about .*, but only 0\.0 MiB are free at .*: free",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(
    given: list[str],
    arrange: Callable[[Path, Path, pytest.MonkeyPatch], None],
    told: str,
    made_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arrange(made_root, tmp_path, monkeypatch)
    command = ["data", "pack", str(made_root / "captions.tsv"), "--out", str(tmp_path / "out")]
    assert main([*command, *given]) == 1
    assert re.search(told, capsys.readouterr().err)
    assert not list(tmp_path.rglob("*.tar"))


def test_a_folder_with_other_files_is_not_written_over(tmp_path: Path) -> None:
    for name in ("00000.tar", "00000.tar.arrow", "units.jsonl", "negatives.jsonl"):
        (tmp_path / name).touch()
    check_output_folder(tmp_path, overwrite=True)
    (tmp_path / "notes.md").touch()
    with pytest.raises(ZooError, match="has files that `zoo data pack` did not write"):
        check_output_folder(tmp_path, overwrite=True)


def test_units_in_a_folder_are_put_beside_as_a_folder(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "0.jsonl").write_text("units")
    pack_samples(
        [], [], tmp_path / "out", PackingSettings(ImageFinder([])), {"units": tmp_path / "made"}
    )
    assert (tmp_path / "out" / "units" / "0.jsonl").read_text() == "units"
