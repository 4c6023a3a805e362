"""Swap or foil."""

from random import Random
from typing import ClassVar

import pytest

from zoo.errors import ZooError
from zoo.negatives.base import NegativeGenerator
from zoo.negatives.mixture import SwapOrFoil
from zoo.support.configurable import to_config
from zoo.units.record import UnitRecord


class Says(NegativeGenerator):
    name: ClassVar[str] = "says"

    def __init__(self, what: str | None) -> None:
        self.what = what

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        return self.what


def drawn(
    swap: str | None, foil: str | None, share: float, fall_back: bool = False
) -> list[str | None]:
    mixture = SwapOrFoil(Says(swap), Says(foil), share, fall_back)
    return [mixture.negative("x", Random(seed)) for seed in range(1000)]


def test_the_share_is_the_probability_of_the_swap() -> None:
    assert set(drawn("swap", "foil", 1.0)) == {"swap"}
    assert set(drawn("swap", "foil", 0.0)) == {"foil"}
    assert 200 < drawn("swap", "foil", 0.25).count("swap") < 300


def test_a_foil_stands_in_for_a_swap_where_told_and_no_swap_for_a_foil() -> None:
    assert set(drawn(None, "foil", 1.0)) == {None}
    assert set(drawn(None, "foil", 1.0, fall_back=True)) == {"foil"}
    assert 200 < drawn(None, "foil", 0.75).count("foil") < 300
    assert set(drawn("swap", None, 0.0, fall_back=True)) == {None}


def test_without_arguments_it_is_the_mix_of_the_recipe() -> None:
    mixture = SwapOrFoil()
    assert (mixture.swap.name, mixture.foil.name) == ("negclip_swap", "entity_foil")
    assert mixture.negative("A black dog and a white cat", Random(0)) is not None


def test_a_share_outside_nought_to_one_is_refused() -> None:
    with pytest.raises(
        ZooError, match=r"SwapOrFoil\(sentence_swap_share=1.5\): give a number from 0 to 1"
    ):
        SwapOrFoil(Says(None), Says(None), 1.5)


def test_a_checkpoint_can_name_it() -> None:
    assert to_config(SwapOrFoil(Says("a"), Says("b"), 0.5))["init_args"]["foil"]["init_args"] == {
        "what": "b"
    }
    assert SwapOrFoil(Says("a"), Says("b")).describe()["generator"] == "swap_or_foil"
