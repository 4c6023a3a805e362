"""Outside a process group, and shards; what two ranks do is in test_two_processes.py."""

import os
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

from tests.support.parallel import group, on_ranks
from zoo.errors import ZooError
from zoo.support import distributed as gather


def test_one_process_is_a_group_of_itself() -> None:
    x = torch.randn(2, 3, requires_grad=True)
    assert gather.gather(x) is x
    assert torch.equal(gather.transpose(x), x.T)
    assert torch.equal(gather.sum_over_ranks(x), x)
    assert not gather.sum_over_ranks(x).requires_grad
    assert gather.max_over_ranks(4, torch.device("cpu")) == 4
    assert gather.gather_objects("a") == ["a"]
    assert (gather.rank(), gather.world_size()) == (0, 1)


@pytest.mark.parametrize("name", ["all_gather_single", "all_gather_into_tensor"])
def test_a_collective_goes_by_its_new_name_where_torch_has_that(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch means to take the former name away."""
    monkeypatch.delattr(dist, "all_gather_single", raising=False)
    monkeypatch.setattr(dist, "all_gather_into_tensor", "all_gather_into_tensor")
    monkeypatch.setattr(dist, name, name, raising=False)
    assert gather._collective("all_gather_single", "all_gather_into_tensor") == name


@given(n=st.integers(0, 20), world=st.integers(1, 5))
def test_shards_deal_every_item_once(n: int, world: int) -> None:
    shards = [gather.RankSampler(range(n), rank, world) for rank in range(world)]
    assert sorted(i for shard in shards for i in shard) == list(range(n))
    assert [len(shard) for shard in shards] == [len(list(shard)) for shard in shards]


def _one_fails(rank: int, folder: str) -> None:
    def made() -> int:
        if rank == 1:
            raise ZooError("rank 1 has a broken image")
        return rank

    with group(rank, 2, Path(folder)):
        assert gather.gather_results(lambda: 10 * rank) == [0, 10]
        with pytest.raises(ZooError, match="rank 1 has a broken image"):
            gather.gather_results(made)


def test_where_one_rank_fails_all_of_them_stop(tmp_path: Path) -> None:
    on_ranks(2, _one_fails, str(tmp_path))


def _one_ends(rank: int, folder: str) -> None:
    with group(rank, 2, Path(folder)):
        gather.gather_objects(rank)
        if rank == 1:
            os._exit(0)
        with pytest.raises(RuntimeError) as told:
            gather.gather_objects(rank)
        assert gather.lost_connection_message(told.value) is not None
        os._exit(0)  # there is nobody left to leave the group with


def test_a_rank_whose_neighbour_ended_says_so(tmp_path: Path) -> None:
    on_ranks(2, _one_ends, str(tmp_path))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (torch.distributed.DistBackendError("NCCL error: remote process exited or"), "remote proc"),
        (torch.distributed.DistNetworkError("The client socket has timed out after 60s"), "timed "),
        (RuntimeError("[gloo/transport/tcp/pair.cc:1] op.preamble.length <= op.nbytes"), None),
        (RuntimeError("connection closed by a camera"), None),
    ],
)
def test_defects_and_other_connections_are_no_lost_rank(
    error: RuntimeError, said: str | None
) -> None:
    found = gather.lost_connection_message(error)
    assert found is None if said is None else str(found).startswith(said)
