"""Samples of the benchmarks of several images, each with its official rule as loops."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.samples import Answers, Expected, Sample
from zoo.benchmarks.bivlc import BiVLC
from zoo.benchmarks.coco_cf import COCOCounterfactuals
from zoo.benchmarks.cola import COLA
from zoo.benchmarks.colorswap import ColorSwap
from zoo.benchmarks.comvg import ComVG
from zoo.benchmarks.eqben import EqBen
from zoo.benchmarks.imagecode import ImageCoDe
from zoo.benchmarks.mmvp import MMVP
from zoo.benchmarks.naturalbench import NaturalBench
from zoo.benchmarks.spec import SPEC
from zoo.benchmarks.svo_probes import SVOProbes
from zoo.benchmarks.vismin import VisMin
from zoo.benchmarks.whatsup import WhatsUp
from zoo.benchmarks.winoground_tags import WinogroundTags

Scores = NDArray[np.float32]
SQUARE = [[1, 0], [0, 1]]
COLA_LINK = "https://cs-people.bu.edu/array/data/vg_gqa_images/"
SVO = {"pos_triplet": "girl,sit,grass", "neg_triplet": "girl,sit,chair"}
SVO |= {"pos_url": "http://a/1.jpg", "neg_url": "http://a/2.jpg"}


def group(scores: Scores) -> Answers:
    """Winoground's three scores, as COLA, VisMin, EqBen and ColorSwap have them."""
    (a, b), (c, d) = scores  # image 0 with text 0, with text 1; image 1 likewise
    text, image = a > b and d > c, a > c and d > b
    return {"text": [text], "image": [image], "group": [text and image]}


def directed(scores: Scores) -> Answers:
    """BiVLC's seven."""
    (a, b), (c, d) = scores
    choices = {"i_pos2t": [a > b], "i_neg2t": [d > c], "t_pos2i": [a > c], "t_neg2i": [d > b]}
    return group(scores) | choices


def first_image(scores: Scores) -> Answers:
    """vl_compo's SVO-Probes and ComCLIP's ComVG."""
    return {"t2i": [scores[0, 0] > scores[1, 0]]}


def first_text(scores: Scores) -> Answers:
    """What'sUp: an argmax over texts of which the first is right."""
    best = 0
    for k in range(scores.shape[1]):
        best = k if scores[0, k] > scores[0, best] else best
    return {"i2t": [best == 0]}


def in_sets(scores: Scores) -> Answers:
    """What'sUp: left and right, on and under, and all four."""
    right = {}
    for i, preposition in enumerate(("left", "right", "on", "under")):
        own = scores[i, 4 * i : 4 * i + 4]
        right[preposition] = int(np.argmax(own)) == 0
    pairs = [right["left"] and right["right"], right["on"] and right["under"]]
    return {"pair": pairs, "set": [sum(right.values()) == 4]}


def ranked(answer: int) -> Any:
    """ImageCoDe: the first of the images when they are sorted from the highest score."""

    def rule(scores: Scores) -> Answers:
        order = sorted(range(len(scores)), key=lambda k: -scores[k, 0])  # a stable sort
        return {"t2i": [order[0] == answer]}

    return rule


def labelled(scores: Scores) -> Answers:
    """SPEC: an argmax over texts or images; the answer of the samples is the second."""
    best, along = 0, scores.ravel()
    for k in range(len(along)):
        best = k if along[k] > along[best] else best
    return {"i2t" if len(scores) == 1 else "t2i": [best == 1]}


def softmaxed(scores: Scores) -> Answers:
    """MMVP: a statement takes image 1 where its share of the two is above a half, else image 2."""
    second, first = scores  # the second image is listed first
    share = [1 / (1 + np.exp(float(second[j]) - float(first[j]))) for j in (0, 1)]
    return {"image": [share[0] > 0.5 and not share[1] > 0.5]}


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


def svo(sentence: str, right: int, wrong: int, differs: str) -> dict[str, str]:
    """Returns a row of SVO-Probes."""
    flags = {f"{kind}_neg": str(kind == differs) for kind in ("subj", "verb", "obj")}
    ids = {"pos_image_id": str(right), "neg_image_id": str(wrong)}
    return {"sentence": sentence, **SVO, **ids, **flags}


