"""Names, tags and activations are refused where they would have to be guessed.

No network is touched.
"""

import json
import logging
from pathlib import Path

import pytest
import torch

import zoo.backbones.factory
from zoo.backbones.backbone import Backbone
from zoo.backbones.factory import (
    activation_of,
    build,
    check_tag,
    resolve_activation,
    resolve_architecture,
)
from zoo.errors import ZooError


def settle(
    name: str,
    pretrained: str | None,
    asked: str | None = None,
    recorded: str | None = None,
    named: bool = True,
) -> str:
    return resolve_activation(
        name,
        resolve_architecture(name)[1],
        pretrained,
        asked,  # type: ignore[arg-type]
        recorded,  # type: ignore[arg-type]
        named,
    )


@pytest.mark.parametrize("tag", ["openai", "metaclip_400m", "metaclip_fullcc"])
def test_quickgelu_weights_in_a_gelu_architecture_are_refused(tag: str) -> None:
    with pytest.raises(
        ZooError,
        match=(
            r"trained with quickgelu and ViT-B-32 is built with gelu: "
            r"set backbone\.activation to quickgelu"
        ),
    ):
        settle("ViT-B-32", tag)
    assert settle("ViT-B-32", tag, asked="quickgelu") == "quickgelu"
    assert settle("ViT-B-32", tag, asked="gelu") == "gelu"
    assert settle("ViT-B-32-quickgelu", tag) == "quickgelu"


def test_gelu_weights_in_a_quickgelu_architecture_are_refused() -> None:
    with pytest.raises(ZooError, match=r"set backbone\.name to ViT-B-32"):
        check_tag("ViT-B-32-quickgelu", "laion2b_s34b_b79k")
    assert settle("ViT-B-32", "laion2b_s34b_b79k") == "gelu"


def test_a_file_that_does_not_say_is_refused_where_both_variants_exist() -> None:
    for name, named in (("ViT-B-32", True), ("ViT-B-32-quickgelu", False)):
        with pytest.raises(ZooError, match=r"file\.pt does not say.*set backbone\.activation"):
            settle(name, "file.pt", named=named)
        assert settle(name, "file.pt", asked="gelu", named=named) == "gelu"
        assert settle(name, "file.pt", recorded="quickgelu", named=named) == "quickgelu"
        assert settle(name, "file.pt", asked="gelu", recorded="quickgelu") == "gelu"
    assert settle("ViT-B-32-quickgelu", "file.pt", recorded="gelu", named=False) == "gelu"
    assert settle("ViT-B-16-SigLIP", "file.pt") == "gelu"
    assert settle("zoo-tiny", "file.pt") == "gelu"


def test_a_name_that_says_the_activation_settles_it_unless_the_file_says_another() -> None:
    assert settle("ViT-B-32-quickgelu", "file.pt") == "quickgelu"
    assert settle("ViT-B-32-quickgelu", "file.pt", recorded="quickgelu") == "quickgelu"
    with pytest.raises(
        ZooError,
        match=(
            r"file\.pt were trained with gelu and ViT-B-32-quickgelu is built with quickgelu: "
            r"set backbone\.name to ViT-B-32"
        ),
    ):
        settle("ViT-B-32-quickgelu", "file.pt", recorded="gelu")
    assert settle("ViT-B-32-quickgelu", "file.pt", asked="gelu", recorded="gelu") == "gelu"
    assert settle("ViT-B-32", "file.pt", recorded="quickgelu") == "quickgelu"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"means": [0.5, 0.5, 0.5]},
            r"'means', which is not a preprocessing setting.* \(did you mean mean",
        ),
        ({"size": 32}, r"size, and images always have the size of the image tower"),
        ({"mean": [0.5]}, r"mean \[0\.5\]: give three numbers"),
        ({"mean": 0.5}, r"mean 0\.5: give three numbers"),
        ({"mean": [0.5, float("nan"), 0.5]}, "give three numbers"),
        ({"std": [0.5, 0.0, 0.5]}, r"std .*: give three numbers above 0"),
        ({"interpolation": "nearest"}, "'nearest': give one of bicubic, bilinear, random"),
        ({"resize_mode": "squashed"}, "'squashed': give one of shortest, longest, squash"),
        ({"mode": "L"}, "'L': give one of RGB"),
        ({"fill_color": 300}, "300: give a whole number from 0 to 255"),
    ],
)
def test_a_setting_of_images_that_open_clip_would_drop_or_choke_on_is_refused(
    settings: dict[str, object], says: str
) -> None:
    with pytest.raises(ZooError, match=rf"backbone\.preprocess has .*{says}"):
        Backbone("zoo-tiny", preprocess=settings)


