"""Files of weights as people have them: whole models, or an error that lists what is wrong."""

import json
import logging
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor

from tests.backbones.test_backbone import same_in_other_class
from zoo.backbones.backbone import Backbone
from zoo.backbones.factory import SHIPPED
from zoo.backbones.settings import TextInput
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.support.configurable import to_config

State = dict[str, Tensor]


@pytest.fixture(scope="module")
def source() -> Backbone:
    torch.manual_seed(7)
    return Backbone("zoo-tiny")


@pytest.fixture(scope="module")
def state(source: Backbone) -> State:
    return {name: tensor.clone() for name, tensor in source.model.state_dict().items()}


def prefixed(state: State, prefix: str) -> State:
    return {prefix + name: tensor for name, tensor in state.items()}


LAYOUTS = {
    "bare": lambda s: s,
    "state_dict": lambda s: {"state_dict": s, "epoch": 3, "name": "run"},
    "model": lambda s: {"model": s},
    "model_state_dict": lambda s: {"model_state_dict": s},
    "wrapped twice": lambda s: {"state_dict": {"model": s}},
    "module.": lambda s: {"state_dict": prefixed(s, "module.")},
    "model.": lambda s: prefixed(s, "model."),
    "_orig_mod.": lambda s: prefixed(s, "_orig_mod."),
    "module.model.": lambda s: prefixed(s, "module.model."),
    "module._orig_mod.model.": lambda s: prefixed(s, "module._orig_mod.model."),
    "clip_model.": lambda s: prefixed(s, "clip_model."),
    "CS-CLIP's": lambda s: {**prefixed(s, "model."), "head.logit_scale": torch.tensor(4.0)},
    "older versions'": lambda s: {
        **s,
        "attn_mask": torch.zeros(77, 77),
        "text_model.embeddings.position_ids": torch.arange(77),
    },
    "half precision": lambda s: {name: tensor.half() for name, tensor in s.items()},
    "a vector for a scale": lambda s: {**s, "logit_scale": s["logit_scale"].reshape(1)},
}


def same(backbone: Backbone, state: State, tolerance: float = 0.0) -> bool:
    return all(
        torch.allclose(t, state[n].float(), rtol=0, atol=tolerance)
        for n, t in backbone.model.state_dict().items()
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_loads_whole(tmp_path: Path, state: State, layout: str) -> None:
    file = tmp_path / "weights.pt"
    torch.save(LAYOUTS[layout](state), file)
    assert same(
        Backbone("zoo-tiny", pretrained=str(file)),
        state,
        1e-2 if layout == "half precision" else 0.0,
    )


def test_safetensors_load(tmp_path: Path, state: State) -> None:
    save_file(state, tmp_path / "weights.safetensors")
    assert same(Backbone("zoo-tiny", pretrained=str(tmp_path / "weights.safetensors")), state)


def test_extras_are_reported(
    tmp_path: Path, state: State, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "weights.pt"
    torch.save(LAYOUTS["CS-CLIP's"](state), file)
    with caplog.at_level(logging.INFO, "zoo"):
        Backbone("zoo-tiny", pretrained=str(file))
    assert "head.logit_scale" in caplog.text


def test_a_checkpoint_of_zoo_brings_its_activation_and_its_heads_temperature(
    tmp_path: Path,
) -> None:
    trained = Backbone("zoo-tiny", activation="quickgelu")
    held = prefixed(trained.state_dict(), "backbone.")
    held |= {
        "head.log_scale": torch.tensor(3.5),
        "head.bias": torch.tensor(1.0),
        "objective.weight": torch.ones(2),
    }
    file = tmp_path / "last.ckpt"
    torch.save(
        {
            "state_dict": held,
            "hyper_parameters": {"backbone": to_config(trained), "head": to_config(Cosine())},
            "loops": {},
        },
        file,
    )
    with pytest.raises(ZooError, match="1 unexpected: logit_bias"):
        Backbone("zoo-tiny", pretrained=str(file))
    del held["head.bias"]
    torch.save(
        {
            "state_dict": held,
            "hyper_parameters": {"backbone": to_config(trained), "head": to_config(Cosine())},
        },
        file,
    )
    again = Backbone("zoo-tiny", pretrained=str(file))
    assert again.activation == "quickgelu"
    assert again.model.logit_scale == 3.5
    assert torch.equal(again.model.visual.proj, trained.model.visual.proj)
    assert Backbone("zoo-tiny", pretrained=str(file), activation="gelu").activation == "gelu"


def test_a_checkpoint_of_zoo_brings_how_its_images_were_prepared(tmp_path: Path) -> None:
    """As those of SigLIP are, whose tag said so once and is not asked again."""
    settings = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5), "resize_mode": "squash"}
    trained = Backbone("zoo-tiny", preprocess=settings)
    recorded = to_config(trained)["init_args"]["preprocess"]
    assert (recorded["mean"], recorded["resize_mode"]) == ([0.5, 0.5, 0.5], "squash")
    torch.save(
        {
            "state_dict": prefixed(trained.state_dict(), "backbone."),
            "hyper_parameters": {"backbone": to_config(trained)},
        },
        tmp_path / "a.ckpt",
    )
    assert (
        to_config(Backbone("zoo-tiny", pretrained=str(tmp_path / "a.ckpt")))["init_args"][
            "preprocess"
        ]
        == recorded
    )
    wide = Image.new("RGB", (128, 64), "white")
    assert torch.equal(trained.eval_transform(wide), torch.ones(3, 64, 64))


