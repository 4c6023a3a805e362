"""Published sets: their images in any layout and by torchvision, and whose prompts they have."""

import importlib.machinery
import inspect
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torchvision import datasets

from tests.benchmarks.zero_shot import layouts
from zoo.benchmarks import Contents, Elevater, ZeroShot
from zoo.benchmarks.roots import read_benchmark
from zoo.benchmarks.zero_shot import prompt_sources
from zoo.benchmarks.zero_shot.sets import ELEVATER, SETS
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.torchvision_sets import TORCHVISION_SETS

TOOLKIT = '''
"""Prompts."""
ten = ["plane", "car"]
faces = [["angry"], ["happy", "smiling"]]
some = ["a photo of a {}.", "a {}"]
class_map = {"cifar-10": ten, "fer-2013": faces, "mnist": ten}
template_map = {"cifar-10": some, "fer-2013": some, "mnist": ["a digit"]}
raise SystemExit("it was run")
'''


def cifar10(root: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """Two images as CIFAR-10 lies on disk, whose hashes are not looked at."""
    folder = root / "torchvision/cifar-10-batches-py"
    folder.mkdir(parents=True)
    pixels = np.arange(2 * 3072, dtype=np.int64).reshape(2, 3072).astype(np.uint8)
    (folder / "test_batch").write_bytes(pickle.dumps({"data": pixels, "labels": [1, 0]}))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["air_plane", "car"]}))
    monkeypatch.setattr(datasets.CIFAR10, "_check_integrity", lambda self: True)
    monkeypatch.setattr("torchvision.datasets.cifar.check_integrity", lambda path, md5: True)
    return pixels.reshape(2, 3, 32, 32).transpose(0, 2, 3, 1)


def drawn(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), "red").save(path)
    return path


def read_set(name: str, root: Path) -> Contents:
    return ZeroShot(subsets=[name]).read(root)


def test_images_that_torchvision_keeps_in_one_file_are_read_by_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = cifar10(tmp_path, monkeypatch)
    contents = read_set("cifar10", tmp_path)
    (case,) = contents.cases
    assert [str(image) for image in case.images] == [
        f"torchvision:torchvision#cifar10/{i}" for i in range(2)
    ]
    assert case.match.argmax(1).tolist() == [1, 0]
    assert case.texts == ("air plane", "car")
    assert case.prompts[0] == ("a photo of a air plane.",)
    assert contents.notes["cifar10 images"] == "2 in the file, 10,000 as published"
    finder = pickle.loads(pickle.dumps(ImageFinder([tmp_path])))
    for image, expected in zip(case.images, pixels, strict=True):
        assert np.array_equal(np.asarray(finder.load(image)), expected)


def test_images_that_torchvision_keeps_as_files_are_named_by_their_paths(tmp_path: Path) -> None:
    """DTD and the pets, whose lists stand in files of their own kind."""
    labels = tmp_path / "torchvision/dtd/dtd/labels"
    labels.mkdir(parents=True)
    (labels / "test1.txt").write_text("banded/banded_1.jpg\ndotted/dotted_1.jpg\n")
    for name in ("banded", "dotted"):
        drawn(tmp_path / f"torchvision/dtd/dtd/images/{name}/{name}_1.jpg")
    (case,) = read_set("dtd", tmp_path).cases
    assert [image.key for image in case.images] == [
        f"torchvision/dtd/dtd/images/{name}/{name}_1.jpg" for name in ("banded", "dotted")
    ]
    assert case.texts == ("banded", "dotted")
    assert case.match.argmax(1).tolist() == [0, 1]
    assert not ImageFinder([tmp_path]).find_missing(case.images)


def test_every_set_of_torchvision_is_read_by_a_class_that_is_there() -> None:
    for name, known in TORCHVISION_SETS.items():
        assert name in SETS
        assert hasattr(datasets, known.class_name)


@pytest.mark.parametrize("name", TORCHVISION_SETS)
def test_torchvision_0_22_to_0_29_sets_the_private_attributes_that_are_read(name: str) -> None:
    known = TORCHVISION_SETS[name]
    source = "".join(
        inspect.getsource(base)
        for base in getattr(datasets, known.class_name).__mro__
        if base.__module__.startswith("torchvision.datasets.")
    )
    functions = [known.labels, known.paths, known.classes]
    names = {name for function in functions if function for name in function.__code__.co_names}
    for attribute in (name for name in names if name.startswith("_")):
        assert re.search(rf"(self\.|^    ){attribute}\b.*=", source, re.M) or attribute == "_second"


def test_what_torchvision_cannot_read_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "torchvision/cifar-10-batches-py").mkdir(parents=True)
    with pytest.raises(
        ZooError, match="cifar-10-batches-py cannot be read by torchvision's CIFAR10 "
    ) as error:
        read_set("cifar10", tmp_path)
    assert "\n" not in str(error.value)