def test_settings_of_images_are_taken_as_they_are() -> None:
    settings = {"mean": (0.5, 0.4, 0.3), "std": [1, 1, 1], "fill_color": 9, "resize_mode": None}
    found = Backbone("zoo-tiny", preprocess=settings).preprocess
    assert (tuple(found["mean"]), list(found["std"]), found["fill_color"]) == (
        (0.5, 0.4, 0.3),
        [1, 1, 1],
        9,
    )
    assert found["resize_mode"] == "shortest"


def test_random_weights_take_the_architectures_own() -> None:
    assert settle("ViT-B-32-quickgelu", None) == "quickgelu"
    assert settle("ViT-B-32", None) == "gelu"
    assert activation_of({}) == "gelu"


@pytest.mark.parametrize(("activation", "block"), [("gelu", "GELU"), ("quickgelu", "QuickGELU")])
def test_the_towers_are_built_with_it(activation: str, block: str) -> None:
    backbone = Backbone("zoo-tiny", activation=activation)  # type: ignore[arg-type]
    for tower in (backbone.model.visual.transformer, backbone.model.transformer):
        assert {type(b.mlp.gelu).__name__ for b in tower.resblocks} == {block}


def test_unknown_names_get_near_ones() -> None:
    with pytest.raises(
        ZooError, match=r"'ViT-B-23' is not a known architecture \(did you mean .*ViT-B-32"
    ):
        resolve_architecture("ViT-B-23")
    with pytest.raises(ZooError, match=r"did you mean zoo-tiny"):
        resolve_architecture("zoo-tny")
    with pytest.raises(
        ZooError,
        match=r"'opnai' is neither a file nor weights of ViT-B-32 \(did you mean openai\?\)",
    ):
        check_tag("ViT-B-32", "opnai")
    with pytest.raises(ZooError, match="repository of the hub is given as --model lab/thing"):
        check_tag("zoo-tiny", "lab/thing")
    with pytest.raises(ZooError, match=r"no published weights$"):
        check_tag("zoo-tiny", "lab/thing.pt")
    with pytest.raises(ZooError, match="zoo-tiny has no published weights"):
        Backbone("zoo-tiny", pretrained="nowhere.pt")
    assert resolve_architecture("ViT-B/32")[0] == "ViT-B-32"


def test_a_json_file_is_an_architecture_unless_it_takes_anothers_name(tmp_path: Path) -> None:
    config = json.loads((zoo.backbones.factory.SHIPPED / "zoo-tiny.json").read_text())
    mine = tmp_path / "my-tower.json"
    mine.write_text(json.dumps(config | {"embed_dim": 64}))
    assert Backbone(str(mine)).shapes.width == 64
    taken = tmp_path / "ViT-B-32.json"
    taken.write_text(json.dumps(config))
    with pytest.raises(ZooError, match="has the name of another architecture"):
        resolve_architecture(str(taken))
    broken = tmp_path / "broken.json"
    broken.write_text("{\n  'x'")
    with pytest.raises(ZooError, match=r"broken\.json:2 is not valid JSON"):
        resolve_architecture(str(broken))
    broken.write_text("{}")
    with pytest.raises(ZooError, match="embed_dim, vision_cfg, text_cfg missing"):
        resolve_architecture(str(broken))
    with pytest.raises(ZooError, match=r"absent\.json cannot be read"):
        resolve_architecture(str(tmp_path / "absent.json"))
    broken.write_text(json.dumps(config | {"vision_cfg": {"no_such": 1}}))
    with pytest.raises(ZooError, match="could not be built"):
        Backbone(str(broken))


def test_a_failed_download_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_args: object, **_rest: object) -> str:
        raise OSError("no route to host")

    monkeypatch.setattr("open_clip.factory.download_pretrained", unreachable)
    with pytest.raises(
        ZooError, match=r"'openai' of ViT-B-32-quickgelu could not be downloaded .*no route to host"
    ):
        build("ViT-B-32-quickgelu", "openai", "quickgelu", None)


def test_open_clips_warnings_stay_out_of_the_root_logger(caplog: pytest.LogCaptureFixture) -> None:
    root = logging.getLogger()
    handlers, filters = list(root.handlers), list(root.filters)
    with caplog.at_level(logging.DEBUG):
        Backbone("zoo-tiny")
    assert "pretrained" not in caplog.text
    assert (root.handlers, root.filters) == (handlers, filters)


def test_the_tiny_architecture_is_tiny() -> None:
    backbone = Backbone("zoo-tiny")
    assert sum(p.numel() for p in backbone.parameters()) == 5_471_521
    assert backbone.encode_images(torch.zeros(1, 3, 64, 64)).pooled.shape == (1, 128)
