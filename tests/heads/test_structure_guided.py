import pytest
import torch

from tests.heads.test_max_sim import Largest
from tests.support.helpers import WIDTH, attached
from zoo.batch import PIECES, Encoded
from zoo.heads.com_clip import ComCLIP
from zoo.heads.cosine import Cosine
from zoo.heads.structure_guided import StructureGuided
from zoo.regions_and_phrases.crops import Grid, Overlap
from zoo.regions_and_phrases.phrases import Chunks, Coarse
from zoo.support.configurable import to_config

HEADS = (StructureGuided, ComCLIP)


def in_pieces(seed: int, counts: list[int]) -> Encoded:
    """Returns items of so many random pieces."""
    torch.manual_seed(seed)
    vectors = torch.randn(len(counts), max(counts), WIDTH, dtype=torch.float64)
    mask = torch.arange(max(counts)) < torch.tensor(counts)[:, None]
    return Encoded(vectors.new_zeros(len(counts), 0), {PIECES: vectors}, {PIECES: mask})


def equation_1(views: torch.Tensor, segments: torch.Tensor) -> float:
    """1/M sum_j max_i cos(c_i, t_j), the paper's, pair by pair."""
    total = 0.0
    for segment in segments:
        best = -1.0
        for view in views:
            best = max(best, (view @ segment / view.norm() / segment.norm()).item())
        total += best
    return total / len(segments)


def test_the_score_is_the_mean_over_segments_of_the_best_view() -> None:
    head = attached(StructureGuided(scale=3.0))
    images, texts = in_pieces(0, [5, 5, 5]), in_pieces(1, [3, 1, 4, 2])
    block = head.block(head.prepare_images(images), head.prepare_texts(texts))
    for i in range(3):
        for j in range(4):
            views, segments = (
                items.tokens[PIECES][row][items.masks[PIECES][row]]
                for items, row in ((images, i), (texts, j))
            )
            expected = 3 * equation_1(views, segments)
            assert block[i, j].item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("head_class", HEADS)
@pytest.mark.parametrize("chunk", [32, 0])
def test_pairs_are_entries_of_the_block_however_few_are_held_at_once(
    chunk: int, head_class: type[ComCLIP] | type[StructureGuided]
) -> None:
    head = attached(head_class())
    head.chunk = chunk  # 0: as if one pair filled it
    images, texts = in_pieces(0, [5, 5, 5]), in_pieces(1, [3, 1, 4, 2])
    images, texts = head.prepare_images(images), head.prepare_texts(texts)
    i, j = torch.tensor([2, 0, 1, 1]), torch.tensor([3, 3, 0, 1])
    torch.testing.assert_close(head.pairs(images, texts, i, j), head.block(images, texts)[i, j])


@pytest.mark.parametrize("head_class", HEADS)
def test_items_that_were_encoded_whole_are_scored_as_by_cosine(
    head_class: type[ComCLIP] | type[StructureGuided],
) -> None:
    images, texts = (Encoded(torch.randn(n, WIDTH, dtype=torch.float64)) for n in (3, 4))
    blocks = [
        head.block(head.prepare_images(images), head.prepare_texts(texts))
        for head in (attached(head_class()), attached(Cosine()))
    ]
    torch.testing.assert_close(*blocks)


def test_one_view_more_never_lowers_a_score_and_a_view_that_comes_twice_changes_none() -> None:
    head = attached(StructureGuided())
    images, texts = in_pieces(0, [6]), head.prepare_texts(in_pieces(1, [3, 1, 4]))

    def scores(rows: list[int]) -> torch.Tensor:
        some = images.map(lambda t: t[:, rows] if t.shape[1] else t)
        return head.block(head.prepare_images(some), texts)

    assert (scores([0, 1, 2, 3]) >= scores([0, 1, 2])).all()
    torch.testing.assert_close(scores([0, 1, 2, 2, 0]), scores([0, 1, 2]))


def test_makers_are_the_papers_choice_where_none_are_named_and_are_recorded() -> None:
    head = StructureGuided()
    assert (type(head.views), type(head.segments)) == (Overlap, Coarse)
    assert head.reranks
    recorded = to_config(StructureGuided(Grid([(8, 8)], 16), Chunks()))["init_args"]
    assert recorded["views"]["init_args"] == {"sizes": [[8, 8]], "side": 16}
    assert recorded["segments"]["class_path"] == "zoo.regions_and_phrases.Chunks"
    assert to_config(head)["init_args"]["views"]["class_path"] == "zoo.regions_and_phrases.Overlap"


@pytest.mark.parametrize("head_class", HEADS)
def test_no_more_entries_of_views_are_held_at_once_than_asked_for(
    head_class: type[ComCLIP] | type[StructureGuided],
) -> None:
    """Of 50 views, 6 entries each, 300 numbers are a pair's: 3,333 pairs are a million."""
    head = attached(head_class(chunk=1))
    images, texts = in_pieces(0, [50] * 80), in_pieces(1, [3] * 60)
    images, texts = head.prepare_images(images), head.prepare_texts(texts)
    i, j = torch.arange(80).repeat_interleave(60), torch.arange(60).repeat(80)
    with Largest() as held:
        pairs = head.pairs(images, texts, i, j)
    torch.testing.assert_close(pairs, head.block(images, texts).flatten())
    assert held.n == 3333 * 50 * WIDTH < 1_000_000