def test_a_set_without_names_anywhere_asks_for_them(tmp_path: Path) -> None:
    folder = tmp_path / "torchvision/gtsrb/GTSRB/Final_Test/Images"
    drawn(folder / "00000.ppm")
    (tmp_path / "torchvision/gtsrb/GT-final_test.csv").write_text("Filename;ClassId\n00000.ppm;1\n")
    with pytest.raises(ZooError, match=r"gtsrb has no class names: write .*gtsrb/classnam"):
        read_set("gtsrb", tmp_path)
    (tmp_path / "zero_shot/gtsrb").mkdir(parents=True)
    (tmp_path / "zero_shot/gtsrb/classnames.txt").write_text("stop\ngo\n")
    (case,) = read_set("gtsrb", tmp_path).cases
    assert (case.texts, case.match.tolist()) == (("stop", "go"), [[False, True]])


def test_the_own_folder_of_a_set_is_read_before_torchvisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cifar10(tmp_path, monkeypatch)
    layouts.tars(tmp_path / "zero_shot/cifar10")
    (case,) = read_set("cifar10", tmp_path).cases
    assert {str(image).partition("#")[0] for image in case.images} == {
        f"tar:zero_shot/cifar10/test/{n}.tar" for n in range(2)
    }
    assert not ImageFinder([tmp_path]).find_missing(case.images)


def test_imagenet_has_open_clips_names_and_templates(tmp_path: Path) -> None:
    drawn(tmp_path / "zero_shot/imagenet1k/val/n01440764/1.png")
    with pytest.raises(ZooError, match="has 1 classes, but open_clip names 1,000: write one name"):
        read_set("imagenet1k", tmp_path)
    for number in range(999):
        (tmp_path / f"zero_shot/imagenet1k/val/n{20000000 + number}").mkdir()
        drawn(tmp_path / f"zero_shot/imagenet1k/val/n{20000000 + number}/1.png")
    contents = read_set("imagenet1k", tmp_path)
    (case,) = contents.cases
    from open_clip import IMAGENET_CLASSNAMES, OPENAI_IMAGENET_TEMPLATES

    assert case.texts == tuple(IMAGENET_CLASSNAMES)
    for j in (0, 999):
        name = IMAGENET_CLASSNAMES[j]
        assert case.prompts[j] == tuple(t(name) for t in OPENAI_IMAGENET_TEMPLATES)
    said = "class names of open_clip, 80 templates of open_clip"
    assert contents.notes["imagenet1k prompts"] == said


