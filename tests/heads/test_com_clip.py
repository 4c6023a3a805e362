from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from tests.evaluation.fakes import cases, drawn_images, evaluation
from tests.evaluation.test_pieces import ByLoops, Halves, measured, smooth_images, tower
from tests.heads.test_structure_guided import in_pieces
from tests.support.helpers import attached
from zoo.batch import PIECES, Encoded
from zoo.heads.com_clip import ComCLIP
from zoo.heads.cosine import Cosine
from zoo.regions_and_phrases.base import Views
from zoo.regions_and_phrases.crops import Grid, Overlap
from zoo.regions_and_phrases.phrases import Chunks, Triplets
from zoo.support.configurable import to_config


def com_clip(views: Sequence[Tensor], phrases: Sequence[Tensor], text: Tensor) -> float:
    """The head's equation, phrase by phrase, of vectors of any length; the first view is whole."""
    views = [view / view.norm() for view in views]
    sub_images, weights = [], []
    for phrase in phrases:
        similarities = [float(view @ phrase / phrase.norm()) for view in views]
        best = max(range(len(views)), key=similarities.__getitem__)
        sub_images.append(views[best])
        weights.append(max(0.0, similarities[best]))
    total = views[0].clone()
    for weight, sub_image in zip(weights, sub_images, strict=True):
        if weight > 0:
            total += weight / sum(weights) * sub_image
    return float(total @ text / total.norm() / text.norm())


def scores(head: ComCLIP, images: Encoded, texts: Encoded) -> Tensor:
    return head.block(head.prepare_images(images), head.prepare_texts(texts))


def pieces(*vectors: Sequence[float]) -> Encoded:
    """Returns one item of these pieces."""
    tokens = torch.tensor([vectors], dtype=torch.float64)
    mask = torch.ones(tokens.shape[:2], dtype=torch.bool)
    return Encoded(tokens.new_zeros(1, 0), {PIECES: tokens}, {PIECES: mask})


def test_the_score_is_that_of_the_formula_in_loops() -> None:
    images, texts = in_pieces(0, [5, 5, 5]), in_pieces(1, [3, 1, 4, 2])
    block = scores(attached(ComCLIP(scale=3.0)), images, texts)
    for i in range(3):
        for j in range(4):
            *phrases, text = texts.tokens[PIECES][j][texts.masks[PIECES][j]]
            expected = 3 * com_clip(list(images.tokens[PIECES][i]), phrases, text)
            assert block[i, j].item() == pytest.approx(expected, rel=1e-9)


def test_a_score_worked_by_hand() -> None:
    """Weights are 1 / 1.8 and 0.8 / 1.8, so the sum of all vectors is (14, 4) / 9."""
    image, text = pieces([2.0, 0.0], [0.0, 5.0]), pieces([3.0, 0.0], [0.6, 0.8], [0.6, 0.8])
    expected = (14 * 0.6 + 4 * 0.8) / 212**0.5
    assert scores(attached(ComCLIP(scale=1.0)), image, text).item() == pytest.approx(expected)


def test_a_phrase_that_no_view_resembles_counts_nothing() -> None:
    head = attached(ComCLIP(scale=1.0))
    image = pieces([1.0, 0.0], [0.0, 1.0])
    both, one = pieces([-1.0, -2.0], [1.0, 3.0], [0.6, 0.8]), pieces([1.0, 3.0], [0.6, 0.8])
    torch.testing.assert_close(scores(head, image, both), scores(head, image, one))
    none = pieces([-1.0, -2.0], [0.6, 0.8])
    assert scores(head, image, none).item() == pytest.approx(0.6), "the cosine"


def test_a_text_without_a_phrase_has_its_cosine_with_the_image() -> None:
    images, texts = in_pieces(0, [5, 5, 5]), in_pieces(1, [1, 1])
    cosine = attached(Cosine())
    wholes = (Encoded(items.tokens[PIECES][:, 0]) for items in (images, texts))
    expected = cosine.block(*map(cosine.prepare_images, wholes))
    torch.testing.assert_close(scores(attached(ComCLIP()), images, texts), expected)


class Corner(Views):
    """One region of the user's own."""

    side, count = 8, 1

    def views(self, image: Tensor) -> list[Tensor]:
        return [image[:, :4, :4]]


def test_the_image_itself_precedes_custom_regions() -> None:
    image = torch.randn(3, 8, 8)
    views = ComCLIP(Corner()).needs.views
    assert views is not None
    whole, corner = views.checked_views(image)
    assert views.side == 8
    assert torch.equal(whole, image)
    assert torch.equal(corner, image[:, :4, :4])


def test_views_and_segments_are_recorded_without_the_added_image() -> None:
    head = ComCLIP()
    assert (type(head.views), type(head.segments)) == (Overlap, Triplets)
    assert head.reranks
    recorded = to_config(ComCLIP(Grid([(8, 8)], 16), Chunks()))["init_args"]
    assert recorded["views"]["init_args"] == {"sizes": [[8, 8]], "side": 16}
    assert recorded["segments"]["class_path"] == "zoo.regions_and_phrases.Chunks"


class ComCLIPByLoops(ByLoops):
    """The head's steps, a crop and a phrase at a time."""

    @torch.no_grad()
    def score(self, images: list[Image.Image], texts: list[str]) -> np.ndarray:
        result = np.zeros((len(images), len(texts)))
        for i, image in enumerate(images):
            views = [self.vector(crop) for crop in self.crops(image)]  # the first is whole
            for j, text in enumerate(texts):
                phrases = [self.of(phrase) for phrase in Halves().phrases(text)]
                result[i, j] = com_clip(views, phrases, self.of(text))
        return self.backbone.shapes.scale * result


def tiny_head() -> ComCLIP:
    return ComCLIP(Grid(sizes=[(112, 224), (56, 112)]), Halves())


def test_the_engine_finds_what_loops_over_images_and_phrases_find(tmp_path: Path) -> None:
    made = cases(smooth_images(tmp_path, 3))
    found = measured(evaluation(tmp_path, made), tower(), tiny_head())
    by_hand = evaluation(tmp_path, made).run_plain_model(ComCLIPByLoops(tiny_head()))
    assert found.cases.num_rows == by_hand.cases.num_rows > 3 * 4
    for case, other in zip(found.cases.to_pylist(), by_hand.cases.to_pylist(), strict=True):
        # PIL rounds pixels to 1/255 where tensors are not
        np.testing.assert_allclose(case["scores"], other["scores"], atol=0.02)
    values = [s for row in found.cases.to_pylist() for s in row["scores"]]
    assert np.std(values) > 0.1, "scores differ by more than what is allowed"


def test_a_retrieval_orders_short_lists_by_sub_images(tmp_path: Path) -> None:
    made = [case for case in cases(drawn_images(tmp_path, 12)) if case.is_gallery]
    found = measured(evaluation(tmp_path, made, shortlist=10), tower(), tiny_head())
    pieces_noted = found.header["scoring"]["pieces"]
    assert pieces_noted["views per image"] == 11
    assert pieces_noted["image passes"] == 12 * (1 + 11)
    assert "ordered by ComCLIP" in str(found.header["scoring"])
