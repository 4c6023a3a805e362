"""Labelled images are the same in every layout, and what is wrong with one is a sentence."""

import io
import pickle
import tarfile
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.benchmarks.zero_shot import layouts
from tests.benchmarks.zero_shot.layouts import COLORS, PER_CLASS
from zoo.benchmarks import Case, Contents, ZeroShotFolder
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef

MAKERS = [layouts.image_folder, layouts.tars, layouts.parquet, layouts.saved]


def contents_of(folder: Path) -> Contents:
    return ZeroShotFolder(folder.name).read(folder.parent)


def case_of(folder: Path) -> Case:
    (case,) = contents_of(folder).cases
    return case


@pytest.mark.parametrize("make", MAKERS)
def test_each_image_has_its_own_class_in_every_layout(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    case = case_of(make(tmp_path / "colours"))
    assert case.texts == COLORS
    finder = pickle.loads(pickle.dumps(ImageFinder([tmp_path])))
    seen = []
    for image, match in zip(case.images, case.match, strict=True):
        found = finder.load(image)
        (label,) = np.flatnonzero(match)
        expected = layouts.drawing(COLORS[label], found.width - 4)
        assert np.array_equal(np.asarray(found), np.asarray(expected))
        seen.append((label, found.width - 4))
    assert sorted(seen) == sorted(layouts.rows())
    assert len(set(case.images)) == len(COLORS) * PER_CLASS


@pytest.mark.parametrize("make", MAKERS)
def test_names_and_templates_are_those_of_the_files_and_else_the_data_s_own(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    folder = make(tmp_path / "colours")
    plain = make is not layouts.tars
    contents = contents_of(folder)
    (case,) = contents.cases
    templates = ("a photo of a {}.",) if plain else ("a {} square", "{}")
    assert case.prompts == tuple(tuple(t.format(name) for t in templates) for name in COLORS)
    assert contents.notes["colours prompts"] == (
        "class names of the data, the template 'a photo of a {}.' of zoo"
        if plain
        else "class names of classnames.txt, 2 templates of zeroshot_classification_templates.txt"
    )
    (folder / "classnames.txt").write_text("crimson\nemerald\nazure\n")
    (folder / "templates.txt").write_text("{c}, {}!\n")
    contents = contents_of(folder)
    assert contents.cases[0].prompts == tuple((f"{n}, {n}!",) for n in contents.cases[0].texts)
    assert contents.cases[0].texts == ("crimson", "emerald", "azure")
    assert {folder / "classnames.txt", folder / "templates.txt"} <= set(contents.files)


def test_an_image_of_several_classes_is_judged_by_the_order_of_each_class(tmp_path: Path) -> None:
    case = case_of(layouts.tars(tmp_path / "several", multilabel=True))
    assert case.match.sum(1).tolist() == [3 - label for label, _ in layouts.rows()[::2]] + [
        3 - label for label, _ in layouts.rows()[1::2]
    ]
    assert case.resolved_protocol.name == "map_11"


def test_folders_with_numbers_stand_in_the_order_of_the_numbers(tmp_path: Path) -> None:
    """As ImageNet-V2's, of which ImageFolder puts 10 before 2."""
    for number in range(11):
        (tmp_path / "v2" / str(number)).mkdir(parents=True)
        (tmp_path / "v2" / str(number) / f"{number}.png").write_bytes(layouts.png("red", number))
    case = case_of(tmp_path / "v2")
    assert case.texts == tuple(map(str, range(11)))
    labels = case.match.argmax(1)
    assert [Path(image.key).stem for image in case.images] == [str(label) for label in labels]


def test_wordnet_numbers_are_no_class_names(tmp_path: Path) -> None:
    folder = tmp_path / "imagenet"
    (folder / "n01440764").mkdir(parents=True)
    (folder / "n01440764/1.png").write_bytes(layouts.png("red", 0))
    with pytest.raises(ZooError, match=r"has no class names: write .*classnames\.txt with one"):
        case_of(folder)


def test_a_container_without_what_a_reference_names_is_told_so(tmp_path: Path) -> None:
    finder = ImageFinder([layouts.tars(tmp_path / "tars"), layouts.saved(tmp_path / "saved")])
    with pytest.raises(ZooError, match=r"0\.tar has no member none\.png: download the file again"):
        finder.load(ImageRef("tar", "test/0.tar#none.png"))
    with pytest.raises(ZooError, match="does not name a member of its container"):
        finder.load(ImageRef("tar", "test/0.tar"))
    arrow = "test/data-00000-of-00002.arrow"
    with pytest.raises(ZooError, match=r"has 4 rows, but parquet:.* refers to row 4: download"):
        finder.load(ImageRef("parquet", f"{arrow}#4#image"))
    with pytest.raises(ZooError, match="has no column 'picture', which"):
        finder.load(ImageRef("parquet", f"{arrow}#0#picture"))


def cut(path: Path, at: int = -1200) -> None:
    path.write_bytes(path.read_bytes()[:at])


def rename_labels(folder: Path) -> None:
    """Leaves the images that have the last two classes alone."""
    for shard in (folder / "test").glob("*.tar"):
        with tarfile.open(shard) as tar:
            kept = {m.name: tar.extractfile(m).read() for m in tar}  # type: ignore[union-attr]
        with tarfile.open(shard, "w") as tar:
            for name, content in kept.items():
                label = np.load(io.BytesIO(content)) if name.endswith(".npy") else None
                if label is not None:
                    label[0] = 0
                    buffer = io.BytesIO()
                    np.save(buffer, label)
                    content = buffer.getvalue()
                layouts.add(tar, name, content)


def without_metadata(folder: Path) -> None:
    file = folder / "data/test-00000-of-00001.parquet"
    pq.write_table(layouts.table(), file)


BROKEN = {
    "fewer names than folders": (
        layouts.image_folder,
        lambda f: (f / "classnames.txt").write_text("red\ngreen\n"),
        r"has 3 classes, but .*classnames\.txt names 2: write one name per line for each class",
    ),
    "names in another order": (
        layouts.image_folder,
        lambda f: (f / "classnames.txt").write_text("Green\nBlue\nRed\n"),
        r"class 0 of .* is 'blue', but .* names it 'Green' and names class 1 'blue'",
    ),
    "one class alone": (
        layouts.image_folder,
        lambda f: [rmtree(f / name) for name in ("green", "red")],
        r"colours has one class, 'blue': choose a folder with at least",
    ),
    "a blank name": (
        layouts.image_folder,
        lambda f: (f / "classnames.txt").write_text("red\n\ngreen\nblue\n"),
        r"classnames\.txt:2 is blank: write one name per line",
    ),
    "no name": (
        layouts.image_folder,
        lambda f: (f / "classnames.txt").write_text("\n"),
        r"classnames\.txt is empty: write one name per line",
    ),
    "a template without a place": (
        layouts.image_folder,
        lambda f: (f / "templates.txt").write_text("a {}\na photo\n"),
        r"templates\.txt:2: template 'a photo' has no placeholder for the class name: write \{\}",
    ),
    "names that are no text": (
        layouts.image_folder,
        lambda f: (f / "classnames.txt").write_bytes(b"red\n\xff\n"),
        r"classnames\.txt:2 is not UTF-8",
    ),
    "a class without images": (
        layouts.image_folder,
        lambda f: (f / "violet").mkdir(),
        r"violet has no image: add images of the class",
    ),
    "an empty folder": (
        lambda f: (f.mkdir(), f)[1],
        lambda f: None,
        r"has no labelled images: choose a folder",
    ),
    "tars without names": (
        layouts.tars,
        lambda f: (f / "classnames.txt").unlink(),
        r"has no class names: write .*classnames\.txt",
    ),
    "a tar cut short": (
        layouts.tars,
        lambda f: cut(f / "test/1.tar", 2000),
        r"1\.tar is not a complete tar \(unexpected end of data\): download it again",
    ),
    "a tar cut short between two images": (
        layouts.tars,
        lambda f: cut(f / "test/1.tar", 2048),
        r"1\.tar is not a complete tar \(its end is missing\): download it again",
    ),
    "a tar that is absent": (
        layouts.tars,
        lambda f: (f / "test/1.tar").unlink(),
        r"1\.tar is missing, but .*nshards\.txt counts it: download it",
    ),
    "a number of tars that is none": (
        layouts.tars,
        lambda f: (f / "test/nshards.txt").write_text("two"),
        r"nshards\.txt has 'two' instead of the number of tars",
    ),
    "a label beyond the names": (
        layouts.tars,
        lambda f: (f / "classnames.txt").write_text("red\ngreen\n"),
        r"has class 2, but .*classnames\.txt names 2 classes, 0 to 1",
    ),
    "a class of many that no image has": (
        lambda f: layouts.tars(f, multilabel=True),
        lambda f: rename_labels(f),
        r"has no image of class 0, 'blue', and a class without images cannot rank",
    ),
    "captions": (
        layouts.tars,
        lambda f: (f / "dataset_type.txt").write_text("retrieval"),
        r"has captions, not classes",
    ),
    "labels of another kind": (
        layouts.tars,
        lambda f: (f / "dataset_type.txt").write_text("multilabel"),
        r"#s0000000\.png has no label \(\.npy\): download the file again",
    ),
    "parquet without features": (
        layouts.parquet,
        without_metadata,
        r"does not say which column holds images: save it",
    ),
    "parquet cut short": (
        layouts.parquet,
        lambda f: cut(f / "data/test-00000-of-00001.parquet"),
        r"is not a complete parquet file",
    ),
    "arrow cut short": (
        layouts.saved,
        lambda f: cut(f / "test/data-00001-of-00002.arrow"),
        r"00001-of-00002\.arrow is not a valid Arrow file",
    ),
    "a state that is no JSON": (
        layouts.saved,
        lambda f: (f / "test/state.json").write_text("{"),
        r"state\.json:1 is not JSON",
    ),
    "a state that names no files": (
        layouts.saved,
        lambda f: (f / "test/state.json").write_text("{}"),
        r"state\.json: field '_data_files' is missing",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_told_in_a_sentence(name: str, tmp_path: Path) -> None:
    make, spoil, told = BROKEN[name]
    folder = make(tmp_path / "colours")
    spoil(folder)
    with pytest.raises(ZooError, match=told) as error:
        contents_of(folder)
    assert "\n" not in str(error.value)
