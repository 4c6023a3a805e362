"""Published weights: files made with the keys, shapes and forms of theirs.

They give the model that merging by hand gives, or an error.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

import zoo
from zoo.backbones.backbone import Backbone
from zoo.backbones.published import (
    CSCLIP,
    DAC,
    FSCCLIP,
    TSVLC,
    CLoVe,
    FineCLIP,
    FSCCLIPLoRA,
    NegCLIP,
    PublishedWeights,
    TripletCLIP,
)
from zoo.backbones.settings import TextInput
from zoo.batch import TextBank
from zoo.cli.fit import parse_settings
from zoo.errors import ZooError
from zoo.heads.linear import Linear
from zoo.support.configurable import to_config

State = dict[str, Tensor]
RANK = 4


def random_state(name: str = "zoo-tiny", seed: int = 0) -> State:
    """Weights of an open_clip model, none of them at a start that hides a mistake (zero or one)."""
    torch.manual_seed(seed)
    return {
        key: tensor + 0.01 * torch.randn_like(tensor)
        for key, tensor in Backbone(name).model.state_dict().items()
    }


@pytest.fixture(scope="module")
def state() -> State:
    return random_state()


def as_trained(state: State, prefix: str = "") -> dict[str, Any]:
    """The file that open_clip's training writes.

    Beside the model it has an optimiser whose learning rate is a number of numpy's.
    """
    return {
        "epoch": 5,
        "name": "run",
        "state_dict": {prefix + key: tensor for key, tensor in state.items()},
        "optimizer": {
            "state": {0: {"step": torch.tensor(9.0)}},
            "param_groups": [{"lr": np.float64(1e-6), "params": [0]}],
        },
        "scaler": {"scale": 65536.0},
    }


def with_adapters(state: State, rank: int = RANK, only_attention: bool = False) -> State:
    """The state with loralib's adapters beside its weights, as in TSVLC, DAC and FSC-CLIP."""
    out = dict(state)
    for key, weight in state.items():
        rows, columns = (*weight.shape, 1, 1)[:2]
        if key.endswith("attn.in_proj_weight"):
            names, shapes = (f"{key}_lora_A", f"{key}_lora_B"), ((rank, columns), (rows, rank))
        elif key.endswith("attn.out_proj.weight") or (
            not only_attention and key.endswith(("c_fc.weight", "c_proj.weight"))
        ):
            layer = key.removesuffix("weight")
            names, shapes = (f"{layer}lora_A", f"{layer}lora_B"), ((rank, columns), (rows, rank))
        elif key == "visual.conv1.weight" and not only_attention:
            k = weight.shape[-1]
            names, shapes = (
                ("visual.conv1.lora_A", "visual.conv1.lora_B"),
                ((rank * k, columns * k), (rows * k, rank * k)),
            )
        else:
            continue
        out |= {name: 0.1 * torch.randn(shape) for name, shape in zip(names, shapes, strict=True)}
    return out


def merged_by_hand(state: State, rank: int = RANK) -> State:
    """W + (1 / rank) B A, with names written out."""
    out = {key: tensor.clone() for key, tensor in state.items() if "lora" not in key}
    for key in out:
        a, b = state.get(f"{key}_lora_A"), state.get(f"{key}_lora_B")
        if key.endswith(".weight") and a is None:
            a, b = (
                state.get(key.replace(".weight", ".lora_A")),
                state.get(key.replace(".weight", ".lora_B")),
            )
        if a is not None and b is not None:
            delta = torch.einsum("or,ri->oi", b.double(), a.double()) / rank
            out[key] = (out[key].double() + delta.reshape(out[key].shape)).float()
    return out


def clove_base(state: State) -> State:
    return {key: tensor * 0.9 + 0.01 for key, tensor in state.items()}


def clove_by_hand(state: State) -> State:
    base = clove_base(state)
    return {
        key: 0.4 * (base[key][:64] if key == "positional_embedding" else base[key])
        + 0.6 * cut(state)[key]
        for key in state
    }


def cut(state: State, positions: int = 64) -> State:
    return {**state, "positional_embedding": state["positional_embedding"][:positions]}


Made = tuple[Any, State]  # what the file holds, and the weights that are to come of it

