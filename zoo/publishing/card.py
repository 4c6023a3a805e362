"""The model card: README.md of an exported model, with the metadata that the hub reads."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import yaml

from zoo import __version__
from zoo.backbones.backbone import Backbone
from zoo.backbones.catalogue.entry import ModelEntry
from zoo.backbones.hugging_face import check_exportable, image_processor_config
from zoo.errors import ZooError
from zoo.heads import Cosine
from zoo.module import ZooModule
from zoo.results.metrics import Metric
from zoo.results.report import Results
from zoo.support.provenance import RANDOM, TRAINED

CARD = "README.md"
TEMPLATE = Path(__file__).parent / "templates" / "model_card.md"
TASK = (
    "zero-shot-image-classification"  # the hub's name of the task of scoring images against texts
)
LIBRARIES = {"open_clip": "open_clip", "hf": "transformers", "onnx": "onnx"}
LICENCE = re.compile(r"[\w.-]+")  # a licence name of the hub; `other` if it has none
DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
ABSOLUTE = re.compile(r"(?<![\w./])~?(?:/[^/\s,;]+)+")  # a path within a sentence
LIBRARY_SCORES = "open_clip and transformers score by the cosine of both vectors"


@dataclass(frozen=True)
class LoadingInstructions:
    """A way to load an exported folder.

    Attributes:
        description: In what.
        code: The commands.
        language: What they are written in.
    """

    description: str
    code: str
    language: str = "python"


LOADINGS = {
    "open_clip": LoadingInstructions(
        "In open_clip, from this folder; to load from the hub, write `hf-hub:USER/NAME` instead of "
        "`local-dir:FOLDER`:",
        "import open_clip\n\n"
        'model, _, preprocess = open_clip.create_model_and_transforms("local-dir:FOLDER")\n'
        'tokenizer = open_clip.get_tokenizer("local-dir:FOLDER")',
    ),
    "hf": LoadingInstructions(
        "In transformers, from this folder; to load from the hub, write `USER/NAME` instead of "
        "`FOLDER`:",
        "from transformers import CLIPModel, CLIPProcessor\n\n"
        'model = CLIPModel.from_pretrained("FOLDER")\n'
        'processor = CLIPProcessor.from_pretrained("FOLDER")',
    ),
    "onnx": LoadingInstructions(
        "In onnxruntime, from this folder (`hf download USER/NAME --local-dir FOLDER`). "
        "`image.onnx` and `text.onnx` compute vectors of any number of images and texts, and "
        "`head.onnx` scores all pairs of them:",
        "import onnxruntime\n"
        "from PIL import Image\n"
        "from transformers import CLIPImageProcessor, CLIPTokenizer\n\n"
        'processor = CLIPImageProcessor.from_pretrained("FOLDER")\n'
        'tokenizer = CLIPTokenizer.from_pretrained("FOLDER")\n'
        'texts = ["a person on the horse", "a horse on the person"]\n'
        "inputs = {\n"
        '    "image": processor(Image.open("horse.jpg"), return_tensors="np")["pixel_values"],\n'
        '    "text": tokenizer(\n'
        '        texts, padding="max_length", truncation=True, return_tensors="np"\n'
        '    )["input_ids"],\n'
        "}\n"
        "vectors = {}\n"
        "for side, values in inputs.items():\n"
        '    tower = onnxruntime.InferenceSession(f"FOLDER/{side}.onnx")\n'
        "    outputs = tower.run(None, {tower.get_inputs()[0].name: values})\n"
        "    vectors |= {o.name: value for o, value in zip(tower.get_outputs(), outputs)}\n"
        'head = onnxruntime.InferenceSession("FOLDER/head.onnx")\n'
        "(scores,) = head.run(None, vectors)",
    ),
}
WITHOUT_TOKENIZER = {
    "hf": LoadingInstructions(
        "In transformers, from this folder; to load from the hub, write `USER/NAME` instead of "
        "`FOLDER`. The model's tokenizer is not CLIP's and is not part of this folder: pass token "
        "ids.",
        "from transformers import CLIPImageProcessor, CLIPModel\n\n"
        'model = CLIPModel.from_pretrained("FOLDER")\n'
        'processor = CLIPImageProcessor.from_pretrained("FOLDER")',
    ),
    "onnx": LoadingInstructions(
        "In onnxruntime, from this folder (`hf download USER/NAME --local-dir FOLDER`). "
        "`image.onnx` and `text.onnx` compute vectors of any number of images and texts, and "
        "`head.onnx` scores all pairs of them. The model's tokenizer is not CLIP's and is not part "
        "of this folder: pass token ids.",
        "import onnxruntime\n"
        "from transformers import CLIPImageProcessor\n\n"
        'processor = CLIPImageProcessor.from_pretrained("FOLDER")\n'
        "image, text, head = (\n"
        '    onnxruntime.InferenceSession(f"FOLDER/{part}.onnx") for part in '
        '("image", "text", "head")\n'
        ")",
    ),
}
TO_TRANSFORMERS = LoadingInstructions(
    "In transformers, after converting this folder:",
    "zoo export FOLDER FOLDER_HF --format hf",
    "bash",
)
IN_ZOO = LoadingInstructions(
    "In zoo, with the model's head (`hf download USER/NAME --local-dir FOLDER`):",
    'import zoo\n\nmodel = zoo.load("FOLDER")\n'
    'model.score("horse.jpg", ["a person on the horse", "a horse on the person"])',
)


def write_card(
    folder: Path,
    name: str,
    format: str,
    module: ZooModule,
    results: Sequence[Results] = (),
    licence: str | None = None,
    entry: ModelEntry | None = None,
    base: Any = None,
) -> None:
    """Writes the card of an exported model into its folder.

    Args:
        folder: The exported folder.
        name: The name of the model.
        format: The format of the export: `open_clip`, `hf` or `onnx`.
        module: The exported module.
        results: Results of these weights.
        licence: The licence of its weights, by its name on the hub; None if not given.
        entry: The catalogue entry of a published model, else None.
        base: The weights that training started from, as in `backbone.pretrained`.
    """
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

    recipe = module.constructor_config()
    weights = recipe["backbone"]["init_args"]
    weights["pretrained"] = base
    trained = _is_trained(module)
    objective = [type(module.objective).__name__] if trained else []
    licence = licence or (None if entry is None else entry.licence)
    evaluations = [
        EvalResult(**_eval_result_arguments(run, metric))
        for run in results
        for metric in run.metrics
        if metric.value is not None
    ]
    data = ModelCardData(
        license=licence.lower() if licence and LICENCE.fullmatch(licence) else None,
        library_name=LIBRARIES[format],
        pipeline_tag=TASK,
        base_model=_base_repository_on_hub(weights),
        tags=["clip", "compositionality", "zoo", *objective],
        model_name=name,
        eval_results=evaluations or None,
    )
    data_description = _shorten_paths(module.origin.get("data") or {})
    card = ModelCard.from_template(
        data,
        template_path=str(TEMPLATE),
        name=name,
        description=_describe_model(module, entry),
        loadings=list(_loading_instructions(folder, format, module.backbone)),
        scoring="" if format == "onnx" else _describe_library_scoring(module),
        model=list(_model_rows(module, base)),
        trained_on=_describe_training_data(module, entry),
        data=list(_data_rows(data_description)),
        recipe=yaml.safe_dump(_shorten_paths(recipe), sort_keys=False).rstrip() if trained else "",
        measured=_results_introduction(results),
        runs=[_results_tables(run) for run in results],
        licence=_describe_licence(licence, weights),
    )
    (folder / CARD).write_text(str(card).rstrip() + "\n", encoding="utf-8")


def _is_trained(module: ZooModule) -> bool:
    """Returns whether zoo trained the weights, so that objective and recipe apply to them."""
    return TRAINED in module.weight_origins.values() or bool(module.origin.get("data"))


def _eval_result_arguments(run: Results, metric: Metric) -> dict[str, Any]:
    """Returns a metric as an entry of the hub's model-index, with interval and coverage."""
    return {
        "task_type": TASK,
        "task_name": "image-text matching",
        "dataset_type": metric.benchmark,
        "dataset_name": str(metric.benchmark_run),
        "dataset_config": metric.subset,
        "metric_type": metric.metric,
        "metric_name": f"{metric.metric} (%), preset {run.by_preset[0].preset}",
        "metric_value": round(metric.value or 0.0, 2),
        "metric_args": {
            "interval_95": [
                None if end is None else round(end, 2) for end in (metric.low, metric.high)
            ],
            "scored": metric.n,
            "of": metric.n_total,
        },
    }


