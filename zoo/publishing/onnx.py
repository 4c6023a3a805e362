"""ONNX: both towers and the head as graphs that run without torch.

image.onnx takes pixels, text.onnx token ids, and head.onnx the outputs of both.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from zoo.backbones.backbone import Backbone
from zoo.backbones.hugging_face import image_processor_config
from zoo.backbones.towers import ImageTower, TextTower
from zoo.backbones.weights import DESCRIPTION
from zoo.batch import Encoded, TokenKey
from zoo.errors import ZooError, import_optional
from zoo.heads.base import Head
from zoo.module import ZooModule
from zoo.publishing.tokenizer import write_tokenizer

GRAPHS = ("image.onnx", "text.onnx", "head.onnx")
TOLERANCE = 1e-4  # of entries of L2-normalised vectors, and of scores
MAX_EMBEDDED = 1.5e9  # bytes of weights in a graph file (limit 2 GB); more go to another file

Array = NDArray[Any]


class ImageGraph(nn.Module):
    """Pixels to pooled vectors and the tokens that the head reads."""

    def __init__(self, backbone: Backbone, keys: Sequence[TokenKey]) -> None:
        super().__init__()
        self.model, self.keys = backbone.model, keys
        self.tower = ImageTower(backbone.model, backbone.shapes.width)

    def forward(self, pixels: Tensor) -> list[Tensor]:
        """Returns pooled vectors, and the tokens of each key."""
        return _flatten_encoded(self.tower(pixels, frozenset(self.keys)), self.keys)


class TextGraph(nn.Module):
    """Token ids at full context to pooled vectors, tokens and their masks."""

    def __init__(self, backbone: Backbone, keys: Sequence[TokenKey]) -> None:
        super().__init__()
        self.model, self.keys = backbone.model, keys
        self.tower = TextTower(backbone.model, backbone.shapes.width)

    def forward(self, ids: Tensor) -> list[Tensor]:
        """Returns pooled vectors, and the tokens and masks of each key."""
        lengths = self.tower.end.lengths(ids)
        return _flatten_encoded(self.tower(ids, lengths, frozenset(self.keys)), self.keys)


class ScoreGraph(nn.Module):
    """The outputs of both towers to scores of all pairs."""

    def __init__(
        self, head: Head, image_keys: Sequence[TokenKey], text_keys: Sequence[TokenKey]
    ) -> None:
        super().__init__()
        self.head, self.image_keys, self.text_keys = head, image_keys, text_keys

    def forward(self, images: list[Tensor], texts: list[Tensor]) -> Tensor:
        """Returns the scores of images against texts, `[n, m]`."""
        head = self.head
        return head.block(
            head.prepare_images(_to_encoded(images, self.image_keys)),
            head.prepare_texts(_to_encoded(texts, self.text_keys)),
        )


def refuse_unexportable_head(module: ZooModule) -> None:
    """Checks, before anything is written, that a model can be exported as graphs.

    Args:
        module: The model.

    Raises:
        ZooError: A library is missing, or the head cannot be exported as a graph.
    """
    for library in ("onnx", "onnxscript", "onnxruntime", "transformers"):
        import_optional(library, "export")
    head = type(module.head).__name__
    if module.head.needs.pieces:
        raise ZooError(
            f"the head {head} needs images or texts encoded in pieces, which the exported towers "
            "do not support: export with --format open_clip"
        )
    if module.head.reranks:
        raise ZooError(
            f"the head {head} reads tokens or processes pairs one by one, and only heads over "
            "vectors can be exported as graphs: export with --format open_clip"
        )


def write_onnx(
    module: ZooModule, backbone: Backbone, folder: Path, probes: tuple[Tensor, Tensor]
) -> None:
    """Writes the graphs, the preprocessing, the tokenizer, and zoo.json with the recipe.

    Args:
        module: The model.
        backbone: Its towers, with adapters merged.
        folder: The folder.
        probes: Pixels `[n, 3, H, W]` and token ids `[n, L]` that the towers are traced with.

    Raises:
        ZooError: A part cannot be written as a graph.
    """
    images, texts, scores = _build_graphs(module, backbone)
    pixels, ids = probes
    with torch.no_grad():
        outputs = images(pixels), texts(ids[:-1])
    n, m = (torch.export.Dim(name) for name in ("images", "texts"))
    names = (_names("image", images.keys), _names("text", texts.keys))
    _export_graph(images, folder / GRAPHS[0], (pixels,), ({0: n},), ["pixels"], names[0])
    _export_graph(texts, folder / GRAPHS[1], (ids,), ({0: m},), ["ids"], names[1])
    shapes = tuple(
        [{0: size} for _ in tensors] for tensors, size in zip(outputs, (n, m), strict=True)
    )
    _export_graph(scores, folder / GRAPHS[2], outputs, shapes, [*names[0], *names[1]], ["scores"])
    description = {
        "recipe": module.constructor_config(),
        "origin": {**module.origin, "weights": module.weight_origins},
    }
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=1), "utf-8")
    _write_preparation(backbone, folder)


def check_onnx(
    module: ZooModule, backbone: Backbone, folder: Path, probes: tuple[Tensor, Tensor]
) -> None:
    """Checks that the graphs reproduce the model's vectors and scores, for one item and several.

    Args:
        module: The model.
        backbone: Its towers, with adapters merged.
        folder: The folder of the graphs.
        probes: Pixels and token ids.

    Raises:
        ZooError: They differ.
    """
    onnxruntime: Any = import_optional("onnxruntime", "export")
    images, texts, scores = _build_graphs(module, backbone)
    sessions = [
        onnxruntime.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"])
        for name in GRAPHS
    ]
    for n, m in ((1, len(probes[1])), (len(probes[0]), 1)):
        pixels, ids = probes[0][:n], probes[1][:m]
        with torch.no_grad():
            ours = images(pixels), texts(ids)
            expected = scores(*ours)
        theirs = [
            dict(
                zip([o.name for o in session.get_outputs()], session.run(None, inputs), strict=True)
            )
            for session, inputs in zip(
                sessions, ({"pixels": pixels.numpy()}, {"ids": ids.numpy()}), strict=False
            )
        ]
        for side, our_outputs, their_outputs in zip(("image", "text"), ours, theirs, strict=True):
            _refuse_difference(
                f"vectors of {side}s", _unit(our_outputs[0]), _unit(their_outputs[f"{side}_pooled"])
            )
        (graph_scores,) = sessions[2].run(None, theirs[0] | theirs[1])
        _refuse_difference("scores", expected.numpy(), graph_scores)


def _build_graphs(
    module: ZooModule, backbone: Backbone
) -> tuple[ImageGraph, TextGraph, ScoreGraph]:
    needs = module.head.needs
    image_keys, text_keys = sorted(needs.image_keys), sorted(needs.text_keys)
    return (
        ImageGraph(backbone, image_keys).eval(),
        TextGraph(backbone, text_keys).eval(),
        ScoreGraph(module.head, image_keys, text_keys).eval(),
    )


def _flatten_encoded(items: Encoded, keys: Sequence[TokenKey]) -> list[Tensor]:
    return [items.pooled, *(part for key in keys for part in (items.tokens[key], items.masks[key]))]


def _to_encoded(parts: list[Tensor], keys: Sequence[TokenKey]) -> Encoded:
    tokens, masks = parts[1::2], parts[2::2]
    return Encoded(
        parts[0], dict(zip(keys, tokens, strict=True)), dict(zip(keys, masks, strict=True))
    )


def _names(side: str, keys: Sequence[TokenKey]) -> list[str]:
    pairs = [(f"{side}_tokens_{i}", f"{side}_mask_{i}") for i in range(len(keys))]
    return [f"{side}_pooled", *(name for pair in pairs for name in pair)]


def _export_graph(
    part: nn.Module,
    file: Path,
    args: tuple[Any, ...],
    shapes: tuple[Any, ...],
    inputs: list[str],
    outputs: list[str],
) -> None:
    size = sum(tensor.numel() * tensor.element_size() for tensor in part.state_dict().values())
    try:
        torch.onnx.export(
            part,
            args,
            file,
            input_names=inputs,
            output_names=outputs,
            dynamic_shapes=shapes,
            external_data=size > MAX_EMBEDDED,
            verbose=False,
        )
    except torch.onnx.errors.OnnxExporterError as error:
        reason = next(filter(None, map(str.strip, str(error).splitlines())), "no reason is given")
        raise ZooError(
            f"{file.name} cannot be written as a graph ({reason}): export with --format open_clip"
        ) from error


def _write_preparation(backbone: Backbone, folder: Path) -> None:
    """Writes the image preprocessing, and the tokenizer if the model uses CLIP's."""
    from transformers import CLIPImageProcessor

    prepared = image_processor_config(backbone.preprocess, backbone.image_size[0])
    CLIPImageProcessor(**prepared).save_pretrained(folder)
    write_tokenizer(backbone, folder)


def _unit(vectors: Any) -> Array:
    return F.normalize(torch.as_tensor(vectors), dim=-1).numpy()


def _refuse_difference(what: str, ours: Array, theirs: Array) -> None:
    difference = float(np.abs(ours - theirs).max())
    if not difference <= TOLERANCE:
        raise ZooError(
            f"the {what} of the graphs differ by {difference:.1e} from the model's, more than "
            f"{TOLERANCE:.0e}: report this"
        )