FILES: dict[str, tuple[type[PublishedWeights], Callable[[State], Made]]] = {
    "NegCLIP": (NegCLIP, lambda s: (as_trained(s), s)),
    "NegCLIP, weights alone": (NegCLIP, lambda s: (s, s)),
    "CS-CLIP": (
        CSCLIP,
        lambda s: (
            {**{f"model.{k}": v for k, v in s.items()}, "head.logit_scale": torch.tensor(0.0)},
            s,
        ),
    ),
    "FSC-CLIP": (FSCCLIP, lambda s: (as_trained(s), s)),
    "FSC-CLIP of four devices": (FSCCLIP, lambda s: (as_trained(s, "module."), s)),
    "FSC-CLIP with LoRA": (FSCCLIPLoRA, lambda s: adapted(s, as_trained)),
    "FSC-CLIP with LoRA of four devices": (
        FSCCLIPLoRA,
        lambda s: adapted(s, lambda held: as_trained(held, "module.")),
    ),
    "TSVLC": (TSVLC, lambda s: adapted(s, as_trained)),
    "DAC": (DAC, lambda s: adapted(s, lambda held: as_trained(held, "module."))),
    "DAC, attention alone": (DAC, lambda s: adapted(s, as_trained, only_attention=True)),
    "CLoVe": (CLoVe, lambda s: (as_trained(cut(s), "module."), clove_by_hand(s))),
}


def adapted(
    state: State, wrap: Callable[[State], dict[str, Any]], only_attention: bool = False
) -> Made:
    held = with_adapters(state, only_attention=only_attention)
    return wrap(held), merged_by_hand(held)


def load(
    folder: Path,
    publication: type[PublishedWeights],
    held: Any,
    state: State,
    base: str | None = None,
    **arguments: Any,
) -> Backbone:
    """Writes the file and loads it as its publication's; `base.pt` is what CLoVe came from."""
    torch.save(held, folder / "published.pt")
    own = {}
    if publication is CLoVe:
        own["base"] = base or str(folder / "base.pt")
        torch.save(clove_base(state), folder / "base.pt")
    settings = {"name": "zoo-tiny", "activation": "quickgelu"} | arguments
    return Backbone(pretrained=publication(str(folder / "published.pt"), **own), **settings)


def same(backbone: Backbone, expected: State) -> None:
    found = backbone.model.state_dict()
    assert found.keys() == expected.keys()
    for key, tensor in expected.items():
        torch.testing.assert_close(found[key], tensor, rtol=1e-5, atol=1e-6, msg=key)


@pytest.mark.parametrize("kind", FILES)
def test_a_published_file_gives_the_weights_made_by_hand(
    tmp_path: Path, state: State, kind: str
) -> None:
    publication, make = FILES[kind]
    held, expected = make(state)
    same(load(tmp_path, publication, held, state), expected)


def test_merging_moves_the_weights(state: State) -> None:
    held = with_adapters(state)
    moved = [
        key for key, tensor in merged_by_hand(held).items() if not torch.equal(tensor, state[key])
    ]
    assert len(moved) == 4 * (3 + 3) + 1
    assert len(held) - len(state) == 2 * len(moved)


def test_the_rank_is_that_of_the_file(tmp_path: Path, state: State) -> None:
    held = with_adapters(state, rank=2)
    same(load(tmp_path, TSVLC, as_trained(held), state), merged_by_hand(held, rank=2))


def test_merged_weights_act_as_weights_and_adapters_do(tmp_path: Path, state: State) -> None:
    held = with_adapters(state)
    visual = load(tmp_path, DAC, as_trained(held), state).model.visual
    x, block = torch.randn(5, 96), "visual.transformer.resblocks.1"
    weight, bias, a, b = (
        held[f"{block}.mlp.c_fc.{name}"] for name in ("weight", "bias", "lora_A", "lora_B")
    )
    expected = x @ weight.T + bias + x @ a.T @ b.T / RANK
    torch.testing.assert_close(
        visual.transformer.resblocks[1].mlp.c_fc(x), expected, rtol=1e-4, atol=1e-5
    )


