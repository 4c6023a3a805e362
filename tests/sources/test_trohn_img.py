"""TROHN-Img: from shards on disk to batches of positives and negative pairs."""

import io
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.datamodules.small import Watcher, WordTokenizer
from zoo.datamodules.captions import CaptionDataModule
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.trohn_img import TrohnImg
from zoo.sources.sample import ImageRef
from zoo.support.configurable import to_config

RED, GREEN = (255, 0, 0), (0, 255, 0)


def png(color: tuple[int, int, int]) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (8, 8), color).save(content, "png")
    return content.getvalue()


def shard(path: Path, first: int, n: int, **columns: list[object]) -> Path:
    """Writes a shard as the hub has it.

    Positives are red images in coco/train2017, negatives green.
    """
    images = path.parents[1] / "coco" / "train2017"
    images.mkdir(parents=True, exist_ok=True)
    names = [f"{first + i:012d}.jpg" for i in range(n)]
    for name in names:
        (images / name).write_bytes(png(RED))
    table = {
        "image_id": names,
        "caption": [f"{first + i} is red " for i in range(n)],
        "negative_caption": [f"{first + i} is green" for i in range(n)],
        "negative_image": [{"bytes": png(GREEN), "path": f"{i}.png"} for i in range(n)],
    } | columns
    path.parent.mkdir(exist_ok=True)
    pq.write_table(
        pa.table({name: values for name, values in table.items() if values is not None}),
        path,
        row_group_size=2,
    )
    return path


@pytest.fixture
def trohn(tmp_path: Path) -> Path:
    shard(tmp_path / "trohn" / "train-00000-of-00002.parquet", 10, 3)
    shard(tmp_path / "trohn" / "train-00001-of-00002.parquet", 20, 2)
    shard(tmp_path / "trohn" / "validation-00000-of-00001.parquet", 30, 2)
    return tmp_path / "trohn"


def test_a_row_is_a_positive_and_its_companion(trohn: Path) -> None:
    samples = TrohnImg(trohn, "train").read()
    assert len(samples) == 2 * 5
    for k, positive in enumerate(samples[::2]):
        negative = samples[2 * k + 1]
        assert positive.companions == (2 * k + 1,)
        assert positive.negatives == (negative.caption,)
        assert (positive.companion_only, negative.companion_only) == (False, True)
        assert positive.image_id != negative.image_id
    assert (samples[6].image, samples[6].caption, samples[6].caption_id) == (
        ImageRef("coco", "20"),
        "20 is red",
        "train-00001-of-00002#0",
    )
    assert len({sample.caption_id for sample in samples}) == 10


def test_splits_are_told_by_name_and_pictures_are_found(trohn: Path) -> None:
    assert {s.split for s in TrohnImg(trohn).read()} == {"train", "validation"}
    assert len(TrohnImg(trohn, "validation").read()) == 4
    finder = ImageFinder([trohn.parent])
    colors = [finder.load(s.image).getpixel((0, 0)) for s in TrohnImg(trohn, "train").read()]
    assert colors == [RED, GREEN] * 5


def test_a_batch_has_as_many_negative_pairs_behind_its_positives(trohn: Path) -> None:
    data = attached(trohn, batch_size=2, hard_images=True)
    captions = {hash_of(s.caption): s.caption for s in TrohnImg(trohn).read()}
    for loader in (data.train_dataloader(), data.val_dataloader()[0]):
        for batch in loader:
            assert (len(batch), batch.primary) == (4, 2)
            shown = [
                captions[int(batch.hashes[row])].split() if row >= 0 else None
                for row in batch.captions
            ]
            for positive, negative in zip(shown[:2], shown[2:], strict=True):
                assert (positive is None) == (negative is None)
                if positive is not None and negative is not None:
                    assert (positive[0], positive[2], negative[2]) == (negative[0], "red", "green")


def test_negative_pairs_are_no_rows_of_their_own(trohn: Path) -> None:
    rows = [
        s
        for batch in attached(trohn, batch_size=1).train_dataloader()
        for s in batch.samples.tolist()
    ]
    assert sorted(rows) == [0, 2, 4, 6, 8]
    rows = [
        s
        for batch in attached(trohn, batch_size=1, hard_images=True).train_dataloader()
        for s in batch.samples.tolist()
    ]
    assert sorted(rows) == list(range(10))


def attached(trohn: Path, **options: object) -> CaptionDataModule:
    data = CaptionDataModule(
        TrohnImg(trohn, "train"),
        [str(trohn.parent)],
        TrohnImg(trohn, "validation"),
        workers=0,
        **options,
    )  # type: ignore[arg-type]
    data.trainer = SimpleNamespace(  # type: ignore[assignment]
        lightning_module=Watcher(), global_rank=0, world_size=1, is_global_zero=True
    )
    data.setup("fit")
    return data


def hash_of(text: str) -> int:
    return int(WordTokenizer()([text])[2][0])


def test_shard_and_folder_are_guessed(trohn: Path) -> None:
    assert to_config(guess_reader(trohn)) == to_config(TrohnImg(trohn))
    assert len(guess_reader(next(trohn.glob("val*"))).read()) == 4


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"'valid'.*did you mean validation"):
        TrohnImg(tmp_path, "valid")
    with pytest.raises(ZooError, match=r"has no train\*\.parquet"):
        TrohnImg(tmp_path, "train").read()
    with pytest.raises(
        ZooError, match=r"no column 'negative_image'.*did you mean negative_caption"
    ):
        TrohnImg(shard(tmp_path / "a" / "train-0.parquet", 1, 2, negative_image=None)).read()  # type: ignore[arg-type]
    with pytest.raises(
        ZooError, match=r"train-0\.parquet\[1\] has None in column 'negative_caption'"
    ):
        TrohnImg(
            shard(tmp_path / "b" / "train-0.parquet", 1, 2, negative_caption=["x", None])
        ).read()
    with pytest.raises(
        ZooError, match=r"train-0\.parquet\[0\]: 'cat\.jpg' is not a file name of coco"
    ):
        TrohnImg(shard(tmp_path / "c" / "train-0.parquet", 1, 1, image_id=["cat.jpg"])).read()
    with pytest.raises(ZooError, match=r"train-0\.parquet\[0\] has an empty caption"):
        TrohnImg(shard(tmp_path / "d" / "train-0.parquet", 1, 1, caption=[" "])).read()
    cut = shard(tmp_path / "e" / "train-0.parquet", 1, 2)
    cut.write_bytes(cut.read_bytes()[:-9])
    with pytest.raises(ZooError, match=r"train-0\.parquet is not a valid Parquet file"):
        TrohnImg(cut).read()