def comvg(number: int, right: int, wrong: int) -> dict[str, str]:
    """Returns a row of ComVG."""
    triplets = {"pos_triplet": "man,ride,horse", "neg_triplet": "('dog', 'ride', 'horse')"}
    ids = {"pos_image_id": str(right), "neg_image_id": str(wrong)}
    named = {"id": str(number), "sentence": "a man rides"}
    return {**named, **triplets, **ids, "neg_value": "subject", "sentence_id": "5"}


def controlled(first: str, says: str, last: str, *options: str) -> dict[str, Any]:
    """Returns an entry of What'sUp's own photographs."""
    path = f"data/controlled_images/{first}_{says}_{last}.jpeg"
    return {"image_path": path, "caption_options": list(options)}


MUG = ("left of", "right of", "on", "under")
SAID = ("left_of", "right_of", "on", "under")
MUGS = tuple(
    controlled("mug", says, "plate", *(f"A mug {p} a plate" for p in (own, *(set(MUG) - {own}))))
    for own, says in zip(MUG, SAID, strict=True)
)
MUG_OPTIONS = tuple(tuple(entry["caption_options"]) for entry in MUGS)
BLOCKS = np.kron(np.eye(4, dtype=int), [[1, 0, 0, 0]]).tolist()
TEN = tuple(f"image-sets/video-a/img{k}.jpg" for k in range(10))
ROW = {"tag": "Adjective", "secondary_tag": "", "num_main_preds": 1, "collapsed_tag": "Object"}
EXAMPLES = [
    {"id": i, "image_0": f"ex_{i}_img_0", "image_1": f"ex_{i}_img_1", **ROW}
    | {"caption_0": f"{i} a b", "caption_1": f"{i} b a"}
    for i in range(3)
]
COLOURS = {"caption_source": "human", "image_source": "midjourney"}
CAMERA = "Camera Perspective"

