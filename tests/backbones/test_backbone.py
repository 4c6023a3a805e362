"""The backbone: chunks, frozen towers, transforms, what it records."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Augmentation, Compute, TextInput, Tuning
from zoo.batch import Encoded, TextBank, TokenKey
from zoo.errors import ZooError
from zoo.support.configurable import to_config

CAPTIONS = [
    "a dog",
    "a cat on a mat",
    "two brown horses graze in a wide green field beside a barn",
    "x",
    "a dog runs",
]
PENULTIMATE = frozenset({TokenKey(-2, norm=False, project=False)})
NONE: frozenset[TokenKey] = frozenset()


def tiny(**arguments: object) -> Backbone:
    torch.manual_seed(0)
    return Backbone("zoo-tiny", **arguments)  # type: ignore[arg-type]


def bank(backbone: Backbone) -> TextBank:
    return TextBank(*backbone.tokenizer(CAPTIONS))


def gradients(
    backbone: Backbone, keys: frozenset[TokenKey]
) -> tuple[Encoded, Encoded, dict[str, torch.Tensor]]:
    """Both sides of a small batch, and the gradients of a loss that mixes all items."""
    torch.manual_seed(1)
    images = backbone.encode_images(
        torch.randn(5, 3, 64, 64, dtype=next(backbone.parameters()).dtype), keys
    )
    texts = backbone.encode_texts(bank(backbone), keys)
    loss = (images.pooled @ texts.pooled.T).softmax(-1).diagonal().log().sum()
    for key in keys:
        loss = (
            loss
            + images.tokens[key].square().mean()
            + texts.tokens[key][texts.masks[key]].square().mean()
        )
    loss.backward()
    return (
        images,
        texts,
        {name: p.grad for name, p in backbone.named_parameters() if p.grad is not None},
    )


@pytest.fixture(scope="module")
def unchunked() -> tuple[Encoded, Encoded, dict[str, torch.Tensor]]:
    return gradients(tiny().double(), PENULTIMATE)


@pytest.mark.parametrize("chunk", [1, 2, 9])
def test_chunks_change_neither_vectors_nor_tokens_nor_gradients(
    chunk: int, unchunked: tuple[Encoded, Encoded, dict[str, torch.Tensor]]
) -> None:
    whole_images, whole_texts, whole = unchunked
    images, texts, chunked = gradients(tiny(compute=Compute(chunk)).double(), PENULTIMATE)
    for ours, theirs in ((images, whole_images), (texts, whole_texts)):
        assert torch.allclose(ours.pooled, theirs.pooled, atol=1e-10)
        for key in PENULTIMATE:
            assert torch.equal(ours.masks[key], theirs.masks[key])
            assert torch.allclose(
                ours.tokens[key][ours.masks[key]], theirs.tokens[key][theirs.masks[key]], atol=1e-10
            )
    assert chunked.keys() == whole.keys()
    for name, gradient in whole.items():
        assert torch.allclose(chunked[name], gradient, atol=1e-9), name


def test_channels_side_by_side_change_last_digits_alone() -> None:
    images = torch.randn(2, 3, 64, 64)
    found = []
    for last in (False, True):
        torch.manual_seed(0)
        backbone = Backbone("zoo-tiny", compute=Compute(channels_last=last))
        weight = backbone.model.visual.conv1.weight
        assert weight.is_contiguous(memory_format=torch.channels_last) is last
        found.append(backbone.encode_images(images).pooled)
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def test_a_chunked_tower_sees_no_more_items_than_its_chunk() -> None:
    backbone, seen = tiny(compute=Compute(2)), []
    backbone.model.visual.register_forward_hook(lambda _m, args, _o: seen.append(len(args[0])))
    backbone.encode_images(torch.randn(5, 3, 64, 64))
    assert seen == [2, 2, 1]


def test_a_chunk_of_texts_has_the_tokens_of_a_chunk_of_images() -> None:
    backbone, seen = tiny(compute=Compute(1)), []
    patches = backbone.shapes.patches or 0
    backbone.model.transformer.resblocks[0].register_forward_hook(
        lambda _m, args, _o: seen.append(tuple(args[0].shape[:2]))
    )
    backbone.encode_texts(TextBank(*backbone.tokenizer([f"a dog {i}" for i in range(9)])))
    (length,) = {length for _, length in seen}
    rows = patches // length
    assert 1 < rows < 9
    assert [n for n, _ in seen] == [rows] * (9 // rows) + [9 % rows] * (9 % rows > 0)


def test_texts_are_encoded_without_attention_that_plans_for_each_shape() -> None:
    backbone, seen = tiny(), list[bool]()
    for tower in (backbone.model.visual, backbone.model):
        tower.transformer.resblocks[0].register_forward_hook(
            lambda *_: seen.append(torch.backends.cuda.cudnn_sdp_enabled())
        )
    backbone.encode_images(torch.randn(1, 3, 64, 64))
    backbone.encode_texts(bank(backbone))
    assert seen[0]
    assert len(seen) > 1
    assert not any(seen[1:])
    assert torch.backends.cuda.cudnn_sdp_enabled()


@pytest.mark.parametrize("tune", ["both", "image", "text", "none"])
@pytest.mark.parametrize("custom_text", [False, True])
def test_a_frozen_tower_is_frozen_whole(tmp_path: Path, tune: str, custom_text: bool) -> None:
    backbone = Backbone(
        same_in_other_class(tmp_path) if custom_text else "zoo-tiny", tuning=Tuning(tune)
    )  # type: ignore[arg-type]
    listed = backbone.freeze_unused(NONE, NONE, pooled=True)
    trained = {"both": {"image", "text"}, "image": {"image"}, "text": {"text"}, "none": set()}[tune]
    for name, parameter in backbone.named_parameters():
        expected = backbone.tower_of_parameter(name) in trained and name != "model.logit_scale"
        assert parameter.requires_grad == expected, name
        assert (name in listed) != expected, name
    assert backbone.tower_of_parameter("model.visual.class_embedding") == "image"
    assert (
        backbone.tower_of_parameter(
            "model.text.token_embedding.weight" if custom_text else "model.token_embedding.weight"
        )
        == "text"
    )


def same_in_other_class(folder: Path) -> str:
    """zoo-tiny as open_clip's CustomTextCLIP, whose text tower has names of its own."""
    import zoo.backbones.factory

    config = json.loads((zoo.backbones.factory.SHIPPED / "zoo-tiny.json").read_text()) | {
        "custom_text": True
    }
    file = folder / "tiny-other-class.json"
    file.write_text(json.dumps(config))
    return str(file)


