"""Each benchmark of one image a case: its official rule as loops over the published file."""

import ast
import csv
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import zoo
from tests.benchmarks.official import Asked, argmax, hold, there
from tests.sources.test_videos import write_video
from zoo.benchmarks import (
    BLA,
    CREPE,
    FGOVD,
    VALSE,
    HardPositives,
    NegBench,
    SugarCrepePP,
    VLCheckList,
)
from zoo.benchmarks.roots import read_benchmark, resolve_case_images
from zoo.sources.images import ImageFinder

Score = Callable[[str], float]


def pairwise(right: str, wrong: str) -> Callable[[Score], dict[str, bool]]:
    """Counts a tie as wrong."""
    return lambda s: {"i2t": s(right) > s(wrong)}


def entries(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def visual_genome(shared_data: Path) -> Path:
    return shared_data / "vg160"


def test_sugarcrepe_pp_asks_that_both_captions_score_above_the_foil(shared_data: Path) -> None:
    def questions() -> Iterator[Asked]:
        for subset in SugarCrepePP.subset_names:
            for entry in entries(shared_data / f"benchmarks/sugarcrepe_pp/{subset}.json"):
                yield Asked(
                    subset,
                    str(entry["id"]),
                    lambda s, e=entry: {
                        "i2t": s(e["caption"]) > s(e["negative_caption"])
                        and s(e["caption2"]) > s(e["negative_caption"])
                    },
                    there(shared_data / "coco/val2017" / entry["filename"]),
                )

    assert hold(SugarCrepePP(), [shared_data], questions()) == 309
    notes = read_benchmark(SugarCrepePP(), [shared_data]).notes
    assert notes["swap_obj identical"] == "2 have a text that is both a right and a wrong answer"
    assert notes["swap_att cases"] == "130 in the file, 666 as published"


def test_bla_asks_twice_an_entry_which_of_two_captions_is_true(
    shared_data: Path, visual_genome: Path
) -> None:
    def questions() -> Iterator[Asked]:
        for subset, name in (
            ("ap", "active_passive"),
            ("co", "coordination"),
            ("rc", "relative_clause"),
        ):
            for entry in entries(shared_data / f"benchmarks/bla/{name}_captions.json"):
                group = entry["caption_group"][0]
                photo = visual_genome / f"visual_genome/images/{entry['image_id']}.jpg"
                for k in ("1", "2"):
                    rule = pairwise(group[f"True{k}"], group[f"False{k}"])
                    yield Asked(subset, f"{entry['index']}-{k}", rule, photo)

    roots = [shared_data, visual_genome]
    asked = 2 * (613 + 654 + 672)
    assert hold(BLA(), roots, questions(), every=7) == asked // 7
    assert not read_benchmark(BLA(), roots).notes


def valse_photo(entry: dict[str, Any], root: Path, visual_genome: Path) -> Path | None:
    name: str = entry["image_file"]
    if entry["dataset"] == "visual7w":
        return there(visual_genome / "visual_genome/images" / name.replace("v7w_", ""))
    return there(root / "coco/val2017" / name[-16:])


@pytest.mark.parametrize(("folder", "photographs"), [("valse", 34), ("valse_vg", 39)])
def test_valse_asks_of_what_two_annotators_found_valid(
    folder: str, photographs: int, shared_data: Path, visual_genome: Path
) -> None:
    files = {path.stem: path for path in (shared_data / "benchmarks" / folder).glob("*.json")}
    subsets = [subset for subset in VALSE.subset_names if subset in files]

    def questions() -> Iterator[Asked]:
        for subset in subsets:
            for key, entry in entries(files[subset]).items():
                if entry["mturk"]["caption"] >= 2:
                    photo = valse_photo(entry, shared_data, visual_genome)
                    yield Asked(subset, key, pairwise(entry["caption"], entry["foil"]), photo)

    named = VALSE({name: str(path) for name, path in files.items()}, subsets)
    roots = [shared_data, visual_genome]
    assert hold(named, roots, questions()) == photographs
    invalid = sum(e["mturk"]["caption"] < 2 for s in subsets for e in entries(files[s]).values())
    said = [
        text for key, text in read_benchmark(named, roots).notes.items() if key.endswith(" invalid")
    ]
    assert sum(int(text.split()[0]) for text in said) == invalid


def corpus_of(file: Path, folder: Path) -> str:
    """The name of a corpus of Visual Genome in the authors' tree, from the place of its file."""
    parts = file.relative_to(folder).with_suffix("").parts
    if parts[0] == "Object":
        name, _, kind = parts[-1].rpartition("_")
        return f"Object/{parts[1]}/{kind}/{name}"
    return f"{parts[0]}/{parts[2]}/{parts[1]}"


@pytest.mark.parametrize("rows", [100, pytest.param(1_000, marks=pytest.mark.slow)])
def test_vl_checklist_asks_of_the_first_caption_and_foil_of_the_first_rows(
    rows: int, shared_data: Path, visual_genome: Path
) -> None:
    folder = shared_data / "benchmarks/vl_checklist_vg"
    files = {corpus_of(path, folder): path for path in folder.rglob("*.json")}
    several = shared_data / "benchmarks/vl_checklist"  # three captions and foils a row
    swig = next(several.rglob("swig_item_small.json"))
    files[corpus_of(swig, several)] = swig
    subsets = [subset for subset in VLCheckList.subset_names if subset in files]
    assert len(files) == len(subsets) == 21

    def questions() -> Iterator[Asked]:
        for subset in subsets:
            for i, (name, texts) in enumerate(entries(files[subset])[:rows]):
                photo = visual_genome / "visual_genome/images" / Path(name).name
                rule = pairwise(texts["POS"][0], texts["NEG"][0])
                yield Asked(subset, str(i), rule, there(photo))

    named = VLCheckList(rows, {name: str(path) for name, path in files.items()}, subsets)
    roots = [shared_data, visual_genome]
    seen = hold(named, roots, questions())
    assert seen == sum(min(rows, len(entries(p))) for p in files.values() if p != swig)
    notes = resolve_case_images(read_benchmark(named, roots), ImageFinder(roots)).notes
    assert notes.get("Attribute/color/vg rows", "") == (
        "the first 100 of 278, as published" if rows == 100 else ""
    )
    if rows == 1_000:
        assert seen == 5_327
        assert notes["Attribute/color/vg identical"].startswith("2 have a text that is both")
        assert notes["Object/Size/medium/vg_obj bare foils"].startswith("103 are a name")


def test_vl_checklist_has_56_corpora_whose_files_are_named_as_in_the_authors_tree(
    shared_data: Path,
) -> None:
    assert len(VLCheckList.subset_names) == 56
    files = [subset.files[0].removeprefix("vl_checklist/") for subset in VLCheckList.published]
    for folder in ("vl_checklist", "vl_checklist_vg"):
        root = shared_data / "benchmarks" / folder
        for path in root.rglob("*.json"):
            assert path.relative_to(root).as_posix() in files


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("subset", "file"),
    [
        ("coco_mcq", "COCO_val_mcq_llama3.1_rephrased"),
        ("synthetic_mcq", "synthetic_mcq_llama3.1_rephrased"),
    ],
)
def test_negbench_takes_the_first_of_the_best_captions_and_counts_it_by_kind(
    subset: str, file: str, shared_data: Path
) -> None:
    rows = table(shared_data / f"benchmarks/negbench/{file}.csv")

    def questions() -> Iterator[Asked]:
        for i, row in enumerate(rows):
            texts = [row[f"caption_{k}"] for k in range(4)]
            choose = argmax(texts, int(row["correct_answer"]))
            photo = there(shared_data / "coco/val2017" / Path(row["image_path"]).name)
            yield Asked(
                subset,
                str(i),
                lambda s, choose=choose, kind=row["correct_answer_template"]: {
                    **choose(s),
                    kind: choose(s)["i2t"],
                },
                photo,
            )

    assert hold(NegBench(subsets=[subset]), [shared_data], questions()) == (
        130 if subset == "coco_mcq" else 0
    )


