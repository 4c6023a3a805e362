"""Text positions stretched as in Long-CLIP."""

from pathlib import Path

import open_clip.pretrained
import pytest
import torch
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import TextInput
from zoo.backbones.weights import stretch_positions
from zoo.errors import ZooError
from zoo.support.configurable import from_config, to_config
from zoo.support.renames import translate_recipe


def stretch_in_a_loop(table: Tensor, kept: int, factor: int) -> Tensor:
    """Returns the table of Long-CLIP's code: kept vectors, then `factor` per further position."""
    rows = [table[i] for i in range(kept)]
    for i in range(kept, len(table)):
        last = i == len(table) - 1
        for step in range(factor):
            start, end = (table[i - 1], table[i]) if last else (table[i], table[i + 1])
            rows.append(table[i] + (end - start) * step / factor)
    return torch.stack(rows)


def test_the_table_of_248_positions_is_exactly_that_of_a_loop() -> None:
    table = torch.randint(-99, 99, (77, 5), generator=torch.Generator().manual_seed(0)).float()
    stretched = stretch_positions(table, 248, 20)
    assert stretched.shape == (4 * 77 - 3 * 20, 5)
    assert torch.equal(stretched, stretch_in_a_loop(table, 20, 4))
    assert torch.equal(stretch_positions(table, 2 * 77 - 20, 20), stretch_in_a_loop(table, 20, 2))


def test_other_lengths_are_interpolated_as_numbers_worked_by_hand() -> None:
    table = torch.tensor([[0.0], [10.0], [20.0], [50.0]])
    values = stretch_positions(table, 5, 1)[:, 0]  # read at 0, 1, 1 3/4, 2 1/2 and 3 1/4
    assert values.tolist() == [0.0, 10.0, 17.5, 35.0, 57.5]
    values = stretch_positions(table[:3], 4, 1)[:, 0]  # read at 0, 1, 1 2/3 and 2 1/3
    torch.testing.assert_close(values, torch.tensor([0.0, 10, 10 + 20 / 3, 20 + 10 / 3]))


@pytest.mark.parametrize(("length", "kept"), [(76, 20), (248, 76), (248, 80)])
def test_shorter_tables_and_too_many_kept_positions_are_refused(length: int, kept: int) -> None:
    with pytest.raises(ZooError, match=r"keep at most 75, and give a context length of at least"):
        stretch_positions(torch.zeros(77, 2), length, kept)


def test_keeping_positions_needs_a_context_length() -> None:
    with pytest.raises(ZooError, match=r"set backbone\.text\.context_length, such as 248"):
        TextInput(kept_positions=20)


@pytest.mark.parametrize("kind", ["file", "tag"])
def test_published_weights_are_stretched_and_a_checkpoint_records_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(7)
    source = Backbone("zoo-tiny")
    state = source.model.state_dict()
    file = tmp_path / "weights.pt"
    torch.save(state, file)
    tags = {"mine": {"file": str(file), "mean": (0.1, 0.2, 0.3)}}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "zoo-tiny", tags)
    text = TextInput(context_length=248, kept_positions=20)
    pretrained = str(file) if kind == "file" else "mine"
    backbone = Backbone("zoo-tiny", pretrained, activation=source.activation, text=text)
    stretched = backbone.model.state_dict()
    positions = stretched.pop("positional_embedding")
    torch.testing.assert_close(
        positions, stretch_in_a_loop(state["positional_embedding"].double(), 20, 4).float()
    )
    assert all(torch.equal(value, state[name]) for name, value in stretched.items())
    assert (
        backbone.preprocess["mean"] == (source.preprocess["mean"], (0.1, 0.2, 0.3))[kind == "tag"]
    )
    assert backbone.context == 248
    assert len(backbone.tokenizer(["word " * 300])[0][0]) == 248

    recipe = to_config(backbone)
    assert recipe["init_args"]["text"]["kept_positions"] == 20
    recipe["init_args"]["pretrained"] = None
    again = from_config(recipe, Backbone)
    again.load_state_dict(backbone.state_dict())
    assert torch.equal(again.model.positional_embedding, positions)


def test_texts_of_up_to_the_kept_positions_have_the_same_vectors(tmp_path: Path) -> None:
    torch.manual_seed(7)
    source = Backbone("zoo-tiny").eval()
    torch.save(source.model.state_dict(), tmp_path / "weights.pt")
    text = TextInput(context_length=248, kept_positions=20)
    longer = Backbone("zoo-tiny", str(tmp_path / "weights.pt"), text=text).eval()
    ids = source.tokenizer(["a dog on a red sofa"])[0]
    ids_longer = longer.tokenizer(["a dog on a red sofa"])[0]
    torch.testing.assert_close(
        longer.model.encode_text(ids_longer), source.model.encode_text(ids), rtol=1e-4, atol=1e-6
    )


def test_older_checkpoints_interpolated_all_positions() -> None:
    recipe = {"backbone": {"init_args": {"text": {"context_length": 100}}}}
    text = translate_recipe(recipe)["backbone"]["init_args"]["text"]
    assert text == {"context_length": 100, "kept_positions": None}
