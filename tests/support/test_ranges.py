"""Numbers with a range are refused wherever a class is built, and come in plain."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonargparse import ArgumentParser
from jsonargparse.typing import PositiveInt, restricted_number_type

from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA
from zoo.backbones.settings import Compute, TextInput, Tuning
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.datamodules.captions import CaptionDataModule
from zoo.datamodules.features import Features
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.linear import Linear
from zoo.heads.max_sim import MaxSim
from zoo.negatives.mixture import SwapOrFoil
from zoo.objectives.clip import CLIP
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.fsc_clip import FSCCLIP
from zoo.objectives.tic import TIC
from zoo.optim import Optimization
from zoo.sources.readers.csv_table import CsvTable
from zoo.support.configurable import to_config
from zoo.support.ranges import describe_restriction
from zoo.training.averaging import EMA
from zoo.training.trainer import ZooTrainer
from zoo.units.sampler import UnitSampler

NAN = float("nan")


def data(**settings: Any) -> CaptionDataModule:
    return CaptionDataModule(CsvTable(Path("captions.tsv")), ["."], **settings)


def evaluation(**settings: Any) -> Evaluation:
    return Evaluation(["aro"], **settings)


REFUSED: list[tuple[Callable[..., object], dict[str, object], str]] = [
    (CSCLIP, {"lambda_u": -1}, "a number from 0 up"),
    (CSCLIP, {"lambda_u": NAN}, "a number from 0 up"),
    (CSCLIP, {"lambda_u": float("inf")}, "a number from 0 up"),
    (CSCLIP, {"lambda_u": "much"}, "a number from 0 up"),
    (FSCCLIP, {"beta": 1.5}, "a number from 0 to 1"),
    (FSCCLIP, {"local_scale": 0}, "a number above 0"),
    (Cosine, {"scale": -1.0}, "a number above 0"),
    (Cosine, {"max_scale": 0}, "a number above 0"),
    (Cosine, {"bias": NAN}, "a finite number"),
    (Linear, {"bias": float("inf")}, "a finite number"),
    (TIC, {"most_alike": NAN}, "a finite number"),
    (Optimization, {"betas": 0.9}, "a list of numbers"),
    (CrossModal, {"layers": 0}, "a whole number from 1 up"),
    (CrossModal, {"layers": 1.5}, "a whole number from 1 up"),
    (CrossModal, {"dropout": 1.0}, "a number from 0 and below 1"),
    (MaxSim, {"chunk": 0}, "a whole number from 1 up"),
    (SwapOrFoil, {"sentence_swap_share": 2}, "a number from 0 to 1"),
    (UnitSampler, {"file": "u.jsonl", "p_rel": -0.1}, "a number from 0 to 1"),
    (UnitSampler, {"file": "u.jsonl", "n_units": 0}, "a whole number from 1 up"),
    (HalfTruth, {"units": "u.jsonl", "max_images": 0}, "a whole number from 1 up"),
    (Compute, {"chunk": 0}, "a whole number from 1 up"),
    (TextInput, {"context_length": 0}, "a whole number from 1 up"),
    (TextInput, {"lengths": [8, -1]}, "a whole number from 1 up"),
    (Tuning, {"towers": "imag"}, "one of both, image, text, none"),
    (Backbone, {"activation": "relu"}, "one of gelu, quickgelu"),
    (Tuning, {"batch_norm": None}, "one of frozen, updated"),
    (Optimization, {"warmup": "steep"}, "one of linear, cosine"),
    (LoRA, {"rank": 0}, "a whole number from 1 up"),
    (LoRA, {"alpha": 0.0}, "a number above 0"),
    (Optimization, {"lr": -1.0}, "a number from 0 up"),
    (Optimization, {"eps": 0}, "a number above 0"),
    (Optimization, {"betas": (0.9, 1.0)}, "a number from 0 and below 1"),
    (Optimization, {"warmup_share": 1.1}, "a number from 0 to 1"),
    (Optimization, {"warmup_steps": -1}, "a whole number from 0 up"),
    (EMA, {"decay": 1.0}, "a number from 0 and below 1"),
    (Features, {"folder": "f", "limit_gib": 0}, "a number above 0"),
    (data, {"batch_size": None}, "a whole number from 1 up"),
    (data, {"batch_size": True}, "a whole number from 1 up"),
    (data, {"workers": -1}, "a whole number from 0 up"),
    (data, {"val_share": 1.0}, "a number above 0 and below 1"),
    (data, {"val_images": 0}, "a whole number from 1 up"),
    (evaluation, {"image_batch": 0}, "a whole number from 1 up"),
    (ZooTrainer, {"accumulate_grad_batches": 0}, "a whole number from 1 up"),
    (ZooTrainer, {"accumulate_grad_batches": -1}, "a whole number from 1 up"),
    (ZooTrainer, {"gradient_clip_val": -1}, "a number from 0 up"),
    (ZooTrainer, {"check_val_every_n_epoch": 0}, "a whole number from 1 up"),
]


@pytest.mark.parametrize(("made", "settings", "range_"), REFUSED)
def test_a_number_out_of_its_range_is_refused_with_the_range(
    made: Callable[..., object], settings: dict[str, object], range_: str
) -> None:
    name, value = list(settings.items())[-1]
    with pytest.raises(ZooError) as refused:
        made(**settings)
    assert f"({name}={value!r}): give {range_}" in str(refused.value)


def test_a_number_is_checked_by_place_as_by_name() -> None:
    with pytest.raises(ZooError, match=r"CSCLIP\(lambda_u=-1\): give a number from 0 up"):
        CSCLIP(-1)


class Margin(CLIP):
    """An objective of somebody else, with jsonargparse's own types."""

    def __init__(self, rows: PositiveInt = 3, **others: bool) -> None:
        super().__init__(**others)
        self.rows = rows


class Steep(CSCLIP):
    """Hands its numbers on to its base."""

    def __init__(self, steep: float = 1.0, **others: Any) -> None:
        super().__init__(**others)
        self.steep = steep


def test_the_class_of_a_third_party_is_held_to_its_own_ranges_and_those_of_its_base() -> None:
    with pytest.raises(ZooError, match=r"Margin\(rows=0\): give a whole number from 1 up"):
        Margin(rows=0)
    with pytest.raises(ZooError, match=r"Steep\(lambda_u=-1\): give a number from 0 up"):
        Steep(lambda_u=-1)
    assert Steep(steep=-1.0).steep == -1


def test_numbers_reach_classes_and_checkpoints_as_plain_ones() -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(CLIP, "objective")
    parsed = parser.parse_args(["--objective", f"{__name__}.Margin", "--objective.rows", "5"])
    assert type(parsed.objective.init_args.rows) is PositiveInt
    objective = parser.instantiate(parsed).objective
    assert type(objective.rows) is int
    assert b"jsonargparse" not in pickle.dumps(to_config(objective))


@pytest.mark.parametrize(
    ("bounds", "kind", "words"),
    [
        ([(">", 4)], int, "a whole number from 5 up"),
        ([(">=", 3)], int, "a whole number from 3 up"),
        ([(">", 2), ("<", 5)], int, "a whole number above 2 and below 5"),
        ([("<=", 7.0)], float, "a number up to 7.0"),
        ([(">=", 0.0), ("<=", 0.5)], float, "a number from 0.0 to 0.5"),
    ],
)
def test_any_restriction_is_said_in_words(
    bounds: list[tuple[str, float]], kind: type, words: str
) -> None:
    restricted = restricted_number_type(None, kind, bounds)
    name = "SomeInt" if kind is int else "SomeNumber"
    assert describe_restriction(name, restricted._expression) == words