def test_what_is_wrong_in_negbenchs_files_is_counted(shared_data: Path) -> None:
    notes = read_benchmark(NegBench(), [shared_data]).notes
    for subset in ("coco_mcq", "voc2007_mcq"):
        assert notes[f"{subset} right answers"] == "only at position 0"
        assert f"{subset} cases" not in notes
        assert int(notes[f"{subset} remarks"].split()[0].replace(",", "")) > 10
    assert notes["synthetic_mcq right answers"] == "only at position 0 or 1"
    assert notes["synthetic_mcq cases"] == "200 in the file, 9,996 as published"


def test_a_row_of_negbench_that_an_unquoted_comma_shifts_is_counted_and_not_mended(
    tmp_path: Path,
) -> None:
    header = "image_path,correct_answer,caption_0,caption_1,caption_2,caption_3"
    path = tmp_path / "negbench/synthetic_mcq_llama3.1_rephrased.csv"
    path.parent.mkdir()
    path.write_text(
        f"{header},correct_answer_template,\n"
        "/data/synthetic/positive/a_img.png,0,a dog,no dog,a cat,no cat,positive,\n"
        "/data/synthetic/positive/b_img.png,0,a cup, red and full,no cup,a hat,no hat,positive\n"
    )
    contents = read_benchmark(NegBench(subsets=["synthetic_mcq"]), [tmp_path])
    whole, shifted = contents.cases
    assert contents.notes["synthetic_mcq shifted"].startswith("1 with columns shifted by an")
    assert contents.notes["synthetic_mcq shifted"].endswith(f"(first: {path}:3)")
    assert whole.texts == ("a dog", "no dog", "a cat", "no cat")
    assert shifted.texts == ("a cup", " red and full", "no cup", "a hat")


