"""Benchmarks of several images a case: what is read, by which rule, and what is refused."""

import csv
import re
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import numpy as np
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray
from PIL import Image

import zoo
from tests.support.published import Sample, counted, tied_scores, value
from zoo.benchmarks.base import Case
from zoo.benchmarks.bivlc import BiVLC
from zoo.benchmarks.cola import COLA
from zoo.benchmarks.comvg import ComVG
from zoo.benchmarks.protocols.binary import threshold
from zoo.benchmarks.roots import read
from zoo.benchmarks.svo_probes import SVOProbes
from zoo.benchmarks.vismin import VisMin
from zoo.cli.doctor import examine
from zoo.errors import ZooError
from zoo.results.metrics import Macro, Rules
from zoo.results.plan import make_plan
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef

FOLDER = "svo_probes/images/{}.jpg"
COLA_LINK = "https://cs-people.bu.edu/array/data/vg_gqa_images/"
SVO = {"pos_triplet": "girl,sit,grass", "neg_triplet": "girl,sit,chair"}
SVO |= {"pos_url": "http://a/1.jpg", "neg_url": "http://a/2.jpg"}


def svo(sentence: str, right: int, wrong: int, differs: str) -> dict[str, str]:
    flags = {f"{kind}_neg": str(kind == differs) for kind in ("subj", "verb", "obj")}
    ids = {"pos_image_id": str(right), "neg_image_id": str(wrong)}
    return {"sentence": sentence, **SVO, **ids, **flags}


SAMPLES = (
    Sample(
        BiVLC(),
        "bivlc/data/test-00000-of-00001.parquet",
        (
            {
                "caption": "A dog on a sofa.",
                "negative_caption": "A cat on a sofa.",
                "type": "replace",
                "subtype": "obj",
            },
            {
                "caption": "A red hat.",
                "negative_caption": "A blue hat.",
                "type": "replace",
                "subtype": "obj",
            },
        ),
        "replace_obj",
        ("caption", "negative_caption", "type", "subtype"),
        ("image", "negative_image"),
    ),
    Sample(
        VisMin(),
        "vismin/data/test-00000-of-00001.parquet",
        (
            {"id": "7", "category": "counting", "text_0": "Two dogs", "text_1": "Three dogs"},
            {"id": "9", "category": "counting", "text_0": "A cup", "text_1": "Two cups"},
        ),
        "counting",
        ("id", "category", "text_0", "text_1"),
        ("image_0", "image_1"),
    ),
    Sample(
        COLA(),
        "cola/COLA_multiobjects_matching_benchmark.json",
        (
            [f"{COLA_LINK}11.jpg", "tall tree", f"{COLA_LINK}12.jpg", "short tree"],
            [f"{COLA_LINK}12.jpg", "small cup", f"{COLA_LINK}13.jpg", "large cup"],
        ),
        "multi",
    ),
    Sample(
        SVOProbes(subsets=["verb"]),
        "svo_probes/svo_probes.csv",
        (
            svo("a girl sits on grass", 1, 2, "verb"),
            svo("a girl sits on grass", 1, 3, "subj"),
            svo("a man runs", 4, 5, "verb"),
        ),
        "verb",
        ("sentence", "pos_image_id", "neg_image_id", "subj_neg", "verb_neg", "obj_neg"),
    ),
    Sample(
        ComVG(),
        "comvg/ComVG.csv",
        (
            {
                "id": "1",
                "sentence": "a man rides",
                "pos_triplet": "man,ride,horse",
                "neg_triplet": "('dog', 'ride', 'horse')",
                "pos_image_id": "21",
                "neg_image_id": "22",
                "neg_value": "subject",
                "sentence_id": "5",
            },
            {
                "id": "2",
                "sentence": "a man rides",
                "pos_triplet": "man,ride,horse",
                "neg_triplet": "('cat', 'ride', 'horse')",
                "pos_image_id": "22",
                "neg_image_id": "23",
                "neg_value": "subject",
                "sentence_id": "5",
            },
        ),
        "subject",
        ("id", "sentence", "pos_image_id", "neg_image_id", "neg_value"),
    ),
)
# all fields of a row of a table are texts, and a column has one type
of_json = [sample for sample in SAMPLES if sample.file.endswith((".json", ".jsonl"))]
with_files = [sample for sample in SAMPLES if not sample.pictures]
named = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


