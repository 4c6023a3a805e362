"""Wraps open_clip's factory: architectures, models, and the check of the activation.

The weights of OpenAI, MetaCLIP and DFN were trained with QuickGELU. A file of weights does not
record that. It also loads into a model with GELU, and then silently scores worse. Therefore the
activation is never guessed.
"""

import dataclasses
import json
import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import torch
from torch import nn

from zoo.backbones.hub import hub_offline_if_unreachable
from zoo.backbones.hugging_face import open_clip_architecture
from zoo.errors import ZooError, suggest_names
from zoo.support.class_paths import reject_remote_code
from zoo.support.text_files import NotJson, parse_json

Activation = Literal["gelu", "quickgelu"]
# configurations in the folder of a model of open_clip or Hugging Face
MODEL_CONFIGS = ("open_clip_config.json", "config.json")
SHIPPED = Path(__file__).parent / "architectures"
# open_clip checks these settings only when it opens the first image
CHOICES = {
    "mode": ("RGB",),
    "interpolation": ("bicubic", "bilinear", "random"),
    "resize_mode": ("shortest", "longest", "squash"),
}


@contextmanager
def silence_open_clip() -> Iterator[None]:
    """Prevents open_clip from logging on the root logger and from adding a handler to it."""
    root, silent = logging.getLogger(), logging.NullHandler()

    def from_elsewhere(record: logging.LogRecord) -> bool:
        return "open_clip" not in Path(record.pathname).parts

    root.addHandler(silent)
    root.addFilter(from_elsewhere)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="QuickGELU mismatch")
            yield
    finally:
        root.removeFilter(from_elsewhere)
        root.removeHandler(silent)


def resolve_architecture(name: str) -> tuple[str, dict[str, Any]]:
    """Finds an architecture and registers it with open_clip.

    Args:
        name: One of open_clip's architectures, one that zoo ships, or the path of a JSON file in
            open_clip's format.

    Returns:
        Its name in open_clip, and its configuration.

    Raises:
        ZooError: The name is unknown, or the file is invalid or would run code.
    """
    import open_clip

    file = Path(name) if name.endswith(".json") else SHIPPED / f"{name}.json"
    if name.endswith(".json") or file.is_file():
        config, own_name = read_architecture(file), architecture_file_name(file)
        registered_config = open_clip.get_model_config(own_name)
        reject_remote_code(config, str(file))
        if registered_config is None:
            _register_architecture(own_name, config)
        elif registered_config != config:
            raise ZooError(
                f"{file} has the name of another architecture, {own_name}: rename the file"
            )
        return own_name, config
    cleaned = name.replace("/", "-")
    registered_config = (
        open_clip.get_model_config(cleaned) if cleaned in open_clip.list_models() else None
    )
    if registered_config is None:
        raise ZooError(
            f"backbone.name {name!r} is not a known "
            f"architecture{suggest_names(cleaned, architectures())}: "
            "`zoo ls backbones` lists them"
        )
    return cleaned, registered_config


def architectures() -> list[str]:
    """Returns the names of the known architectures, open_clip's first."""
    import open_clip

    return [*open_clip.list_models(), *(file.stem for file in SHIPPED.glob("*.json"))]


def find_architecture(config: dict[str, Any]) -> str | None:
    """Finds the known architecture with given towers.

    Tokenizers are not compared. If it exists with both activations, the one of `config` is found.

    Args:
        config: The towers in open_clip's format.

    Returns:
        The name, or None if no architecture has these towers.
    """
    towers = _with_defaults(config)
    names = [
        name
        for name, architecture in known_architectures().items()
        if _with_defaults(architecture) == towers
    ]
    same_activation = (
        name
        for name in names
        if activation_of(resolve_architecture(name)[1]) == activation_of(config)
    )
    return next(same_activation, next(iter(names), None))


def known_architectures() -> dict[str, dict[str, Any]]:
    """Returns the known architectures by name, open_clip's first."""
    import open_clip

    shipped = {file.stem: read_architecture(file) for file in SHIPPED.glob("*.json")}
    return {name: open_clip.get_model_config(name) for name in open_clip.list_models()} | shipped