def exported(folder: Path, state: State, **described: object) -> Path:
    """What open_clip and `zoo export` write: weights, and a configuration beside them."""
    config = json.loads((SHIPPED / "zoo-tiny.json").read_text())
    save_file(state, folder / "open_clip_model.safetensors")
    (folder / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": config | {"quick_gelu": True}} | described)
    )
    return folder / "open_clip_model.safetensors"


def test_open_clips_file_brings_what_the_configuration_beside_it_says(
    tmp_path: Path, state: State
) -> None:
    images = {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4], "size": 999}
    file = exported(tmp_path, state, preprocess_cfg=images)
    for given in (file, file.parent):
        found = Backbone("zoo-tiny", pretrained=str(given))
        assert found.activation == "quickgelu"
        assert (found.preprocess["mean"], found.preprocess["std"]) == (
            images["mean"],
            images["std"],
        )
    other = Backbone("zoo-tiny", pretrained=str(file), preprocess={"std": [1.0, 1.0, 1.0]})
    assert (other.preprocess["mean"], other.preprocess["std"]) == (images["mean"], [1.0, 1.0, 1.0])
    (tmp_path / "other.safetensors").write_bytes(file.read_bytes())
    assert Backbone("zoo-tiny", pretrained=str(tmp_path / "other.safetensors")).activation == "gelu"


@pytest.mark.parametrize(
    ("described", "says"),
    [
        ("{}", "KeyError: 'model_cfg'"),
        ("[1]", "TypeError"),
        ("{'", "JSONDecodeError"),
        ('{"model_cfg": 3}', "TypeError"),
        (
            '{"model_cfg": {}, "preprocess_cfg": {"avg": 1}}',
            "'avg', which is not a preprocessing setting",
        ),
    ],
)
def test_a_broken_configuration_beside_the_weights_is_named(
    tmp_path: Path, state: State, described: str, says: str
) -> None:
    file = exported(tmp_path, state)
    (tmp_path / "open_clip_config.json").write_text(described)
    with pytest.raises(ZooError, match=rf"open_clip_config\.json .*{says}"):
        Backbone("zoo-tiny", pretrained=str(file))


def test_weights_move_between_open_clips_two_classes(
    tmp_path: Path, source: Backbone, state: State
) -> None:
    torch.save(state, tmp_path / "one.pt")
    other = Backbone(same_in_other_class(tmp_path), pretrained=str(tmp_path / "one.pt"))
    ids = source.tokenizer(["a dog"])[0]
    assert torch.equal(other.model.encode_text(ids), source.model.encode_text(ids))
    torch.save(other.model.state_dict(), tmp_path / "other.pt")
    assert same(Backbone("zoo-tiny", pretrained=str(tmp_path / "other.pt")), state)


def test_text_positions_are_stretched_only_where_a_context_is_asked_for(
    tmp_path: Path, state: State
) -> None:
    torch.save(state, tmp_path / "weights.pt")
    longer = Backbone(
        "zoo-tiny", pretrained=str(tmp_path / "weights.pt"), text=TextInput(context_length=100)
    )
    assert longer.model.positional_embedding.shape == (100, 96)
    assert torch.equal(longer.model.text_projection, state["text_projection"])
    torch.save({**state, "positional_embedding": torch.zeros(100, 96)}, tmp_path / "long.pt")
    with pytest.raises(ZooError, match=r"positional_embedding \(100, 96\) for \(77, 96\)"):
        Backbone("zoo-tiny", pretrained=str(tmp_path / "long.pt"))
    torch.save({**state, "positional_embedding": torch.zeros(77, 64)}, tmp_path / "wide.pt")
    with pytest.raises(ZooError, match=r"positional_embedding \(77, 64\) for \(50, 96\)"):
        Backbone(
            "zoo-tiny", pretrained=str(tmp_path / "wide.pt"), text=TextInput(context_length=50)
        )


