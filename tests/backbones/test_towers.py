"""Towers give what open_clip's own forward gives, over less text."""

import copy
import itertools
import json
from pathlib import Path

import pytest
import torch
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import TextInput
from zoo.backbones.towers import group_by_length
from zoo.batch import TextBank, TokenKey
from zoo.errors import ZooError

CAPTIONS = [
    "a dog",
    "two brown horses graze in a wide green field beside a red barn",
    "x",
    "a man in a blue shirt holds a very long list of things: " + "apples, pears and plums, " * 6,
    "a dog on a mat",
    "word " * 100,
]
SMALL_TEXT = {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2}
SMALL_IMAGE = {"image_size": 32, "patch_size": 8, "width": 64, "head_width": 32, "layers": 2}
TWISTS = {
    "separate text tower": ({}, {}, {"custom_text": True}),
    "projection with a bias": ({}, {"proj_bias": True}, {"custom_text": True}),
    "no text projection": ({}, {"proj_type": "none", "width": 64}, {"embed_dim": 64}),
    "pooled at a named end token": (
        {},
        {"pool_type": "eos", "eos_id": 49407},
        {"custom_text": True},
    ),
    "normed queries and keys": ({}, {"qk_norm": True}, {}),
    "mean over patches": ({"pool_type": "avg", "final_ln_after_pool": True}, {}, {}),
}


def small(folder: Path, name: str, image: dict, text: dict, rest: dict) -> str:
    config = {
        "embed_dim": 48,
        "vision_cfg": SMALL_IMAGE | image,
        "text_cfg": SMALL_TEXT | text,
    } | rest
    file = folder / f"{name.replace(' ', '-')}.json"
    file.write_text(json.dumps(config))
    return str(file)


def bank(backbone: Backbone, texts: list[str] = CAPTIONS) -> TextBank:
    return TextBank(*backbone.tokenizer(texts))


def equals_whole_texts(backbone: Backbone, texts: TextBank) -> None:
    """Cut texts give encode_text's vectors, and the gradients of a weighted sum, in fp64."""
    backbone = copy.deepcopy(backbone).double()
    weights = torch.randn(len(texts), backbone.shapes.width, dtype=torch.float64)
    trained = [
        p
        for n, p in backbone.named_parameters()
        if backbone.tower_of_parameter(n) == "text" and p.requires_grad
    ]
    cut = backbone.encode_texts(texts).pooled
    whole = backbone.model.encode_text(texts.ids, normalize=False)
    assert whole.abs().max() > 1e-3
    assert torch.allclose(cut, whole, rtol=1e-9, atol=1e-9)
    ours = torch.autograd.grad((cut * weights).sum(), trained, allow_unused=True)
    theirs = torch.autograd.grad((whole * weights).sum(), trained, allow_unused=True)
    for mine, own in zip(ours, theirs, strict=True):
        assert (mine is None) == (own is None)
        assert mine is None or torch.allclose(mine, own, rtol=1e-8, atol=1e-8)


@pytest.fixture(scope="module")
def tiny() -> Backbone:
    torch.manual_seed(0)
    return Backbone("zoo-tiny")


def test_texts_are_cut_without_changing_vectors_or_gradients(tiny: Backbone) -> None:
    assert tiny.trims_padding
    equals_whole_texts(tiny, bank(tiny))


@pytest.mark.parametrize("twist", TWISTS)
def test_every_kind_of_causal_tower_is_cut_without_a_change(tmp_path: Path, twist: str) -> None:
    backbone = Backbone(small(tmp_path, twist, *TWISTS[twist]))
    assert backbone.trims_padding
    equals_whole_texts(backbone, bank(backbone))