def test_folders_may_lie_elsewhere_and_what_is_absent_is_said(tmp_path: Path) -> None:
    layouts.image_folder(tmp_path / "mine")
    asked = ZeroShot(subsets=["cifar10", "stl10"], folders={"cifar10": "mine"})
    contents = read_benchmark(asked, [tmp_path])
    assert ([c.subset for c in contents.cases], [s.name for s in contents.missing_subsets]) == (
        ["cifar10"],
        ["stl10"],
    )
    with pytest.raises(ZooError, match="nowhere is neither in the working directory nor under"):
        read_benchmark(ZeroShot(subsets=["cifar10"], folders={"cifar10": "nowhere"}), [tmp_path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ZooError, match="empty has no labelled images: put the images of data set"):
        read_benchmark(ZeroShot(subsets=["cifar10"], folders={"cifar10": "empty"}), [tmp_path])
    with pytest.raises(ZooError, match=r"zero_shot has no set 'cifar' \(did you mean cifar10"):
        ZeroShot(folders={"cifar": "mine"})
    with pytest.raises(
        ZooError, match=r"ZeroShot\(prompts='mine'\): give one of own, clip_benchmark"
    ):
        ZeroShot(prompts="mine")  # type: ignore[arg-type]


def packaged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package clip_benchmark with prompts of its own."""
    (folder / "datasets").mkdir(parents=True)
    templates = {"cifar10": ["pixels of {c}"], "eurosat": ["{c} from above"], "mnist": ["{c}"]}
    names = {"eurosat": ["wood", "sea", "road"], "mnist": ["0", "1"]}
    for file, told in (("zeroshot_classification_templates", templates), ("classnames", names)):
        (folder / f"datasets/en_{file}.json").write_text(json.dumps(told))
    init = str(folder / "__init__.py")
    spec = importlib.machinery.ModuleSpec("clip_benchmark", None, origin=init)
    monkeypatch.setattr(prompt_sources, "find_spec", lambda name: spec)


def test_clip_benchmarks_prompts_are_taken_where_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged(tmp_path / "clip_benchmark", monkeypatch)
    for name in ("cifar10", "eurosat", "mnist", "stl10"):
        layouts.image_folder(tmp_path / "zero_shot" / name)

    def asked(name: str) -> Contents:
        return ZeroShot(subsets=[name], prompts="clip_benchmark").read(tmp_path)

    for name, texts, first, said in (
        ("cifar10", layouts.COLORS, "pixels of blue", "class names of the data, the template"),
        ("eurosat", ("wood", "sea", "road"), "wood from above", "class names of clip_benchmark"),
    ):
        contents = asked(name)
        assert contents.cases[0].texts == texts
        assert contents.cases[0].prompts[0] == (first,)
        assert contents.notes[f"{name} prompts"].startswith(said)
    assert asked("mnist").cases[0].texts == layouts.COLORS  # of three classes, not of two
    (tmp_path / "zero_shot/eurosat/classnames.txt").write_text("a\nb\nc\n")
    named = asked("eurosat")
    assert named.cases[0].prompts[0] == ("a from above",)
    assert named.notes["eurosat prompts"].startswith("class names of classnames.txt")
    with pytest.raises(ZooError, match="CLIP_benchmark has no templates of stl10: use prompts=own"):
        asked("stl10")


def test_the_absence_of_clip_benchmark_is_told_with_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layouts.image_folder(tmp_path / "zero_shot/cifar10")
    monkeypatch.setattr(prompt_sources, "find_spec", lambda name: None)
    with pytest.raises(
        ZooError, match=r"need the package clip_benchmark: pip install clip-benchmark"
    ):
        ZeroShot(subsets=["cifar10"], prompts="clip_benchmark").read(tmp_path)


def elevater_root(root: Path, prompts: str = TOOLKIT) -> Path:
    (root / "elevater").mkdir()
    (root / "elevater/prompts.py").write_text(prompts)
    for name in ("cifar10", "fer2013", "mnist", "dtd"):
        for label in ("0", "1"):
            drawn(root / "zero_shot" / name / label / "1.png")
    return root


def test_elevater_has_its_own_prompts_which_are_read_and_not_run(tmp_path: Path) -> None:
    contents = Elevater(subsets=["cifar10", "fer2013"]).read(elevater_root(tmp_path))
    planes, faces = contents.cases
    assert (planes.texts, faces.texts) == (("plane", "car"), ("angry", "happy"))
    assert planes.prompts[1] == ("a photo of a car.", "a car")
    said = "class names of prompts.py, 2 templates of prompts.py"
    assert contents.notes["cifar10 prompts"] == said
    assert contents.notes["cifar10 images"] == "2 in the file, 10,000 as published"
    assert tmp_path / "elevater/prompts.py" in contents.files


def test_elevater_without_its_prompts_is_absent_and_with_wrong_ones_refused(tmp_path: Path) -> None:
    layouts.image_folder(tmp_path / "zero_shot/cifar10")
    absent = Elevater().read(tmp_path).missing_subsets
    assert len(absent) == 21
    assert {subset.files for subset in absent} == {("elevater/prompts.py",)}
    root = elevater_root(tmp_path / "b") if (tmp_path / "b").mkdir() is None else tmp_path
    for name, told in (
        ("dtd", "prompts.py has no class names and templates of 'dtd': download ELEVATER's"),
        ("mnist", r"prompts\.py:1: template 'a digit' has no placeholder for the class name"),
    ):
        with pytest.raises(ZooError, match=told):
            Elevater(subsets=[name]).read(root)
    (root / "elevater/prompts.py").write_text("ten = [\n")
    prompt_sources._parse_dict_entries.cache_clear()
    with pytest.raises(ZooError, match=r"prompts\.py is not a valid Python file \(.*\): download"):
        Elevater(subsets=["cifar10"]).read(root)


def test_each_set_of_elevater_is_judged_by_its_metric(tmp_path: Path) -> None:
    found = layouts_of(tmp_path)
    asked = Elevater()
    judged = {name: asked.choose_protocol(one, found).name for name, one in ELEVATER.items()}
    assert judged.pop("hateful_memes") == "roc_auc"
    assert judged.pop("voc2007_multilabel") == "map_11"
    assert set(judged.values()) == {"classify"}
    per_class = {n for n, one in ELEVATER.items() if one.elevater_metric == "mean-per-class"}
    assert per_class == {"caltech101", "fgvc_aircraft", "flowers", "pets"}
    assert len(ELEVATER) == 21


def layouts_of(folder: Path):  # type: ignore[no-untyped-def]
    from zoo.benchmarks.zero_shot.layouts import read_labelled

    found = read_labelled(layouts.image_folder(folder / "any"), "file")
    assert found is not None
    return found
