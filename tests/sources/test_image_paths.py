"""A user's own images: what is there as written is meant.

Names are interpreted only where nothing is, which is then said.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.pairs import Pairs
from zoo.cli.doctor import examine_benchmark
from zoo.errors import ZooError
from zoo.results.plan import make_plan
from zoo.sources.image_paths import OwnImages
from zoo.sources.images import ImageFinder, infer_image_ref
from zoo.sources.readers.base import Reader
from zoo.sources.readers.csv_table import CsvTable
from zoo.sources.readers.jsonl import JsonLines
from zoo.sources.readers.karpathy import KarpathyJson
from zoo.sources.sample import ImageRef
from zoo.sources.source import Source, drop_missing_images, read_source

COCO, FLICKR8K, FLICKR30K = "000000000724.jpg", "1007129816_e794419615.jpg", "1007129816.jpg"
PUBLISHED, EDITED = (255, 0, 0), (0, 0, 255)


def put(path: Path, colour: tuple[int, int, int]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), colour).save(path.with_suffix(".png"))
    return path.with_suffix(".png").rename(path)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root with published images, in a working directory of its own."""
    put(tmp_path / "root/coco/val2017" / COCO, PUBLISHED)
    put(tmp_path / "root/flickr8k/images" / FLICKR8K, PUBLISHED)
    (tmp_path / "mine").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "root"


def table(folder: Path, image: str) -> Reader:
    (folder / "t.csv").write_text(f"filepath\ttitle\n{image}\ta dog\n")
    return CsvTable(folder / "t.csv")


def lines(folder: Path, image: str) -> Reader:
    (folder / "t.jsonl").write_text(json.dumps({"image": image, "caption": "a dog"}) + "\n")
    return JsonLines(folder / "t.jsonl")


def karpathy(folder: Path, image: str) -> Reader:
    path = Path(image)
    entry = {"split": "train", "imgid": 0, "filepath": str(path.parent), "filename": path.name}
    entry["sentences"] = [{"raw": "a dog", "sentid": 0}]
    (folder / "t.json").write_text(json.dumps({"images": [entry]}))
    return KarpathyJson(folder / "t.json", ["train"])


READERS = {"a table": table, "JSON lines": lines, "Karpathy's layout": karpathy}
Made = Callable[[Path, str], Reader]


def source(root: Path, reader: Reader) -> tuple[Source, tuple[int, int, int]]:
    """Returns the source and the colour of its one image."""
    finder = ImageFinder([root])
    found = drop_missing_images(read_source(reader), finder, tolerate_missing=False)
    pixel = finder.load(found.samples[0].image).getpixel((0, 0))
    assert isinstance(pixel, tuple)
    return found, pixel[:3]


@pytest.mark.parametrize("made", READERS.values(), ids=READERS)
@pytest.mark.parametrize("base", ["mine", "root", "here"])
@pytest.mark.parametrize("name", [f"edited/{COCO}", f"flickr/{FLICKR8K}"])
def test_an_edited_image_is_itself_whatever_its_name(
    root: Path, made: Made, base: str, name: str
) -> None:
    put(root.parent / base / name, EDITED)
    found, colour = source(root, made(root.parent / "mine", name))
    assert colour == EDITED
    assert found.samples[0].image.source == "file"
    assert found.samples[0].image_id == str(found.samples[0].image)
    assert not found.by_name


@pytest.mark.parametrize("made", READERS.values(), ids=READERS)
@pytest.mark.parametrize(
    ("name", "known"),
    [
        (f"val2014/COCO_val2014_{COCO}", "coco:724"),
        (f"/moved/{COCO}", "coco:724"),
        (FLICKR8K, "flickr:1007129816"),
        (f"images/{FLICKR8K}", "flickr:1007129816"),
        (FLICKR30K, "flickr:1007129816"),
    ],
)
def test_a_published_name_is_taken_for_the_published_image_where_nothing_is_there(
    root: Path, made: Made, name: str, known: str
) -> None:
    found, colour = source(root, made(root.parent / "mine", name))
    assert colour == PUBLISHED
    assert (str(found.samples[0].image), found.samples[0].image_id) == (known, known)
    assert {to: path.key for path, to in found.by_name.items()} == {infer_image_ref(known): name}
    assert found.describe()["images_by_name"] == 1


def test_a_published_image_by_its_path_is_known_by_its_number_and_nothing_is_said(
    root: Path,
) -> None:
    found, _ = source(root, table(root.parent / "mine", f"coco/val2017/{COCO}"))
    assert found.samples[0].image == ImageRef("coco", "724")
    assert not found.by_name


def test_an_own_number_is_no_published_name(root: Path) -> None:
    put(root / "flickr30k/17.jpg", PUBLISHED)
    put(root / "visual_genome/VG_100K/123456.jpg", PUBLISHED)
    for name in ("17.jpg", "mine/123456.jpg"):
        with pytest.raises(ZooError, match=name):
            source(root, table(root.parent / "mine", name))


def test_an_image_id_of_the_users_own_stays(root: Path) -> None:
    entry = {"image": COCO, "caption": "a dog", "image_id": "mine"}
    (root / "t.jsonl").write_text(json.dumps(entry) + "\n")
    found, _ = source(root, JsonLines(root / "t.jsonl"))
    assert (found.samples[0].image, found.samples[0].image_id) == (
        ImageRef("coco", "724"),
        "mine",
    )


def test_pairs_ask_about_the_edited_image_and_say_what_is_taken_by_name(root: Path) -> None:
    put(root.parent / "mine/edited" / COCO, EDITED)
    file = root.parent / "mine/pairs.csv"
    rows = [f"edited/{COCO},a,b", f"{FLICKR30K},a,b", f"/moved/{COCO},a,b"]
    file.write_text("\n".join(["image,caption,foil", *rows]) + "\n")
    finder = ImageFinder([root])
    plan = make_plan([Pairs(str(file))], [root], finder)
    assert [finder.load(image).getpixel((0, 0))[:3] for image in plan.images] == [  # type: ignore[index]
        EDITED,
        PUBLISHED,
        PUBLISHED,
    ]
    assert [image.source for image in plan.images] == ["file", "flickr", "coco"]
    (contents,) = plan.contents.values()
    assert contents.notes["images by name"].startswith("2 do not exist under their paths")
    (finding,) = examine_benchmark(Pairs(str(file)), [root], finder)
    assert (finding.case_count, finding.scorable) == (3, 3)


def test_half_truths_of_an_edited_image_are_asked_about_it(root: Path, made_root: Path) -> None:
    put(root.parent / "mine/edited" / COCO, EDITED)
    unit = json.loads((made_root / "units.jsonl").read_text().splitlines()[0])
    for image_id, colour in ((f"edited/{COCO}", EDITED), ("coco:724", PUBLISHED)):
        units = root.parent / "mine/units.jsonl"
        units.write_text(json.dumps({**unit, "image_id": image_id}) + "\n")
        finder = ImageFinder([root])
        plan = make_plan([HalfTruth(str(units))], [root], finder)
        assert finder.load(plan.images[0]).getpixel((0, 0)) == colour


def test_a_path_is_looked_for_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = OwnImages(root)
    first = images.ref("a.jpg")
    monkeypatch.setattr("os.scandir", lambda path: pytest.fail(f"{path} is listed again"))
    assert images.ref("a.jpg") is first
    assert images.ref("b.jpg") == ImageRef("file", "b.jpg")
