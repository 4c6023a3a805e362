"""Benchmarks of several images a case: what is read, by which rule, and what is refused."""

import csv
import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray
from PIL import Image

import zoo
from tests.benchmarks.several_images import SAMPLES, comvg, controlled, svo, svo_official
from tests.support.samples import Answers, Sample, by_pixels, draw, value
from zoo.benchmarks import eqben
from zoo.benchmarks.base import Benchmark, Case
from zoo.benchmarks.bivlc import BiVLC
from zoo.benchmarks.catalog import build_benchmark
from zoo.benchmarks.coco_cf import COCOCounterfactuals
from zoo.benchmarks.cola import COLA
from zoo.benchmarks.comvg import ComVG
from zoo.benchmarks.eqben import EqBen
from zoo.benchmarks.imagecode import ImageCoDe
from zoo.benchmarks.mmvp import MMVP
from zoo.benchmarks.protocols.binary import threshold
from zoo.benchmarks.roots import read_benchmark
from zoo.benchmarks.spec import SPEC
from zoo.benchmarks.svo_probes import SVOProbes
from zoo.benchmarks.vismin import VisMin
from zoo.benchmarks.whatsup import WhatsUp
from zoo.benchmarks.winoground_tags import CASES, WinogroundTags
from zoo.cli.doctor import examine_benchmark
from zoo.errors import ZooError
from zoo.results.metrics import MacroAverage, Rules
from zoo.results.plan import make_plan
from zoo.sources.images import ImageFinder
from zoo.sources.seeds import stable_hash

OPENAI = ("ViT-B-32", "openai")
FOLDER = "svo_probes/images/{}.jpg"
named = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
of_json = pytest.mark.parametrize(
    "sample", [sample for sample in SAMPLES if sample.of_json], ids=lambda sample: sample.name
)
of_files = pytest.mark.parametrize(
    "sample", [sample for sample in SAMPLES if sample.of_files], ids=lambda sample: sample.name
)


def cases_of(sample: Sample, root: Path) -> list[Case]:
    sample.write(root)
    return [c for c in read_benchmark(sample.benchmark, [root]).cases if c.subset == sample.subset]


def official(sample: Sample, scores: NDArray[np.float32]) -> Answers:
    assert sample.rule is not None
    return sample.rule(scores)