@pytest.mark.parametrize("tune", ["image", "text"])
def test_a_step_changes_nothing_of_a_frozen_tower(tune: str) -> None:
    backbone = tiny(tuning=Tuning(tune))
    backbone.freeze_unused(NONE, NONE, pooled=True)
    before = {name: p.detach().clone() for name, p in backbone.named_parameters()}
    optimizer = torch.optim.AdamW(
        [p for p in backbone.parameters() if p.requires_grad], lr=0.1, weight_decay=0.1
    )
    gradients(backbone, NONE)
    optimizer.step()
    changed = {
        backbone.tower_of_parameter(name)
        for name, p in backbone.named_parameters()
        if not torch.equal(before[name], p)
    }
    assert changed == {tune}


def test_a_frozen_tower_keeps_no_graph_and_stays_in_evaluation_mode() -> None:
    backbone = tiny(tuning=Tuning("text")).train()
    assert not backbone.encode_images(torch.randn(2, 3, 64, 64)).pooled.requires_grad
    assert backbone.encode_texts(bank(backbone)).pooled.requires_grad
    assert not any(m.training for m in backbone.model.visual.modules())
    assert all(m.training for m in backbone.model.transformer.modules())
    assert not any(
        m.training for m in tiny(tuning=Tuning("image")).train().model.transformer.modules()
    )