def _base_repository_on_hub(backbone_settings: Mapping[str, Any]) -> str | None:
    """Returns the hub repository of the initial weights, None if not known."""
    import open_clip

    if not isinstance(backbone_settings.get("pretrained"), str):
        return None
    config = (
        open_clip.get_pretrained_cfg(backbone_settings["name"], backbone_settings["pretrained"])
        or {}
    )
    return config.get("hf_hub", "").rstrip("/") or None


def _describe_model(module: ZooModule, entry: ModelEntry | None) -> str:
    if entry is not None:
        return f"{entry.description} ({entry.paper}). Written by zoo {__version__}."
    origins = set(module.weight_origins.values())
    training = "unchanged" if origins != {RANDOM} else "with random weights"
    if TRAINED in origins:
        training = f"trained with the objective {type(module.objective).__name__}"
    return (
        f"A model that scores images against texts: {module.backbone.name}, {training}, with the "
        f"head {type(module.head).__name__}. Written by zoo {__version__}."
    )


def _describe_library_scoring(module: ZooModule) -> str:
    head = type(module.head).__name__
    if type(module.head) is Cosine:
        return f"{LIBRARY_SCORES}, times the temperature, as the head {head} does."
    return f"{LIBRARY_SCORES}. The head {head} scores differently, and only zoo loads it."


