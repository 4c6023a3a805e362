from itertools import chain

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from zoo.batch import MISSING
from zoo.datamodules.sampler import GlobalBatchSampler, SampleOrder, local_batch_size
from zoo.errors import ZooError


def global_batches(n, local, world, seed=0, epoch=0, skip=0):
    """The entries of every global batch, ranks joined in order."""
    dealt = []
    for rank in range(world):
        sampler = GlobalBatchSampler(n, local * world, seed, rank, world)
        sampler.resume_at(epoch, skip)
        places = list(sampler)
        assert {e for e, _, _ in places} <= {epoch}
        assert [b for _, _, b in places] == [skip + i // local for i in range(len(places))]
        dealt.append(
            [[entry for _, entry, _ in places[i : i + local]] for i in range(0, len(places), local)]
        )
    return [list(chain(*parts)) for parts in zip(*dealt, strict=True)]


@given(
    n=st.integers(1, 60),
    local=st.integers(1, 9),
    world=st.integers(1, 5),
    seed=st.integers(0, 3),
    epoch=st.integers(0, 3),
)
def test_every_entry_comes_once_over_all_ranks_and_filling_only_at_the_end(
    n, local, world, seed, epoch
):
    batches = global_batches(n, local, world, seed, epoch)
    entries = list(chain(*batches))
    assert sorted(entries[:n]) == list(range(n))
    assert entries[n:] == [MISSING] * (len(batches) * local * world - n)
    assert len(entries) - n < local * world
    assert {len(b) for b in batches} == {local * world}


@given(n=st.integers(1, 60), seed=st.integers(0, 3), epoch=st.integers(0, 3))
def test_a_global_batch_holds_the_same_entries_on_any_number_of_ranks(n, seed, epoch):
    alone = global_batches(n, 12, 1, seed, epoch)
    for world in (2, 3, 4):
        assert global_batches(n, 12 // world, world, seed, epoch) == alone


@given(n=st.integers(1, 60), skip=st.integers(0, 20), world=st.integers(1, 3))
def test_resuming_leaves_out_exactly_what_was_done(n, skip, world):
    assert global_batches(n, 2, world, skip=skip) == global_batches(n, 2, world)[skip:]


def test_only_the_epoch_that_was_left_is_resumed():
    sampler = GlobalBatchSampler(10, 2)
    sampler.resume_at(1, 3)
    assert len(list(sampler)) == 4
    sampler.set_epoch(2)
    assert len(list(sampler)) == 10


def test_epochs_and_seeds_have_orders_of_their_own_and_a_fixed_order_has_one():
    orders = {
        tuple(chain(*global_batches(40, 4, 1, seed, epoch))) for seed in (0, 1) for epoch in (0, 1)
    }
    assert len(orders) == 4
    fixed = GlobalBatchSampler(40, 4, fixed=True)
    first = list(fixed)
    fixed.set_epoch(5)
    assert list(fixed) == first
    assert [entry for _, entry, _ in first] != list(range(40))


def test_the_order_takes_nothing_from_the_global_random_state():
    torch.manual_seed(1)
    first = list(GlobalBatchSampler(20, 4))
    torch.manual_seed(2)
    assert list(GlobalBatchSampler(20, 4)) == first


def test_the_length_is_that_of_what_comes():
    sampler = GlobalBatchSampler(10, 8, 0, 1, 2)
    assert len(sampler) == len(list(sampler)) == 8


def test_a_batch_that_the_devices_do_not_divide_is_refused_with_the_sizes_that_they_do():
    with pytest.raises(ZooError, match=r"batch_size 30 .* 4 devices: give 28 or 32"):
        local_batch_size(30, 4)
    with pytest.raises(ZooError, match="give 4"):
        local_batch_size(3, 4)
    with pytest.raises(ZooError, match="at least 1"):
        local_batch_size(0, 1)


def test_a_run_goes_on_with_its_own_order_and_decoder_alone():
    before = {"batch_size": 2_000, "seed": 1, "rows": 9, "decoder": "pil"}
    SampleOrder(2_000, 1, 9, "pil").check_same_settings(before)
    with pytest.raises(ZooError, match="had batch_size 2,000, and now it is 1"):
        SampleOrder(1, 1, 9, "pil").check_same_settings(before)
    with pytest.raises(ZooError, match="had decoder pil, and now it is torchvision"):
        SampleOrder(2_000, 1, 9).check_same_settings(before)