def cases_of(sample: Sample, root: Path) -> list[Case]:
    sample.write(root)
    return [c for c in read(sample.benchmark, [root]).cases if c.subset == sample.subset]


# what the entries of a sample are read to: id, images, texts, match, protocol, group
READ = {
    "bivlc-parquet": [
        ("0", ("#0#image", "#0#negative_image"), ("A dog on a sofa.", "A cat on a sofa.")),
        ("1", ("#1#image", "#1#negative_image"), ("A red hat.", "A blue hat.")),
    ],
    "vismin-parquet": [
        ("7", ("#0#image_0", "#0#image_1"), ("Two dogs", "Three dogs")),
        ("9", ("#1#image_0", "#1#image_1"), ("A cup", "Two cups")),
    ],
    "cola-json": [
        ("0", ("visual_genome:11", "visual_genome:12"), ("tall tree", "short tree")),
        ("1", ("visual_genome:12", "visual_genome:13"), ("small cup", "large cup")),
    ],
    "svo_probes-csv": [
        ("2", ("svo_probes/images/1.jpg", "svo_probes/images/2.jpg"), ("a girl sits on grass",)),
        ("4", ("svo_probes/images/4.jpg", "svo_probes/images/5.jpg"), ("a man runs",)),
    ],
    "comvg-csv": [
        ("1", ("visual_genome:21", "visual_genome:22"), ("a man rides",)),
        ("2", ("visual_genome:22", "visual_genome:23"), ("a man rides",)),
    ],
}
PROTOCOLS = {"bivlc-parquet": "directed", "vismin-parquet": "group", "cola-json": "group"}
PROTOCOLS |= {"svo_probes-csv": "t2i", "comvg-csv": "t2i"}


@named
def test_a_file_with_the_published_fields_is_read(sample: Sample, tmp_path: Path) -> None:
    cases = cases_of(sample, tmp_path)
    assert len(cases) == len(READ[sample.name])
    for case, (name, images, texts) in zip(cases, READ[sample.name], strict=True):
        assert (case.id, case.texts, case.protocol) == (name, texts, PROTOCOLS[sample.name])
        for ref, end in zip(case.images, images, strict=True):
            assert str(ref).endswith(end)
            assert str(tmp_path) not in str(ref)
        square = len(case.texts) == 2
        assert case.match.tolist() == ([[1, 0], [0, 1]] if square else [[1], [0]])


def group(scores: NDArray[np.float32]) -> dict[str, list[bool]]:
    (a, b), (c, d) = scores  # image 0 with text 0, with text 1; image 1 likewise
    text, image = a > b and d > c, a > c and d > b
    return {"text": [text], "image": [image], "group": [text and image]}


def directed(scores: NDArray[np.float32]) -> dict[str, list[bool]]:
    (a, b), (c, d) = scores
    choices = {"i_pos2t": [a > b], "i_neg2t": [d > c], "t_pos2i": [a > c], "t_neg2i": [d > b]}
    return group(scores) | choices


def first_image(scores: NDArray[np.float32]) -> dict[str, list[bool]]:
    return {"t2i": [scores[0, 0] > scores[1, 0]]}


OFFICIAL_RULES: dict[str, Callable[[NDArray[np.float32]], dict[str, list[bool]]]] = {
    "bivlc-parquet": directed,
    "vismin-parquet": group,
    "cola-json": group,
    "svo_probes-csv": first_image,
    "comvg-csv": first_image,
}


