"""Two and four processes give what one gives on the joined batch."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from tests.support.parallel import (
    ALWAYS,
    Step,
    gradients,
    group,
    heads,
    joined,
    objectives,
    on_ranks,
    parts_for,
    share_of,
)
from tests.support.t5 import write_small_t5
from zoo.batch import Batch
from zoo.objectives import READCLIP, DeGLA, Loss, Objective
from zoo.scores import Block, Scores
from zoo.support import distributed as gather

RANKS = 2
MASKED = "masked"


class AgainstColumns(Objective):
    """The soft maximum over the columns of all ranks, which are asked for by themselves."""

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        def soft_maximum(block: Block) -> Tensor:
            logits = block.logits.masked_fill(~block.candidate, -torch.inf)
            return scores.mean(logits.logsumexp(1), scores.rows)

        images = scores.images_against_columns(scores.text_columns(batch.negatives))
        texts = scores.texts_against_columns(batch.captions, scores.image_columns())
        total = soft_maximum(images) + 2 * soft_maximum(texts)
        return Loss(total, {"total": total})


def all_objectives() -> dict[str, Objective]:
    return {**objectives(), "AgainstColumns": AgainstColumns()}


HEADS, OBJECTIVES = list(heads()), list(all_objectives())
PAIRS = [(h, o, m) for h in HEADS for o in OBJECTIVES for m in ("plain", MASKED)]
# the objectives beyond ALWAYS meet heads in slow runs alone, the others each head with or without
# masks
SLOW_PAIRS = [
    (h, o, m)
    for h, o, m in PAIRS
    if o not in {*ALWAYS, "AgainstColumns"}
    or (m == MASKED) == (HEADS.index(h) + OBJECTIVES.index(o)) % 2
]
PUBLIC_DEGLA, DECODED = "DeGLA, public code", "READCLIP, reconstruction"
SLOW_PAIRS.append(("Cosine0", DECODED, "plain"))
QUICK_PAIRS = [
    *(pair for pair in PAIRS if pair not in SLOW_PAIRS),
    ("Cosine0", PUBLIC_DEGLA, "plain"),
]
OF_MANY = [(h, o, m) for h, m in (("Cosine0", MASKED), ("MaxSim0", "plain")) for o in OBJECTIVES]
OF_MANY.append(("Cosine0", DECODED, MASKED))


def step_of(head: str, objective: str, masks: str) -> Step:
    if objective == DECODED:
        with TemporaryDirectory() as folder:
            decoded = READCLIP(lambda_recon=0.5, decoder=str(write_small_t5(Path(folder))))
            decoded.decoder.model.double()
            return Step(heads()[head], decoded, masks == MASKED)
    more = {PUBLIC_DEGLA: DeGLA(public_code=True)}
    return Step(heads()[head], (all_objectives() | more)[objective], masks == MASKED)


def matrix(rank: int) -> Tensor:
    """[3, 8]: this rank's rows of a [6, 8] matrix whose entries are all different."""
    return (
        torch.arange(48.0, dtype=torch.float64)
        .reshape(6, 8)[3 * rank : 3 * rank + 3]
        .requires_grad_()
    )


def weights(*shape: int) -> Tensor:
    return (
        torch.arange(1.0, 1 + torch.Size(shape).numel(), dtype=torch.float64).reshape(shape).sin()
    )


def collectives(rank: int) -> dict[str, object]:
    """Returns what each function of `gather` gives on this rank, and its gradients.

    They are of a loss that differs by entry and rank.
    """
    x, y = matrix(rank), matrix(rank)
    gathered, transposed = gather.gather(x), gather.transpose(y)
    (gathered * weights(6, 8) * (1 + rank)).sum().backward()
    (transposed * weights(4, 6) * (1 + rank)).sum().backward()
    return {
        "gather": gathered.detach(),
        "gather_grad": x.grad,
        "transpose": transposed.detach(),
        "transpose_grad": y.grad,
        "bool": gather.gather(torch.tensor([rank == 0, True])),
        "int": gather.gather(torch.tensor([rank])),
        "nothing": gather.gather(torch.zeros(3, 0)).shape,
        "mean": gather.mean_over_ranks(torch.tensor(rank + 1.0, requires_grad=True)),
        "sum": gather.sum_over_ranks(torch.tensor(rank + 1.0, requires_grad=True)),
        "max": gather.max_over_ranks(3 - rank, torch.device("cpu")),
        "objects": gather.gather_objects({"rank": rank}),
        "rank": (gather.rank(), gather.world_size()),
    }


def work(
    rank: int, folder: Path, pairs: list[tuple[str, str, str]], ranks: int, parts: int
) -> None:
    """One rank: its collectives, and DDP's gradients for some pairs of head and objective."""
    with group(rank, ranks, folder):
        found: dict[object, object] = {"collectives": collectives(rank)} if ranks == RANKS else {}
        for pair in pairs:
            step = step_of(*pair)
            share = share_of(parts_for(step, parts), rank, ranks)
            found[pair] = gradients(DistributedDataParallel(step), share)
        torch.save(found, folder / f"rank{rank}.pt")