WRONG = {
    "LoRA as plain weights": (
        FSCCLIP,
        lambda s: as_trained(with_adapters(s)),
        "50 LoRA tensors",
    ),
    "plain weights as LoRA": (TSVLC, as_trained, "no LoRA tensors"),
    "CS-CLIP's by NegCLIP's": (
        NegCLIP,
        lambda s: FILES["CS-CLIP"][1](s)[0],
        "begin with 'model.'.*it has head.logit_scale outside of the model",
    ),
    "NegCLIP's by CS-CLIP's": (CSCLIP, as_trained, "begin with ''.*no head.logit_scale"),
    "NegCLIP's by CLoVe's": (CLoVe, as_trained, "77 text positions and not 64"),
    "CLoVe's by NegCLIP's": (
        NegCLIP,
        lambda s: as_trained(cut(s)),
        "1 of another shape: positional_embedding",
    ),
    "leftover": (
        NegCLIP,
        lambda s: as_trained({**s, "adapter.weight": torch.ones(1)}),
        "1 unexpected: adapter.weight",
    ),
    "leftover beside LoRA": (
        DAC,
        lambda s: as_trained({**with_adapters(s), "extra": torch.ones(1)}),
        "1 unexpected: extra",
    ),
    "missing": (
        FSCCLIP,
        lambda s: as_trained({k: v for k, v in s.items() if k != "visual.proj"}),
        "1 missing: visual.proj",
    ),
    "a twin missing": (
        TSVLC,
        lambda s: as_trained(
            {k: v for k, v in with_adapters(s).items() if k != "visual.conv1.lora_B"}
        ),
        "visual.conv1.lora_A without visual.conv1.lora_B",
    ),
    "an adapter of nothing": (
        TSVLC,
        lambda s: as_trained(
            {**with_adapters(s), "mlp.lora_A": torch.ones(4, 3), "mlp.lora_B": torch.ones(2, 4)}
        ),
        "mlp.lora_A without mlp.weight",
    ),
    "ranks that differ": (
        TSVLC,
        lambda s: as_trained({**with_adapters(s), "visual.conv1.lora_A": torch.ones(16, 24)}),
        r"visual.conv1.lora_A \(16, 24\) and \(768, 32\) for a weight of \(96, 3, 8, 8\)",
    ),
    "adapters of rank 0": (
        TSVLC,
        lambda s: as_trained(
            {
                **with_adapters(s),
                "visual.conv1.lora_A": torch.ones(0, 24),
                "visual.conv1.lora_B": torch.ones(768, 0),
            }
        ),
        r"visual.conv1.lora_A \(0, 24\) and \(768, 0\)",
    ),
    "adapters of a vector": (
        TSVLC,
        lambda s: as_trained(
            {
                **with_adapters(s),
                "ln_final.lora_A": torch.ones(4, 96),
                "ln_final.lora_B": torch.ones(96, 4),
            }
        ),
        r"ln_final.lora_A \(4, 96\) and \(96, 4\) for a weight of \(96,\)",
    ),
    "adapters that are no matrices": (
        TSVLC,
        lambda s: as_trained({**with_adapters(s), "visual.conv1.lora_A": torch.ones(32)}),
        r"visual.conv1.lora_A \(32,\)",
    ),
    "other towers": (
        CLoVe,
        lambda s: as_trained({**cut(s), "visual.proj": torch.ones(2, 2)}),
        r"visual.proj \(96, 128\) and \(2, 2\)",
    ),
    "code": (
        NegCLIP,
        lambda s: {**as_trained(s), "args": Path("x")},
        "cannot be read as weights",
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_another_publications_file_is_an_error_that_lists_what_is_wrong(
    tmp_path: Path, state: State, fault: str
) -> None:
    publication, make, message = WRONG[fault]
    with pytest.raises(ZooError, match=message) as raised:
        load(tmp_path, publication, make(state), state)
    assert "published.pt" in str(raised.value)


def test_adapters_without_a_publication_are_an_error_that_names_the_mend(
    tmp_path: Path, state: State
) -> None:
    torch.save(as_trained(with_adapters(state)), tmp_path / "tsvlc.pt")
    with pytest.raises(ZooError, match=r"50 unexpected: .*lora_.*to their publication"):
        Backbone("zoo-tiny", pretrained=str(tmp_path / "tsvlc.pt"))


class Theirs(PublishedWeights):
    """A publication from outside, whose argument has a name of its own."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)


def test_a_publication_wants_a_file(tmp_path: Path) -> None:
    for path in ("openai", str(tmp_path / "absent.pt")):
        with pytest.raises(
            ZooError, match=r"backbone\.pretrained\.path of TSVLC is .*does not exist"
        ):
            Backbone("zoo-tiny", pretrained=TSVLC(path))
    with pytest.raises(ZooError, match=r"TSVLC, a publication.* set backbone\.pretrained\.path"):
        Backbone("zoo-tiny", pretrained="TSVLC")
    for path in ("zoo.backbones.published.TSVLC", f"{__name__}.Theirs"):  # of others too
        with pytest.raises(ZooError, match=r"a publication.* set backbone\.pretrained\.\w+$"):
            Backbone("zoo-tiny", pretrained=path)


def test_clove_wants_the_weights_that_it_came_from(tmp_path: Path, state: State) -> None:
    with pytest.raises(
        ZooError,
        match=r"backbone\.pretrained\.base 'openai' is neither a file nor weights of zoo-tiny",
    ):
        load(tmp_path, CLoVe, as_trained(cut(state)), state, base="openai")


def test_a_publication_brings_the_activation_that_all_its_files_share(
    tmp_path: Path, state: State
) -> None:
    held = as_trained(state)
    assert load(tmp_path, NegCLIP, held, state, activation=None).activation == "quickgelu"
    assert load(tmp_path, NegCLIP, held, state, activation="gelu").activation == "gelu"


def test_a_context_of_a_publication_outlives_the_file(tmp_path: Path, state: State) -> None:
    backbone = load(tmp_path, CLoVe, as_trained(cut(state)), state)
    assert backbone.context == 64
    assert backbone.tokenizer(["a dog"])[0].shape == (1, 64)
    assert to_config(backbone)["init_args"]["pretrained"] == {
        "class_path": "zoo.backbones.published.CLoVe",
        "init_args": {"path": str(tmp_path / "published.pt"), "base": str(tmp_path / "base.pt")},
    }
    again = Backbone(**backbone.recorded_arguments | {"pretrained": None})
    again.load_state_dict(backbone.state_dict())
    assert again.context == 64


@pytest.mark.parametrize("positions", [77, 64])
def test_two_towers_of_hugging_face_become_one_model(tmp_path: Path, positions: int) -> None:
    """TripletCLIP's: a folder a tower, names under `model.`.

    What open_clip's model gives is what Hugging Face's towers give.
    """
    image_tower, text_tower = towers(tmp_path, positions)
    context = None if positions == 77 else positions
    backbone = Backbone(
        "zoo-tiny",
        TripletCLIP(str(tmp_path)),
        activation="quickgelu",
        text=TextInput(context_length=context),
    ).eval()
    ids, lengths, hashes = backbone.tokenizer(["a dog", "two horses in a field"])
    images = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(
            backbone.encode_images(images).pooled,
            image_tower(images).image_embeds,
            rtol=1e-4,
            atol=1e-5,
        )
        expected = text_tower(ids).text_embeds
        torch.testing.assert_close(
            backbone.encode_texts(TextBank(ids, lengths, hashes)).pooled,
            expected,
            rtol=1e-4,
            atol=1e-5,
        )
    assert backbone.shapes.scale == pytest.approx(1 / 0.07)


def towers(folder: Path, positions: int = 77) -> tuple[Any, Any]:
    """Writes TripletCLIP's two folders and returns their towers, of zoo-tiny's size."""
    from transformers import (
        CLIPTextConfig,
        CLIPTextModelWithProjection,
        CLIPVisionConfig,
        CLIPVisionModelWithProjection,
    )

    torch.manual_seed(1)
    sizes = {
        "hidden_size": 96,
        "intermediate_size": 384,
        "num_hidden_layers": 3,
        "num_attention_heads": 3,
        "projection_dim": 128,
    }
    image_tower = CLIPVisionModelWithProjection(
        CLIPVisionConfig(image_size=64, patch_size=8, **sizes)
    ).eval()
    text_tower = CLIPTextModelWithProjection(
        CLIPTextConfig(max_position_embeddings=positions, **sizes)
    ).eval()
    for name, tower in (("vision-encoder", image_tower), ("text-encoder", text_tower)):
        (folder / name).mkdir()
        held = {
            f"model.{key}": tensor + 0.02 * torch.randn_like(tensor)
            for key, tensor in tower.state_dict().items()
        }
        tower.load_state_dict({key.removeprefix("model."): tensor for key, tensor in held.items()})
        save_file(held, folder / name / "model.safetensors")
    return image_tower, text_tower


def test_towers_that_are_not_whole_are_errors(tmp_path: Path) -> None:
    towers(tmp_path)
    with pytest.raises(ZooError, match="ViT-B-32 exists with both"):
        Backbone("ViT-B-32", TripletCLIP(str(tmp_path)))
    file = tmp_path / "text-encoder" / "model.safetensors"
    held = read(file)
    save_file(
        {key: tensor for key, tensor in held.items() if "1.self_attn.k_proj.bias" not in key}, file
    )
    with pytest.raises(
        ZooError, match=r"without text_model\.encoder\.layers\.1\.self_attn\.k_proj\.bias"
    ):
        Backbone("zoo-tiny", TripletCLIP(str(tmp_path)))
    save_file({**held, "model.text_model.adapter": torch.ones(2)}, file)
    with pytest.raises(ZooError, match=r"1 unexpected: text_model\.adapter"):
        Backbone("zoo-tiny", TripletCLIP(str(tmp_path)))
    file.unlink()
    with pytest.raises(ZooError, match=r"has no text-encoder/model\.safetensors"):
        Backbone("zoo-tiny", TripletCLIP(str(tmp_path)))


def read(file: Path) -> State:
    from safetensors.torch import load_file

    return load_file(file)


@pytest.mark.slow
def test_no_publication_needs_peft() -> None:
    program = (
        "import sys; sys.modules['peft'] = None; "
        "from zoo.backbones.published.loralib import merge_loralib_adapters;"
        "from pathlib import Path; import torch;"
        "w, a, b = torch.zeros(3, 2), torch.ones(1, 2), torch.ones(3, 1);"
        "state = {'c.weight': w, 'c.lora_A': a, 'c.lora_B': b};"
        "assert merge_loralib_adapters(Path('x'), state)['c.weight'].eq(1).all()"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def broken(**members: Any) -> type[PublishedWeights]:
    return type("Broken", (PublishedWeights,), members)


@pytest.mark.parametrize(
    ("publication", "message"),
    [
        (
            broken(activation="relu"),
            r"activation is 'relu': give it gelu, quickgelu or None",
        ),
        (
            broken(state=lambda self, name: None),
            r"Broken\.state returned a NoneType: .*of tensors",
        ),
        (broken(state=lambda self, name: {"visual.proj": 3}), r"a dict with 'visual\.proj': int"),
        (broken(__init__=lambda self, path: None), r"has no path: .*super\(\)\.__init__\(path\)"),
    ],
)
def test_a_class_from_outside_that_breaks_its_contract_is_told_so_in_a_sentence(
    tmp_path: Path, state: State, publication: type[PublishedWeights], message: str
) -> None:
    torch.save(state, tmp_path / "published.pt")
    with pytest.raises(ZooError, match=message):
        Backbone("zoo-tiny", publication(str(tmp_path / "published.pt")))


def test_a_publication_is_given_in_python_as_an_object_or_as_a_recipe_has_it(
    tmp_path: Path, state: State
) -> None:
    file = str(tmp_path / "negclip.pt")
    torch.save(as_trained(state), file)
    described = {"class_path": "zoo.backbones.published.NegCLIP", "init_args": {"path": file}}
    for pretrained in (NegCLIP(file), described):
        same(zoo.load("zoo-tiny", pretrained, activation="gelu").module.backbone, state)


def test_a_publication_is_named_on_the_command_line_with_arguments_of_its_own(
    tmp_path: Path, made_root: Path
) -> None:
    recipe = ["fit", "--config", str(made_root / "recipe.yaml"), "--model.backbone.pretrained"]
    path = ["--model.backbone.pretrained.path", "clove.pt"]
    given = parse_settings(
        [*recipe, "CLoVe", *path, "--model.backbone.pretrained.base", "base.pt"]
    ).model.backbone.init_args.pretrained
    assert given.class_path == "zoo.backbones.published.CLoVe"
    assert vars(given.init_args) == {"path": "clove.pt", "base": "base.pt"}
    # a later one takes its place, with none of its arguments
    after = parse_settings([*recipe, "CLoVe", *path, recipe[3], "openai"])
    assert after.model.backbone.init_args.pretrained == "openai"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in FILES if "four" not in kind])
def test_published_files_of_their_real_size_load(tmp_path: Path, kind: str) -> None:
    state = random_state("ViT-B-32-quickgelu")
    publication, make = FILES[kind]
    held, expected = make(state)
    if kind == "TSVLC":
        added = [tensor.numel() for key, tensor in held["state_dict"].items() if "lora" in key]
        assert (len(added), sum(added)) == (194, 4_141_056)
    if kind == "CS-CLIP":
        assert len(held) == 303
    same(load(tmp_path, publication, held, state, name="ViT-B-32-quickgelu"), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "width"),
    [("ViT-B-32-quickgelu", 512), ("ViT-B-16-quickgelu", 512), ("ViT-L-14-quickgelu", 768)],
)
def test_labclips_files_of_their_real_size_load(tmp_path: Path, name: str, width: int) -> None:
    held = {
        "t": torch.tensor(4.27),
        "linear.weight": torch.eye(width) + 0.1 * torch.randn(width, width),
    }
    torch.save(held, tmp_path / "labclip.pt")
    head = Linear(weights=str(tmp_path / "labclip.pt"))
    head.attach(Backbone(name).shapes)
    assert head.text_map is not None
    assert torch.equal(head.text_map.weight, held["linear.weight"])
    assert head.scale.item() == pytest.approx(71.52, rel=1e-3)


# names of one block and around it, in the code of EVA-02-CLIP and in timm's
EVA_NAMES = {
    **{f"norm{k}.{part}": f"norm{k}.{part}" for k in (1, 2) for part in ("weight", "bias")},
    **{f"attn.{q}_proj.weight": f"attn.{q}_proj.weight" for q in "qkv"},
    "attn.q_bias": "attn.q_proj.bias",
    "attn.v_bias": "attn.v_proj.bias",
    **{f"attn.proj.{part}": f"attn.proj.{part}" for part in ("weight", "bias")},
    **{f"attn.inner_attn_ln.{part}": f"attn.norm.{part}" for part in ("weight", "bias")},
    **{
        f"mlp.{theirs}.{part}": f"mlp.{ours}.{part}"
        for theirs, ours in (("w1", "fc1_g"), ("w2", "fc1_x"), ("w3", "fc2"), ("ffn_ln", "norm"))
        for part in ("weight", "bias")
    },
}
TABLES = ("rope.freqs_cos", "blocks.0.attn.rope.freqs_sin")  # which are in no state of timm's


def test_fineclips_image_tower_is_renamed_as_timm_renames_eva_02s(tmp_path: Path) -> None:
    timm = pytest.importorskip("timm")
    from timm.models.eva import checkpoint_filter_fn

    torch.manual_seed(0)
    tower = timm.create_model(
        "eva02_base_patch16_clip_224", embed_dim=48, depth=2, num_heads=3, num_classes=8
    )
    trunk = tower.state_dict()
    outside = {key: value for key, value in trunk.items() if not key.startswith("blocks.")}
    published = {f"visual.{key}": value for key, value in outside.items()}
    published |= {
        f"visual.blocks.{i}.{theirs}": trunk[f"blocks.{i}.{ours}"]
        for i in range(2)
        for theirs, ours in EVA_NAMES.items()
    }
    published |= {f"visual.{key}": torch.zeros(4) for key in TABLES}
    text = {"text.ln_final.bias": torch.ones(3), "logit_scale": torch.tensor(4.0)}
    torch.save({"state_dict": published | text, "epoch": 10}, tmp_path / "fine.pt")
    found = FineCLIP(str(tmp_path / "fine.pt")).state("EVA02-B-16")
    assert found.keys() == {*(f"visual.trunk.{key}" for key in trunk), *text}
    by_timm = checkpoint_filter_fn(dict(published), tower)
    assert by_timm.keys() == trunk.keys()
    for key, value in by_timm.items():
        assert torch.equal(found[f"visual.trunk.{key}"], value)
        assert torch.equal(value, trunk[key])
    assert found["logit_scale"] == 4.0
