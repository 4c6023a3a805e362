"""Samples of the other published benchmarks, each with its official rule as loops."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.several_images import SQUARE, group
from tests.support.samples import Answers, Expected, Rule, Sample
from zoo.benchmarks import (
    ARO,
    BLA,
    CREPE,
    FGOVD,
    VALSE,
    BiSCoR,
    COLASingle,
    ColorFoil,
    HardPositives,
    NegBench,
    Retrieval,
    SugarCrepe,
    SugarCrepePP,
    SugarCrepePPText,
    VLCheckList,
    Winoground,
    WinogroundT2I,
)

Scores = NDArray[np.float32]
PAIR = [[1, 0]]
TEXTS = ("square plate", "round ball")


def strict(scores: Scores) -> Answers:
    """SugarCrepe, BLA's pairs, VALSE, VL-CheckList, ColorFoil: the caption above its foil."""
    return {"i2t": [scores[0, 0] > scores[0, 1]]}


def swapped(scores: Scores) -> Answers:
    """ARO's VG sets: an argmax over the false caption and, after it, the true one."""
    options = [scores[0, 1], scores[0, 0]]
    best = 1 if options[1] > options[0] else 0
    return {"i2t": [best == 1]}


def all_above(scores: Scores) -> Answers:
    """SugarCrepe++ (ITT): both captions above the foil."""
    first, second, foil = scores[0]
    return {"i2t": [first > foil and second > foil]}


def nearer(scores: Scores) -> Answers:
    """SugarCrepe++ (TOT): the captions nearer to each other than either of them to the foil."""
    (captions, first_foil), (_, second_foil) = scores
    return {"t2t": [captions > first_foil and captions > second_foil]}


def chosen(answer: int, *metrics: str) -> Rule:
    """Returns the rule of an argmax, as NegBench's, which counts for several metrics."""

    def rule(scores: Scores) -> Answers:
        best, row = 0, scores[0]
        for k in range(len(row)):
            best = k if row[k] > row[best] else best
        return {metric: [best == answer] for metric in metrics}

    return rule


def filmed(answer: int, *metrics: str) -> Rule:
    """Returns the rule of an argmax over the mean scores of a video's frames."""
    choose = chosen(answer, *metrics)
    return lambda scores: choose(np.array([[sum(s) / len(s) for s in scores.T]]))


def ranked_first(scores: Scores) -> Answers:
    """CREPE: the rank of the caption, which is listed first, in a sort that keeps equal ones."""
    ranking = sorted(range(scores.shape[1]), key=lambda k: -scores[0, k])
    return {"i2t": [ranking.index(0) < 1]}


def equals_highest(scores: Scores) -> Answers:
    """FG-CLIP: whether the highest score equals that of the first text."""
    highest = scores[0, 0]
    for score in scores[0]:
        highest = max(highest, score)
    return {"i2t": [bool(highest == scores[0, 0])]}


def between(scores: Scores) -> Answers:
    """Hard Positives: two runs, over the captions and over the hard positives, each with a foil."""
    caption, positive, foil, other_foil = scores[0]
    return {
        "original": [foil < caption],
        "augmented": [other_foil < positive and other_foil < caption],
        "brittleness": [caption > other_foil > positive or positive > other_foil > caption],
    }


def precision(right: list[int]) -> Rule:
    """Returns COLA's rule: the mean over right images of the precision down to their score."""

    def rule(scores: Scores) -> Answers:
        shares = []
        for i, hit in enumerate(right):
            if hit:
                above = [k for k in range(len(right)) if scores[k, 0] >= scores[i, 0]]
                shares.append(sum(right[k] for k in above) / len(above))
        return {"ap": [sum(shares) / len(shares)]}

    return rule


def recalls(scores: Scores) -> Answers:
    """CLIP_benchmark's recall of the retrieval sample, where a wrong answer precedes its equals."""
    owner = [0, 0, 1]  # the image of each caption
    found: Answers = {}
    for k in (1, 5, 10):
        for i in (0, 1):
            order = sorted(range(3), key=lambda j, i=i: (-scores[i, j], owner[j] == i))
            hit = any(owner[j] == i for j in order[:k])
            found.setdefault(f"i2t_r@{k}", []).append(hit)
        for j in range(3):
            order = sorted((0, 1), key=lambda i, j=j: (-scores[i, j], owner[j] == i))
            found.setdefault(f"t2i_r@{k}", []).append(owner[j] in order[:k])
    return found


