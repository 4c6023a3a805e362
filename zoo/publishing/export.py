"""`zoo export`: a checkpoint as a plain model that open_clip or Hugging Face reloads.

The reloaded model is compared with the checkpoint before the folder appears.
"""

import json
import logging
import os
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.backbones.catalogue.model import entry_of, is_published
from zoo.backbones.factory import merges_file, silence_open_clip
from zoo.backbones.fingerprint import weights_hash
from zoo.backbones.hugging_face import (
    check_exportable,
    hugging_face_config,
    image_processor_config,
    unwrap_embeddings,
    without_progress_bars,
)
from zoo.backbones.hugging_face_names import hugging_face_state
from zoo.backbones.weights import DESCRIPTION
from zoo.checkpoints.exported import OPEN_CLIP, write_zoo_files
from zoo.checkpoints.files import read_checkpoint, refuse_plain_weights
from zoo.checkpoints.load import load_checkpoint
from zoo.checkpoints.model_sources import resolve_model
from zoo.errors import ZooError, import_optional
from zoo.module import ZooModule
from zoo.publishing.card import CARD, LICENCE, write_card
from zoo.publishing.onnx import check_onnx, refuse_unexportable_head, write_onnx
from zoo.publishing.tokenizer import write_tokenizer
from zoo.results.reader import read_results
from zoo.results.report import Results
from zoo.support.configurable import to_config
from zoo.support.files import build_write_error, check_writable, temporary_path

logger = logging.getLogger(__name__)

Format = Literal["open_clip", "hf", "onnx"]
TOLERANCE = 1e-5  # of entries of L2-normalised embeddings, in fp32
Encoders = tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]


def export(
    checkpoint: str | Path,
    out: Path,
    format: Format = "open_clip",
    results_folders: Sequence[Path] = (),
    licence: str | None = None,
    overwrite: bool = False,
) -> str:
    """Exports a checkpoint as a plain model into a folder, atomically.

    Args:
        checkpoint: A model, as `zoo.load` takes it.
        out: The folder to write.
        format: `open_clip`, `hf` for Hugging Face's CLIPModel, or `onnx` for graphs of both towers
            and the head, which zoo does not load again.
        results_folders: Folders of results of these weights, which are shown on the model card.
        licence: The licence of the weights, by its name on the hub (`apache-2.0`).
        overwrite: Whether to replace an existing export, once the new one is complete.

    Returns:
        A message with the code that loads the folder.

    Raises:
        ZooError: The folder exists and may not be replaced, or is not an export; the licence is not
            valid; the disk is full; the format does not support the architecture; results belong
            to other weights; or the written model's embeddings differ from the checkpoint's.
    """
    out = Path(out)
    if format not in get_args(Format):
        raise ZooError(
            f"{format!r} is not an export format: choose {' or '.join(get_args(Format))}"
        )
    _check_licence_name(licence)
    _check_replaceable(out, overwrite)
    source = resolve_model(checkpoint)
    if source.checkpoint is not None:
        checkpoint = source.checkpoint
        advice = "describe plain weights in a YAML file (docs/guides/published.md), and export "
        refuse_plain_weights(source.checkpoint, f"{advice}MODEL.yaml:{checkpoint}")
    results = {run: read_results(run) for run in results_folders}
    module = source.load().eval()
    backbone = module.backbone.with_merged_adapters().eval()
    if format == "hf" or (format == "open_clip" and merges_file(backbone.name).is_file()):
        import_optional("transformers", "hf")
    if format == "hf":
        check_exportable(backbone.name, backbone.architecture)
    if format == "onnx":
        refuse_unexportable_head(module)
    hashes = {weights_hash(module.backbone, module.head)}
    _copy_scale_and_bias(module, backbone)
    hashes.add(weights_hash(backbone, module.head))
    for run, run_results in results.items():
        _refuse_results_of_other_weights(run, run_results, hashes, checkpoint)
    base = module.constructor_config()["backbone"]["init_args"]["pretrained"]
    if source.checkpoint is not None:  # a module of a checkpoint names no other weights
        base = _initial_weights_setting(source.checkpoint)
    entry = entry_of(source.name) if is_published(source.name) else None
    try:
        with temporary_path(out, folder=True, overwrite=overwrite) as partial:
            if format == "onnx":
                probes = _probe_inputs(backbone)
                write_onnx(module, backbone, partial, probes)
                check_onnx(module, backbone, partial, probes)
            else:
                with without_progress_bars() if format == "hf" else nullcontext():
                    _write_model(module, backbone, partial, format, base)
                    _check_reload(module, backbone, partial, format)
            measured_here = [*results.values()]
            write_card(partial, out.name, format, module, measured_here, licence, entry, base)
            for file in partial.iterdir():
                file.chmod(0o644)
            partial.chmod(0o755)
    except (OSError, SafetensorError) as error:
        system_error = _parse_system_error(error)
        if system_error is None:
            raise
        raise build_write_error(out, system_error) from error
    loaders = {
        "open_clip": f"open_clip.create_model('local-dir:{out}') and by zoo.load('{out}')",
        "hf": f"transformers.CLIPModel.from_pretrained('{out}') and by zoo.load('{out}')",
        "onnx": "onnxruntime, as its README.md says",
    }[format]
    return f"{out}: reloaded by {loaders}, with the embeddings of {checkpoint}"