Ranks = list[dict[object, dict[str, Tensor]]]


def found_on_ranks(
    folder: Path, pairs: list[tuple[str, str, str]], ranks: int = RANKS, parts: int = RANKS
) -> Ranks:
    on_ranks(ranks, work, folder, pairs, ranks, parts)
    return [torch.load(folder / f"rank{r}.pt", weights_only=False) for r in range(ranks)]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    return found_on_ranks(tmp_path_factory.mktemp("ranks"), QUICK_PAIRS)


@pytest.fixture(scope="module")
def slow_ranks(tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    return found_on_ranks(tmp_path_factory.mktemp("slow_ranks"), SLOW_PAIRS)


@pytest.mark.parametrize("pair", QUICK_PAIRS, ids="-".join)
def test_gradients_are_those_of_the_joined_batch(pair: tuple[str, str, str], ranks: Ranks) -> None:
    assert_joined(pair, ranks)


@pytest.mark.slow
@pytest.mark.parametrize("pair", SLOW_PAIRS, ids="-".join)
def test_so_are_those_through_costly_heads(pair: tuple[str, str, str], slow_ranks: Ranks) -> None:
    assert_joined(pair, slow_ranks)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "parts"), [(2, 4), (4, 4), (8, 8)])
def test_every_objective_is_the_same_on_two_four_and_eight_with_uneven_ends(
    count: int, parts: int, tmp_path: Path
) -> None:
    """Of four parts of a batch one has no sample: a rank has two of them, or one."""
    ranks = found_on_ranks(tmp_path, OF_MANY, count, parts)
    for pair in OF_MANY:
        assert_joined(pair, ranks, parts)


def assert_joined(pair: tuple[str, str, str], ranks: Ranks, parts: int = RANKS) -> None:
    """Loss, gradients and what is remembered are those of one process, within 1e-6."""
    step = step_of(*pair)
    expected = gradients(step, joined(parts_for(step, parts)))
    torch.testing.assert_close(
        torch.stack([r[pair]["loss"] for r in ranks]).mean(),
        expected["loss"],
        rtol=1e-9,
        atol=1e-12,
    )
    largest = max(float(g.abs().max()) for g in expected.values())
    for found in ranks:
        assert found[pair].keys() == expected.keys()
        for name in expected.keys() - {"loss"}:
            error = (found[pair][name] - expected[name]).abs().max() / expected[
                name
            ].abs().max().clamp(min=1e-6 * largest)
            assert error < 1e-6, name


def test_every_gradient_says_something() -> None:
    step = step_of("Cosine0", "CSCLIP", "plain")
    expected = gradients(step, joined(parts_for(step, RANKS)))
    silent = {n for n, g in expected.items() if not g.abs().max() > 1e-6}
    assert silent <= {"head.bias"}  # a bias cancels in every softmax


def test_gathering_stacks_ranks_and_sums_their_gradients(
    ranks: list[dict[object, dict[str, Tensor]]],
) -> None:
    everything = torch.cat([matrix(0), matrix(1)]).detach()
    for rank, found in enumerate(r["collectives"] for r in ranks):
        assert torch.equal(found["gather"], everything)
        torch.testing.assert_close(
            found["gather_grad"], (weights(6, 8) * 3)[3 * rank : 3 * rank + 3]
        )


def test_transposing_sends_each_rank_its_columns_and_gradients_back(
    ranks: list[dict[object, dict[str, Tensor]]],
) -> None:
    everything = torch.cat([matrix(0), matrix(1)]).detach()
    upstream = torch.cat(
        [weights(4, 6) * 1, weights(4, 6) * 2]
    ).T  # [6, 8]: what the two ranks say about the joined matrix
    for rank, found in enumerate(r["collectives"] for r in ranks):
        assert torch.equal(found["transpose"], everything.T[4 * rank : 4 * rank + 4])
        torch.testing.assert_close(found["transpose_grad"], upstream[3 * rank : 3 * rank + 3])


def test_small_collectives(ranks: list[dict[object, dict[str, Tensor]]]) -> None:
    for rank, found in enumerate(r["collectives"] for r in ranks):
        assert found["bool"].tolist() == [True, True, False, True]
        assert found["int"].tolist() == [0, 1]
        assert found["nothing"] == (6, 0)
        assert (found["sum"].item(), found["sum"].requires_grad) == (3.0, False)
        assert (found["mean"].item(), found["mean"].requires_grad) == (1.5, False)
        assert found["max"] == 3
        assert found["objects"] == [{"rank": 0}, {"rank": 1}]
        assert found["rank"] == (rank, 2)
