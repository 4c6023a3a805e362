"""The catalogue of published models.

Its entries are whole, and each loads a file made with the keys of its publication, out of a cache
of the hub, a file of one's own, or not at all.
"""

import hashlib
import re
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import huggingface_hub
import open_clip
import pytest
import torch
import transformers
from huggingface_hub import constants
from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError
from msgspec.structs import replace
from torch import Tensor

import zoo
from tests.backbones.test_published import (
    as_trained,
    clove_base,
    clove_by_hand,
    cut,
    merged_by_hand,
    random_state,
    same,
    with_adapters,
)
from zoo.backbones import factory
from zoo.backbones import hub as hub_door
from zoo.backbones.backbone import Backbone
from zoo.backbones.catalogue import model
from zoo.backbones.catalogue.entry import (
    FACTS,
    Hub,
    ModelEntry,
    entries,
    open_clip_model_names,
    read_entry,
)
from zoo.backbones.catalogue.model import is_published, load_published_settings
from zoo.backbones.hugging_face_names import hugging_face_state
from zoo.checkpoints.model_sources import resolve_model
from zoo.cli import main
from zoo.cli.fit import parse_settings
from zoo.errors import ZooError
from zoo.heads.text_conditioned_pooling import TextConditionedPooling
from zoo.results import published_values
from zoo.support.class_names import class_paths
from zoo.support.text_files import sha256

State = dict[str, Tensor]
NAMES = sorted(entries())
LOADABLE = [
    name for name in NAMES if entries()[name].unsupported is None and entries()[name].scorer is None
]
# one of each kind of file and of place; the other adapters are those of `test_published`
KINDS = (
    *("ce_clip", "clic_laion", "clove", "con_clip_b32", "cs_clip", "degla", "fsc_clip_coco_lora"),
    *("gnm_clip", "laclip_laion400m_b32", "read_clip", "tripletclip_cc12m"),
)
COMMIT = "0" * 40


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_is_whole(name: str) -> None:
    entry = entries()[name]
    if entry.scorer is not None:
        assert hasattr(transformers, entry.architecture)
    else:
        assert entry.architecture in factory.architectures()
    assert entry.weights_class is None or entry.weights_class in class_paths("published_weights")
    assert entry.hub or entry.url or entry.unsupported or entry.is_shipped
    assert entry.url is None or entry.url.startswith("https://")
    assert entry.hub is None or re.fullmatch(r"[\w.-]+/[\w.-]+", entry.hub.id)
    assert set(entry.unknown) == {fact for fact in FACTS if getattr(entry, fact) is None}
    assert entry.folder == (entry.weights_class == "TripletCLIP")


def test_no_name_is_that_of_an_architecture_too() -> None:
    assert not set(NAMES) & {*open_clip.list_models()}
    assert not any("/" in name or ":" in name for name in NAMES)


def test_figures_were_published_of_models_of_the_catalogue() -> None:
    """Others are rows of a paper, whose weights were not published."""
    known = {*NAMES, *open_clip_model_names()}
    others = set(published_values.published_models()) - known
    assert all(name.startswith(("bindsplit_", "role_")) for name in others)


def hub_files(state: State) -> dict[str, Callable[[], dict[str, Any]]]:
    """What each publication's file holds, by the rule that reads it or by the model's name."""
    return {
        "NegCLIP": lambda: as_trained(state, "module."),
        "FSCCLIP": lambda: as_trained(state),
        "FSCCLIPLoRA": lambda: as_trained(with_adapters(state), "module."),
        "TSVLC": lambda: as_trained(with_adapters(state)),
        "DAC": lambda: as_trained(with_adapters(state)),
        "CLoVe": lambda: as_trained(cut(state)),
        "CSCLIP": lambda: (
            {f"model.{k}": v for k, v in state.items()} | {"head.logit_scale": torch.tensor(0.0)}
        ),
        "HuggingFaceCLIP": lambda: {
            **hugging_face_state(state),
            "text_model.embeddings.position_ids": torch.arange(77)[None],
        },
        "ce_clip": lambda: as_trained(state, "module."),
        "degla": lambda: as_trained(state, "module."),
        "gnm_clip": lambda: {
            "epoch": 9,
            "model_state_dict": {k: v.half() for k, v in state.items()},
            "optimizer_state_dict": {"state": {}, "param_groups": [{"lr": 1e-6}]},
            "loss": torch.tensor(0.1, requires_grad=True),
        },
        "con_clip": lambda: {
            "model": state,
            "optimizer": {"state": {}, "param_groups": []},
            "args": Namespace(backbone="ViT-B/32", lr=1e-6, device="cuda"),
        },
        "clic": lambda: dict(state),
        "laclip": lambda: as_trained(state),
    }


