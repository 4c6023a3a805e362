"""A head that breaks its contract is told so in a sentence, whoever asks it."""

from typing import Any

import pytest
import torch

from tests.support.helpers import attached, random_pooled
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.heads import answers
from zoo.heads.cosine import Cosine

IMAGES, TEXTS = Encoded(random_pooled(0, 2)), Encoded(random_pooled(1, 3))
OF_IMAGES, OF_TEXTS = torch.tensor([0, 1, 1, 0]), torch.tensor([2, 1, 0, 0])


def broken(method: str, answer: Any) -> Cosine:
    """Returns a head one of whose methods gives that answer."""
    return attached(type("Broken", (Cosine,), {method: lambda self, *asked: answer})())


def ask(head: Cosine, method: str) -> Any:
    arguments: dict[str, tuple[Any, ...]] = {
        "prepare_images": (IMAGES,),
        "prepare_texts": (TEXTS,),
        "pairs": (IMAGES, TEXTS, OF_IMAGES, OF_TEXTS),
        "block": (IMAGES, TEXTS),
    }
    return getattr(answers, method)(head, *arguments[method])


@pytest.mark.parametrize("method", ["prepare_images", "prepare_texts", "pairs", "block"])
def test_an_answer_as_it_should_be_is_handed_on(method: str) -> None:
    answer = {
        "prepare_images": IMAGES,
        "prepare_texts": TEXTS,
        "pairs": torch.zeros(4),
        "block": torch.zeros(2, 3),
    }[method]
    assert ask(broken(method, answer), method) is answer


@pytest.mark.parametrize(
    ("method", "answer", "told"),
    [
        ("prepare_images", torch.zeros(2, 6), "Tensor: return an Encoded of zoo.batch"),
        ("prepare_texts", None, "NoneType: return an Encoded of zoo.batch"),
        ("prepare_texts", IMAGES, "2 items for 3: return one per item"),
        ("pairs", torch.zeros(4, 1), r"shape \(4, 1\), not \(4,\): return one logit per pair"),
        ("pairs", [0.0] * 4, r"list, not a tensor of logits of shape \(4,\)"),
        ("block", torch.zeros(3, 2), r"\(3, 2\), not \(2, 3\): return images against"),
    ],
)
def test_another_answer_is_told_with_its_mend(method: str, answer: Any, told: str) -> None:
    with pytest.raises(ZooError, match=rf"Broken\.{method} returned .*{told}"):
        ask(broken(method, answer), method)
