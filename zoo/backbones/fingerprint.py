"""Fingerprints of what encodings depend on: weights, preprocessing, tokenizer and code."""

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
from zoo.support.configurable import class_path
from zoo.support.distributed import full_tensor
from zoo.support.gpu import INEXACT, fp32_precisions

Digest: TypeAlias = "hashlib._Hash"

LIBRARIES = ("open_clip_torch", "pillow", "timm", "torch", "torchvision", "transformers")
# what encodes and decodes
CODE = ("backbones/**/*.py", "pixels/decoding.py", "sources/*.py", "batch.py")


def weights_hash(*modules: nn.Module) -> str:
    """Returns the SHA-256 of the modules' parameters and buffers, by name.

    Args:
        modules: The modules. If their weights are sharded over ranks, every rank must call this.
    """
    return weights_digest(*modules).hexdigest()


def weights_digest(*modules: nn.Module, after: "Digest | None" = None) -> Digest:
    """Returns the digest behind `weights_hash`.

    Args:
        modules: The modules. If their weights are sharded over ranks, every rank must call this.
        after: The digest of preceding modules, which need not be read again.
    """
    digest = hashlib.sha256() if after is None else after.copy()
    for module in modules:
        for name, tensor in sorted(module.state_dict().items()):
            digest.update(name.encode())
            content: Any = full_tensor(tensor.detach()).cpu().contiguous()
            digest.update(content.reshape(-1).view(torch.uint8).numpy())
    return digest


def encoding_dependencies(backbone: Backbone) -> dict[str, Any]:
    """Returns what the backbone's outputs depend on, as plain JSON values."""
    settings = {
        "architecture": backbone.name,
        "activation": backbone.activation,
        "weights": weights_hash(backbone),
        "preprocessing": dict(backbone.model.visual.preprocess_cfg),
        "tokenizer": backbone.text.tokenizer,
        "context": backbone.context,
    }
    inexact = {
        name: precision
        for name, precision in fp32_precisions().items()
        if name.startswith("products") and precision in INEXACT
    }
    if inexact:  # left out otherwise, so that earlier folders remain valid
        settings["fp32"] = inexact
    result: dict[str, Any] = json.loads(json.dumps(settings))
    return result


def computation_dependencies(
    backbone: Backbone,
    precision: str,
    decoder: Decoder = "pil",
    weights: "Digest | None" = None,
) -> dict[str, Any] | None:
    """Returns all that the pooled vector of an image's bytes or a text's token ids depends on.

    The batch size is not included, since it only changes last digits.

    Args:
        backbone: The backbone. If its weights are sharded over ranks, every rank must call this.
        precision: The trainer's name of the precision in which it runs.
        decoder: The decoder of images.
        weights: The digest of its weights, if it is already known.

    Returns:
        The dependencies by name. None if the backbone has hooks, or if its class is not defined in
        a file, so that changes of its code cannot be detected.
    """
    weight = next(backbone.parameters())
    device = weight.device
    lora = backbone.tuning.lora
    files = _source_files(type(backbone))
    if files is None or any(map(_has_hooks, backbone.modules())):
        return None
    # arguments of a custom class besides Backbone's, which are covered below
    common = inspect.signature(Backbone.__init__).parameters
    extra_arguments = {
        name: value for name, value in backbone.recorded_arguments.items() if name not in common
    }
    return {
        "class": class_path(type(backbone)),
        "arguments": extra_arguments,
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
        **_runtime_environment(device, files),
    }


def module_dependencies(
    model: nn.Module, preprocessing: str, *adapters: type
) -> dict[str, Any] | None:
    """Returns all that a vector of another library's model depends on besides its input.

    Args:
        model: The model.
        preprocessing: A description of its preprocessing and configuration.
        adapters: Classes between the model and the engine.

    Returns:
        The dependencies by name. None if the model has hooks, replaced functions, or a class that
        is not defined in a file, so that changes of them cannot be detected.
    """
    parts = dict(model.named_modules())
    settings = {name: _module_settings(part) for name, part in parts.items()}
    sources = [_source_files(kind) for kind in {*map(type, parts.values()), *adapters}]
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
        **_runtime_environment(weight.device, frozenset().union(*filter(None, sources))),
    }


def _has_hooks(part: nn.Module) -> bool:
    return bool(part._forward_hooks or part._forward_pre_hooks)


def _module_settings(part: nn.Module) -> dict[str, Any] | None:
    """Returns the class and the plain attributes of a module, None if its code was replaced."""
    if _has_hooks(part):
        return None
    settings: dict[str, Any] = {"class": class_path(type(part))}
    for name, value in vars(part).items():
        if inspect.isroutine(value):
            # a replaced method, or a function without an own source
            if hasattr(type(part), name) or "<" in value.__qualname__:
                return None
            settings[name] = f"{value.__module__}.{value.__qualname__}"
        elif isinstance(value, bool | int | float | str | tuple | list) and name != "training":
            settings[name] = repr(value)
    return settings


def _runtime_environment(device: torch.device, files: frozenset[str]) -> dict[str, Any]:
    """Returns what a computation depends on besides model and input."""
    return {
        "fp32": fp32_precisions(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "libraries": {name: _version(name) for name in LIBRARIES},
        "code": _hash_sources(files),
    }


def _source_files(kind: type) -> frozenset[str] | None:
    """Returns the files of a class and its bases, None if one has none, as in a notebook."""
    try:
        files = {inspect.getsourcefile(k) for k in kind.__mro__ if k.__module__ != "builtins"}
    except (TypeError, OSError):
        return None
    return frozenset(filter(None, files))


@cache
def _hash_sources(files: frozenset[str]) -> str:
    """Returns the SHA-256 of the source that encodes and decodes, and of these files."""
    package = Path(__file__).parents[1]
    paths = {path for pattern in CODE for path in package.glob(pattern)} | {*map(Path, files)}
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