def made(name: str, entry: ModelEntry, state: State) -> dict[str, Any]:
    makers = hub_files(state)
    family = next((kind for kind in makers if name.startswith(kind)), "")
    return makers[entry.weights_class or family]()


def expected(entry: ModelEntry, state: State, held: dict[str, Any]) -> State:
    if entry.weights_class == "CLoVe":
        return clove_by_hand(state)
    if entry.weights_class in ("FSCCLIPLoRA", "TSVLC", "DAC"):
        inner = {k.removeprefix("module."): v for k, v in held["state_dict"].items()}
        return merged_by_hand(inner)
    return state


def towers(state: State) -> dict[str, State]:
    """TripletCLIP's two towers, each under `model.`."""
    named = hugging_face_state(state)
    vision = ("vision_model", "visual_projection")
    return {
        "vision-encoder": {f"model.{k}": v for k, v in named.items() if k.startswith(vision)},
        "text-encoder": {
            f"model.{k}": v for k, v in named.items() if not k.startswith((*vision, "logit_scale"))
        },
    }


@pytest.fixture(scope="module")
def state() -> State:
    return random_state()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub, and no network."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def snapshot(cache: Path, repository: str) -> Path:
    """The folder of a repository's files in the cache, as huggingface_hub lays it out."""
    folder = cache / f"models--{repository.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True, exist_ok=True)
    (folder / "refs" / "main").write_text(COMMIT)
    (folder / "blobs").mkdir(exist_ok=True)
    (folder / "snapshots" / COMMIT).mkdir(parents=True, exist_ok=True)
    return folder / "snapshots" / COMMIT


def put(folder: Path, file: str, held: dict[str, Any]) -> Path:
    """A file in a snapshot: a link to a blob that is named by its hash."""
    place = folder / file
    place.parent.mkdir(parents=True, exist_ok=True)
    blobs = folder.parents[1] / "blobs"
    if file.endswith(".safetensors"):
        from safetensors.torch import save_file

        save_file({k: v.clone().contiguous() for k, v in held.items()}, blobs / "made")
    else:
        torch.save(held, blobs / "made")
    blob = (blobs / "made").rename(blobs / sha256(blobs / "made"))
    place.symlink_to(blob)
    return place


def known(monkeypatch: pytest.MonkeyPatch, **changed: ModelEntry) -> None:
    monkeypatch.setattr(model, "entries", lambda: {**entries(), **changed})


def tiny(name: str, tmp_path: Path, state: State) -> ModelEntry:
    """A model's entry, for files of another width than the published ones."""
    entry = replace(entries()[name], architecture="zoo-tiny", sha256=None)
    if entry.weights_class == "CLoVe":
        torch.save(clove_base(state), tmp_path / "base.pt")
        entry = replace(entry, arguments={"base": str(tmp_path / "base.pt")})
    return entry


def test_every_model_is_built_of_its_file_as_its_entry_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch, **{name: replace(entries()[name], sha256=None) for name in LOADABLE})
    (tmp_path / "file.pt").touch()
    for name in LOADABLE:
        entry = entries()[name]
        file = str(tmp_path if entry.folder else tmp_path / "file.pt")
        made = load_published_settings(f"{name}:{file}")
        backbone = made["backbone"]
        assert backbone["name"] == entry.architecture
        assert backbone["activation"] == entry.activation
        assert ("head" in made) == bool(entry.head)
        if entry.head:
            assert made["head"]["init_args"] == {"weights": file}
        if entry.tag and not entry.is_shipped:  # a file takes the place of shipped weights
            assert backbone["pretrained"] == entry.tag
        elif entry.weights_class:
            assert backbone["pretrained"] == {
                "class_path": f"zoo.backbones.published.{entry.weights_class}",
                "init_args": {"path": file, **entry.arguments},
            }
        else:
            assert backbone["pretrained"] == file


