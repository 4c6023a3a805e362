import math
from pathlib import Path

import pytest
import torch

from tests.support.helpers import WIDTH, attached
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.heads.linear import Linear

IMAGES, TEXTS = (
    torch.randn(n, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    for n in (4, 5)
)


def block(head: Cosine) -> torch.Tensor:
    return head.block(head.prepare_images(Encoded(IMAGES)), head.prepare_texts(Encoded(TEXTS)))


@pytest.mark.parametrize("side", ["text", "image", "both"])
def test_it_starts_as_the_cosine(side: str) -> None:
    torch.testing.assert_close(
        block(attached(Linear(side=side))), block(attached(Cosine(scale=1.0)))
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("side", "expected"), [("text", WIDTH**2), ("image", WIDTH**2), ("both", 2 * WIDTH**2)]
)
def test_a_side_has_one_map(side: str, expected: int) -> None:
    assert sum(p.numel() for p in attached(Linear(side=side)).parameters()) == expected + 1  # type: ignore[arg-type]


def test_the_text_is_mapped_and_then_normalised() -> None:
    head = attached(Linear())
    matrix = torch.randn(WIDTH, WIDTH, dtype=torch.float64)
    head.text_map.weight.data.copy_(matrix)
    scores = block(head)
    for i, v in enumerate(IMAGES):
        for j, t in enumerate(TEXTS):
            mapped = matrix @ t
            assert scores[i, j].item() == pytest.approx(
                (v @ mapped / v.norm() / mapped.norm()).item(), rel=1e-9
            )


def test_the_authors_weights_load(tmp_path: Path) -> None:
    matrix = torch.randn(WIDTH, WIDTH)
    torch.save(
        {"t": torch.tensor(math.log(71.2)), "linear.weight": matrix}, tmp_path / "labclip.pt"
    )
    head = attached(Linear(weights=str(tmp_path / "labclip.pt")))
    assert head.scale.item() == pytest.approx(71.2, rel=1e-6)
    torch.testing.assert_close(head.text_map.weight.data, matrix.double())


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"t": torch.zeros(1)}, "the file holds t, not t and linear.weight"),
        (
            {"t": torch.zeros(1), "linear.weight": torch.eye(3)},
            "the map is 3 x 3, and the backbone's vectors have width 6",
        ),
        (
            {"t": torch.zeros(3), "linear.weight": torch.eye(WIDTH)},
            "t has 3 numbers, and the logarithm of the scale is one",
        ),
        (
            {"t": 4.2, "linear.weight": torch.eye(WIDTH)},
            "t is a float, not a tensor",
        ),
        (
            {"t": torch.zeros(1), "linear.weight": [[1.0]]},
            "linear.weight is a list, not a tensor",
        ),
        (torch.zeros(3), "labclip.pt contains a Tensor instead of a state_dict"),
        (["linear.weight", "t"], "labclip.pt contains a list instead of a state_dict"),
    ],
)
def test_weights_of_another_kind_are_refused(tmp_path: Path, state: object, message: str) -> None:
    torch.save(state, tmp_path / "labclip.pt")
    with pytest.raises(ZooError, match=message):
        attached(Linear(weights=str(tmp_path / "labclip.pt")))


def test_absent_or_broken_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="the file does not exist"):
        attached(Linear(weights=str(tmp_path / "labclip.pt")))
    (tmp_path / "labclip.pt").write_bytes(b"PK\x03\x04half")
    with pytest.raises(ZooError, match=r"labclip.pt cannot be read as weights .*download it again"):
        attached(Linear(weights=str(tmp_path / "labclip.pt")))


def test_weights_belong_to_the_text_side() -> None:
    with pytest.raises(ZooError, match="set side to text"):
        Linear(side="image", weights="labclip.pt")


def test_the_authors_scale_is_kept_where_it_is_above_the_bound(tmp_path: Path) -> None:
    state = {"t": torch.tensor(math.log(112.0)), "linear.weight": torch.eye(WIDTH)}
    torch.save(state, tmp_path / "labclip.pt")
    head = attached(Linear(weights=str(tmp_path / "labclip.pt")))
    head.clamp_scale()
    assert head.scale.item() == pytest.approx(112.0, rel=1e-6)
