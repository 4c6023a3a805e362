"""A cache of decoded images is whole or absent, bounded, and gives what decoding anew gives."""

import os
import pickle
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tests.datamodules.small import Made, Watcher
from tests.support.mistakes import full_after
from zoo.backbones import Backbone
from zoo.datamodules import CaptionDataModule
from zoo.datamodules.dataset import ImageFiles
from zoo.errors import ZooError
from zoo.pixels import cache as caching
from zoo.pixels.cache import (
    GIB,
    CachedImageSet,
    CachedPixels,
    ImageCache,
    cached_image_sets,
    cached_pixels,
)
from zoo.pixels.decoding import pixels_of
from zoo.sources.images import BrokenImage, ImageFinder
from zoo.sources.sample import ImageRef
from zoo.training.trainer import ZooTrainer

SIDE = 32


@pytest.fixture
def refs(tmp_path: Path) -> list[ImageRef]:
    found = []
    for i, size in enumerate([(64, 48), (40, 90), (20, 30)]):
        path = tmp_path / f"{i}.jpg"
        Image.radial_gradient("L").resize(size).rotate(10 * i).convert("RGB").save(path)
        found.append(ImageRef("file", str(path)))
    return found


def kept(folder: Path, refs: list[ImageRef], side: int = SIDE, **other: Any) -> Any:
    return cached_pixels(ImageCache(str(folder / "kept")), side, refs, ImageFinder([]), **other)


def test_larger_images_are_resized_and_smaller_ones_kept_as_they_are(
    tmp_path: Path, refs: list[ImageRef]
) -> None:
    pixels = kept(tmp_path, refs)
    assert [tuple(pixels[ref].shape) for ref in refs] == [(3, 32, 42), (3, 72, 32), (3, 30, 20)]
    assert torch.equal(pixels[refs[2]], pixels_of(ImageFinder([]), refs[2]))
    again = pickle.loads(pickle.dumps(pixels))
    assert all(torch.equal(again[ref], pixels[ref]) for ref in refs)


def test_images_that_are_not_cropped_are_those_of_decoding_anew(
    tmp_path: Path, refs: list[ImageRef]
) -> None:
    backbone = Backbone("zoo-tiny", augmentation=None)
    finder = ImageFinder([])
    from_cache = kept(tmp_path, refs, backbone.least_side)
    read = ImageFiles(finder, backbone.train_pixels, "torchvision", from_cache)
    anew = ImageFiles(finder, backbone.train_pixels, "torchvision")
    assert all(torch.equal(read(ref, "seed"), anew(ref, "seed")) for ref in refs)