@named
def test_no_outcome_differs_from_the_official_rule(sample: Sample, tmp_path: Path) -> None:
    for case in cases_of(sample, tmp_path):
        for scores in tied_scores(case.match.shape):
            assert counted(case, scores) == OFFICIAL_RULES[sample.name](scores)


def svo_official(scored: list[tuple[str, str, bool, float]]) -> float:
    """Returns the authors' accuracy: each pair once, the mean over matching and other pairs.

    Their models say 0 or 1; the threshold is tried at every score here.
    """
    best = 0.0
    pairs = set(scored)
    for level in [-np.inf, *(score for *_, score in pairs)]:
        shares = []
        for wanted in (True, False):
            said = [score > level for *_, matches, score in pairs if matches is wanted]
            shares.append(sum(s is wanted for s in said) / len(said))
        best = max(best, sum(shares) / 2)
    return best


def test_pairs_of_svo_probes_have_the_authors_accuracy_over_each_pair_once(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    entries = tuple(
        svo(f"sentence {i % 7}", i % 9, 9 + int(generator.integers(0, 5)), "verb")
        for i in range(40)
    )
    sample = Sample(SVOProbes(), "svo_probes/svo_probes.csv", entries, "verb pairs")
    cases = cases_of(sample, tmp_path)
    rules = Rules(True, False, {("benchmark", "verb pairs"): Macro()})
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
            read(sample.benchmark, [tmp_path])
        refused(error.value, Path(sample.file).name, f"field '{name}' is missing")


@pytest.mark.parametrize("sample", of_json, ids=lambda sample: sample.name)
def test_a_field_of_another_type_is_named_with_file_and_entry(
    sample: Sample, tmp_path: Path
) -> None:
    for name in sample.needed or range(len(sample.entries[0])):  # type: ignore[attr-defined]
        sample.with_wrong(name).write(tmp_path)
        with pytest.raises(ZooError) as error:
            read(sample.benchmark, [tmp_path])
        refused(error.value, sample.place, "is needed")


@named
def test_a_file_cut_short_is_named(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    path.write_bytes(path.read_bytes().rstrip()[:-9])
    with pytest.raises(ZooError) as error:
        read(sample.benchmark, [tmp_path])
    refused(error.value, path.name, ": ")


@named
def test_without_its_file_a_benchmark_says_how_to_get_it(sample: Sample, tmp_path: Path) -> None:
    with pytest.raises(ZooError) as error:
        make_plan([sample.benchmark], [tmp_path], ImageFinder([tmp_path]))
    refused(error.value, sample.benchmark.name, "DATA_ROOT")
    for subset in read(sample.benchmark, [tmp_path]).absent:
        hub = sample.benchmark.hub
        assert (hub is not None and hub.gated) == ("accept its licence" in subset.how)


@pytest.mark.parametrize("sample", with_files, ids=lambda sample: sample.name)
def test_cases_whose_images_are_absent_are_counted_and_not_scored(
    sample: Sample, tmp_path: Path
) -> None:
    cases_of(sample, tmp_path)
    with pytest.raises(ZooError) as error:
        make_plan([sample.benchmark], [tmp_path], ImageFinder([tmp_path]))
    place = f"of {sample.benchmark.name}/{sample.subset}"
    refused(error.value, "none has its images under", place)
    first = read(sample.benchmark, [tmp_path]).cases[0].images[0]
    said = sample.benchmark.subsets[0].how if first.source == "published" else "put it under"
    assert said in str(error.value)
    findings = examine(sample.benchmark, [tmp_path], ImageFinder([tmp_path]))
    assert {f.scorable for f in findings} == {0}


def refused(error: ZooError, *parts: str) -> None:
    """Checks that an error is one sentence that names culprit, reason and mend."""
    said = str(error)
    assert all(part in said for part in parts), said
    assert "\n" not in said
    assert re.search(r": \S", said)


def test_a_kind_that_was_not_published_is_refused(tmp_path: Path) -> None:
    for sample, name, kind in (
        (SAMPLES[0], "subtype", "replace_xyz"),
        (SAMPLES[1], "category", "xyz"),
        (SAMPLES[4], "neg_value", "xyz"),
    ):
        entries = tuple({**entry, name: "xyz"} for entry in sample.entries)  # type: ignore[dict-item]
        path = Sample(sample.benchmark, sample.file, entries, "", (), sample.pictures).write(
            tmp_path
        )
        with pytest.raises(ZooError, match=re.escape(path.name) + rf".*'{kind}' is none of"):
            read(sample.benchmark, [tmp_path])


def test_other_numbers_of_cases_than_published_are_noted(tmp_path: Path) -> None:
    for sample in SAMPLES:
        sample.write(tmp_path)
        notes = read(sample.benchmark, [tmp_path]).notes
        n = next(s.n for s in sample.benchmark.subsets if s.name == sample.subset)
        if n is not None:
            assert notes[f"{sample.subset} cases"] == f"2 in the file, {n:,} as published"


def test_rows_that_repeat_or_contradict_others_are_noted(tmp_path: Path) -> None:
    contents = read(ComVG(), [SAMPLES[4].write(tmp_path).parents[1]])
    assert contents.notes["subject contradicted"].startswith("1 rows whose right image is")
    twice = tuple(svo("a man runs", 4, 5, "verb") for _ in range(3))
    Sample(SVOProbes(), "svo_probes/svo_probes.csv", twice, "verb").write(tmp_path)
    notes = read(SVOProbes(), [tmp_path]).notes
    assert notes["verb repeated"] == "2 rows stand more than once"
    none = ({**twice[0], "verb_neg": "False"}, twice[0])
    Sample(SVOProbes(), "svo_probes/svo_probes.csv", none, "verb").write(tmp_path)
    assert read(SVOProbes(), [tmp_path]).notes["rows in no subset"].startswith("1 differ")


def test_published_files_are_read_whole(shared_data: Path) -> None:
    contents = read(COLA(), [shared_data / "benchmarks"])
    assert len(contents.cases) == 210
    assert len({image for case in contents.cases for image in case.images}) == 218
    assert contents.notes == {}
    first = contents.cases[0]
    assert [image.key for image in first.images] == ["2390970", "2388902"]
    assert first.texts[1] == "brown giraffe behind tall white giraffe"


def by_pixels(images: list[Image.Image], texts: list[str]) -> NDArray[np.float64]:
    """Scores of three values that images and texts settle, so that ties are common."""
    sums = [int(np.asarray(image, dtype=np.int64).sum()) for image in images]
    return np.array([[crc32(f"{n} {text}".encode()) % 3 for text in texts] for n in sums], float)


@named
def test_the_engine_finds_the_images_and_counts_as_the_official_rule(
    sample: Sample, tmp_path: Path
) -> None:
    cases = cases_of(sample, tmp_path)
    for i, ref in enumerate({image for case in cases for image in case.images}):
        if ref.source != "parquet":
            draw(tmp_path, ref, i)
    results = zoo.evaluate(by_pixels, sample.benchmark, tmp_path)
    rule = OFFICIAL_RULES[sample.name]
    expected: dict[str, list[bool]] = {}
    for case in cases:
        images = [ImageFinder([tmp_path]).load(image) for image in case.images]
        scores = by_pixels(images, list(case.texts)).astype(np.float32)
        for metric, answers in rule(scores).items():
            expected.setdefault(metric, []).extend(answers)
    for metric, answers in expected.items():
        share = results.value(sample.benchmark.name, sample.subset, metric)
        assert share == pytest.approx(100 * np.mean(answers))


def draw(root: Path, ref: ImageRef, shade: int) -> None:
    """Puts an image where a reference is looked for."""
    name = f"visual_genome/images/{ref.key}.jpg" if ref.source == "visual_genome" else ref.key
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (20 * shade, 200, 90)).save(root / name)


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