def test_what_no_output_reaches_is_frozen_and_the_rest_gets_a_gradient() -> None:
    backbone = tiny()
    frozen = backbone.freeze_unused(PENULTIMATE, PENULTIMATE, pooled=False)
    assert {
        "model.visual.proj",
        "model.visual.ln_post.weight",
        "model.ln_final.bias",
        "model.text_projection",
        "model.logit_scale",
    } < set(frozen)
    assert "model.visual.transformer.resblocks.2.mlp.c_fc.weight" in frozen
    assert "model.transformer.resblocks.2.attn.in_proj_weight" in frozen
    images, texts = (
        backbone.encode_images(torch.randn(2, 3, 64, 64), PENULTIMATE),
        backbone.encode_texts(bank(backbone), PENULTIMATE),
    )
    sum(t.square().sum() for e in (images, texts) for t in e.tokens.values()).backward()  # type: ignore[union-attr]
    assert [n for n, p in backbone.named_parameters() if p.grad is None] == frozen


def test_pooled_vectors_keep_the_last_block_trained() -> None:
    assert tiny().freeze_unused(PENULTIMATE, PENULTIMATE, pooled=True) == ["model.logit_scale"]


def test_batch_norm_runs_on_frozen_statistics_unless_told_otherwise(tmp_path: Path) -> None:
    config = {
        "embed_dim": 48,
        "vision_cfg": {"image_size": 32, "width": 64, "layers": [1, 1, 1, 1]},
        "text_cfg": {"width": 64, "heads": 2, "layers": 1, "vocab_size": 512},
    }
    file = tmp_path / "tiny-resnet.json"
    file.write_text(json.dumps(config))
    for choice, moves in (("frozen", False), ("updated", True)):
        backbone = Backbone(str(file), tuning=Tuning(batch_norm=choice)).train()  # type: ignore[arg-type]
        before = backbone.model.visual.bn1.running_mean.clone()
        backbone.encode_images(torch.randn(4, 3, 32, 32))
        assert torch.equal(before, backbone.model.visual.bn1.running_mean) != moves
        assert backbone.model.visual.bn1.weight.requires_grad
    with pytest.raises(ZooError, match="BatchNorm"):
        Backbone(str(file), tuning=Tuning(batch_norm="updated"), compute=Compute(2))
    Backbone(str(file), tuning=Tuning(batch_norm="frozen"), compute=Compute(2))


def test_a_chunk_of_nothing_is_refused() -> None:
    with pytest.raises(ZooError, match=r"Compute\(chunk=0\): give a whole number from 1 up"):
        tiny(compute=Compute(0))


def test_shapes_say_what_heads_must_know() -> None:
    shapes = tiny().shapes
    assert (shapes.width, shapes.image_width, shapes.text_width) == (128, 96, 96)
    assert (shapes.patches, shapes.prefix, shapes.context, shapes.bias) == (64, 1, 77, None)
    assert shapes.scale == pytest.approx(1 / 0.07, rel=1e-6)


def test_a_scale_written_back_is_the_models_own() -> None:
    backbone = tiny()
    backbone.write_scale_and_bias(42.0, None)
    assert backbone.shapes.scale == pytest.approx(42.0)
    with pytest.raises(ZooError, match="no logit_bias"):
        backbone.write_scale_and_bias(42.0, -3.0)


def test_a_shorter_context_holds_for_tokenizer_and_tower() -> None:
    backbone = tiny(text=TextInput(context_length=20))
    ids, lengths, _ = backbone.tokenizer(["word " * 50])
    assert ids.shape == (1, 20)
    assert lengths.tolist() == [20]
    assert backbone.encode_texts(TextBank(*backbone.tokenizer(CAPTIONS))).pooled.shape == (5, 128)
    assert backbone.text_lengths == [8, 16, 20]