def test_crops_are_drawn_anew_for_each_seed(tmp_path: Path, refs: list[ImageRef]) -> None:
    backbone = Backbone("zoo-tiny")
    images = ImageFiles(
        ImageFinder([]), backbone.train_pixels, "torchvision", kept(tmp_path, refs[:1], 80)
    )
    one, same, other = (images(refs[0], seed) for seed in ("1", "1", "2"))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_what_is_there_is_not_decoded_again_and_what_changed_is(
    tmp_path: Path, refs: list[ImageRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = kept(tmp_path, refs)
    decoded: list[ImageRef] = []

    def counting(finder: ImageFinder, ref: ImageRef) -> torch.Tensor:
        decoded.append(ref)
        return pixels_of(finder, ref)

    monkeypatch.setattr(caching, "pixels_of", counting)
    assert kept(tmp_path, refs).folder == first.folder
    assert not decoded
    Image.new("RGB", (64, 48)).save(refs[0].key)
    os.utime(refs[0].key, ns=(1, 1))
    changed = kept(tmp_path, refs)
    assert decoded == refs
    assert int(changed[refs[0]].max()) == 0
    assert kept(tmp_path, refs, side=16).folder not in (first.folder, changed.folder)


def test_a_run_that_ends_while_it_decodes_leaves_nothing(
    tmp_path: Path, refs: list[ImageRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "save", ended)
    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path, refs)
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".lock"]
    monkeypatch.undo()
    assert kept(tmp_path, refs)[refs[0]].shape == (3, 32, 42)


def test_its_size_is_told_before_it_is_made_and_bounded(
    tmp_path: Path, refs: list[ImageRef], caplog: pytest.LogCaptureFixture
) -> None:
    small = ImageCache(str(tmp_path / "kept"), limit_gib=1e-6)
    with pytest.raises(ZooError, match=r"3 images of shorter side 32 would take about .* GiB"):
        cached_pixels(small, SIDE, refs, ImageFinder([]))
    with caplog.at_level("INFO", logger="zoo"):
        kept(tmp_path, refs)
    assert "decoding 3 images with shorter side 32 into about 0.00 GiB" in caplog.text


def test_sets_of_other_runs_count_towards_the_most_that_a_folder_may_hold(
    tmp_path: Path, refs: list[ImageRef]
) -> None:
    first = kept(tmp_path, refs)
    size = (first.folder / "pixels.bin").stat().st_size
    assert cached_image_sets(tmp_path / "kept") == [CachedImageSet(first.folder, 3, size)]
    bound = ImageCache(str(tmp_path / "kept"), limit_gib=1.5 * size / GIB)
    assert cached_pixels(bound, SIDE, refs, ImageFinder([])).folder == first.folder
    with pytest.raises(
        ZooError, match=r"GiB of other sets, .*: increase it, remove sets \(`zoo doctor"
    ):
        cached_pixels(bound, SIDE + 1, refs, ImageFinder([]))
    shutil.rmtree(first.folder)
    assert cached_pixels(bound, SIDE + 1, refs, ImageFinder([])).folder != first.folder


def test_a_builder_that_is_killed_leaves_nothing_that_outlives_the_next(
    tmp_path: Path, refs: list[ImageRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:

        def stuck(part: Path, *_: object) -> None:
            (part / "pixels.bin").write_bytes(b"half")
            os.write(writing, b"!")
            signal.pause()

        monkeypatch.setattr(caching, "_write", stuck)
        try:
            kept(tmp_path, refs[:2])
        finally:
            os._exit(1)
    os.read(reading, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    (left,) = (tmp_path / "kept").glob(".*.part")
    assert (left / "pixels.bin").read_bytes() == b"half"
    assert cached_image_sets(tmp_path / "kept") == []
    pixels = kept(tmp_path, refs)  # another set
    assert not left.exists()
    assert pixels[refs[0]].shape == (3, 32, 42)


def test_of_two_builders_one_builds_and_the_other_waits(
    tmp_path: Path, refs: list[ImageRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    other_began, built = threading.Event(), []

    def counting(*given: Any) -> None:
        other_began.wait()
        built.append(given)
        write(*given)

    write = caching._write
    monkeypatch.setattr(caching, "_write", counting)

    def second() -> CachedPixels:
        other_began.set()
        return kept(tmp_path, refs)

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(kept, tmp_path, refs)
        two = pool.submit(second)
        assert one.result().folder == two.result().folder
    assert len(built) == 1


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, refs: list[ImageRef]) -> None:
    with (
        full_after(1_000),
        pytest.raises(
            ZooError,
            match=r"could not be written \(File too large\): free disk .* from the beginning",
        ),
    ):
        kept(tmp_path, refs)
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".lock"]
    assert kept(tmp_path, refs)[refs[0]].shape == (3, 32, 42)


def test_broken_images_are_refused_or_left_out(tmp_path: Path, refs: list[ImageRef]) -> None:
    Path(refs[1].key).write_bytes(Path(refs[1].key).read_bytes()[:300])
    with pytest.raises(BrokenImage):
        kept(tmp_path, refs)
    pixels = kept(tmp_path, refs, tolerate_broken=True)
    assert pixels[refs[0]].shape == (3, 32, 42)
    with pytest.raises(BrokenImage, match="is damaged or not an image"):
        _ = pixels[refs[1]]


def test_a_set_of_broken_images_alone_is_told_as_one_of_some(
    tmp_path: Path, refs: list[ImageRef]
) -> None:
    Path(refs[1].key).write_bytes(Path(refs[1].key).read_bytes()[:300])
    pixels = kept(tmp_path, refs[1:2], tolerate_broken=True)
    with pytest.raises(BrokenImage, match="is damaged or not an image"):
        _ = pixels[refs[1]]


def test_a_run_trains_on_the_same_batches_with_a_cache_and_without(tmp_path: Path) -> None:
    def seen(cache: ImageCache | None, workers: int) -> list[tuple[int, str]]:
        data = CaptionDataModule(
            Made(tmp_path, 4), [str(tmp_path)], batch_size=4, workers=workers, image_cache=cache
        )
        watcher = Watcher()
        trainer = ZooTrainer(
            max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False
        )
        trainer.fit(watcher, data)
        return watcher.seen

    # images of 8 x 8 in one colour are the same when resized
    assert seen(ImageCache(str(tmp_path / "kept")), 1) == seen(None, 0)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"decoder": "pil"}, "data.image_cache requires the torchvision decoder"),
        ({"features": "somewhere"}, "data.features encodes every image only once"),
    ],
)
def test_a_cache_of_no_use_is_refused(given: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=sentence):
        CaptionDataModule(
            Made(tmp_path, 2), [str(tmp_path)], image_cache=ImageCache("kept"), **given
        )