def test_a_video_of_negbench_is_scored_by_four_frames_and_a_missing_one_is_not(
    tmp_path: Path,
) -> None:
    """Frames get brighter; the scorer likes texts as bright as the image, so the mean decides."""
    write_video(tmp_path / "msr_vtt/video1.mp4", 40)
    header = "image_path,correct_answer,caption_0,caption_1,caption_2,caption_3"
    path = tmp_path / "negbench/msr_vtt_mcq_rephrased_llama.csv"
    path.parent.mkdir()
    rows = (f"/data/video{n}.mp4,1,20,115,210,255,negative" for n in (1, 2))
    path.write_text(f"{header},correct_answer_template\n" + "\n".join(rows) + "\n")

    def by_brightness(images: list[Image.Image], texts: list[str]) -> list[list[float]]:
        means = [np.asarray(image).mean() for image in images]
        return [[-((mean - float(text)) ** 2) for text in texts] for mean in means]

    results = zoo.evaluate(by_brightness, NegBench(subsets=["msr_vtt_mcq"]), tmp_path)
    metrics = {metric.metric: metric for metric in results.metrics}
    assert {name: (m.value, m.n, m.n_total) for name, m in metrics.items()} == {
        "i2t": (100.0, 1, 2),
        "negative": (100.0, 1, 2),
    }
    assert metrics["i2t"].images == 4


def test_negbench_retrieval_has_all_captions_of_an_image_as_its_right_answers(
    shared_data: Path,
) -> None:
    subset = "coco_negated_retrieval"
    file = "COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true.csv"
    rows = table(shared_data / "benchmarks/negbench" / file)
    (case,) = read_benchmark(NegBench(subsets=[subset]), [shared_data]).cases
    assert case.is_gallery
    assert [image.key for image in case.images] == [row["image_id"] for row in rows]
    captions = [ast.literal_eval(row["captions"]) for row in rows]
    assert list(case.texts) == [text for some in captions for text in some]
    column = 0
    for i, some in enumerate(captions):
        assert case.match[i].sum() == len(some)
        assert case.match[i, column : column + len(some)].all()
        column += len(some)


