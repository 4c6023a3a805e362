"""Captions of data sets on the hub, by a stand-in for `datasets`, and by itself if installed."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.shards import picture
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.readers.hub_captions import HubCaptions

STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


class Image:
    """What `datasets` says of a column of images."""


def table(start: int, n: int) -> pa.Table:
    images = [{"bytes": picture(i), "path": None} for i in range(start, start + n)]
    return pa.table(
        {
            "image": pa.array(images, STRUCT),
            "caption": [f"a picture {i}" for i in range(start, start + n)],
            "captions": [[f"one {i}", f"two {i}"] for i in range(start, start + n)],
            "n": list(range(start, start + n)),
        }
    )


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a stand-in for `datasets` is asked; it has five rows in two arrow files."""
    calls: list[Any] = []
    files = []
    for start, n in ((0, 3), (3, 2)):
        files.append(tmp_path / f"{start}.arrow")
        with pa.OSFile(str(files[-1]), "wb") as out:
            made = table(start, n)
            with pa.ipc.new_stream(out, made.schema) as stream:
                stream.write_table(made, max_chunksize=2)

    def load_dataset(*given: Any, **named: Any) -> Any:
        calls.append((given, named))
        if named["split"] != "train":
            raise ValueError('Unknown split "tests".\nShould be one of ["train"].')
        features = {"n": None, "caption": None, "captions": None, "image": Image()}
        cached = [{"filename": str(file)} for file in files]
        return SimpleNamespace(features=features, cache_files=cached)

    module = ModuleType("datasets")
    module.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    return calls


def test_each_row_has_its_caption_and_its_image(asked: list[Any]) -> None:
    reader = HubCaptions("owner/name", "0a1b2c", subset="large")
    samples = reader.read()
    assert asked == [(("owner/name", "large"), {"split": "train", "revision": "0a1b2c"})]
    assert [s.caption for s in samples] == [f"a picture {i}" for i in range(5)]
    assert [s.caption_id for s in samples] == ["0", "1", "2", "3", "4"]
    assert samples[3].image_id == samples[3].origin == "owner/name[3]"
    finder = ImageFinder([])
    assert [finder.read_stored_bytes(s.image) for s in samples] == [picture(i) for i in range(5)]
    assert [finder.read_stored_bytes(samples[i].image) for i in (4, 0, 2)] == [
        picture(i) for i in (4, 0, 2)
    ]


def test_a_list_of_captions_gives_a_sample_each(asked: list[Any]) -> None:
    samples = HubCaptions("owner/name", "v1", caption_column="captions").read()
    assert [s.caption for s in samples[:4]] == ["one 0", "two 0", "one 1", "two 1"]
    assert [s.caption_id for s in samples[:4]] == ["0/0", "0/1", "1/0", "1/1"]
    assert samples[0].image == samples[1].image


def test_what_is_wrong_is_told_in_a_sentence(asked: list[Any]) -> None:
    for reader, told in (
        (
            HubCaptions("owner/name"),
            "owner/name is on the Hub and may change there: set revision to a commit",
        ),
        (HubCaptions("owner/name", "v1", split="tests"), r"at v1 cannot be loaded.*Unknown split"),
        (HubCaptions("owner/name", "v1", caption_column="captoin"), r"\(did you mean caption"),
        (HubCaptions("owner/name", "v1", caption_column="n"), r"name\[0\] has 0 in column 'n'"),
    ):
        with pytest.raises(ZooError, match=told) as error:
            reader.read()
        assert "\n" not in str(error.value)


def test_without_datasets_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ZooError, match=r"datasets is not installed: pip install 'clip-zoo\[hf\]'"):
        HubCaptions("owner/name", "v1").read()


@pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None,
    reason="data sets of the hub are read by datasets: pip install 'clip-zoo[hf]'",
)
def test_a_copy_in_parquet_is_read_by_datasets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    copy = tmp_path / "copy"
    copy.mkdir()
    described = datasets.Features(
        {
            "image": datasets.Image(),
            "caption": datasets.Value("string"),
            "captions": [datasets.Value("string")],
            "n": datasets.Value("int64"),
        }
    )
    for number in range(2):
        made = table(3 * number, 3).replace_schema_metadata(described.arrow_schema.metadata)
        pq.write_table(made, copy / f"train-{number:05}-of-00002.parquet")
    samples = HubCaptions(str(copy)).read()
    assert [s.caption for s in samples] == [f"a picture {i}" for i in range(6)]
    finder = ImageFinder([])
    assert [finder.read_stored_bytes(s.image) for s in samples] == [picture(i) for i in range(6)]