SAMPLES = (
    Sample(
        BiVLC(),
        "bivlc/data/test-00000-of-00001.parquet",
        tuple(
            {"caption": c, "negative_caption": n, "type": "replace", "subtype": "obj"}
            for c, n in (("A dog on a sofa.", "A cat on a sofa."), ("A red hat.", "A red cup."))
        ),
        "replace_obj",
        "directed",
        directed,
        (
            Expected(
                "0",
                ("#0#image", "#0#negative_image"),
                ("A dog on a sofa.", "A cat on a sofa."),
                SQUARE,
            ),
            Expected("1", ("#1#image", "#1#negative_image"), ("A red hat.", "A red cup."), SQUARE),
        ),
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
        "group",
        group,
        (
            Expected("7", ("#0#image_0", "#0#image_1"), ("Two dogs", "Three dogs"), SQUARE),
            Expected("9", ("#1#image_0", "#1#image_1"), ("A cup", "Two cups"), SQUARE),
        ),
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
        "group",
        group,
        (
            Expected("0", ("genome:11", "genome:12"), ("tall tree", "short tree"), SQUARE),
            Expected("1", ("genome:12", "genome:13"), ("small cup", "large cup"), SQUARE),
        ),
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
        "t2i",
        first_image,
        (
            Expected("2", ("images/1.jpg", "images/2.jpg"), ("a girl sits on grass",), [[1], [0]]),
            Expected("4", ("images/4.jpg", "images/5.jpg"), ("a man runs",), [[1], [0]]),
        ),
        ("sentence", "pos_image_id", "neg_image_id", "subj_neg", "verb_neg", "obj_neg"),
    ),
    Sample(
        ComVG(),
        "comvg/ComVG.csv",
        (comvg(1, 21, 22), comvg(2, 22, 23)),
        "subject",
        "t2i",
        first_image,
        (
            Expected("1", ("genome:21", "genome:22"), ("a man rides",), [[1], [0]]),
            Expected("2", ("genome:22", "genome:23"), ("a man rides",), [[1], [0]]),
        ),
        ("id", "sentence", "pos_image_id", "neg_image_id", "neg_value"),
    ),
    Sample(
        WhatsUp(subsets=["A"]),
        "whatsup/controlled_images_dataset.json",
        MUGS[:2],
        "A",
        "i2t",
        first_text,
        tuple(
            Expected(
                f"mug_{says}_plate",
                (f"whatsup/controlled_images/mug_{says}_plate.jpeg",),
                options,
                [[1, 0, 0, 0]],
            )
            for says, options in zip(SAID[:2], MUG_OPTIONS[:2], strict=True)
        ),
        ("image_path", "caption_options"),
    ),
    Sample(
        WhatsUp(subsets=["A sets"]),
        "whatsup/controlled_images_dataset.json",
        MUGS[::-1],
        "A sets",
        "pairs_and_set",
        in_sets,
        (
            Expected(
                "mug_plate",
                tuple(f"controlled_images/mug_{says}_plate.jpeg" for says in SAID),
                sum(MUG_OPTIONS, ()),
                BLOCKS,
            ),
        ),
        ("image_path", "caption_options"),
    ),
    Sample(
        WhatsUp(subsets=["COCO-two"]),
        "whatsup/coco_qa_two_obj.json",
        ([139, "A dog left of a cat", "A dog right of a cat"], [7, "A cup", "A hat"]),
        "COCO-two",
        "i2t",
        first_text,
        (
            Expected("0", ("coco:139",), ("A dog left of a cat", "A dog right of a cat"), [[1, 0]]),
            Expected("1", ("coco:7",), ("A cup", "A hat"), [[1, 0]]),
        ),
    ),
    Sample(
        WhatsUp(subsets=["VG-one"]),
        "whatsup/vg_qa_one_obj.json",
        ([2317, "A dog on the left", "A dog on the right"],),
        "VG-one",
        "i2t",
        first_text,
        (Expected("0", ("genome:2317",), ("A dog on the left", "A dog on the right"), [[1, 0]]),),
    ),
    Sample(
        ImageCoDe(subsets=["video"]),
        "imagecode/valid_data.json",
        ({"3": "no video "}, {"4": " a hand is seen"}),
        "video",
        "t2i",
        ranked(4),
        (Expected("video-a 4", TEN, ("a hand is seen",), [[int(k == 4)] for k in range(10)]),),
        keys=("open-images-1", "video-a"),
    ),
    Sample(
        ImageCoDe(subsets=["simple"]),
        "imagecode/valid_simple.json",
        ({"directory": "video-a", "pos_idx": 5, "neg_idx": 2, "caption": "a hand"},),
        "simple",
        "t2i",
        ranked(0),
        (Expected("0", (TEN[5], TEN[2]), ("a hand",), [[1], [0]]),),
        ("directory", "pos_idx", "neg_idx", "caption"),
    ),
    Sample(
        WinogroundTags(subsets=["Unusual Text"]),
        "winoground/new_tag_assignments.json",
        ([], ["Unusual Text", "Non Minimal"], ["Unusual Text"]),
        "Unusual Text",
        "group",
        group,
        tuple(
            Expected(
                str(i),
                (f"data/images/ex_{i}_img_0.png", f"data/images/ex_{i}_img_1.png"),
                (f"{i} a b", f"{i} b a"),
                SQUARE,
            )
            for i in (1, 2)
        ),
        beside={"winoground/data/examples.jsonl": "\n".join(map(json.dumps, EXAMPLES))},
        keys=("0", "1", "2"),
    ),
    Sample(
        NaturalBench(),
        "naturalbench/NaturalBench-Retrieval/metadata.json",
        tuple(
            {
                "index": i,
                "image_0": f"{i}_a.jpg",
                "image_1": f"{i}_b.jpg",
                "caption_0": f"{i} a man",
                "caption_1": f"{i} a woman",
            }
            for i in range(2)
        ),
        "retrieval",
        "group",
        group,
        tuple(
            Expected(
                str(i),
                tuple(f"NaturalBench-Retrieval/images/{i}_{side}.jpg" for side in "ab"),
                (f"{i} a man", f"{i} a woman"),
                SQUARE,
            )
            for i in range(2)
        ),
        ("index", "image_0", "image_1", "caption_0", "caption_1"),
    ),
    Sample(
        MMVP(subsets=[CAMERA]),
        "mmvp/Questions.csv",
        tuple(
            {"Question ID": str(number), "Type": CAMERA, "Statement": says}
            for number, says in ((241, "a dog from above"), (242, "a dog from the side"))
        ),
        CAMERA,
        "group",
        softmaxed,
        (
            Expected(
                "241-242",
                tuple(f"mmvp/MLLM_VLM Images/{CAMERA}/{n}.jpg" for n in (242, 241)),
                ("a photo of a dog from above", "a photo of a dog from the side"),
                SQUARE[::-1],
            ),
        ),
        ("Question ID", "Type", "Statement"),
    ),
    Sample(
        ColorSwap(),
        "colorswap/test.json",
        (
            {"id": 4, "caption_1": "a red cup, a blue hat", "caption_2": "a blue cup, a red hat"}
            | {"image_1": "images/img_4_1.png", "image_2": "images/img_4_2.png"}
            | COLOURS,
        ),
        "test",
        "group",
        group,
        (
            Expected(
                "4",
                ("colorswap/images/img_4_1.png", "colorswap/images/img_4_2.png"),
                ("a red cup, a blue hat", "a blue cup, a red hat"),
                SQUARE,
            ),
        ),
        ("id", "caption_1", "caption_2", "image_1", "image_2"),
    ),
    Sample(
        ColorSwap(),
        "colorswap/data/test-00000-of-00001.parquet",
        ({"id": 4, "caption_1": "a b", "caption_2": "b a", **COLOURS},),
        "test",
        "group",
        group,
        (Expected("4", ("#0#image_1", "#0#image_2"), ("a b", "b a"), SQUARE),),
        ("id", "caption_1", "caption_2"),
        ("image_1", "image_2"),
    ),
    Sample(
        EqBen(subsets=["YouCook2"]),
        "eqben/ann.json",
        (
            {"image0": "eqbensd/1/a.png", "image1": "eqbensd/1/b.png"}
            | {"caption0": "a dog", "caption1": "a cat"},
            {"image0": "eqbenyoucook2/7/a.npy", "image1": "eqbenyoucook2/7/b.npy"}
            | {"caption0": ["cut the onion", "chop it"], "caption1": "fry the onion"},
        ),
        "YouCook2",
        "group",
        group,
        (
            Expected(
                "1",
                ("eqben/image/eqbenyoucook2/7/a.npy", "eqben/image/eqbenyoucook2/7/b.npy"),
                ("cut the onion", "fry the onion"),
                SQUARE,
            ),
        ),
        ("image0", "image1", "caption0", "caption1"),
    ),
    Sample(
        COCOCounterfactuals(subsets=["pairs"]),
        "coco_cf/data/examples.jsonl",
        (
            {"id": "5_0", "image_0": "5_0_img_0", "image_1": "5_0_img_1"}
            | {"caption_0": "a dog runs", "caption_1": "a cow runs"},
        ),
        "pairs",
        "group",
        group,
        (
            Expected(
                "5_0",
                ("coco_cf/data/images/5_0_img_0.jpg", "coco_cf/data/images/5_0_img_1.jpg"),
                ("a dog runs", "a cow runs"),
                SQUARE,
            ),
        ),
        ("id", "image_0", "image_1", "caption_0", "caption_1"),
    ),
    Sample(
        SPEC(subsets=["existence"]),
        "spec/existence/image2text.json",
        ({"query": "3/1.jpg", "keys": ["no dog", "a dog"], "label": 1},),
        "existence",
        "",
        labelled,
        (
            Expected("image 0", ("spec/existence/3/1.jpg",), ("no dog", "a dog"), [[0, 1]]),
            Expected(
                "text 0",
                tuple(f"spec/existence/3/{k}.jpg" for k in range(3)),
                ("a dog",),
                [[0], [1], [0]],
            ),
        ),
        ("query", "keys", "label"),
        beside={
            "spec/existence/text2image.json": json.dumps(
                [{"query": "a dog", "keys": [f"3/{k}.jpg" for k in range(3)], "label": 1}]
            )
        },
    ),
)