def test_the_tokenizer_of_a_checkpoint_comes_along(tmp_path: Path) -> None:
    trained = Backbone("zoo-tiny", text=TextInput("a/folder"))
    held = {
        "state_dict": prefixed(trained.state_dict(), "backbone."),
        "hyper_parameters": {"backbone": to_config(trained)},
    }
    torch.save(held, tmp_path / "a.ckpt")
    file = exported(tmp_path, dict(trained.model.state_dict()))
    (tmp_path / "zoo.json").write_text(
        json.dumps({"recipe": held["hyper_parameters"], "origin": {}})
    )
    for source in (tmp_path / "a.ckpt", file):
        found = Backbone("zoo-tiny", pretrained=str(source))
        assert to_config(found)["init_args"]["text"]["tokenizer"] == "a/folder"
        other = Backbone("zoo-tiny", pretrained=str(source), text=TextInput("b"))
        assert to_config(other)["init_args"]["text"]["tokenizer"] == "b"
    (tmp_path / "zoo.json").write_text("{'")
    with pytest.raises(ZooError, match=r"zoo\.json cannot be read"):
        Backbone("zoo-tiny", pretrained=str(file))


def holding_itself(state: State) -> dict[str, object]:
    outer: dict[str, object] = {"t": torch.ones(1)}
    outer["state_dict"] = {"model": outer}
    return outer


WRONG = {
    "missing": (
        lambda s: {n: t for n, t in s.items() if n != "visual.proj"},
        "1 missing: visual.proj",
    ),
    "unexpected": (
        lambda s: {**s, "adapter.weight": torch.ones(1)},
        "1 unexpected: adapter.weight",
    ),
    "beside the prefix": (
        lambda s: {**prefixed(s, "model."), "adapter.weight": torch.ones(1)},
        "1 unexpected: adapter.weight",
    ),
    "shape": (
        lambda s: {**s, "visual.proj": torch.ones(2, 2)},
        r"1 of another shape: visual.proj \(2, 2\) for \(96, 128\)",
    ),
    "many": (
        lambda s: {n: t for n, t in s.items() if "resblocks" not in n},
        r"72 missing: .*, \.\.\.",
    ),
    "no numbers": (
        lambda s: {**s, "visual.proj": torch.full((96, 128), torch.nan)},
        r"holds NaN or infinite weights in 1 of \d+ tensors \(visual\.proj\): fetch the file again",
    ),
    "another project's recipe": (
        lambda s: {
            "state_dict": {**s, "visual.proj": torch.ones(2, 2)},
            "hyper_parameters": {"backbone": {"init_args": 3}, "head": "linear"},
        },
        r"1 of another shape",
    ),
    "adapters of unknown strength": (
        lambda s: {
            "state_dict": prefixed(s, "backbone.model.")
            | {"backbone.model.visual.proj.lora_A.default.weight": torch.ones(1)},
            "hyper_parameters": {
                "backbone": {
                    "class_path": "zoo.backbones.backbone.Backbone",
                    "init_args": {"tuning": {"lora": None}},
                }
            },
        },
        "holds adapters without the alpha",
    ),
    "two models": (lambda s: {**s, **prefixed(s, "model.")}, "the model is ambiguous"),
    "unknown prefix": (lambda s: prefixed(s, "teacher."), "the model is ambiguous"),
    "no model": (
        lambda s: {"t": torch.ones(1), "linear.weight": torch.ones(2, 2)},
        "is not an open_clip model",
    ),
    "itself": (holding_itself, "contains itself as 'model'"),
    "a list": (lambda s: [1, 2], "contains a list instead of a state_dict"),
    "code": (lambda s: {"state_dict": s, "optimizer": Path("x")}, "cannot be read as weights"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_file_is_an_error_that_says_what_is_wrong(
    tmp_path: Path, state: State, fault: str
) -> None:
    make, message = WRONG[fault]
    file = tmp_path / "wrong.pt"
    torch.save(make(state), file)
    with pytest.raises(ZooError, match=message) as raised:
        Backbone("zoo-tiny", pretrained=str(file))
    assert str(file) in str(raised.value)


def test_a_truncated_file_is_an_error(tmp_path: Path, state: State) -> None:
    file = tmp_path / "weights.pt"
    torch.save(state, file)
    file.write_bytes(file.read_bytes()[:10_000])
    with pytest.raises(ZooError, match="cannot be read as weights"):
        Backbone("zoo-tiny", pretrained=str(file))
