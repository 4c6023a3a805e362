"""Boxes in images that were resized."""

import pytest

from zoo.sources.boxes import check_boxes, scale_box
from zoo.sources.sample import ImageRef


def ref(key: int, box: tuple[int, int, int, int], size: tuple[int, int] | None = None) -> ImageRef:
    return ImageRef("visual_genome", str(key), box, size)


def test_a_box_is_scaled_by_the_sides_of_the_image_and_shows_something() -> None:
    assert scale_box((10, 20, 30, 40), None, (50, 50)) == (10, 20, 30, 40)
    assert scale_box((10, 20, 30, 40), (100, 200), (100, 200)) == (10, 20, 30, 40)
    assert scale_box((10, 20, 30, 40), (100, 200), (50, 100)) == (5, 10, 15, 20)
    assert scale_box((10, 20, 1, 1), (1_000, 1_000), (10, 10)) == (0, 0, 1, 1)


def test_an_image_of_another_size_than_told_is_scaled_and_one_of_another_shape_refused() -> None:
    same, smaller, squared = (ref(i, (0, 0, 9, 9), (640, 427)) for i in range(3))
    sizes = {same: (640, 427), smaller: (336, 224), squared: (224, 224)}
    found = check_boxes(sizes, sizes.get)
    assert found.resized == {smaller}
    assert found.uncroppable == {squared}
    assert "1 crops" in found.notes["resized images"]
    assert "visual_genome:2@0,0,9,9" in found.notes["boxes that do not fit"]


@pytest.mark.parametrize(("beyond", "refused"), [(0, 0), (1, 0), (2, 150)])
def test_untold_sizes_are_trusted_until_more_than_rare_boxes_reach_far_beyond(
    beyond: int, refused: int
) -> None:
    sizes = {ref(i, (50, 50, 54, 54)): (100, 100) for i in range(150 - beyond)}
    sizes |= {ref(1_000 + i, (50, 50, 90, 10)): (100, 100) for i in range(beyond)}
    assert len(check_boxes(sizes, sizes.get).uncroppable) == refused


def test_whole_and_absent_images_are_not_looked_at() -> None:
    whole, absent = ImageRef("coco", "1"), ref(1, (0, 0, 9, 9))
    assert not check_boxes([whole, absent], {whole: (1, 1)}.get).uncroppable
