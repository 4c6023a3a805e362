"""The door to open_clip's factory: names of architectures, the activation guard, and models without surprises.

OpenAI's, MetaCLIP's and DFN's weights were trained with QuickGELU. A file of weights does not say so, fits a model with GELU just as well,
and scores worse in it without a word; therefore the activation is never guessed.
"""

import dataclasses
import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from torch import nn

from zoo.errors import ZooError, near
from zoo.support.text_files import NotJson, json_value

Activation = Literal["gelu", "quickgelu"]
SHIPPED = Path(__file__).parent / "architectures"
# of how images are prepared: what open_clip asserts only when the first image is opened
CHOICES = {
    "mode": ("RGB",),
    "interpolation": ("bicubic", "bilinear", "random"),
    "resize_mode": ("shortest", "longest", "squash"),
}


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps open_clip from logging on the root logger and from giving it a handler of its own."""
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


def architecture(name: str) -> tuple[str, dict[str, Any]]:
    """name: one of open_clip's architectures, one shipped with zoo, or the path of a JSON file in open_clip's format.

    Returns the name that open_clip knows it by, and its configuration. Raises ZooError on an unknown name or a broken file.
    """
    import open_clip

    file = Path(name) if name.endswith(".json") else SHIPPED / f"{name}.json"
    if name.endswith(".json") or file.is_file():
        config, known = _read_architecture(file), open_clip.get_model_config(file.stem)
        if known is None:
            open_clip.add_model_config(file)
        elif known != config:
            raise ZooError(
                f"{file} has the name of another architecture, {file.stem}: rename the file"
            )
        return file.stem, config
    cleaned = name.replace("/", "-")
    known = open_clip.get_model_config(cleaned) if cleaned in open_clip.list_models() else None
    if known is None:
        names = [*open_clip.list_models(), *(p.stem for p in SHIPPED.glob("*.json"))]
        raise ZooError(
            f"backbone.name {name!r} is no known architecture{near(cleaned, names)}: `zoo ls backbones` lists them"
        )
    return cleaned, known


def _read_architecture(file: Path) -> dict[str, Any]:
    try:
        config = json_value(file.read_text("utf-8"))
    except OSError as error:
        raise ZooError(
            f"{file} cannot be read ({error.strerror}): give backbone.name an architecture or a JSON file"
        ) from error
    except NotJson as error:
        raise ZooError(f"{error.at(file)} is no JSON ({error}): mend the file") from error
    except ValueError as error:
        raise ZooError(f"{file} is no text ({error}): mend the file") from error
    missing = [
        key
        for key in ("embed_dim", "vision_cfg", "text_cfg")
        if not isinstance(config, dict) or key not in config
    ]
    if missing:
        raise ZooError(
            f"{file} describes no open_clip architecture, it lacks {', '.join(missing)}: add them"
        )
    return dict(config)


def activation_of(config: dict[str, Any]) -> Activation:
    """Returns the activation that open_clip builds this configuration (of an architecture or of a tag) with."""
    return "quickgelu" if config.get("quick_gelu", False) else "gelu"


def checked_preprocess(given: dict[str, Any], source: str) -> dict[str, Any]:
    """Checks settings of how images are prepared, of which open_clip drops without a word what it does not know.

    Args:
        given: Some of open_clip's settings; the rest stay as they are.
        source: Where they were given, as errors name it.

    Returns:
        The settings that say something.

    Raises:
        ZooError: A key is unknown, or a value is none that open_clip can prepare images by.
    """
    from open_clip.transform import PreprocessCfg

    known = [field.name for field in dataclasses.fields(PreprocessCfg) if field.name != "size"]
    settings = {name: value for name, value in given.items() if value is not None}
    for name, value in settings.items():
        if name == "size":
            raise ZooError(
                f"{source} has size, and images have the size of the image tower: leave it out, or "
                "choose another backbone.name"
            )
        if name not in known:
            raise ZooError(
                f"{source} has {name!r}, which is no setting of how images are prepared"
                f"{near(str(name), known)}: choose from {', '.join(known)}"
            )
        wanted = _unlike(name, value)
        if wanted is not None:
            raise ZooError(f"{source} has {name} {value!r}: give {wanted}")
    return settings


def _unlike(name: str, value: Any) -> str | None:
    """Returns what a setting of how images are prepared should be, None where it is that."""
    if name in CHOICES:
        return None if value in CHOICES[name] else f"one of {', '.join(CHOICES[name])}"
    if name == "fill_color":
        whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 255
        return None if whole else "a whole number from 0 to 255"
    channels = (
        isinstance(value, list | tuple)
        and len(value) == 3
        and all(isinstance(v, int | float) and math.isfinite(v) for v in value)
        and (name == "mean" or min(value) > 0)
    )
    kind = "numbers" if name == "mean" else "numbers above 0"
    return None if channels else f"three {kind}, one of each channel"


def settle_activation(
    name: str,
    config: dict[str, Any],
    pretrained: str | None,
    asked: Activation | None,
    recorded: Activation | None,
    named: bool = True,
) -> Activation:
    """Settles the activation of the towers' blocks.

    Args:
        name: The architecture.
        config: Its configuration.
        pretrained: A tag, a file or None.
        asked: What the user says.
        recorded: What the file says of itself.
        named: Whether the user chose the architecture, whose name then counts as the user's word
            where it ends in -quickgelu.

    Returns:
        The activation to build with.

    Raises:
        ZooError: It would have to be guessed, or the name contradicts what the weights were
            trained with.
    """
    import open_clip

    own = activation_of(config)
    if asked is not None or pretrained is None:
        return asked or own
    tag = open_clip.get_pretrained_cfg(name, pretrained)
    if tag:
        trained = activation_of(tag)
        if trained != own:
            raise ZooError(
                f"the weights {pretrained!r} were trained with {trained} and {name} is built with {own}: set backbone.activation "
                f"to {trained} (or to {own} if that is what you want)"
            )
        return own
    plain = name.removesuffix("-quickgelu")
    spelt = named and plain != name
    if recorded is not None:
        if spelt and recorded != own:
            raise ZooError(
                f"the weights of {pretrained} were trained with {recorded} and {name} is built with "
                f"{own}: set backbone.name to {plain}, or backbone.activation to the one you want"
            )
        return recorded
    if spelt:
        return own
    if {plain, f"{plain}-quickgelu"} <= set(open_clip.list_models()):
        raise ZooError(
            f"{pretrained} does not say whether its weights were trained with GELU or QuickGELU, and {plain} exists with both: set "
            "backbone.activation to quickgelu (weights that descend from OpenAI's) or to gelu (LAION's and others)"
        )
    return own


def check_tag(name: str, tag: str, argument: str = "backbone.pretrained") -> None:
    """Checks that a tag names weights of an architecture.

    Args:
        name: The architecture.
        tag: What was given.
        argument: Where it was given.

    Raises:
        ZooError: It names none; the message says which architectures it is a tag of.
    """
    import open_clip

    if open_clip.get_pretrained_cfg(name, tag):
        return
    plain = name.removesuffix("-quickgelu")
    other = next(
        (n for n in (plain, f"{plain}-quickgelu") if open_clip.get_pretrained_cfg(n, tag)), None
    )
    if other is not None:
        raise ZooError(
            f"the weights {tag!r} are those of {other}, built with the other activation than {name}: set backbone.name to {other}"
        )
    tags = open_clip.list_pretrained_tags_by_model(name)
    known = f"its tags are {', '.join(tags)}" if tags else "it has no tags"
    raise ZooError(
        f"{argument} {tag!r} is neither a file nor weights of {name}{near(tag, tags)}: {known}"
    )


def build(
    name: str,
    tag: str | None,
    activation: Activation,
    context_length: int | None,
    preprocess: dict[str, Any] | None = None,
) -> nn.Module:
    """Returns open_clip's model with the weights of a tag, or with random ones; raises ZooError where it cannot be had.

    preprocess: settings in place of those of the tag, or of open_clip's own where there is none.
    """
    import open_clip

    try:
        with quiet():
            model: nn.Module = open_clip.create_model(
                name,
                pretrained=tag,
                pretrained_text=False,
                force_context_length=context_length,
                force_preprocess_cfg=preprocess,
                quick_gelu=activation == "quickgelu",
            )
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if tag is not None and "download" in reason.lower():
            raise ZooError(
                f"the weights {tag!r} of {name} could not be downloaded ({reason}): check the network, or give backbone.pretrained a file"
            ) from error
        raise ZooError(
            f"{name} could not be built by open_clip ({reason}): mend its configuration or choose another backbone.name"
        ) from error
    return model


def cached_weights(name: str, tag: str) -> Path | None:
    """Returns the file of a tag's weights where it was fetched before, None where it was not; asks no network."""
    import open_clip
    from huggingface_hub import try_to_load_from_cache

    settings = open_clip.get_pretrained_cfg(name, tag) or {}
    repository, _, file = settings.get("hf_hub", "").rpartition("/")
    if not repository:
        path = Path("~/.cache/clip").expanduser() / settings.get("url", "").rpartition("/")[2]
        return path if path.is_file() else None
    names = (file,) if file else ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
    safe = tuple(f"{Path(n).stem}.safetensors" for n in names)
    found = (try_to_load_from_cache(repository, n) for n in (*safe, *names))
    return next((Path(path) for path in found if isinstance(path, str)), None)


def parameters_of(name: str) -> int:
    """Returns how many parameters an architecture has, without room for them; raises ZooError on an unknown name."""
    import open_clip
    import torch

    known, _ = architecture(name)
    with quiet(), torch.device("meta"):
        model = open_clip.create_model(known, device="meta", pretrained_text=False)
    return sum(parameter.numel() for parameter in model.parameters())
