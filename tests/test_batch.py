import torch

from zoo.batch import Encoded, TextBank, TokenKey, build_text_bank, concatenate, pad_to

KEY = TokenKey()


def encoded(n: int, length: int) -> Encoded:
    return Encoded(
        torch.randn(n, 3),
        {KEY: torch.randn(n, length, 2)},
        {KEY: torch.ones(n, length, dtype=torch.bool)},
    )


def test_a_missing_row_gives_the_first_item() -> None:
    items = encoded(3, 2)
    rows = items.rows(torch.tensor([2, -1]))
    assert torch.equal(rows.pooled, items.pooled[[2, 0]])
    assert torch.equal(rows.tokens[KEY], items.tokens[KEY][[2, 0]])


def test_rows_of_nothing_are_zeros_with_a_graph() -> None:
    items = Encoded(
        torch.randn(0, 3, requires_grad=True),
        {KEY: torch.randn(0, 4, 2)},
        {KEY: torch.ones(0, 4, dtype=torch.bool)},
    )
    rows = items.rows(torch.tensor([-1, -1]))
    assert rows.pooled.requires_grad
    assert torch.equal(rows.pooled, torch.zeros(2, 3))
    assert rows.masks[KEY].dtype is torch.bool
    assert not rows.masks[KEY].any()


def test_parts_are_joined_in_order_with_padding_masked() -> None:
    short, long = encoded(1, 2), encoded(2, 4)
    joined = concatenate([short, long])
    assert torch.equal(joined.pooled, torch.cat([short.pooled, long.pooled]))
    assert joined.masks[KEY].sum(1).tolist() == [2, 4, 4]
    assert torch.equal(joined.tokens[KEY][0, :2], short.tokens[KEY][0])


def test_padding_leaves_what_is_long_enough_alone() -> None:
    tokens = torch.ones(2, 3, 4)
    assert pad_to(tokens, 3) is tokens
    assert pad_to(tokens, 5).sum(dim=(0, 2)).tolist() == [8, 8, 8, 0, 0]


def test_equal_token_ids_become_one_text_in_order_of_appearance() -> None:
    ids = torch.tensor([[5, 1], [2, 2], [5, 1], [2, 3]])
    bank, rows = build_text_bank(ids, torch.tensor([2, 2, 2, 2]), torch.tensor([70, 80, 70, 70]))
    assert rows.tolist() == [0, 1, 0, 2]
    assert bank.ids.tolist() == [[5, 1], [2, 2], [2, 3]]  # an equal hash alone joins nothing
    assert bank.text_count == 4
    assert torch.equal(bank.ids[rows], ids)


def test_a_bank_that_moves_to_a_device_keeps_its_lengths_on_the_cpu() -> None:
    """The meta device stands for a GPU."""
    lengths = torch.tensor([3, 5])
    bank = TextBank(torch.zeros(2, 8, dtype=torch.long), lengths, torch.arange(2))
    assert bank.lengths_on_host() is lengths
    moved = bank.map(lambda t: t.to("meta"))
    assert moved.lengths.device.type == "meta"
    assert moved.lengths_on_host().tolist() == [3, 5]
    assert bank.map(lambda t: t[1:]).lengths_on_host().tolist() == [5]