@pytest.mark.parametrize("name", KINDS)
def test_a_model_is_loaded_from_a_file_like_its_publications(
    name: str, tmp_path: Path, cache: Path, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = tiny(name, tmp_path, state)
    known(monkeypatch, **{name: entry})
    result, named = state, name
    if entry.folder:
        assert entry.hub is not None
        folder = snapshot(cache, entry.hub.id)
        for tower, held in towers(state).items():
            put(folder, f"{tower}/model.safetensors", held)
        result = {**state, "logit_scale": torch.tensor(1 / 0.07).log()}
    else:
        torch.manual_seed(1)
        held = made(name, entry, state)
        result = expected(entry, state, held)
        if entry.hub is None:
            torch.save(held, tmp_path / "published.pt")
            named = f"{name}:{tmp_path / 'published.pt'}"
        else:
            folder = snapshot(cache, entry.hub.id)
            put(folder, entry.hub.files[0][-1] if entry.hub.files else "epoch_5.pt", held)
            if name.startswith("clic"):
                config = '{"model_cfg": {"quick_gelu": true}, "preprocess_cfg": {}}'
                (folder / "open_clip_config.json").write_text(config)
    backbone = resolve_model(named).load().backbone
    assert backbone.activation == (entry.activation or "quickgelu")
    if name == "gnm_clip":
        result = {k: v.half().float() for k, v in result.items()}
    same(backbone, result)
    if entry.weights_class == "CLoVe":
        assert backbone.context == 64


def test_labclips_map_lies_over_the_weights_of_a_tag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tag's weights are not here: what is built over them is held against the settings."""
    width = 128
    held = {"t": torch.tensor(4.2), "linear.weight": torch.randn(width, width)}
    torch.save(held, tmp_path / "labclip.pt")
    entry = replace(entries()["labclip_coco_b32"], sha256=None)
    known(monkeypatch, labclip=entry)
    made = load_published_settings(f"labclip:{tmp_path / 'labclip.pt'}")
    assert made["backbone"] == {
        "name": "ViT-B-32",
        "pretrained": "openai",
        "activation": "quickgelu",
        "preprocess": None,
    }
    assert made["head"] == {
        "class_path": "zoo.heads.Linear",
        "init_args": {"weights": str(tmp_path / "labclip.pt")},
    }
    known(monkeypatch, labclip=replace(entry, architecture="zoo-tiny", tag=None))
    module = resolve_model(f"labclip:{tmp_path / 'labclip.pt'}").load()
    assert torch.equal(module.head.text_map.weight, held["linear.weight"])


@pytest.mark.parametrize("prefix", ["", "module."])
def test_flairs_file_gives_two_towers_and_the_pooling_of_its_head(
    tmp_path: Path, state: State, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    renamed = {"visual.proj": "image_post.proj", "text_projection": "text_post.proj"}
    head = TextConditionedPooling()
    head.attach(Backbone("zoo-tiny").shapes)
    pooling = {f"visual_proj.{n}": t + 0.1 for n, t in head.state_dict().items() if "." in n}
    held = {renamed.get(name, name): tensor for name, tensor in state.items()}
    held |= {**pooling, "logit_scale": torch.tensor(3.0), "logit_bias": torch.tensor(-12.0)}
    file = tmp_path / "flair.pt"
    torch.save(as_trained(held, prefix), file)
    known(monkeypatch, flair=replace(entries()["flair_cc3m"], architecture="zoo-tiny"))
    module = resolve_model(f"flair:{file}").load()
    same(module.backbone, {**state, "logit_scale": torch.tensor(3.0)})
    assert isinstance(module.head, TextConditionedPooling)
    for name, tensor in pooling.items():
        assert torch.equal(module.head.state_dict()[name.removeprefix("visual_proj.")], tensor)
    assert (module.head.log_scale.item(), module.head.bias.item()) == (3.0, -12.0)


@pytest.mark.parametrize("name", ["openai/ViT-B-32", "openai/ViT-B-32-quickgelu"])
def test_weights_of_open_clip_have_the_activation_that_they_were_trained_with(name: str) -> None:
    backbone = load_published_settings(name)["backbone"]
    assert (backbone["pretrained"], backbone["activation"]) == ("openai", "quickgelu")
    laion = load_published_settings("laion2b_s34b_b79k/ViT-B-32")["backbone"]
    assert (laion["name"], laion["activation"]) == ("ViT-B-32", "gelu")


def test_zoo_load_and_validate_take_a_name(
    tmp_path: Path, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch, negclip=tiny("negclip", tmp_path, state))
    torch.save(as_trained(state), tmp_path / "negclip.pth")
    named = f"negclip:{tmp_path / 'negclip.pth'}"
    loaded = zoo.load(named)
    same(loaded.module.backbone, state)
    assert loaded.score([], ["a cat"]).shape == (0, 1)
    asked = ["--benchmarks", "sugarcrepe", "--model", named]
    backbone = parse_settings(["validate", *asked]).model.backbone.init_args
    assert backbone.pretrained.class_path == "zoo.backbones.published.NegCLIP"
    assert (backbone.name, backbone.activation) == ("zoo-tiny", "quickgelu")


def test_a_model_lies_over_recipes_and_below_whole_flags(
    tmp_path: Path, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch, negclip=tiny("negclip", tmp_path, state))
    torch.save(state, tmp_path / "a.pth")
    given = ["--model.backbone.activation", "gelu", "--model", f"negclip:{tmp_path / 'a.pth'}"]
    given += ["--config", "cs_clip.yaml", "--data_root", str(tmp_path)]
    settled = parse_settings(["fit", *given]).model
    assert settled.backbone.init_args.activation == "gelu"
    assert settled.backbone.init_args.pretrained.class_path == "zoo.backbones.published.NegCLIP"
    assert settled.objective.class_path == "zoo.objectives.CSCLIP"


def test_a_published_model_is_exported_and_reloaded(
    tmp_path: Path, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch, mine=tiny("read_clip", tmp_path, state))
    torch.save(hugging_face_state(state), tmp_path / "model.bin")
    monkeypatch.setattr("zoo.publishing.export.is_published", lambda name: True)
    named = f"mine:{tmp_path / 'model.bin'}"
    assert main(["export", named, str(tmp_path / "plain")]) == 0
    same(zoo.load(tmp_path / "plain").module.backbone, state)


def test_ones_own_entry_is_a_file(tmp_path: Path, state: State) -> None:
    torch.save({"state_dict": state}, tmp_path / "mine.pt")
    (tmp_path / "mine.yaml").write_text(
        "description: mine\npaper: none\narchitecture: zoo-tiny\nactivation: gelu\nfile: mine.pt\n"
        f"sha256: {sha256(tmp_path / 'mine.pt')}\nlicence: mine\ntrained_on: scenes\nunknown: []\n"
    )
    named = f"{tmp_path / 'mine.yaml'}:{tmp_path / 'mine.pt'}"
    assert is_published(named)
    same(zoo.load(named).module.backbone, state)
    torch.save({"state_dict": {}}, tmp_path / "mine.pt")
    with pytest.raises(ZooError, match=r"mine.pt is not the published file of .*fetch it again$"):
        load_published_settings(named)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("description: a\npaper: b", "field 'architecture' is missing"),
        ("[", "is not valid YAML"),
        ("description: a\npaper: b\narchitecture: c\nunknown: [shape]", "field 'unknown"),
        (
            "description: a\npaper: b\narchitecture: c\nunknown: []",
            "it has no activation and does not",
        ),
        (
            "description: a\npaper: b\narchitecture: c\nactivation: gelu\nunknown: [activation]",
            "it has activation and lists it under `unknown`",
        ),
        (
            "description: a\npaper: b\narchitecture: c\nhead: Linear\n"
            "unknown: [activation, file, sha256, licence, trained_on]",
            "it has a head, and neither a tag nor a weights_class",
        ),
        (
            "description: a\npaper: b\narchitecture: c\ntag: openai\n"
            "unknown: [activation, file, sha256, licence, trained_on]",
            "it has a tag and no head",
        ),
        ("description: a\npapers: b", "papers"),
    ],
)
def test_an_entry_that_is_none_is_told_so(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / "mine.yaml").write_text(content)
    with pytest.raises(ZooError, match=re.escape(told)) as caught:
        read_entry(tmp_path / "mine.yaml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (
            "neg_clip",
            r"there is no model 'neg_clip' \(did you mean negclip.*`zoo ls models` lists them",
        ),
        ("openai/ViT-B-33", r"no model 'openai/ViT-B-33' \(did you mean openai/ViT-B-32"),
        ("openai/ViT-B-32:a.pt", "open_clip's own weights, which it downloads itself: leave :a.pt"),
        (
            "negclip",
            r"negclip are not on huggingface.co: fetch them at https://drive.*negclip:FILE",
        ),
        ("negclip:absent.pt", "given as absent.pt, which is not a file: fix it"),
        ("tripletclip_cc12m:a.pt", "given as a.pt, which is not a folder"),
        ("sparo", "sparo cannot be loaded: its towers end in slots"),
        ("laclip_cc12m", "normalizes queries and keys"),
        (
            "ce_clip",
            r"not in the cache and https://huggingface.co/le723z/CE_CLIP cannot be reached",
        ),
        ("degla", "are not in the cache and .* cannot be reached"),
        ("clic_laion", "are not in the cache"),
        ("absent.yaml", "the model absent.yaml cannot be read"),
        ("", "is not a model"),
    ],
)
def test_what_cannot_be_had_is_refused_in_a_sentence(named: str, told: str, cache: Path) -> None:
    with pytest.raises(ZooError, match=told) as caught:
        load_published_settings(named)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_hash_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, ce_clip=replace(entries()["ce_clip"], sha256="0" * 64))
    put(snapshot(cache, "le723z/CE_CLIP"), "CE_CLIP.pt", {"a": torch.zeros(1)})
    with pytest.raises(ZooError, match=r"is not the published file of ce_clip: its SHA-256 is"):
        load_published_settings("ce_clip")