def _check_licence_name(licence: str | None) -> None:
    if licence is not None and not LICENCE.fullmatch(licence):
        raise ZooError(
            f"{licence!r} is not a licence name of the hub: give one such as apache-2.0, mit or "
            "cc-by-4.0, or `other`"
        )


def _check_replaceable(out: Path, overwrite: bool) -> None:
    """Checks, before anything is read, that the folder can be written without losing other files.

    Args:
        out: The folder.
        overwrite: Whether an existing export may be replaced.

    Raises:
        ZooError: It is not an export, may not be replaced, or cannot be written.
    """
    if not os.path.lexists(out):
        check_writable(out)
        return
    exported = all((out / name).is_file() for name in (CARD, DESCRIPTION))
    if out.is_symlink() or not exported:
        raise ZooError(f"{out} exists and was not written by `zoo export`: choose another")
    if not overwrite:
        raise ZooError(f"{out} exists: name another folder, or add --overwrite if it may be lost")


def _initial_weights_setting(checkpoint: Path) -> Any:
    """Returns the initial weights of a checkpoint, as in its recipe."""
    backbone = read_checkpoint(checkpoint)["hyper_parameters"]["backbone"]
    return backbone.get("init_args", {}).get("pretrained")


def _refuse_results_of_other_weights(
    run: Path, results: Results, hashes: set[str], checkpoint: str | Path
) -> None:
    """Checks that results belong to the exported weights.

    Args:
        run: The folder of the results.
        results: The results.
        hashes: Hashes of the weights as loaded and as written.
        checkpoint: The checkpoint of the weights.

    Raises:
        ZooError: The results belong to other weights.
    """
    if results.header["model"].get("weights_sha256") not in hashes:
        raise ZooError(
            f"{run} was not measured with the weights of {checkpoint}: measure them by `zoo "
            f"validate --ckpt_path {checkpoint} --out DIR`, or leave this run out"
        )


def _parse_system_error(error: Exception) -> OSError | None:
    """Returns the system's error, which safetensors only mentions in its message."""
    if isinstance(error, OSError):
        return error
    code = re.search(r"\(os error (\d+)\)", str(error))
    return None if code is None else OSError(int(code[1]), os.strerror(int(code[1])))


@torch.no_grad()
def _copy_scale_and_bias(module: ZooModule, backbone: Backbone) -> None:
    head = module.head
    if not head.scales_cosine:  # the towers' own temperature stays
        return
    own_bias = getattr(backbone.model, "logit_bias", None) is not None
    bias = float(head.bias) if own_bias and head.bias is not None else None
    backbone.write_scale_and_bias(float(head.scale), bias)
    if head.bias is not None and not own_bias:
        logger.warning(
            "%s has no logit_bias: the head's bias (%.3g) is in zoo's own file alone",
            backbone.name,
            float(head.bias),
        )


def _write_model(
    module: ZooModule, backbone: Backbone, folder: Path, format: Format, base: Any
) -> None:
    state = {name: tensor.contiguous() for name, tensor in backbone.model.state_dict().items()}
    if format == "open_clip":
        architecture = backbone.architecture
        if merges_file(backbone.name).is_file():
            # open_clip does not know this vocabulary, and reads it from the folder
            text_config = architecture["text_cfg"] | {"hf_tokenizer_name": "."}
            architecture = architecture | {"text_cfg": text_config}
            write_tokenizer(backbone, folder)
        config = {"model_cfg": architecture, "preprocess_cfg": backbone.preprocess}
        (folder / "open_clip_config.json").write_text(json.dumps(config, indent=1), "utf-8")
        save_file(state, folder / OPEN_CLIP)
    else:
        _write_hugging_face(backbone, state, folder)
    recipe = {**module.constructor_config(), "backbone": to_config(backbone)}
    recipe["backbone"]["init_args"]["pretrained"] = base
    full_state = {f"backbone.model.{name}": tensor for name, tensor in state.items()}
    full_state |= {
        name: tensor
        for name, tensor in module.state_dict().items()
        if not name.startswith("backbone.")
    }
    write_zoo_files(folder, recipe, {**module.origin, "weights": module.weight_origins}, full_state)