def test_crops_are_a_function_of_torchs_generator_and_evaluation_has_none() -> None:
    backbone = tiny()
    picture = Image.effect_noise((90, 70), 50).convert("RGB")
    transform = pickle.loads(pickle.dumps(backbone.train_transform))
    torch.manual_seed(3)
    first, other = transform(picture), transform(picture)
    torch.manual_seed(3)
    assert torch.equal(first, backbone.train_transform(picture))
    assert not torch.equal(first, other)
    assert torch.equal(backbone.eval_transform(picture), backbone.eval_transform(picture))
    assert torch.equal(
        tiny(augmentation=None).train_transform(picture), backbone.eval_transform(picture)
    )
    assert first.shape == (3, 64, 64)


def test_images_of_any_size_are_resized_as_they_would_be_by_the_towers_own_transform() -> None:
    backbone = tiny()
    soft = Image.effect_noise((12, 9), 60).convert("RGB").resize((224, 168), Image.BILINEAR)
    square = backbone.square_transform(168)(soft)
    assert square.shape == (3, 168, 168)
    crop = soft.crop((28, 0, 196, 168))
    found = backbone.resize_images([square, square[:, :32, 56:112], square[:, 64:128, 64:128]])
    assert found.shape == (3, 3, 64, 64)
    left = crop.crop((56, 0, 112, 32)).resize((64, 64), Image.BICUBIC)
    # of pixels that PIL rounds to 1/255, over a standard deviation of 0.26
    torch.testing.assert_close(found[0], backbone.eval_transform(crop), rtol=0, atol=0.02)
    torch.testing.assert_close(found[1], backbone.eval_transform(left), rtol=0, atol=0.02)
    assert torch.equal(found[2], square[:, 64:128, 64:128]), "what has the tower's size stays"


@pytest.mark.parametrize(
    "scale", [(0.9, 0.1), (-1, 1), (0, 0), (2, 3), (0.5,), (0.5, float("nan"))]
)
def test_crops_of_no_share_of_an_image_are_refused(scale: tuple[float, float]) -> None:
    with pytest.raises(
        ZooError, match=r"backbone\.augmentation\.crop_scale is .*as in \[0\.9, 1\.0\]"
    ):
        tiny(augmentation=Augmentation(scale))


def test_the_activation_in_use_is_what_is_recorded() -> None:
    assert to_config(tiny())["init_args"]["activation"] == "gelu"
    assert to_config(tiny(activation="quickgelu"))["init_args"]["activation"] == "quickgelu"


@pytest.mark.slow
def test_importing_the_backbone_leaves_open_clip_for_later() -> None:
    program = "import sys, zoo.backbones.backbone; sys.exit('open_clip' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("group", "name", "argument", "value", "mend"),
    [
        (Augmentation, "augmentation", "crop_scale", [0.9, 0.1], "the least and the greatest"),
        (Augmentation, "augmentation", "crop_scale", [-1, 1], "the least and the greatest"),
        (Augmentation, "augmentation", "crop_scale", [2, 3], "the least and the greatest"),
        (Augmentation, "augmentation", "crop_scale", [0, 0], "the least and the greatest"),
        (TextInput, "text", "context_length", 2, "give a whole number from 3"),
    ],
)
def test_what_no_crop_and_no_text_can_be_is_refused(
    group: type, name: str, argument: str, value: object, mend: str
) -> None:
    with pytest.raises(ZooError, match=rf"backbone\.{name}\.{argument} is .*{mend}"):
        group(**{argument: value})


def test_a_text_alone_gives_as_many_tokens_as_it_is_cut_to() -> None:
    backbone, key = tiny(text=TextInput(context_length=20)), TokenKey()
    ids, lengths, hashes = backbone.tokenizer(["a cat", "word " * 10, "word " * 50])
    for row, cut in enumerate(backbone.trimmed_lengths(lengths).tolist()):
        one = TextBank(*(t[row : row + 1] for t in (ids, lengths, hashes)))
        assert backbone.encode_texts(one, frozenset({key})).tokens[key].shape[1] == cut