def aro(number: int, **more: Any) -> dict[str, Any]:
    """Returns an entry of ARO's VG sets."""
    box = {"bbox_x": 1, "bbox_y": 2, "bbox_w": 5, "bbox_h": 4}
    texts = {"true_caption": "the door by the shirt", "false_caption": "the shirt by the door"}
    return {"image_path": f"{number}.jpg", **box, **texts, **more}


def fg_ovd(right: str, *wrong: str) -> dict[str, Any]:
    """Returns a line of FG-OVD."""
    place = {"img_path": "val2017/000000000139.jpg", "bbox": [1.0, 2.0, 4.5, 3.0]}
    return {**place, "width": 8, "height": 8, "pos_expression": [right], "neg_expression": [*wrong]}


def crepe(number: int, caption: str, column: str, negatives: str) -> dict[str, Any]:
    """Returns a row of CREPE."""
    box = {"x": 1, "y": 1, "width": 4, "height": 4}
    return {"image_id": number, "caption": caption, **box, column: negatives}


def choice(folder: str, answer: int, kind: str) -> dict[str, Any]:
    """Returns a row of NegBench."""
    captions = {f"caption_{k}": f"text {k}" for k in range(4)}
    path = f"/data/{folder}/000000000139.jpg"
    return {"image_path": path, "correct_answer": answer, **captions} | {
        "correct_answer_template": kind
    }


POSITIVE = {"image_path": "5.jpg", "true_caption": "a small dog", "false_caption": "a large dog"}
WINOGROUND = {"id": 3, "image_0": "ex_3_img_0", "image_1": "ex_3_img_1"} | {
    "caption_0": "a b",
    "caption_1": "b a",
    "collapsed_tag": "Object",
}