@pytest.fixture(scope="module")
def originals(visual_genome: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with the photographs that CREPE asks about, as large as published."""
    root = tmp_path_factory.mktemp("originals")
    asked = {
        row["image_id"]
        for path in (visual_genome.parent / "benchmarks/crepe").rglob("*.csv")
        for row in table(path)
    }
    (root / "visual_genome/images").mkdir(parents=True)
    for row in table(visual_genome / "visual_genome/sources.csv"):
        if row["file"].removesuffix(".jpg") in asked:
            small = Image.open(visual_genome / "visual_genome/images" / row["file"])
            size = int(row["width"]), int(row["height"])
            large = small.resize(size, Image.Resampling.NEAREST)
            large.save(root / "visual_genome/images" / row["file"], quality=50)
    return root


def test_crepe_takes_the_first_of_the_best_among_a_caption_and_its_hard_negatives(
    shared_data: Path, originals: Path
) -> None:
    def questions() -> Iterator[Asked]:
        for kind in ("atom", "swap", "negate"):
            for complexity in range(4, 13):
                name = f"{kind}/prod_vg_hard_negs_{kind}_complexity_{complexity}.csv"
                path = shared_data / "benchmarks/crepe/prod_hard_negatives" / name
                for i, row in enumerate(table(path)):
                    left, top, width, height = (
                        int(float(row[name])) for name in ("x", "y", "width", "height")
                    )
                    foils = ast.literal_eval(row["hard_negs"])
                    yield Asked(
                        kind,
                        f"{complexity}-{i}",
                        argmax([row["caption"], *foils], 0),
                        there(originals / f"visual_genome/images/{row['image_id']}.jpg"),
                        (left, top, left + width, top + height),
                    )

    chosen = CREPE(subsets=["atom", "swap", "negate"])
    assert hold(chosen, [shared_data, originals], questions()) == 566
    cases = read_benchmark(chosen, [shared_data]).cases
    assert {case.group for case in cases} == {str(c) for c in range(4, 13)}


def test_boxes_in_images_that_were_resized_unknown_from_what_are_left_out_and_counted(
    shared_data: Path, visual_genome: Path
) -> None:
    finder = ImageFinder([shared_data, visual_genome])
    contents = resolve_case_images(read_benchmark(CREPE(subsets=["atom"]), finder.roots), finder)
    asked = {case.images[0] for case in contents.cases}
    assert contents.uncroppable_images == {image for image in asked if finder.find(image)}
    assert (
        f"{len(contents.uncroppable_images)} were left out"
        in contents.notes["boxes that do not fit"]
    )


def test_hard_positives_asks_where_the_foil_stands_among_caption_and_hard_positive(
    shared_data: Path, visual_genome: Path
) -> None:
    folder = shared_data / "benchmarks/hard_positives"

    def rule(c: str, p: str, n: str) -> Callable[[Score], dict[str, bool]]:
        return lambda s: {
            "original": s(c) > s(n),
            "augmented": s(c) > s(n) and s(p) > s(n),
            "brittleness": s(c) > s(n) > s(p) or s(p) > s(n) > s(c),
        }

    def questions() -> Iterator[Asked]:
        for subset, name in (("replace_att", "attributes"), ("replace_rel", "relations")):
            ours, others = (
                entries(folder / side / f"vl_checklist_{name}.json")
                for side in ("data", "swapped_data")
            )
            for i, (entry, other) in enumerate(zip(ours, others, strict=True)):
                photo = visual_genome / f"visual_genome/images/{entry['image_id']}.jpg"
                texts = entry["true_caption"], other["true_caption"], entry["false_caption"]
                yield Asked(subset, str(i), rule(*texts), photo)

    chosen = HardPositives(subsets=["replace_att", "replace_rel"])
    assert hold(chosen, [shared_data, visual_genome], questions()) == 694


def test_fg_ovd_crops_a_box_scaled_to_an_image_that_was_resized(shared_data: Path) -> None:
    def questions() -> Iterator[Asked]:
        for subset in FGOVD.subset_names:
            name = "shuffle_negatives" if subset == "trivial" else f"{subset[0]}_attributes"
            lines = (shared_data / f"benchmarks/fgovd/{name}_llava.jsonl").read_text().splitlines()
            for i, entry in enumerate(map(json.loads, lines)):
                photo = there(shared_data / "coco" / entry["img_path"])
                box = None
                if photo is not None:
                    with Image.open(photo) as image:
                        x, y = image.width / entry["width"], image.height / entry["height"]
                    left, top, width, height = entry["bbox"]
                    ends = math.ceil(left + width), math.ceil(top + height)
                    box = (
                        *(round(int(left) * x), round(int(top) * y)),
                        *(round(ends[0] * x), round(ends[1] * y)),
                    )
                (right,) = (text.lower() for text in entry["pos_expression"])
                wrong = [text.lower() for text in entry["neg_expression"]]
                yield Asked(
                    subset,
                    str(i),
                    lambda s, right=right, wrong=wrong: {
                        "i2t": max(map(s, [right, *wrong])) == s(right)
                    },
                    photo,
                    box,
                )

    assert hold(FGOVD(), [shared_data], questions()) == 158
    finder = ImageFinder([shared_data])
    notes = resolve_case_images(read_benchmark(FGOVD(), finder.roots), finder).notes
    assert notes["resized images"].startswith("boxes were scaled for ")
