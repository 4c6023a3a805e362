"""What encoded items depend on beside their input: weights, preprocessing and tokenizer."""

import hashlib
import inspect
import json
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import nn

from zoo.backbones.backbone import Backbone
from zoo.backbones.preparation import Decoder
from zoo.support.distributed import full_tensor
from zoo.support.spec import class_path

Digest: TypeAlias = "hashlib._Hash"

LIBRARIES = ("open_clip_torch", "pillow", "timm", "torch", "torchvision", "transformers")
# what encodes and decodes
CODE = ("backbones/**/*.py", "pixels/decoding.py", "sources/*.py", "batch.py")


def weights_hash(*modules: nn.Module) -> str:
    """Returns the SHA-256 of the modules' parameters and buffers, by name.

    Args:
        modules: The modules. Where their weights are split over ranks, every rank must call this.
    """
    return weights_digest(*modules).hexdigest()


def weights_digest(*modules: nn.Module, after: "Digest | None" = None) -> Digest:
    """Returns the digest of which `weights_hash` is the text.

    Args:
        modules: The modules. Where their weights are split over ranks, every rank must call this.
        after: The digest of the modules that come before them, which need not be read again.
    """
    digest = hashlib.sha256() if after is None else after.copy()
    for module in modules:
        for name, tensor in sorted(module.state_dict().items()):
            digest.update(name.encode())
            plain: Any = full_tensor(tensor.detach()).cpu().contiguous()
            digest.update(plain.reshape(-1).view(torch.uint8).numpy())
    return digest


def encoding_of(backbone: Backbone) -> dict[str, Any]:
    """Returns what the backbone's outputs depend on, as JSON would give it back."""
    described = {
        "architecture": backbone.name,
        "activation": backbone.activation,
        "weights": weights_hash(backbone),
        "preprocessing": dict(backbone.model.visual.preprocess_cfg),
        "tokenizer": backbone.text.tokenizer,
        "context": backbone.context,
    }
    plain: dict[str, Any] = json.loads(json.dumps(described))
    return plain


def computation_of(
    backbone: Backbone,
    precision: str,
    decoder: Decoder = "pil",
    weights: "Digest | None" = None,
) -> dict[str, Any] | None:
    """Returns all that the pooled vector of an image's bytes or a text's token ids depends on.

    How many are encoded at once is not among it: that changes last digits alone.

    Args:
        backbone: Encodes them. Where its weights are split over ranks, every rank must call this.
        precision: The trainer's name of the precision in which it runs.
        decoder: What decodes images.
        weights: The digest of its weights, where that is at hand.

    Returns:
        It, by name. None where the backbone's class stands in no file, so that nothing tells when
        its code changes.
    """
    weight = next(backbone.parameters())
    on = weight.device
    lora = backbone.tuning.lora
    files = _files(type(backbone))
    if files is None:
        return None
    # what a user's own class was given beside Backbone's arguments, which the rest tells of
    common = inspect.signature(Backbone.__init__).parameters
    own = {name: value for name, value in backbone._recorded.items() if name not in common}
    return {
        "class": class_path(type(backbone)),
        "arguments": own,
        "architecture": backbone.architecture,
        "weights": (weights or weights_digest(backbone)).hexdigest(),
        "dtype": str(weight.dtype),
        "adapters": None if lora is None else asdict(lora),
        "preprocessing": dict(backbone.model.visual.preprocess_cfg),
        "decoder": decoder,
        "compile": backbone.compute.compile,
        "channels_last": backbone.compute.channels_last,
        "packed": backbone.compute.packed,
        "precision": precision,
        **_surroundings(on, files),
    }


def computation_of_module(
    model: nn.Module, preprocessing: str, *adapters: type
) -> dict[str, Any] | None:
    """Returns all that a vector of another library's model depends on besides its input.

    Args:
        model: The model.
        preprocessing: Describes how its images are prepared, and what it is otherwise built by.
        adapters: Classes that stand between the model and the engine.

    Returns:
        It, by name. None where the model has hooks or functions of its own, or a class in no file,
        so that a change of them would not be seen.
    """
    parts = dict(model.named_modules())
    settings = {name: _settings(part) for name, part in parts.items()}
    sources = [_files(kind) for kind in {*map(type, parts.values()), *adapters}]
    if None in settings.values() or None in sources:
        return None
    weight = next(model.parameters())
    return {
        "class": class_path(type(model)),
        "modules": settings,
        "weights": weights_hash(model),
        "autocast": torch.is_autocast_enabled(weight.device.type),
        "dtypes": sorted({str(tensor.dtype) for tensor in model.state_dict().values()}),
        "preprocessing": preprocessing,
        **_surroundings(weight.device, frozenset().union(*filter(None, sources))),
    }


def _settings(part: nn.Module) -> dict[str, Any] | None:
    """Returns the class and the plain attributes of a module, None where it was changed by code."""
    if part._forward_hooks or part._forward_pre_hooks:
        return None
    found: dict[str, Any] = {"class": class_path(type(part))}
    for name, value in vars(part).items():
        if inspect.isroutine(value):
            # a method that was replaced, or a function whose source is in no place of its own
            if hasattr(type(part), name) or "<" in value.__qualname__:
                return None
            found[name] = f"{value.__module__}.{value.__qualname__}"
        elif isinstance(value, bool | int | float | str | tuple | list) and name != "training":
            found[name] = repr(value)
    return found


def _surroundings(device: torch.device, files: frozenset[str]) -> dict[str, Any]:
    """Returns what a computation depends on besides model and input."""
    return {
        "products": torch.get_float32_matmul_precision(),
        "tf32": [torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32],
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "libraries": {name: _version(name) for name in LIBRARIES},
        "code": _code(files),
    }


def _files(kind: type) -> frozenset[str] | None:
    """Returns the files of a class and its bases, None where one is in none, as a notebook's."""
    try:
        found = {inspect.getsourcefile(k) for k in kind.__mro__ if k.__module__ != "builtins"}
    except (TypeError, OSError):
        return None
    return frozenset(filter(None, found))


@cache
def _code(files: frozenset[str]) -> str:
    """Returns the SHA-256 of the source that encodes and decodes, and of these files."""
    package = Path(__file__).parents[1]
    every = {path for pattern in CODE for path in package.glob(pattern)} | {*map(Path, files)}
    digest = hashlib.sha256()
    for path in sorted(every):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