SAMPLES = (
    Sample(
        SugarCrepe(subsets=["swap_obj"]),
        "sugarcrepe/swap_obj.json",
        ({"filename": "000000000139.jpg", "caption": "a b", "negative_caption": "b a"},) * 2,
        "swap_obj",
        "i2t",
        strict,
        tuple(Expected(key, ("coco:139",), ("a b", "b a"), PAIR) for key in ("107", "109")),
        keys=("107", "109"),
    ),
    Sample(
        SugarCrepePP(subsets=["swap_att"]),
        "sugarcrepe_pp/swap_att.json",
        (
            {"id": 4, "filename": "000000000139.jpg", "caption": "a b"}
            | {"caption2": "b with a", "negative_caption": "b a"},
        ),
        "swap_att",
        "all_pos",
        all_above,
        (Expected("4", ("coco:139",), ("a b", "b with a", "b a"), [[1, 1, 0]]),),
    ),
    Sample(
        SugarCrepePPText(subsets=["swap_att"]),
        "sugarcrepe_pp/swap_att.json",
        (
            {"id": 4, "filename": "000000000139.jpg", "caption": "a b"}
            | {"caption2": "b with a", "negative_caption": "b a"},
        ),
        "swap_att",
        "text_only",
        nearer,
        (Expected("4", (), ("b with a", "b a"), [[1, 0], [1, 0]]),),
    ),
    Sample(
        BLA(subsets=["ap"]),
        "bla/active_passive_captions.json",
        (
            {"image_id": 7, "index": 3}
            | {"caption_group": [{"True1": "a", "True2": "b", "False1": "c", "False2": "d"}]},
        ),
        "ap",
        "i2t",
        strict,
        (
            Expected("3-1", ("genome:7",), ("a", "c"), PAIR),
            Expected("3-2", ("genome:7",), ("b", "d"), PAIR),
        ),
    ),
    Sample(
        VALSE(subsets=["existence"]),
        "valse/existence.json",
        tuple(
            {"dataset": "visual7w", "image_file": "v7w_7.jpg", "caption": "a", "foil": "no a"}
            | {"mturk": {"foil": 0, "caption": votes, "other": 3 - votes}}
            for votes in (2, 1, 3)
        ),
        "existence",
        "i2t",
        strict,
        tuple(Expected(key, ("genome:7",), ("a", "no a"), PAIR) for key in ("x_0", "x_2")),
        keys=("x_0", "x_1", "x_2"),
    ),
    Sample(
        VLCheckList(1, subsets=["Relation/spatial/vg"]),
        "vl_checklist/Relation/vg/spatial.json",
        (
            ["VG_100K/7.jpg", {"POS": ["a on b", "b"], "NEG": ["a under b", "c"]}],
            ["VG_100K_2/9.jpg", {"POS": ["c on d"], "NEG": ["c under d"]}],
        ),
        "Relation/spatial/vg",
        "i2t",
        strict,
        (
            Expected("0", ("genome:7",), ("a on b", "a under b"), PAIR),
            Expected("1", ("genome:9",), ("c on d", "c under d"), PAIR),
        ),
    ),
    Sample(
        NegBench(subsets=["coco_mcq"]),
        "negbench/COCO_val_mcq_llama3.1_rephrased.csv",
        (choice("val2017", 0, "hybrid"), choice("val2017", 0, "hybrid")),
        "coco_mcq",
        "",
        chosen(0, "i2t", "hybrid"),
        tuple(
            Expected(str(i), ("coco:139",), tuple(f"text {k}" for k in range(4)), [[1, 0, 0, 0]])
            for i in range(2)
        ),
    ),
    Sample(
        NegBench(subsets=["synthetic_mcq"]),
        "negbench/synthetic_mcq_llama3.1_rephrased.csv",
        (choice("synthetic/negative", 1, "negative"),),
        "synthetic_mcq",
        "",
        chosen(1, "i2t", "negative"),
        (
            Expected(
                "0",
                ("negbench/synthetic/negative/000000000139.jpg",),
                tuple(f"text {k}" for k in range(4)),
                [[0, 1, 0, 0]],
            ),
        ),
    ),
    Sample(
        NegBench(subsets=["msr_vtt_mcq"]),
        "negbench/videos/msr_vtt_mcq_rephrased_llama.csv",
        ({**choice("", 0, "positive"), "image_path": "/data/MSRVTT/videos/video7010.mp4"},),
        "msr_vtt_mcq",
        "",
        filmed(0, "i2t", "positive"),
        (
            Expected(
                "0",
                tuple(f"msr_vtt/video7010.mp4#{k}/4" for k in range(1, 5)),
                tuple(f"text {k}" for k in range(4)),
                [[1, 0, 0, 0]] * 4,
            ),
        ),
    ),
    Sample(
        CREPE(subsets=["negate"]),
        "crepe/prod_hard_negatives/negate/prod_vg_hard_negs_negate_complexity_4.csv",
        (
            crepe(7, "A cup.", "hard_negs", "['no cup', 'a cup.', 'not', 'b', 'c']"),
            crepe(9, "a hat", "hard_negs", "{'no hat', 'a'}"),
        ),
        "negate",
        "i2t",
        ranked_first,
        (
            Expected(
                "4-0",
                ("genome:7@1,1,4,4",),
                ("A cup.", "no cup", "a cup.", "not", "b", "c"),
                [[1, 0, 0, 0, 0, 0]],
            ),
            Expected("4-1", ("genome:9@1,1,4,4",), ("a hat", "a", "no hat"), [[1, 0, 0]]),
        ),
    ),
    Sample(
        CREPE(subsets=["seen_yfcc_comp"]),
        "crepe/syst_hard_negatives/syst_vg_hard_negs_seen_compounds_in_yfcc.csv",
        (crepe(7, "a cup", "valid_hard_negs_comp", "['a cat']"),),
        "seen_yfcc_comp",
        "i2t",
        ranked_first,
        (Expected("0", ("genome:7@1,1,4,4",), ("a cup", "a cat"), PAIR),),
    ),
    Sample(
        HardPositives(subsets=["replace_att"]),
        "hard_positives/data/vl_checklist_attributes.json",
        (POSITIVE,),
        "replace_att",
        "hard_positive",
        between,
        (
            Expected(
                "0",
                ("genome:5",),
                ("a small dog", "a little dog", "a large dog", "a big dog"),
                [[1, 1, 0, 0]],
            ),
        ),
        beside={
            "hard_positives/swapped_data/vl_checklist_attributes.json": json.dumps(
                [{**POSITIVE, "true_caption": "a little dog", "false_caption": "a big dog"}]
            )
        },
    ),
    Sample(
        FGOVD(subsets=["hard"]),
        "fgovd/h_attributes_llava.jsonl",
        (fg_ovd("A Red cup", "A blue cup", "a Green cup"),),
        "hard",
        "i2t",
        equals_highest,
        (
            Expected(
                "0", ("coco:139@1,2,5,3",), ("a red cup", "a blue cup", "a green cup"), [[1, 0, 0]]
            ),
        ),
    ),
    Sample(
        ColorFoil(),
        "colorfoil/colorfoil.jsonl",
        (
            {"n": 1, "seed": 1},
            {"image": "000000000139.jpg", "caption": "a red cup", "foil": "a blue cup"},
        ),
        "colorfoil",
        "i2t",
        strict,
        (Expected("139", ("coco:139",), ("a red cup", "a blue cup"), PAIR),),
    ),
    Sample(
        COLASingle(subsets=["gqa"]),
        "cola/COLA_singleobjects_benchmark_GQA.json",
        # texts, then images, each with what is right for it and what is hard
        (
            TEXTS,
            [
                [f"{number}.jpg", {}, [right, 0], [hard, 1]]
                for number, right, hard in ((1, 1, 1), (2, 0, 1), (3, 1, 0), (4, 1, 1), (5, 0, 1))
            ],
        ),
        "gqa",
        "ap",
        precision([1, 0, 1, 0]),
        (
            Expected(
                "0",
                tuple(f"genome:{number}" for number in (1, 2, 4, 5)),
                TEXTS[:1],
                [[1], [0], [1], [0]],
            ),
        ),
    ),
    Sample(
        ARO(subsets=["VG-Relation"]),
        "aro/visual_genome_relation.json",
        (aro(7, relation_name="near"), aro(9, relation_name="on")),
        "VG-Relation",
        "i2t",
        swapped,
        tuple(
            Expected(
                key,
                (f"genome:{number}@1,2,5,4",),
                ("the door by the shirt", "the shirt by the door"),
                PAIR,
            )
            for key, number in (("0", 7), ("1", 9))
        ),
    ),
    Sample(
        ARO(subsets=["VG-Attribution"]),
        "aro/visual_genome_attribution.json",
        (aro(7, attributes=["white", "tall"]),),
        "VG-Attribution",
        "i2t",
        swapped,
        (
            Expected(
                "0", ("genome:7@1,2,5,4",), ("the door by the shirt", "the shirt by the door"), PAIR
            ),
        ),
    ),
    Sample(
        ARO(subsets=["COCO-Order"]),
        "aro/coco_order/data/test-00000-of-00001.parquet",
        ({"correct_caption": "a dog runs"} | {f"hard_text_{k}": f"runs {k}" for k in range(1, 5)},),
        "COCO-Order",
        "i2t",
        chosen(0, "i2t"),
        (
            Expected(
                "row 0",
                ("#0#images",),
                ("a dog runs", "runs 1", "runs 2", "runs 3", "runs 4"),
                [[1, 0, 0, 0, 0]],
            ),
        ),
        pictures=("images",),
    ),
    Sample(
        Retrieval("coco_karpathy"),
        "aro/coco_karpathy_test.json",
        (
            {"image": "val2014/COCO_val2014_000000000007.jpg", "caption": ["a cat", "cats"]},
            {"image": "val2014/COCO_val2014_000000000003.jpg", "caption": ["a cat"]},
        ),
        "coco_karpathy",
        "retrieval",
        recalls,
        (
            Expected(
                "all", ("coco:7", "coco:3"), ("a cat", "cats", "a cat"), [[1, 1, 0], [0, 0, 1]]
            ),
        ),
    ),
    Sample(
        Winoground(),
        "winoground/data/examples.jsonl",
        (WINOGROUND,),
        "winoground",
        "group",
        group,
        (
            Expected(
                "3", ("images/ex_3_img_0.png", "images/ex_3_img_1.png"), ("a b", "b a"), SQUARE
            ),
        ),
    ),
    Sample(
        WinogroundT2I(),
        "winoground_t2i/dataset.txt",
        ("0_1\ta b\tb a", "0_2\tc d\td c"),
        "winoground_t2i",
        "group",
        group,
        tuple(
            Expected(key, (f"images/{key}_0.png", f"images/{key}_1.png"), texts, SQUARE)
            for key, texts in (("0_1", ("a b", "b a")), ("0_2", ("c d", "d c")))
        ),
    ),
    Sample(
        BiSCoR(subsets=["color"]),
        "biscor/color/test-00000-of-00001.parquet",
        ({"caption": "a red cube", "negative_caption": "a blue cube"},),
        "color",
        "group",
        group,
        (Expected("0", ("#0#image", "#0#negative_image"), ("a red cube", "a blue cube"), SQUARE),),
        pictures=("image", "negative_image"),
    ),
)