def _write_hugging_face(backbone: Backbone, state: dict[str, Tensor], folder: Path) -> None:
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

    model = CLIPModel(
        CLIPConfig(**hugging_face_config(backbone.architecture, float(state["logit_scale"])))
    )
    model.load_state_dict(hugging_face_state(state))
    model.save_pretrained(folder)
    CLIPImageProcessor(
        **image_processor_config(backbone.preprocess, backbone.image_size[0])
    ).save_pretrained(folder)
    write_tokenizer(backbone, folder)


def _check_reload(module: ZooModule, backbone: Backbone, folder: Path, format: Format) -> None:
    """Checks that the export reloads in the other library and, with its head, in zoo.

    Raises:
        ZooError: A tensor or an embedding is different.
    """
    reloaded = load_checkpoint(folder)
    expected = {
        name: t for name, t in module.state_dict().items() if not name.startswith("backbone.")
    }
    expected |= {f"backbone.model.{name}": t for name, t in backbone.model.state_dict().items()}
    reloaded_state = reloaded.state_dict()
    wrong = [
        name
        for name, tensor in expected.items()
        if name not in reloaded_state or not torch.equal(reloaded_state[name], tensor)
    ]
    if wrong:
        raise ZooError(
            "the export does not reload in zoo as it was (tensors that differ: "
            f"{len(wrong)}, such as {wrong[0]}): report this"
        )
    images, ids = _probe_inputs(backbone)
    ours: Encoders = (
        _normalized_encoder(backbone.model.encode_image),
        _normalized_encoder(backbone.model.encode_text),
    )
    theirs = _load_encoders(folder, format)
    for side, our_encode, their_encode, probe in zip(
        ("images", "texts"), ours, theirs, (images, ids), strict=True
    ):
        difference = float((our_encode(probe) - their_encode(probe)).abs().max())
        if not difference <= TOLERANCE:
            raise ZooError(
                f"the embeddings of {side} differ by {difference:.1e} after reloading, more than "
                f"{TOLERANCE:.0e}: report this"
            )


def _probe_inputs(backbone: Backbone) -> tuple[Tensor, Tensor]:
    """Returns noise for images, and token ids of texts of several lengths.

    The texts end in the largest id.
    """
    noise = torch.Generator().manual_seed(0)
    images = torch.randn(4, 3, *backbone.image_size, generator=noise)
    vocabulary = int(getattr(backbone.model, "text", backbone.model).vocab_size)
    ids = torch.randint(1, vocabulary - 1, (4, backbone.context), generator=noise)
    for row, end in enumerate(
        (2, backbone.context // 3, backbone.context // 2, backbone.context - 1)
    ):
        ids[row, end], ids[row, end + 1 :] = vocabulary - 1, 0
    return images, ids


def _load_encoders(folder: Path, format: Format) -> Encoders:
    """Returns both towers of the folder, loaded with the other library."""
    if format == "hf":
        from transformers import CLIPModel

        model: Any = CLIPModel.from_pretrained(folder)  # in evaluation mode
        return _normalized_encoder(model.get_image_features), _normalized_encoder(
            model.get_text_features
        )
    import open_clip

    with silence_open_clip():
        open_clip_model: Any = open_clip.create_model(f"local-dir:{folder}").eval()
    return _normalized_encoder(open_clip_model.encode_image), _normalized_encoder(
        open_clip_model.encode_text
    )


def _normalized_encoder(encode: Callable[[Tensor], Any]) -> Callable[[Tensor], Tensor]:
    """Returns a function that computes L2-normalised embeddings.

    Args:
        encode: Returns a tensor or an output of Hugging Face.
    """

    @torch.no_grad()
    def normalize(x: Tensor) -> Tensor:
        return F.normalize(unwrap_embeddings(encode(x)), dim=-1)

    return normalize
