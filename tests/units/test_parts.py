"""Parts, as Ray's workers are handed them: dealt, checked and gone on from, without Ray."""

import sys
from pathlib import Path

import pytest

from tests.support.fake_ray import stand_in
from zoo.errors import ZooError
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.support.ray_jobs import Ray
from zoo.units.extractor import CaptionRow
from zoo.units.llm.openai_compatible import OpenAICompatible
from zoo.units.ray_extraction import extract_on_ray, split_into_parts
from zoo.units.rules.rule import RuleExtractor

CAPTIONS: list[CaptionRow] = [(f"A dog {i}", str(i), str(i // 3)) for i in range(12)]


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Puts a stand-in in the place of Ray; returns the parts that it was handed."""
    return stand_in(monkeypatch)


@pytest.fixture(scope="module")
def rules() -> RuleExtractor:
    return RuleExtractor(tagger=TextBlobTagger())


def test_captions_of_an_image_stay_together_in_the_order_of_images() -> None:
    mixed = [*CAPTIONS[::2], *CAPTIONS[1::2]]
    parts = split_into_parts(mixed, 4)
    assert [[image for _, _, image in part.captions] for part in parts] == [
        ["0"] * 3 + ["1"] * 3,
        ["2"] * 3 + ["3"] * 3,
    ]
    assert sorted(c for part in parts for c in part.captions) == sorted(CAPTIONS)
    assert [part.file_name for part in parts] == ["part-00000.parquet", "part-00001.parquet"]
    assert [len(part.captions) for part in split_into_parts(CAPTIONS, 1)] == [3, 3, 3, 3]
    assert len(split_into_parts(CAPTIONS, 100)) == 1


def test_finished_parts_are_not_extracted_again_unless_they_may_be_lost(
    rules: RuleExtractor, tmp_path: Path, worked: list[dict[str, object]]
) -> None:
    on_ray, out = Ray(workers=1, captions=3), tmp_path / "parts"
    first = extract_on_ray(on_ray, rules, CAPTIONS, out)
    assert len(worked) == 4
    (out / "part-00002.parquet").unlink()
    assert extract_on_ray(on_ray, rules, CAPTIONS, out) == first
    assert [row["part"] for row in worked[4:]] == [2]
    assert extract_on_ray(on_ray, rules, CAPTIONS, out, overwrite=True) == first
    assert len(worked) == 4 + 1 + 4


def test_parts_of_anything_else_are_refused_in_a_sentence(
    rules: RuleExtractor, tmp_path: Path
) -> None:
    on_ray, out = Ray(workers=1, captions=3), tmp_path / "parts"
    extract_on_ray(on_ray, rules, CAPTIONS, out)
    other = RuleExtractor(seed=3, tagger=TextBlobTagger())
    for extractor, captions, size in ((rules, CAPTIONS[:9], 3), (rules, CAPTIONS, 6)):
        with pytest.raises(ZooError, match=r"part-00000.parquet has other captions, or was"):
            extract_on_ray(Ray(workers=1, captions=size), extractor, captions, out)
    with pytest.raises(ZooError, match=r'"seed": 0.*not by .*"seed": 3.*--overwrite'):
        extract_on_ray(on_ray, other, CAPTIONS, out)
    assert (
        extract_on_ray(Ray(workers=1, captions=6), other, CAPTIONS, out, overwrite=True).captions
        == 12
    )
    assert len(list(out.iterdir())) == 2  # none is left of the four


def test_a_file_that_would_be_read_with_the_parts_is_refused(
    rules: RuleExtractor, tmp_path: Path
) -> None:
    (tmp_path / "others.jsonl").touch()
    with pytest.raises(ZooError, match=r"contains others.jsonl, which would be read"):
        extract_on_ray(Ray(workers=1), rules, CAPTIONS, tmp_path, overwrite=True)
    for name in ("units.jsonl", "units.parquet"):
        with pytest.raises(ZooError, match=rf"--out .*{name} is a file name"):
            extract_on_ray(Ray(workers=1), rules, CAPTIONS, tmp_path / name)


def test_a_journal_of_ones_own_is_refused(tmp_path: Path) -> None:
    asking = OpenAICompatible(journal=str(tmp_path / "journal"))
    with pytest.raises(ZooError, match=r"--extractor.journal .* is one file, but Ray writes"):
        extract_on_ray(Ray(workers=2), asking, CAPTIONS, tmp_path / "parts")


def test_a_worker_of_other_packages_is_refused(rules: RuleExtractor, tmp_path: Path) -> None:
    other = RuleExtractor(seed=1, tagger=TextBlobTagger())

    class Elsewhere(RuleExtractor):
        def describe(self) -> dict[str, object]:
            return other.describe()

    Elsewhere.__module__, Elsewhere.__qualname__ = "zoo.units", "RuleExtractor"
    with pytest.raises(ZooError, match=r"a Ray worker has .*install the same"):
        extract_on_ray(
            Ray(workers=1), Elsewhere(tagger=TextBlobTagger()), CAPTIONS, tmp_path / "parts"
        )


def test_without_ray_the_extra_is_named(
    rules: RuleExtractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(ZooError, match=r"ray.data is not installed: pip install 'clip-zoo\[ray\]'"):
        extract_on_ray(Ray(workers=1), rules, CAPTIONS, tmp_path / "parts")