def _loading_instructions(
    folder: Path, format: str, backbone: Backbone
) -> Iterator[LoadingInstructions]:
    """Yields the ways to load a folder, depending on its files."""
    tokenized = format == "open_clip" or (folder / "tokenizer_config.json").is_file()
    yield (LOADINGS if tokenized else WITHOUT_TOKENIZER)[format]
    if format == "onnx":
        return
    yield IN_ZOO
    if format == "hf":
        return
    try:
        check_exportable(backbone.name, backbone.architecture)
        image_processor_config(backbone.preprocess, backbone.image_size[0])
    except ZooError:
        return
    yield TO_TRANSFORMERS


def _model_rows(module: ZooModule, base: Any) -> Iterator[tuple[str, str]]:
    backbone: Backbone = module.backbone
    yield "architecture", f"{backbone.name}, {backbone.activation}"
    yield "base", "none" if base is None else _format_value(_shorten_paths(base))
    for part, origin in module.weight_origins.items():
        yield f"weights of the {part}", _format_value(_shorten_paths(origin))
    yield "images", "{1} x {0} pixels".format(*backbone.image_size)
    yield "texts", f"{backbone.context} tokens"
    yield "vectors", f"{backbone.shapes.width} numbers"
    yield "head", type(module.head).__name__
    if _is_trained(module):
        yield "objective", type(module.objective).__name__
    yield "parameters", f"{sum(p.numel() for p in module.parameters()):,}"


def _describe_training_data(module: ZooModule, entry: ModelEntry | None) -> str:
    if module.origin.get("data"):
        n = len(module.origin.get("trained_images") or ())
        return f"Captions of {n:,} images; files are listed with the first digits of their SHA-256."
    if entry is not None and entry.trained_on is not None:
        return entry.trained_on
    return "The checkpoint does not record its training data."


def _data_rows(description: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields rows that describe a checkpoint's data, without unused settings."""
    for setting, value in description.items():
        if setting in ("train", "val") and value:
            name = {"train": "captions", "val": "validation captions"}[setting]
            counts = {key: n for key, n in value.items() if key not in ("reader", "files") and n}
            files = ", ".join(
                f"{file} ({_format_value(digest)})" for file, digest in value["files"].items()
            )
            yield name, _format_value(value["reader"])
            yield f"{name}, files", files
            yield f"{name}, counts", _format_value(counts)
        elif _format_value(value):
            yield setting.replace("_", " "), _format_value(value)


def _format_value(value: Any) -> str:
    """Formats plain values as text: a class with its arguments, without unset values."""
    if isinstance(value, Mapping):
        rest = dict(value)
        class_name = str(rest.pop("class_path", "")).rpartition(".")[2]
        init_args = rest.pop("init_args", {}) if class_name else {}
        arguments = [
            f"{name}={_format_value(item)}"
            for name, item in init_args.items()
            if _format_value(item)
        ]
        parts = [
            f"{name.replace('_', ' ')} {_format_value(item)}"
            for name, item in rest.items()
            if _format_value(item)
        ]
        call = (
            [class_name + (f"({', '.join(arguments)})" if arguments else "")] if class_name else []
        )
        return ", ".join([*call, *parts])
    if isinstance(value, list | tuple):
        return "; ".join(filter(None, map(_format_value, value)))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = "" if value is None or value is False else str(value)
    return " ".join(DIGEST.sub(r"\1", text).split()).replace("|", "\\|")


def _results_introduction(results: Sequence[Results]) -> str:
    if not results:
        return "No results were given."
    text = (
        "Values are in per cent, with 95 % intervals. `scored / total` are the scored cases and "
        "all cases of the benchmark; an average is reported only if all its benchmarks were run."
    )
    overlaps = {
        f"{metric.benchmark_run}/{metric.subset} ({metric.trained_on:,} of {metric.images:,})": None
        for run in results
        for metric in run.metrics
        if metric.trained_on
    }
    if overlaps:
        text += f" The model was trained on images of {', '.join(overlaps)}."
    absent = sorted({f"{part['benchmark']}" for run in results for part in run.header["absent"]})
    if absent:
        text += f" Parts of {', '.join(absent)} were not available and are not measured."
    return text


def _results_tables(run: Results) -> str:
    return "\n\n".join(run.to_markdown(counted.preset) for counted in run.by_preset)


def _describe_licence(licence: str | None, backbone_settings: Mapping[str, Any]) -> str:
    if licence is not None:
        return f"{licence}."
    base = backbone_settings.get("pretrained")
    base_note = (
        "" if base is None else f" those of the base ({_format_value(_shorten_paths(base))}) and"
    )
    return f"Not given. It depends on{base_note} that of the training images and captions."


def _shorten_paths(value: Any) -> Any:
    """Returns plain values with paths shortened to file names, without local folders."""
    if isinstance(value, Mapping):
        return {name: _shorten_paths(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shorten_paths(item) for item in value]
    if not isinstance(value, str):
        return value
    if PurePath(value).is_absolute():
        return PurePath(value).name
    return ABSOLUTE.sub(lambda path: PurePath(path[0]).name, value)