def test_a_revision_that_is_not_pinned_is_logged_and_taken_of_all_files(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = snapshot(cache, "nmndeep/CLIC-ViT-B-32-224-CogVLM")
    asked: list[tuple[str, str | None]] = []

    def download(repository: str, file: str, revision: str | None = None) -> str:
        asked.append((file, revision))
        return str(folder / file)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    entry = entries()["clic_laion"]
    caplog.set_level("INFO")
    load_published_settings("clic_laion")
    first, second = "open_clip_model.safetensors", "open_clip_config.json"
    assert asked == [(first, None), (second, COMMIT)]
    assert entry.hub is not None
    assert f"clic_laion: revision {COMMIT} of {entry.hub.page}" in caplog.messages
    caplog.clear()
    asked.clear()
    pinned = replace(entry, hub=replace(entry.hub, revision=COMMIT))
    known(monkeypatch, clic_laion=pinned)
    load_published_settings("clic_laion")
    assert asked == [(first, COMMIT), (second, COMMIT)]
    assert not any("revision" in message for message in caplog.messages)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hub: {id: a/b, revision: main}", "revision"),
        (f"sha256: {'A' * 64}", "sha256"),
        (f"sha256: {{a.pt: {'ab' * 32}}}", "sha256 is one hash for a file"),
        (f"folder: true\nsha256: {'ab' * 32}", "file names with their hashes for a folder"),
    ],
)
def test_what_pins_no_file_is_refused(line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    unknown = "unknown: [activation, file, licence, trained_on]"
    if "sha256" not in line:
        unknown = unknown.replace("]", ", sha256]")
    file.write_text(f"description: mine\npaper: mine\narchitecture: ViT-B-32\n{unknown}\n{line}\n")
    with pytest.raises(ZooError, match=message):
        read_entry(file)


def test_each_file_of_a_folder_is_checked_by_its_own_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image, text = "vision-encoder/model.safetensors", "text-encoder/model.safetensors"
    for file in (image, text):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_bytes(file.encode())
    hashes = {file: hashlib.sha256(file.encode()).hexdigest() for file in (image, text)}
    known(monkeypatch, tripletclip_cc3m=replace(entries()["tripletclip_cc3m"], sha256=hashes))
    named = f"tripletclip_cc3m:{tmp_path}"
    assert load_published_settings(named)["backbone"]["pretrained"]["init_args"]["path"] == str(
        tmp_path
    )
    (tmp_path / text).write_bytes(b"other")
    with pytest.raises(ZooError, match=r"text-encoder/model\.safetensors is not the"):
        load_published_settings(named)
    (tmp_path / text).unlink()
    with pytest.raises(ZooError, match=r"text-encoder/model\.safetensors of .* is missing"):
        load_published_settings(named)


def test_a_repository_of_two_files_leaves_the_choice_to_the_user(cache: Path) -> None:
    folder = snapshot(cache, "wsdwJohn1231/DeGLA")
    for n, file in enumerate(("a.pt", "b.pt")):
        put(folder, file, {"a": torch.full((1,), n)})
    with pytest.raises(ZooError, match=r"has not one file of weights \(a.pt, b.pt\): .*degla:FILE"):
        load_published_settings("degla")


def test_of_alternatives_that_one_is_read_which_the_cache_has(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub("some/where", [["first.pt", "second.pt"]])
    known(monkeypatch, ce_clip=replace(entries()["ce_clip"], sha256=None, hub=hub))
    folder = snapshot(cache, "some/where")
    put(folder, "second.pt", {"a": torch.zeros(1)})
    assert load_published_settings("ce_clip")["backbone"]["pretrained"] == str(folder / "second.pt")
    put(folder, "first.pt", {"a": torch.ones(1)})
    assert load_published_settings("ce_clip")["backbone"]["pretrained"] == str(folder / "first.pt")
    (folder / "first.pt").unlink()
    (folder / "second.pt").unlink()
    with pytest.raises(ZooError, match="are not in the cache"):
        load_published_settings("ce_clip")


def test_an_alternative_is_not_taken_where_the_network_failed_on_the_way(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub("some/where", [["first.pt", "second.pt"]])
    known(monkeypatch, ce_clip=replace(entries()["ce_clip"], sha256=None, hub=hub))
    put(snapshot(cache, "some/where"), "second.pt", {"a": torch.zeros(1)})

    def failed(repository: str, file: str, **_: Any) -> str:
        assert file == "first.pt"
        raise LocalEntryNotFoundError("the connection was lost")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub_door, "_is_there", lambda: True)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", failed)
    with pytest.raises(ZooError, match="cannot be reached"):
        load_published_settings("ce_clip")


def test_a_hub_out_of_reach_is_asked_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Session:
        def head(self, url: str, **_: Any) -> None:
            asked.append(url)
            raise OSError("no route")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "get_session", Session)
    with pytest.raises(ZooError, match=r"are not in the cache and .* cannot be reached"):
        load_published_settings("ce_clip")
    with pytest.raises(ZooError, match=r"'openai' of ViT-B-32 could not be downloaded"):
        factory.build("ViT-B-32", "openai", "quickgelu", None)
    assert asked == [constants.ENDPOINT] * 2
    assert not constants.HF_HUB_OFFLINE


def test_gated_weights_say_how_to_be_let_in(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any, **named: Any) -> str:
        raise GatedRepoError("gated", response=MagicMock())

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refused)
    with pytest.raises(ZooError, match=r"are gated: accept their terms at https://hugging.*login"):
        load_published_settings("ce_clip")


def test_a_file_is_read_without_running_what_it_holds(tmp_path: Path) -> None:
    class Runs:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "ran",))

    torch.save({"state_dict": {}, "args": Runs()}, tmp_path / "negclip.pth")
    with pytest.raises(ZooError, match=r"cannot be read as weights \(.*\): ") as caught:
        resolve_model(f"con_clip_b32:{tmp_path / 'negclip.pth'}").load()
    assert "trust" not in str(caught.value)  # torch advises to run a file that one trusts
    assert not (tmp_path / "ran").exists()


def test_a_checkpoint_and_a_published_model_are_not_both_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["validate", "--model", "negclip", "--ckpt_path", "last"]) == 1
    assert "--model negclip and --ckpt_path last both name a model" in capsys.readouterr().err