def test_pairs_of_svo_probes_have_the_authors_accuracy_over_each_pair_once(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    entries = tuple(
        svo(f"sentence {i % 7}", i % 9, 9 + int(generator.integers(0, 5)), "verb")
        for i in range(40)
    )
    sample = Sample(SVOProbes(), "svo_probes/svo_probes.csv", entries, "verb pairs")
    cases = cases_of(sample, tmp_path)
    rules = Rules(True, False, {("benchmark", "verb pairs"): MacroAverage()})
    for trial in range(30):
        drawn = np.random.default_rng(trial)
        scores = {
            (case.texts[0], case.images[0].key): float(drawn.integers(0, 6)) for case in cases
        }
        scored = [
            (case, np.array([[scores[case.texts[0], case.images[0].key]]], np.float32))
            for case in cases
        ]
        pairs = [
            (
                row["sentence"],
                image,
                matches,
                scores[row["sentence"], f"svo_probes/images/{image}.jpg"],
            )
            for row in entries
            for image, matches in ((row["pos_image_id"], True), (row["neg_image_id"], False))
        ]
        assert value(scored, rules)["macro"] == pytest.approx(100 * svo_official(pairs))


def test_a_threshold_is_the_lowest_of_the_best() -> None:
    scores, match = np.array([1, 2, 2, 3], np.float32), np.array([False, False, True, True])
    assert threshold(scores, match) == 1.0  # at 2 a matching pair is missed as one is spared
    assert threshold(scores, np.ones(4, bool)) == -np.inf
    assert threshold(scores, ~match) == -np.inf


@named
def test_a_field_that_is_missing_is_named_with_file_and_entry(
    sample: Sample, tmp_path: Path
) -> None:
    for name in sample.needed:
        sample.without(name).write(tmp_path)
        with pytest.raises(ZooError) as error:
            read_benchmark(sample.benchmark, [tmp_path])
        refused(error.value, Path(sample.file).name, f"field '{name}' is missing")


@of_json
def test_a_field_of_another_type_is_named_with_file_and_entry(
    sample: Sample, tmp_path: Path
) -> None:
    for name in sample.needed or range(len(sample.entries[-1])):
        sample.with_wrong(name).write(tmp_path)
        with pytest.raises(ZooError) as error:
            read_benchmark(sample.benchmark, [tmp_path])
        refused(error.value, sample.place, "is an object, but must be")


@named
def test_a_file_cut_short_is_named(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content.rpartition(b",")[0] if path.suffix == ".csv" else content[:-9])
    with pytest.raises(ZooError) as error:
        read_benchmark(sample.benchmark, [tmp_path])
    refused(error.value, path.name, ": ")


@named
def test_without_its_file_a_benchmark_says_how_to_get_it(sample: Sample, tmp_path: Path) -> None:
    with pytest.raises(ZooError) as error:
        make_plan([sample.benchmark], [tmp_path], ImageFinder([tmp_path]))
    refused(error.value, sample.benchmark.name, "DATA_ROOT")
    for subset in read_benchmark(sample.benchmark, [tmp_path]).missing_subsets:
        hub = sample.benchmark.hub
        assert (hub is not None and hub.gated) == ("accept the licence at" in subset.instructions)


@of_files
def test_cases_whose_images_are_absent_are_counted_and_not_scored(
    sample: Sample, tmp_path: Path
) -> None:
    cases_of(sample, tmp_path)
    with pytest.raises(ZooError) as error:
        make_plan([sample.benchmark], [tmp_path], ImageFinder([tmp_path]))
    place = f"of {sample.benchmark.name}/{sample.subset}"
    refused(error.value, "no case has its images under", place)
    first = read_benchmark(sample.benchmark, [tmp_path]).cases[0].images[0]
    said = (
        sample.benchmark.subsets[0].instructions if first.source == "published" else "put it under"
    )
    assert said in str(error.value)
    findings = examine_benchmark(sample.benchmark, [tmp_path], ImageFinder([tmp_path]))
    assert {f.scorable for f in findings} == {0}


def refused(error: ZooError, *parts: str) -> None:
    """Checks that an error is one sentence that names culprit, reason and mend."""
    said = str(error)
    assert all(part in said for part in parts), said
    assert "\n" not in said
    assert re.search(r": \S", said)


def test_a_kind_that_was_not_published_is_refused(tmp_path: Path) -> None:
    spoilt = {"subtype": "replace_xyz", "category": "xyz", "neg_value": "xyz", "Type": "xyz"}
    for sample in SAMPLES:
        for name in set(sample.needed) & set(spoilt) or ({"neg_value"} & set(sample.entries[0])):
            entries = tuple({**entry, name: "xyz"} for entry in sample.entries)
            other = Sample(sample.benchmark, sample.file, entries, "", pictures=sample.pictures)
            path = other.write(tmp_path)
            with pytest.raises(ZooError) as error:
                read_benchmark(sample.benchmark, [tmp_path])
            refused(error.value, path.name, f"{spoilt[name]!r} is not one of the kinds")


@pytest.mark.parametrize(
    ("asked", "file", "content", "says"),
    [
        (COLA(), "cola/COLA_multiobjects_matching_benchmark.json", ["a.png", "b", "c", "d"], "[0]"),
        (WhatsUp(subsets=["COCO-one"]), "whatsup/coco_qa_one_obj.json", ["cat", "a", "b"], "[0]"),
        (WhatsUp(subsets=["VG-one"]), "whatsup/vg_qa_one_obj.json", ["cat", "a", "b"], "[0]"),
        (ComVG(), "comvg/ComVG.csv", {**comvg(1, 2, 3), "pos_image_id": "cat"}, ":2"),
    ],
    ids=lambda value: value.name if isinstance(value, Benchmark) else "",
)
def test_an_image_that_has_no_number_of_its_data_set_is_refused(
    asked: Benchmark, file: str, content: Any, says: str, tmp_path: Path
) -> None:
    Sample(asked, file, (content,), "").write(tmp_path)
    with pytest.raises(ZooError) as error:
        read_benchmark(asked, [tmp_path])
    refused(error.value, f"{Path(file).name}{says}", "is not a file name of")


def test_other_numbers_of_cases_than_published_are_noted(tmp_path: Path) -> None:
    for sample in SAMPLES:
        n = next(s.n for s in sample.benchmark.subsets if s.name == sample.subset)
        found = len(cases_of(sample, tmp_path))
        notes = read_benchmark(sample.benchmark, [tmp_path]).notes
        if n is not None:
            assert notes[f"{sample.subset} cases"] == f"{found:,} in the file, {n:,} as published"


def test_rows_that_repeat_or_contradict_others_are_noted(tmp_path: Path) -> None:
    Sample(ComVG(), "comvg/ComVG.csv", (comvg(1, 1, 2), comvg(2, 2, 3)), "").write(tmp_path)
    notes = read_benchmark(ComVG(), [tmp_path]).notes
    assert notes["subject contradicted"].startswith("1 rows whose right image is")
    twice = tuple(svo("a man runs", 4, 5, "verb") for _ in range(3))
    Sample(SVOProbes(), "svo_probes/svo_probes.csv", twice, "verb").write(tmp_path)
    notes = read_benchmark(SVOProbes(), [tmp_path]).notes
    assert notes["verb repeated"] == "2 rows occur more than once"
    both = {**svo("a dog runs", 6, 7, "verb"), "subj_neg": "True"}
    none = ({**twice[0], "verb_neg": "False"}, both, twice[0])
    sample = Sample(SVOProbes(), "svo_probes/svo_probes.csv", none, "verb")
    assert [case.texts for case in cases_of(sample, tmp_path)] == [("a man runs",)]
    contents = read_benchmark(SVOProbes(), [tmp_path])
    assert contents.notes["rows in no subset"].startswith("2 differ")
    assert {text for case in contents.cases for text in case.texts} == {"a man runs"}


def test_sets_of_whatsup_that_are_not_whole_or_choose_among_others_are_noted(
    tmp_path: Path,
) -> None:
    says = ("left_of", "right_of", "on", "under")
    whole = [controlled("cup", p, "chair", "a", "b", "c", "d") for p in says]
    whole[2]["caption_options"][3] = "e"
    entries = (*whole, controlled("hat", "on", "chair", "a", "b", "c", "d", "more"))
    sample = Sample(WhatsUp(), "whatsup/controlled_images_dataset.json", entries, "A sets")
    (case,) = cases_of(sample, tmp_path)
    assert case.id == "cup_chair"
    notes = read_benchmark(WhatsUp(), [tmp_path]).notes
    assert notes["A sets incomplete"].startswith("1 images of objects that have fewer than four")
    assert notes["A sets captions"].startswith("1 sets whose images have different options")
    assert notes["A options"].startswith("1 images with more than four options")
    other = (controlled("hat", "beside", "chair", "a", "b", "c", "d"),)
    Sample(WhatsUp(), sample.file, other, "").write(tmp_path)
    with pytest.raises(ZooError, match=r"dataset\.json\[0\]: .* does not have a preposition"):
        read_benchmark(WhatsUp(), [tmp_path])


def test_images_of_imagecode_are_told_by_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "imagecode" / "image-sets" / "a"
    folder.mkdir(parents=True)
    for k in range(1, 11):
        Image.new("RGB", (4, 4)).save(folder / f"img{k}.jpg")
    entry = {"directory": "a", "pos_idx": 9, "neg_idx": 0, "caption": "a hand"}
    sample = Sample(ImageCoDe(), "imagecode/valid_simple.json", (entry,), "simple")
    (case,) = cases_of(sample, tmp_path)
    assert [Path(image.key).name for image in case.images] == ["img10.jpg", "img1.jpg"]
    (tmp_path / sample.file).write_text(json.dumps([{**entry, "pos_idx": 10}]))
    with pytest.raises(ZooError, match=r"valid_simple\.json\[0\]: field 'pos_idx' is wrong"):
        read_benchmark(ImageCoDe(), [tmp_path])
    (tmp_path / "imagecode" / "valid_data.json").write_text(json.dumps({"a": {"12": "a hand"}}))
    with pytest.raises(ZooError, match=r"valid_data\.json\[a\]: '12' is not a number from 0 to 9"):
        read_benchmark(ImageCoDe(subsets=["video"]), [tmp_path])


@pytest.mark.parametrize("caption", [[], "", [" "]])
def test_a_caption_of_eqben_that_says_nothing_is_refused(caption: Any, tmp_path: Path) -> None:
    entry = {"image0": "eqbensd/a.png", "image1": "eqbensd/b.png", "caption0": "a dog"}
    sample = Sample(EqBen(), "eqben/ann.json", ({**entry, "caption1": caption},), "")
    sample.write(tmp_path)
    with pytest.raises(ZooError) as error:
        read_benchmark(EqBen(), [tmp_path])
    refused(error.value, "ann.json[0]: a caption is blank")


def test_questions_of_mmvp_that_make_no_pair_are_refused(tmp_path: Path) -> None:
    rows = [
        {"Question ID": str(i), "Type": kind, "Statement": "a dog"}
        for i, kind in enumerate(("State", "State", "Color"), 1)
    ]
    for entries, line in ((rows, 4), (rows[1:], 3)):
        Sample(MMVP(), "mmvp/Questions.csv", tuple(entries), "").write(tmp_path)
        with pytest.raises(ZooError, match=rf"Questions\.csv:{line}: question .* is not a pair"):
            read_benchmark(MMVP(), [tmp_path])


def test_a_label_of_spec_that_is_no_answer_is_refused(tmp_path: Path) -> None:
    (sample,) = (sample for sample in SAMPLES if sample.benchmark.name == "spec")
    path = sample.write(tmp_path)
    path.write_text(json.dumps([{"query": "3/1.jpg", "keys": ["a", "b"], "label": 2}]))
    with pytest.raises(ZooError, match=r"image2text\.json\[0\]: label 2 is not an index of the 2"):
        read_benchmark(SPEC(), [tmp_path])
    path.write_text("[]")
    with pytest.raises(ZooError, match=r"image2text\.json is empty"):
        read_benchmark(SPEC(), [tmp_path])


def test_the_group_score_of_spec_is_over_the_images_and_texts_of_an_object(tmp_path: Path) -> None:
    """Two objects of two images, and one of a single image, which has no group."""
    entries = [
        {"query": f"{name}/{k}.jpg", "keys": [f"a small {name}", f"a big {name}"], "label": k}
        for name, images in (("cat", 2), ("dog", 2), ("cow", 1))
        for k in range(images)
    ]
    folder = tmp_path / "spec/absolute_size"
    folder.mkdir(parents=True)
    (folder / "image2text.json").write_text(json.dumps(entries))
    (folder / "text2image.json").write_text(
        json.dumps([{"query": "a big cat", "keys": ["cat/0.jpg", "cat/1.jpg"], "label": 1}])
    )
    cases = read_benchmark(SPEC(subsets=["absolute_size"]), [tmp_path]).cases
    groups = [case for case in cases if case.protocol == "matched_pairs"]
    assert [case.id for case in groups] == ["object cat", "object dog"]
    assert groups[0].texts == ("a small cat", "a big cat")
    assert [Path(image.key).name for image in groups[0].images] == ["0.jpg", "1.jpg"]
    assert groups[0].match.tolist() == [[True, False], [False, True]]
    # small, then big: the second image is right, the first prefers the wrong text
    outcomes = groups[0].judge(np.array([[0.2, 0.3], [0.1, 0.9]], np.float32))
    assert [(o.metric, o.right) for o in outcomes] == [("group", False), ("group", True)]


def test_the_cases_of_eqben_that_a_limit_keeps_do_not_depend_on_their_order(
    tmp_path: Path,
) -> None:
    def entry(folder: str, i: int) -> dict[str, str]:
        images = {f"image{k}": f"{folder}/{i}_{k}.png" for k in (0, 1)}
        return {**images, "caption0": f"a {i}", "caption1": f"b {i}"}

    path = tmp_path / "eqben/ann.json"
    path.parent.mkdir()
    entries = [entry("eqbengebc", i) for i in range(40)] + [entry("eqbensd", i) for i in range(3)]
    path.write_text(json.dumps(entries))
    limited = EqBen(max_cases=5, subsets=["GEBC", "Stable Diffusion"])
    contents = read_benchmark(limited, [tmp_path])
    ids = [case.id for case in contents.cases if case.subset == "GEBC"]
    expected = sorted(map(str, range(40)), key=stable_hash)[:5]
    assert ids == sorted(expected, key=int)
    assert ids != [str(i) for i in range(5)]
    assert len(contents.cases) == 5 + 3
    assert contents.notes["GEBC cases kept"].startswith("5 of 40")
    assert {subset.name: subset.n for subset in limited.subsets} == {
        "GEBC": 5,
        "Stable Diffusion": 5,
    }
    assert len(read_benchmark(EqBen(subsets=["GEBC"]), [tmp_path]).cases) == 40
    with pytest.raises(ZooError, match="max_cases is 0: give a number of at least 1"):
        EqBen(max_cases=0)


def test_right_answers_that_stand_at_one_place_are_noted(tmp_path: Path) -> None:
    (sample,) = (sample for sample in SAMPLES if sample.benchmark.name == "spec")
    path = sample.write(tmp_path)
    notes = read_benchmark(SPEC(), [tmp_path]).notes
    assert notes["existence i2t right answers"] == "only at position 1"
    entries = [{"query": "3/1.jpg", "keys": ["a", "b"], "label": k} for k in (0, 1)]
    path.write_text(json.dumps(entries))
    assert "existence i2t right answers" not in read_benchmark(SPEC(), [tmp_path]).notes


def test_the_retrieval_of_counterfactuals_is_drawn_by_seed_alone(tmp_path: Path) -> None:
    lines = [
        {"id": i, "image_0": f"{i}_0", "image_1": f"{i}_1", "caption_0": "a", "caption_1": "b"}
        for i in range(20)
    ]
    drawn = {}
    for seed, order in ((0, lines), (0, lines[::-1]), (1, lines)):
        asked = COCOCounterfactuals(seed=seed, subsets=["retrieval"])
        sample = Sample(asked, "coco_cf/data/examples.jsonl", tuple(order), "retrieval")
        (case,) = cases_of(sample, tmp_path)
        assert case.match.tolist() == np.eye(12).tolist()
        drawn[seed, order[0]["id"]] = {image.key for image in case.images}
    assert drawn[0, 0] == drawn[0, 19] != drawn[1, 0]
    notes = read_benchmark(COCOCounterfactuals(subsets=["retrieval"]), [tmp_path]).notes
    assert notes["retrieval"].startswith("6 examples with the lowest hashes under seed 0")


def test_tags_of_winoground_have_the_cases_that_were_given_them(tmp_path: Path) -> None:
    (sample,) = (sample for sample in SAMPLES if sample.benchmark.name == "winoground_tags")
    sample.write(tmp_path)
    contents = read_benchmark(WinogroundTags(), [tmp_path])
    found = {tag: [c.id for c in contents.cases if c.subset == tag] for tag in CASES}
    assert found["plain"] == ["0"]
    assert found["Unusual Text"] == ["1", "2"]
    assert found["Non Minimal"] == ["1"]
    assert {case.group for case in contents.cases} == {"Object"}
    (tmp_path / sample.file).write_text(json.dumps({"0": ["Odd"]}))
    with pytest.raises(ZooError, match=r"assignments\.json\[0\]: 'Odd' is not one of the kinds"):
        read_benchmark(WinogroundTags(), [tmp_path])
    (tmp_path / sample.file).write_text(json.dumps({"0": []}))
    assert (
        read_benchmark(WinogroundTags(), [tmp_path])
        .notes["untagged"]
        .startswith("2 cases of Winoground")
    )


def test_published_files_are_read_whole(shared_data: Path) -> None:
    contents = read_benchmark(ImageCoDe(), [shared_data])
    assert Counter(case.subset for case in contents.cases) == {
        "video": 1872,
        "static": 430,
        "simple": 2302,
    }
    assert contents.notes == {}
    contents = read_benchmark(COLA(), [shared_data])
    assert len(contents.cases) == 210
    assert len({image for case in contents.cases for image in case.images}) == 218
    assert contents.notes == {}
    first = contents.cases[0]
    assert [image.key for image in first.images] == ["2390970", "2388902"]
    assert first.texts[1] == "brown giraffe behind tall white giraffe"


def golden(shared_data: Path) -> dict[str, float]:
    """Returns vl_compo's figures of OpenAI's ViT-B/32."""
    with (shared_data / "golden" / "vl_compo_individual_results.csv").open() as file:
        rows = csv.DictReader(file)
        row = next(row for row in rows if (row["arch"], row["pretrained"]) == OPENAI)
    return {name: float(value) for name, value in row.items() if "::" in name}


def test_published_figures_are_those_of_vl_compo(shared_data: Path) -> None:
    figures = golden(shared_data)
    patterns = dict.fromkeys(k.split("::")[1] for k in figures if k.startswith("mmvp_vlm"))
    names = {"whatsup": ("WhatsUp_A", "WhatsUp_B", "COCO_QA_ONE", "COCO_QA_TWO", "VG_QA_ONE")}
    names["whatsup"] += ("VG_QA_TWO",)
    names |= {"svo_probes": ("subj_neg", "verb_neg", "obj_neg"), "colorswap": ("",)}
    names |= {"mmvp": tuple(patterns), "imagecode": ("videos", "static")}
    names["eqben"] = tuple(folder for folder, _, _ in eqben.PUBLISHED.values())
    for name, theirs in names.items():
        for part, subset in zip(theirs, build_benchmark(name).subsets, strict=False):
            for metric, said in subset.published.items():
                column = "::".join(filter(None, (name.replace("mmvp", "mmvp_vlm"), part)))
                figure = figures.get(f"{column}::{metric}", figures.get(column))
                assert said == pytest.approx(figure, abs=0.051), (name, subset.name, metric)


def test_published_figures_of_bivlc_are_those_of_the_authors_cases(shared_data: Path) -> None:
    found: dict[str, list[list[bool]]] = {}
    columns = ("text_score", "image_score", "group_score", "text_score_i0", "text_score_i1")
    columns += ("image_score_c0", "image_score_c1")
    with gzip.open(shared_data / "golden" / "BiVLC_ViT-B-32.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            answers = [row[column] == "True" for column in columns]
            found.setdefault(f"{row['type']}_{row['subtype']}", []).append(answers)
    for subset in BiVLC().subsets:
        assert len(found[subset.name]) == subset.n
        shares = 100 * np.mean(found[subset.name], axis=0)
        assert list(subset.published.values()) == pytest.approx(shares.tolist(), abs=0.051)


def test_numbers_of_cases_are_those_of_the_published_lists(shared_data: Path) -> None:
    with (shared_data / "benchmarks" / "vismin" / "vqa_solution.csv").open() as file:
        found = Counter(row["category"] for row in csv.DictReader(file))
    assert found == {subset.name: subset.n for subset in VisMin().subsets}


def test_real_rows_of_whatsup_are_read_to_sets_where_the_four_are_there(shared_data: Path) -> None:
    file = "benchmarks/whatsup/controlled_images_dataset_extra_negatives.json"
    asked = WhatsUp({"A": file, "A sets": file}, ["A", "A sets"])
    contents = read_benchmark(asked, [shared_data])
    assert len(contents.cases) == 100  # no two objects have all four among the first hundred
    assert contents.notes["A options"].startswith("100 images with more than four options")
    assert contents.notes["A sets incomplete"].startswith("100 images")
    assert contents.cases[0].texts == (
        "A beer bottle on a armchair",
        "A beer bottle under a armchair",
        "A beer bottle to the left of a armchair",
        "A beer bottle to the right of a armchair",
    )


@named
def test_the_engine_finds_the_images_and_counts_as_the_official_rule(
    sample: Sample, tmp_path: Path
) -> None:
    cases = cases_of(sample, tmp_path)
    for i, ref in enumerate({image for case in cases for image in case.images}):
        if ref.source != "parquet":
            draw(tmp_path, ref, i)
    results = zoo.evaluate(by_pixels, sample.benchmark, tmp_path)
    expected: Answers = {}
    for case in cases:
        images = [ImageFinder([tmp_path]).load(image) for image in case.images]
        scores = by_pixels(images, list(case.texts)).astype(np.float32)
        for metric, answers in official(sample, scores).items():
            expected.setdefault(metric, []).extend(answers)
    for metric, answers in expected.items():
        share = results.value(sample.benchmark.name, sample.subset, metric)
        assert share == pytest.approx(100 * np.mean(answers))


def test_real_photographs_of_comvg_are_judged_as_by_the_authors_loop(shared_data: Path) -> None:
    file = shared_data / "benchmarks" / "comvg" / "ComVG_with_photographs.csv"
    folder = shared_data / "vg160" / "visual_genome" / "images"
    right: dict[str, list[bool]] = {}
    with file.open(newline="") as lines:
        for row in csv.DictReader(lines):
            pair = [
                Image.open(folder / f"{row[f'{side}_image_id']}.jpg") for side in ("pos", "neg")
            ]
            scores = by_pixels([image.convert("RGB") for image in pair], [row["sentence"]])
            right.setdefault(row["neg_value"], []).append(scores[0, 0] > scores[1, 0])
    assert sum(map(len, right.values())) == 32
    asked = ComVG({kind: str(file) for kind in right}, list(right))
    results = zoo.evaluate(by_pixels, asked, [shared_data, shared_data / "vg160"])
    for kind, answers in right.items():
        assert results.value("comvg", kind, "t2i") == pytest.approx(100 * np.mean(answers))
        outcomes = results.cases.filter(pc.field("subset") == kind)
        assert outcomes["right"].to_pylist() == answers
