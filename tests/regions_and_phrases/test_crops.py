from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from zoo.errors import ZooError
from zoo.regions_and_phrases.base import Views
from zoo.regions_and_phrases.crops import Grid, Overlap

IMAGE = torch.arange(3 * 224 * 224.0).reshape(3, 224, 224)


@pytest.mark.parametrize(
    ("views", "count", "by_size"),
    [
        (Grid(), 86, {(32, 32): 49, (56, 56): 16, (112, 112): 4, (224, 224): 1}),
        (Overlap(), 270, {(32, 32): 169, (56, 56): 49, (112, 112): 9, (224, 224): 1}),
    ],
    ids=["grid", "overlap"],
)
def test_an_image_has_as_many_crops_of_each_size_as_the_paper_counts(
    views: Grid, count: int, by_size: dict[tuple[int, int], int]
) -> None:
    oblong = {"Grid": 8, "Overlap": 21}[type(views).__name__]
    found = Counter((view.shape[2], view.shape[1]) for view in views.checked_views(IMAGE))
    assert found == by_size | {(56, 112): oblong, (112, 56): oblong}
    assert views.count == found.total() == count


def test_crops_of_a_grid_lie_side_by_side() -> None:
    views = Grid(sizes=[(2, 3)], side=6)
    assert views.boxes(6, 6) == [
        (0, 0, 2, 3),
        (2, 0, 2, 3),
        (4, 0, 2, 3),
        (0, 3, 2, 3),
        (2, 3, 2, 3),
        (4, 3, 2, 3),
    ]
    image = torch.arange(3 * 36).reshape(3, 6, 6)
    # row 3 of 6 and column 2 of 6 begin the fifth crop: 3 * 6 + 2
    assert views.views_of(image)[4][0].tolist() == [[20, 21], [26, 27], [32, 33]]


def test_overlapping_crops_are_half_a_crop_apart() -> None:
    assert [box[:2] for box in Overlap(sizes=[(4, 2)], side=4).boxes(4, 4)] == [
        (0, 0),
        (0, 1),
        (0, 2),
    ]
    lefts = {left for left, *_ in Overlap().boxes(224, 224) if left % 28 == 0}
    assert lefts == {0, 28, 56, 84, 112, 140, 168}
    assert Overlap(sizes=[(1, 1)], side=3).count == 9, "half a pixel is a pixel"


def test_no_crop_reaches_over_an_edge() -> None:
    assert Grid(sizes=[(100, 100)]).boxes(224, 224) == [
        (0, 0, 100, 100),
        (100, 0, 100, 100),
        (0, 100, 100, 100),
        (100, 100, 100, 100),
    ]


def test_views_share_the_memory_of_their_image() -> None:
    image = IMAGE.clone()
    views = Overlap().views_of(image)
    image[:] = 0
    assert {view.untyped_storage().data_ptr() for view in views} == {
        image.untyped_storage().data_ptr()
    }
    assert not any(view.any() for view in views)


@pytest.mark.parametrize("maker", [Grid, Overlap])
def test_a_crop_larger_than_the_image_is_refused_in_a_sentence(maker: type[Grid]) -> None:
    with pytest.raises(
        ZooError,
        match=rf"^{maker.__name__} has crops of 32 x 300 pixels, which are larger than its images "
        "of 224 x 224: remove that size, or increase side$",
    ):
        maker(sizes=[(32, 32), (32, 300)])
    with pytest.raises(ZooError, match=r"crops of 112 x 112 pixels.*images of 64 x 64"):
        Grid(sizes=[(112, 112)], side=224).views_of(IMAGE[:, :64, :64])
    with pytest.raises(ZooError, match="has no sizes: give some"):
        maker(sizes=[])
    with pytest.raises(ZooError, match="give a whole number from 1 up"):
        maker(sizes=[(0, 32)])


def test_a_maker_that_finds_other_than_it_says_is_told_so() -> None:
    class Corner(Views):
        side, count = 8, 2

        def views(self, image: Tensor) -> Sequence[Tensor]:
            return [image[:, :4, :4]]

    with pytest.raises(
        ZooError, match=r"Corner.views returned 1 views of an image, and its count is 2"
    ):
        Corner().views_of(IMAGE[:, :8, :8])
