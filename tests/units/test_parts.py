"""Parts, as Ray's workers are handed them: dealt, checked and gone on from, without Ray."""

import sys
from pathlib import Path

import pytest

from zoo.errors import ZooError
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.units.extract import Captioned
from zoo.units.llm.openai_compatible import OpenAICompatible
from zoo.units.on_ray import Ray, Worker, dealt
from zoo.units.rules.rule import RuleExtractor

CAPTIONS: list[Captioned] = [(f"A dog {i}", str(i), str(i // 3)) for i in range(12)]
WORKED: list[dict[str, object]] = []


class Data:
    """Stands in for `ray.data`: one worker, in this process."""

    class DataContext:
        enable_progress_bars = True

        @classmethod
        def get_current(cls) -> type["Data.DataContext"]:
            return cls

    @staticmethod
    def ActorPoolStrategy(size: int) -> int:
        return size

    @staticmethod
    def from_items(items: list[dict[str, object]], override_num_blocks: int) -> "Data":
        assert override_num_blocks == len(items)
        data = Data()
        data.items = items
        return data

    items: list[dict[str, object]]

    def map(
        self, worker: type[Worker], fn_constructor_args: tuple[object, ...], **_: object
    ) -> "Data":
        work = worker(*fn_constructor_args)
        WORKED.extend(self.items)
        made = Data()
        made.items = [work(item) for item in self.items]
        return made

    def iter_rows(self) -> list[dict[str, object]]:
        return self.items


@pytest.fixture(autouse=True)
def ray(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("ray")
    module.is_initialized = lambda: True  # type: ignore[attr-defined]
    module.data = Data  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", module)
    monkeypatch.setitem(sys.modules, "ray.data", Data)  # type: ignore[arg-type]
    WORKED.clear()


@pytest.fixture(scope="module")
def rules() -> RuleExtractor:
    return RuleExtractor(tagger=TextBlobTagger())


def test_captions_of_an_image_stay_together_in_the_order_of_images() -> None:
    mixed = [*CAPTIONS[::2], *CAPTIONS[1::2]]
    parts = dealt(mixed, 4)
    assert [[image for _, _, image in part.captions] for part in parts] == [
        ["0"] * 3 + ["1"] * 3,
        ["2"] * 3 + ["3"] * 3,
    ]
    assert sorted(c for part in parts for c in part.captions) == sorted(CAPTIONS)
    assert [part.name for part in parts] == ["part-00000.parquet", "part-00001.parquet"]
    assert [len(part.captions) for part in dealt(CAPTIONS, 1)] == [3, 3, 3, 3]
    assert len(dealt(CAPTIONS, 100)) == 1


def test_finished_parts_are_not_extracted_again_unless_they_may_be_lost(
    rules: RuleExtractor, tmp_path: Path
) -> None:
    on_ray, out = Ray(workers=1, captions=3), tmp_path / "parts"
    first = on_ray.extract(rules, CAPTIONS, out)
    assert len(WORKED) == 4
    (out / "part-00002.parquet").unlink()
    assert on_ray.extract(rules, CAPTIONS, out) == first
    assert [row["part"] for row in WORKED[4:]] == [2]
    assert on_ray.extract(rules, CAPTIONS, out, overwrite=True) == first
    assert len(WORKED) == 4 + 1 + 4


def test_parts_of_anything_else_are_refused_in_a_sentence(
    rules: RuleExtractor, tmp_path: Path
) -> None:
    on_ray, out = Ray(workers=1, captions=3), tmp_path / "parts"
    on_ray.extract(rules, CAPTIONS, out)
    other = RuleExtractor(seed=3, tagger=TextBlobTagger())
    for extractor, captions, of in ((rules, CAPTIONS[:9], 3), (rules, CAPTIONS, 6)):
        with pytest.raises(ZooError, match=r"part-00000.parquet is of other captions, or of parts"):
            Ray(workers=1, captions=of).extract(extractor, captions, out)
    with pytest.raises(ZooError, match=r'"seed": 0.*and .*"seed": 3.* is asked for.*--overwrite'):
        on_ray.extract(other, CAPTIONS, out)
    assert Ray(workers=1, captions=6).extract(other, CAPTIONS, out, overwrite=True).captions == 12
    assert len(list(out.iterdir())) == 2  # none is left of the four


def test_a_file_that_would_be_read_with_the_parts_is_refused(
    rules: RuleExtractor, tmp_path: Path
) -> None:
    (tmp_path / "others.jsonl").touch()
    with pytest.raises(ZooError, match=r"holds others.jsonl, which would be read"):
        Ray(workers=1).extract(rules, CAPTIONS, tmp_path, overwrite=True)
    for name in ("units.jsonl", "units.parquet"):
        with pytest.raises(ZooError, match=rf"--out .*{name} is the name of a file"):
            Ray(workers=1).extract(rules, CAPTIONS, tmp_path / name)


def test_a_journal_of_ones_own_is_refused(tmp_path: Path) -> None:
    asking = OpenAICompatible(journal=str(tmp_path / "journal"))
    with pytest.raises(ZooError, match=r"--extractor.journal .* is one file, and Ray keeps"):
        Ray(workers=2).extract(asking, CAPTIONS, tmp_path / "parts")


def test_a_worker_of_other_packages_is_refused(rules: RuleExtractor, tmp_path: Path) -> None:
    other = RuleExtractor(seed=1, tagger=TextBlobTagger())

    class Elsewhere(RuleExtractor):
        def describe(self) -> dict[str, object]:
            return other.describe()

    Elsewhere.__module__, Elsewhere.__qualname__ = "zoo.units", "RuleExtractor"
    with pytest.raises(ZooError, match=r"a worker of Ray has the extractor .*install the same"):
        Ray(workers=1).extract(Elsewhere(tagger=TextBlobTagger()), CAPTIONS, tmp_path / "parts")


def test_without_ray_the_extra_is_named(
    rules: RuleExtractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(ZooError, match=r"ray.data is not installed: pip install 'zoo\[ray\]'"):
        Ray(workers=1).extract(rules, CAPTIONS, tmp_path / "parts")