def _with_defaults(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the towers of an architecture with open_clip's defaults, without tokenizers."""
    from open_clip.model import CLIPTextCfg, CLIPVisionCfg

    left_out = ("hf_tokenizer_name", "tokenizer_kwargs")
    vision = dataclasses.asdict(CLIPVisionCfg()) | config["vision_cfg"]
    text = dataclasses.asdict(CLIPTextCfg()) | config["text_cfg"]
    other_settings = {
        k: v for k, v in config.items() if k not in ("quick_gelu", "vision_cfg", "text_cfg")
    }
    return {
        **other_settings,
        "vision_cfg": vision,
        "text_cfg": {name: value for name, value in text.items() if name not in left_out},
    }


def architecture_file_name(file: Path) -> str:
    """Returns the name of the architecture in a JSON file.

    It is the name of the file; for the configuration in the folder of a model, that of the folder.

    Args:
        file: The file.
    """
    if file.name not in MODEL_CONFIGS:
        return file.stem
    folder = file.absolute().parent
    in_cache = folder.parent.name == "snapshots"  # of the Hugging Face hub
    return folder.parents[1].name if in_cache else folder.name


def _register_architecture(name: str, config: dict[str, Any]) -> None:
    """Registers an architecture with open_clip, which takes a file with its name."""
    import open_clip

    with TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.json"
        file.write_text(json.dumps(config), "utf-8")
        open_clip.add_model_config(file)


def read_architecture(file: Path) -> dict[str, Any]:
    """Reads an architecture.

    Args:
        file: A JSON file in open_clip's format, the `open_clip_config.json` of a model, or the
            `config.json` of a Hugging Face CLIPModel.

    Returns:
        The towers in open_clip's format.

    Raises:
        ZooError: The file cannot be read, or is none of these.
    """
    try:
        config = parse_json(file.read_text("utf-8"))
    except OSError as error:
        raise ZooError(
            f"{file} cannot be read ({error.strerror}): give backbone.name an architecture or a "
            "JSON file"
        ) from error
    except NotJson as error:
        raise ZooError(
            f"{error.format_location(file)} is not valid JSON ({error}): fix the file"
        ) from error
    except ValueError as error:
        raise ZooError(f"{file} is not a text file ({error}): fix the file") from error
    if file.name in MODEL_CONFIGS and isinstance(config, dict):
        if config.get("model_type") == "clip":
            config = open_clip_architecture(config)
        config = config.get("model_cfg", config)
    missing = [
        key
        for key in ("embed_dim", "vision_cfg", "text_cfg")
        if not isinstance(config, dict) or key not in config
    ]
    if missing:
        raise ZooError(
            f"{file} is not an open_clip architecture, {', '.join(missing)} missing: add them"
        )
    return dict(config)


def activation_of(config: dict[str, Any]) -> Activation:
    """Returns the activation that open_clip builds with.

    Args:
        config: The configuration of an architecture or of a tag.
    """
    return "quickgelu" if config.get("quick_gelu", False) else "gelu"


def validate_preprocess(given: dict[str, Any], source: str) -> dict[str, Any]:
    """Checks preprocessing settings of images.

    open_clip itself silently ignores unknown settings.

    Args:
        given: Some of open_clip's settings; the others keep their defaults.
        source: The source of the settings in messages.

    Returns:
        The settings that are not None.

    Raises:
        ZooError: A setting is unknown, or open_clip does not support its value.
    """
    from open_clip.transform import PreprocessCfg

    setting_names = [
        field.name for field in dataclasses.fields(PreprocessCfg) if field.name != "size"
    ]
    settings = {name: value for name, value in given.items() if value is not None}
    for name, value in settings.items():
        if name == "size":
            raise ZooError(
                f"{source} has size, and images always have the size of the image tower: leave it "
                "out, or choose another backbone.name"
            )
        if name not in setting_names:
            raise ZooError(
                f"{source} has {name!r}, which is not a preprocessing setting"
                f"{suggest_names(str(name), setting_names)}: choose from {', '.join(setting_names)}"
            )
        expected = _expected_setting(name, value)
        if expected is not None:
            raise ZooError(f"{source} has {name} {value!r}: give {expected}")
    return settings


def _expected_setting(name: str, value: Any) -> str | None:
    """Returns what a setting of how images are prepared should be, None where it is right."""
    if name in CHOICES:
        return None if value in CHOICES[name] else f"one of {', '.join(CHOICES[name])}"
    if name == "fill_color":
        is_valid = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 255
        return None if is_valid else "a whole number from 0 to 255"
    channels = (
        isinstance(value, list | tuple)
        and len(value) == 3
        and all(isinstance(v, int | float) and math.isfinite(v) for v in value)
        and (name == "mean" or min(value) > 0)
    )
    kind = "numbers" if name == "mean" else "numbers above 0"
    return None if channels else f"three {kind}, one of each channel"


def resolve_activation(
    name: str,
    config: dict[str, Any],
    pretrained: str | None,
    asked: Activation | None,
    recorded: Activation | None,
    is_name_given: bool = True,
) -> Activation:
    """Determines the activation of the towers' blocks.

    Args:
        name: The architecture.
        config: Its configuration.
        pretrained: A tag, a file or None.
        asked: The user's argument.
        recorded: The activation that the file records.
        is_name_given: Whether the user chose the architecture. Then a name that ends in -quickgelu
            sets the activation.

    Returns:
        The activation to build with.

    Raises:
        ZooError: The activation is ambiguous, or the name contradicts that of the weights.
    """
    import open_clip

    built_with = activation_of(config)
    if asked is not None or pretrained is None:
        return asked or built_with
    tag = open_clip.get_pretrained_cfg(name, pretrained)
    if tag:
        trained = activation_of(tag)
        if trained != built_with:
            raise ZooError(
                f"the weights {pretrained!r} were trained with {trained} and {name} is built with "
                f"{built_with}: set backbone.activation to {trained} (or to {built_with} if that "
                "is what you want)"
            )
        return built_with
    base_name = name.removesuffix("-quickgelu")
    is_in_name = is_name_given and base_name != name
    if recorded is not None:
        if is_in_name and recorded != built_with:
            raise ZooError(
                f"the weights of {pretrained} were trained with {recorded} and {name} is built "
                f"with {built_with}: set backbone.name to {base_name}, or backbone.activation to "
                "the one you want"
            )
        return recorded
    if is_in_name:
        return built_with
    if {base_name, f"{base_name}-quickgelu"} <= set(open_clip.list_models()):
        raise ZooError(
            f"{pretrained} does not say whether its weights were trained with GELU or QuickGELU, "
            f"and {base_name} exists with both: set backbone.activation to quickgelu (weights that "
            "descend from OpenAI's) or to gelu (LAION's and others)"
        )
    return built_with


def merges_file(architecture: str) -> Path:
    """Returns the path of the merges of an architecture with a part of CLIP's vocabulary.

    Args:
        architecture: The architecture. Most have none, and the file does not exist.
    """
    return SHIPPED / f"{architecture}.bpe.txt.gz"


def shipped_weights(architecture: str, tag: str) -> Path | None:
    """Returns the file of weights that comes with zoo, such as `scenes` of `zoo-world`.

    Args:
        architecture: The architecture.
        tag: The tag.

    Returns:
        The file, or None if zoo has no such weights.
    """
    file = SHIPPED / f"{architecture}.{tag}.safetensors"
    return file if file.is_file() else None


def check_tag(name: str, tag: str, argument: str = "backbone.pretrained") -> None:
    """Checks that a tag names weights of an architecture.

    Args:
        name: The architecture.
        tag: The tag.
        argument: The name of the argument in messages.

    Raises:
        ZooError: The architecture has no such weights; the message names one that has them.
    """
    import open_clip

    if open_clip.get_pretrained_cfg(name, tag):
        return
    base_name = name.removesuffix("-quickgelu")
    right_name = next(
        (n for n in (base_name, f"{base_name}-quickgelu") if open_clip.get_pretrained_cfg(n, tag)),
        None,
    )
    if right_name is not None:
        raise ZooError(
            f"the weights {tag!r} are those of {right_name}, built with the other activation than "
            f"{name}: set backbone.name to {right_name}"
        )
    if Path(tag).is_dir():
        raise ZooError(
            f"{argument} {tag} is a folder without weights: give a file of weights, or the folder "
            "of a run or of a model of open_clip or Hugging Face"
        )
    shipped = SHIPPED.glob(f"{name}.*.safetensors")
    tags = [
        *open_clip.list_pretrained_tags_by_model(name),
        *(file.name.split(".")[-2] for file in shipped),
    ]
    available = f"its tags are {', '.join(tags)}" if tags else f"{name} has no published weights"
    is_repository = tag.count("/") == 1 and not Path(tag).suffix
    hub_hint = f". A repository of the hub is given as --model {tag}" if is_repository else ""
    raise ZooError(
        f"{argument} {tag!r} is neither a file nor weights of {name}{suggest_names(tag, tags)}: "
        f"{available}{hub_hint}"
    )


def build(
    name: str,
    tag: str | None,
    activation: Activation,
    context_length: int | None,
    preprocess: dict[str, Any] | None = None,
    device: Literal["cpu", "meta"] = "cpu",
) -> nn.Module:
    """Builds open_clip's model.

    Args:
        name: A known architecture.
        tag: The tag of its weights; None draws random ones.
        activation: The activation of the blocks.
        context_length: The longest text in tokens; None takes the architecture's own.
        preprocess: Settings in place of those of the tag, or of open_clip's own without a tag.
        device: The device; weights on `meta` have shapes and take no memory.

    Raises:
        ZooError: The weights cannot be downloaded, or the configuration cannot be built.
    """
    import open_clip

    text = open_clip.get_model_config(name)["text_cfg"]
    text_model = text.get("hf_model_name") if isinstance(text, dict) else None
    hub = hub_offline_if_unreachable() if tag or text_model else nullcontext()
    allocation = torch.device("meta") if device == "meta" else nullcontext()
    try:
        with silence_open_clip(), hub, allocation:
            model: nn.Module = open_clip.create_model(
                name,
                pretrained=tag,
                pretrained_text=False,
                device=device,
                force_context_length=context_length,
                force_preprocess_cfg=preprocess,
                quick_gelu=activation == "quickgelu",
            )
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if tag is not None and "download" in reason.lower():
            raise ZooError(
                f"the weights {tag!r} of {name} could not be downloaded ({reason}): check the "
                "network, or give backbone.pretrained a file"
            ) from error
        if text_model and isinstance(error, OSError):
            raise ZooError(
                f"the text tower of {name} is built as {text_model}, whose settings could not be "
                f"read ({reason}): check the network, or choose another backbone.name"
            ) from error
        raise ZooError(
            f"{name} could not be built by open_clip ({reason}): fix its configuration or choose "
            "another backbone.name"
        ) from error
    return model


def cached_weights(name: str, tag: str) -> Path | None:
    """Returns the cached file of a tag's weights, without using the network.

    Args:
        name: A known architecture.
        tag: A tag of its weights.

    Returns:
        The file, or None if it is not cached.
    """
    import open_clip
    from huggingface_hub import try_to_load_from_cache

    settings = open_clip.get_pretrained_cfg(name, tag) or {}
    repository, _, file = settings.get("hf_hub", "").rpartition("/")
    if not repository:
        path = Path("~/.cache/clip").expanduser() / settings.get("url", "").rpartition("/")[2]
        return path if path.is_file() else None
    names = (file,) if file else ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
    safe = tuple(f"{Path(n).stem}.safetensors" for n in names)
    cached = (try_to_load_from_cache(repository, n) for n in (*safe, *names))
    return next((Path(path) for path in cached if isinstance(path, str)), None)


def parameters_of(name: str) -> int:
    """Returns how many parameters an architecture has, without allocating them.

    Args:
        name: The architecture, as `resolve_architecture` takes it.

    Raises:
        ZooError: The name is unknown, or its configuration cannot be built.
    """
    open_clip_name, config = resolve_architecture(name)
    model = build(open_clip_name, None, activation_of(config), None, device="meta")
    return sum(parameter.numel() for parameter in model.parameters())