def test_the_tower_really_sees_shorter_texts(
    tiny: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    whole = tiny.model.transformer.forward_intermediates

    def watched(x: Tensor, **rest: object) -> object:
        seen.append(tuple(x.shape[:2]))
        return whole(x, **rest)

    monkeypatch.setattr(tiny.model.transformer, "forward_intermediates", watched)
    tiny.encode_texts(bank(tiny))
    assert seen == [(3, 8), (1, 16), (2, 77)]


@pytest.mark.parametrize("pooler", ["mean_pooler", "cls_pooler", "cls_last_hidden_state_pooler"])
def test_a_hugging_face_tower_masks_padding_and_is_cut(tmp_path: Path, pooler: str) -> None:
    backbone = hugging_face(tmp_path, pooler)
    backbone.eval()
    assert backbone.trims_padding
    equals_whole_texts(
        backbone, bank(backbone, ["a dog", "a b c d e f g", "b a c b a c b a c b a"])
    )


def hugging_face(folder: Path, pooler: str) -> Backbone:
    """A backbone whose text tower and tokenizer come from a local folder."""
    from transformers import BertConfig, BertTokenizer

    local = folder / "bert"
    local.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefg", "dog"]
    (local / "vocab.txt").write_text("\n".join(words))
    BertTokenizer(str(local / "vocab.txt")).save_pretrained(local)
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    BertConfig(vocab_size=len(words), max_position_embeddings=64, **sizes).save_pretrained(local)
    text = {
        "hf_model_name": str(local),
        "hf_tokenizer_name": str(local),
        "hf_pooler_type": pooler,
        "hf_proj_type": "linear",
    }
    config = {"embed_dim": 48, "vision_cfg": SMALL_IMAGE, "text_cfg": text | {"context_length": 40}}
    (folder / f"bert-{folder.name}.json").write_text(json.dumps(config))
    return Backbone(str(folder / f"bert-{folder.name}.json"), text=TextInput(lengths=(4, 8)))


@pytest.mark.parametrize(
    "text",
    [{"no_causal_mask": True, "pool_type": "last", "proj_bias": True}, {"embed_cls": True}],
    ids=["sees padding", "class token"],
)
def test_towers_that_see_padding_are_never_cut(tmp_path: Path, text: dict) -> None:
    backbone = Backbone(small(tmp_path, f"whole{len(text)}", {}, text, {"custom_text": True}))
    texts = bank(backbone)
    assert not backbone.trims_padding
    assert torch.allclose(
        backbone.encode_texts(texts).pooled, backbone.model.encode_text(texts.ids), atol=1e-6
    )


def test_text_tokens_are_what_hooks_see(tiny: Backbone) -> None:
    keys = frozenset(
        {
            TokenKey(-1, False, False),
            TokenKey(-2, True, False),
            TokenKey(1, False, False),
            TokenKey(),
        }
    )
    seen: list[Tensor] = []
    hooks = [
        block.register_forward_hook(lambda _m, _i, out: seen.append(out))
        for block in tiny.model.transformer.resblocks
    ]
    texts = bank(tiny)
    with torch.no_grad():
        tiny.model.encode_text(texts.ids)
        for hook in hooks:
            hook.remove()
        got = tiny.encode_texts(texts, keys)
    norm, projection = tiny.model.ln_final, tiny.model.text_projection
    expected = {
        TokenKey(-1, False, False): seen[2],
        TokenKey(-2, True, False): norm(seen[1]),
        TokenKey(1, False, False): seen[1],
        TokenKey(): norm(seen[2]) @ projection,
    }
    assert got.tokens.keys() == got.masks.keys() == keys
    for key, tokens in expected.items():
        real = got.masks[key]
        assert real.sum(-1).tolist() == texts.lengths.tolist()
        assert torch.allclose(got.tokens[key][real], tokens[:, : real.shape[1]][real], atol=1e-5)
    ends = got.tokens[TokenKey()][torch.arange(len(texts)), texts.lengths - 1]
    assert torch.allclose(ends, got.pooled, atol=1e-6)


def test_image_tokens_are_what_hooks_see_and_pooled_is_encode_image(tiny: Backbone) -> None:
    keys = frozenset(
        {
            TokenKey(-1, False, False),
            TokenKey(-2, False, False, True),
            TokenKey(0, True, True),
            TokenKey(-1, True, True, True),
        }
    )
    seen: list[Tensor] = []
    hooks = [
        block.register_forward_hook(lambda _m, _i, out: seen.append(out))
        for block in tiny.model.visual.transformer.resblocks
    ]
    images = torch.randn(3, 3, 64, 64)
    with torch.no_grad():
        pooled = tiny.model.encode_image(images)
        for hook in hooks:
            hook.remove()
        got = tiny.encode_images(images, keys)
    norm, projection = tiny.model.visual.ln_post, tiny.model.visual.proj
    expected = {
        TokenKey(-1, False, False): seen[2][:, 1:],
        TokenKey(-2, False, False, True): seen[1],
        TokenKey(0, True, True): norm(seen[0][:, 1:]) @ projection,
        TokenKey(-1, True, True, True): norm(seen[2]) @ projection,
    }
    assert got.tokens.keys() == got.masks.keys() == keys
    for key, tokens in expected.items():
        assert torch.allclose(got.tokens[key], tokens, atol=1e-6)
        assert got.masks[key].shape == tokens.shape[:2]
        assert got.masks[key].all()
    assert torch.equal(got.pooled, pooled)
    assert torch.allclose(got.tokens[TokenKey(-1, True, True, True)][:, 0], pooled, atol=1e-6)


OTHER = "or choose another backbone.name"
LAYERS = f"since it has 3 blocks: set layer of the head or objective to one from -3 to -1, {OTHER}"
REFUSED = [
    (TokenKey(3, False, False), f"tokens of layer 3, {LAYERS}"),
    (TokenKey(-4, False, False), f"tokens of layer -4, {LAYERS}"),
    (
        TokenKey(-1, False, True),
        "projected tokens, since its projection follows its final norm: "
        "let the head or objective ask for norm=True, or for project=False, " + OTHER,
    ),
]


@pytest.mark.parametrize(("key", "reason"), REFUSED)
def test_tokens_that_a_tower_lacks_are_refused_with_the_arguments_that_mend_it(
    tiny: Backbone, key: TokenKey, reason: str
) -> None:
    with pytest.raises(ZooError, match=f"^the image tower of zoo-tiny cannot give {reason}$"):
        tiny.check_token_keys(frozenset({key}), frozenset())
    with pytest.raises(ZooError, match=f"^the text tower of zoo-tiny cannot give {reason}$"):
        tiny.freeze_unused(frozenset(), frozenset({key}), True)


def test_a_tower_without_a_cls_patch_says_which_argument_asked_for_it(tiny: Backbone) -> None:
    with pytest.raises(
        ZooError,
        match=f"a CLS patch, since .*: set cls_patch of the head or objective to false, {OTHER}$",
    ):
        tiny.check_token_keys(frozenset(), frozenset({TokenKey(prefix=True)}))


def test_a_resnet_says_that_it_has_no_tokens(tmp_path: Path) -> None:
    backbone = Backbone(
        small(tmp_path, "resnet", {"layers": [1, 1, 1, 1], "patch_size": None}, {}, {})
    )
    assert backbone.shapes.patches is None
    with pytest.raises(
        ZooError,
        match=r"cannot give patches, since it has no tokens to give: "
        r"choose another backbone\.name$",
    ):
        backbone.check_token_keys(frozenset({TokenKey()}), frozenset())
    assert backbone.encode_images(torch.randn(2, 3, 32, 32)).pooled.shape == (2, 48)


def test_a_timm_transformer_gives_normed_patches_but_no_projected_ones(tmp_path: Path) -> None:
    image = {
        "timm_model_name": "vit_tiny_patch16_224",
        "timm_pool": "token",
        "timm_proj": "linear",
        "image_size": 224,
    }
    backbone = Backbone(small(tmp_path, "timm", image, {}, {}))
    images, key = torch.randn(2, 3, 224, 224), TokenKey(-1, True, False, True)
    backbone.eval()
    with torch.no_grad():
        got = backbone.encode_images(images, frozenset({key}))
        assert torch.allclose(got.pooled, backbone.model.encode_image(images), atol=1e-5)
        assert torch.allclose(
            got.tokens[key], backbone.model.visual.trunk.forward_features(images), atol=1e-5
        )
    assert (backbone.shapes.patches, backbone.shapes.prefix, backbone.shapes.image_width) == (
        196,
        1,
        192,
    )
    with pytest.raises(
        ZooError,
        match="attention before it projects: where FSCCLIP asks, "
        f"set its project to false, {OTHER}$",
    ):
        backbone.check_token_keys(frozenset({TokenKey()}), frozenset())


def test_texts_are_grouped_by_the_shortest_length_that_holds_them() -> None:
    groups = group_by_length(torch.tensor([3, 8, 9, 77, 16, 2]), [8, 16, 24, 77])
    assert [(cut, rows.tolist()) for cut, rows in groups] == [
        (8, [0, 1, 5]),
        (16, [2, 4]),
        (77, [3]),
    ]


@pytest.mark.parametrize(
    ("most", "cuts"), [(1, [77]), (2, [24, 77]), (3, [16, 24, 77]), (4, [8, 16, 24, 77])]
)
def test_at_most_so_many_groups_have_the_fewest_tokens(most: int, cuts: list[int]) -> None:
    """One text fits in 8 tokens, four in 16, one in 24 and one in 77.

    Two groups of up to 24 and 77 tokens have 6 x 24 + 77 = 221, of 16 and 77: 5 x 16 + 2 x 77.
    """
    lengths = torch.tensor([5, 15, 16, 20, 70, 14, 12])
    allowed = [8, 16, 24, 77]
    groups = group_by_length(lengths, allowed, most)
    assert [cut for cut, _ in groups] == cuts
    assert sorted(row for _, rows in groups for row in rows.tolist()) == list(range(7))
    tokens = sum(cut * len(rows) for cut, rows in groups)
    for other in itertools.combinations(allowed[:3], most - 1):
        chosen = [*other, 77]
        assert tokens <= sum(min(c for c in chosen if c >= n) for n in lengths.tolist())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["ViT-B-32-quickgelu", "RN50-quickgelu", "convnext_base", "PE-Core-S-16-384", "EVA02-B-16"],
)
def test_published_architectures_are_cut_without_a_change(name: str) -> None:
    torch.manual_seed(0)
    backbone = Backbone(name)
    assert backbone.trims_padding
    equals_whole_texts(backbone.eval(), bank(backbone))
    images = torch.randn(2, 3, *backbone._images.size)
    with torch.no_grad():
        assert torch.equal(
            backbone.encode_images(images).pooled, backbone.model.encode_image(images)
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ViT-B-16-SigLIP", "coca_ViT-B-32"])
def test_published_architectures_that_see_padding_are_not_cut(name: str) -> None:
    backbone = Backbone(name).eval()
    ids = torch.ones(2, backbone.context, dtype=torch.long)
    ids[0, :3], ids[1, :9] = 7, 9
    texts = TextBank(ids, backbone._texts.end.lengths(ids), torch.zeros(2, dtype=torch.long))
    assert not backbone.trims_padding
    with torch.no_grad():
        assert torch.equal(
            backbone.encode_texts(texts).pooled, backbone.model.encode_text(ids, normalize=False)
        )
