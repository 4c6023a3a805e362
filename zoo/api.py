"""`zoo` in Python: loads models, scores images against texts, and evaluates on benchmarks.

Example:
    model = zoo.load("runs/version_0/checkpoints/last.ckpt")
    model.score("horse.jpg", ["a person on the horse", "a horse on the person"])
    zoo.evaluate(model, "sugarcrepe", data_root="DATA_ROOT")
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import lightning
import numpy as np
import torch
from jsonargparse import ArgumentError, ArgumentParser
from lightning import Trainer
from lightning.pytorch.utilities.seed import isolate_rng
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.backbones.fingerprint import weights_hash
from zoo.backbones.model_folders import PairScorerSource
from zoo.backbones.settings import Augmentation, Compute, TextInput, Tuning
from zoo.batch import Encoded, TextBank, build_text_bank, concatenate
from zoo.checkpoints.files import NAMES, AtomicCheckpointIO
from zoo.checkpoints.model_sources import resolve_model
from zoo.error_translation import shorten_message
from zoo.errors import ZooError, suggest_names
from zoo.evaluation.batches import build_segment_bank, encode_segments, encode_views
from zoo.evaluation.inputs import Picture, list_images, list_texts, open_picture
from zoo.evaluation.model_adapters import TwoTowers, adapt_model
from zoo.evaluation.mteb import MtebEncoder
from zoo.evaluation.pair_scorers import PairScorer, load_pair_scorer
from zoo.evaluation.patch_words import patch_words
from zoo.heads import answers
from zoo.heads.cosine import Cosine
from zoo.module import ZooModule
from zoo.regions_and_phrases.base import Segments, Views
from zoo.results.site.patches import PatchWords
from zoo.sources.rgb_conversion import AS_PUBLISHED, Decoding
from zoo.support.arguments import split_list
from zoo.support.gpu import move_module
from zoo.support.log import filter_notices
from zoo.support.provenance import describe_random_weights
from zoo.support.trust import allow_all_code

if TYPE_CHECKING:
    from zoo.backbones.published import PublishedWeights
    from zoo.benchmarks.base import Benchmark
    from zoo.evaluation.embedding_cache import EmbeddingCache
    from zoo.results.presets.preset import Preset
    from zoo.results.report import Results

log = logging.getLogger(__name__)

GROUPS = (Tuning, TextInput, Augmentation, Compute)  # of a backbone's arguments
Images = Picture | Iterable[Picture]
Texts = str | Iterable[str]


class Model:
    """A loaded model on one device, in evaluation mode.

    Args:
        module: The module with backbone, head and objective.
        device: The device of the model. By default, a GPU if there is one, else the CPU.
        batch_size: How many images or texts are encoded at once.
        decoding: Whether the EXIF orientation and the transparency of images are applied. By
            default they are ignored, as in published scripts.

    Raises:
        ZooError: The device is not available, or `batch_size` is below 1.

    Examples:
        A module, such as one in your training loop, used like a loaded model:

        >>> from zoo import Model
        >>> from zoo.backbones import Backbone
        >>> from zoo.module import ZooModule
        >>> model = Model(ZooModule(Backbone("zoo-tiny")), batch_size=8)
        >>> model.encode_texts(["a red cup", "a blue cup", "a red car"]).shape
        (3, 128)
    """

    def __init__(
        self,
        module: ZooModule,
        device: str | torch.device | None = None,
        batch_size: int = 64,
        decoding: Decoding = AS_PUBLISHED,
    ) -> None:
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ZooError(f"batch_size is {batch_size!r}: give a whole number from 1 up")
        if not isinstance(decoding, Decoding):
            raise ZooError(f"decoding is {decoding!r}: give a Decoding, as Decoding(upright=True)")
        self.module = module.eval()
        self.device = move_module(module, device)
        self.batch_size, self.decoding = batch_size, decoding

    def __repr__(self) -> str:
        backbone = self.module.backbone
        weights_note = describe_random_weights(self.module.weight_origins)
        parts = [
            backbone.name,
            backbone.activation,
            *([f"from {self.module.checkpoint}"] if self.module.checkpoint else []),
            *([weights_note] if weights_note else []),
            f"head {type(self.module.head).__name__}",
            f"{sum(p.numel() for p in self.module.parameters()) / 1e6:.1f} M parameters",
            "images of {1} x {0} pixels".format(*backbone.image_size),
            f"texts of {backbone.context} tokens",
            f"vectors of {backbone.shapes.width}",
            f"on {self.device}",
        ]
        return f"Model({', '.join(parts)})"

    @property
    def preprocess(self) -> Callable[[Image.Image], Tensor]:
        """Turns a PIL image into pixels, `[3, H, W]`, like open_clip's `preprocess`."""
        return self.module.backbone.eval_transform

    @property
    def tokenizer(self) -> Callable[[str | list[str]], Tensor]:
        """Turns texts into token ids for `encode_text`, `[m, L]`, like open_clip's tokenizers."""
        tokenize = self.module.backbone.tokenizer
        return lambda texts: tokenize([texts] if isinstance(texts, str) else texts)[0]

    def encode_image(self, image: Tensor, normalize: bool = False) -> Tensor:
        """Encodes pixels like a model of open_clip, with gradients unless they are disabled.

        Args:
            image: Pixels from `preprocess`, `[n, 3, H, W]`.
            normalize: Whether the vectors are L2-normalised.

        Returns:
            Vectors on the model's device, `[n, D]`.
        """
        vectors: Tensor = self.module.backbone.model.encode_image(image.to(self.device), normalize)
        return vectors

    def encode_text(self, text: Tensor, normalize: bool = False) -> Tensor:
        """Encodes token ids like a model of open_clip, with gradients unless they are disabled.

        Args:
            text: Token ids from `tokenizer`, `[m, L]`.
            normalize: Whether the vectors are L2-normalised.

        Returns:
            Vectors on the model's device, `[m, D]`.
        """
        vectors: Tensor = self.module.backbone.model.encode_text(text.to(self.device), normalize)
        return vectors

    @overload
    def encode_images(
        self, images: Images, as_tensor: Literal[False] = False
    ) -> NDArray[np.float32]: ...
    @overload
    def encode_images(self, images: Images, as_tensor: Literal[True]) -> Tensor: ...
    def encode_images(
        self, images: Images, as_tensor: bool = False
    ) -> NDArray[np.float32] | Tensor:
        """Encodes images.

        Args:
            images: One or several images, as for `score`.
            as_tensor: Whether the result is a tensor on the model's device instead of an array.

        Returns:
            L2-normalised vectors, `[n, D]`.

        Raises:
            ZooError: An item is not an image.
        """
        vectors = self._normalize(self._encode_images_or_views(list_images(images)))
        return vectors if as_tensor else np.asarray(vectors.cpu())

    @overload
    def encode_texts(
        self, texts: Texts, as_tensor: Literal[False] = False
    ) -> NDArray[np.float32]: ...
    @overload
    def encode_texts(self, texts: Texts, as_tensor: Literal[True]) -> Tensor: ...
    def encode_texts(self, texts: Texts, as_tensor: bool = False) -> NDArray[np.float32] | Tensor:
        """Encodes texts.

        Args:
            texts: One or several texts.
            as_tensor: Whether the result is a tensor on the model's device instead of an array.

        Returns:
            L2-normalised vectors, `[m, D]`.

        Raises:
            ZooError: An item is not a text.
        """
        vectors = self._normalize(self._encode_texts_or_segments(list_texts(texts)))
        return vectors if as_tensor else np.asarray(vectors.cpu())

    @overload
    def score(
        self, images: Images, texts: Texts, as_tensor: Literal[False] = False
    ) -> NDArray[np.float32]: ...
    @overload
    def score(self, images: Images, texts: Texts, as_tensor: Literal[True]) -> Tensor: ...
    @torch.no_grad()
    def score(
        self, images: Images, texts: Texts, as_tensor: bool = False
    ) -> NDArray[np.float32] | Tensor:
        """Scores every image against every text.

        Args:
            images: One or several: PIL images, paths, arrays `[h, w, 3]` or tensors `[3, h, w]`.
                Arrays and tensors have integers from 0 to 255 or fractions from 0 to 1.
            texts: One or several texts.
            as_tensor: Whether the result is a tensor on the model's device instead of an array.

        Returns:
            The head's scores, `[n, m]`; higher is a better match.

        Raises:
            ZooError: An item is not an image, or not a text.
        """
        head = self.module.head
        needs = head.needs
        encoded = (
            self._encode_images_or_views(list_images(images), needs.views),
            self._encode_texts_or_segments(list_texts(texts), needs.segments),
        )
        if encoded[0] is None or encoded[1] is None:
            sizes = [0 if side is None else len(side) for side in encoded]
            return torch.zeros(sizes) if as_tensor else np.zeros(sizes, np.float32)
        prepared_images = answers.prepare_images(head, encoded[0])
        scores = answers.block(head, prepared_images, answers.prepare_texts(head, encoded[1]))
        return scores.float() if as_tensor else np.asarray(scores.float().cpu())

    def patch_words(self, image: Picture, texts: Texts) -> list[PatchWords]:
        """Returns the similarity of each token of texts to each patch of an image.

        Args:
            image: One image, as for `score`.
            texts: One or several texts.

        Returns:
            For each text: its tokens, the cosine of each token with each patch (for the head
            `CrossModal`, the attention of each token to each patch), and the image as the model
            sees it.

        Raises:
            ZooError: An item is not an image or not a text, the patches do not form a grid, or the
                head has no scores of text tokens with patches (heads such as `MaxSim` have them).
        """
        (picture,) = list_images(image)
        return patch_words(self.module, open_picture(picture, self.decoding), list_texts(texts))

    @torch.no_grad()
    def _encode_images_or_views(
        self, images: list[Picture], views: Views | None = None
    ) -> Encoded | None:
        """Encodes images, each as a whole or in views; returns None if there are none."""
        backbone, parts = self.module.backbone, []
        transform = backbone.square_transform(views.side) if views else backbone.eval_transform
        for start in range(0, len(images), self.batch_size):
            chunk = images[start : start + self.batch_size]
            pixels = torch.stack([transform(open_picture(image, self.decoding)) for image in chunk])
            pixels = pixels.to(self.device)
            parts.append(
                encode_views(backbone, pixels, views, self.batch_size)
                if views
                else backbone.encode_images(pixels, self.module.image_keys)
            )
        return concatenate(parts) if parts else None

    @torch.no_grad()
    def _encode_texts_or_segments(
        self, texts: list[str], segments: Segments | None = None
    ) -> Encoded | None:
        """Encodes texts, each as a whole or in segments; returns None if there are none."""
        backbone = self.module.backbone
        if segments and texts:
            bank, rows = build_segment_bank(
                [segments.split(text) for text in texts], backbone.tokenizer
            )
            bank, rows = bank.map(lambda t: t.to(self.device)), rows.to(self.device)
            return encode_segments(backbone, bank, rows, self.batch_size)
        bank, rows = build_text_bank(*backbone.tokenizer(texts))
        parts = []
        for start in range(0, len(bank), self.batch_size):
            chunk_slice = slice(start, start + self.batch_size)
            chunk = TextBank(
                bank.ids[chunk_slice], bank.lengths[chunk_slice], bank.hashes[chunk_slice]
            ).map(lambda t: t.to(self.device))
            parts.append(backbone.encode_texts(chunk, self.module.text_keys))
        return concatenate(parts).rows(rows.to(self.device)) if parts else None

    def _normalize(self, items: Encoded | None) -> Tensor:
        if items is None:
            return torch.zeros(0, self.module.backbone.shapes.width)
        return torch.nn.functional.normalize(items.pooled.float(), dim=-1)


def load(
    source: str | Path,
    pretrained: "str | Path | PublishedWeights | None" = None,
    device: str | torch.device | None = None,
    decoding: Decoding = AS_PUBLISHED,
    trust_code: bool = False,
    **backbone: Any,
) -> Model | PairScorer:
    """Loads a model, ready to encode and score.

    Args:
        source: What to load. From training: a checkpoint that `zoo fit` wrote, the folder of a run,
            or `last` or `best` for a checkpoint of the newest run under `runs`. Other models: the
            name of a published model (`zoo ls models`), a model on the Hugging Face hub
            (`USER/NAME` or `hf-hub:USER/NAME@REVISION`), or the folder of a model of open_clip,
            Hugging Face or `zoo export`. The name of an architecture gives random weights, unless
            `pretrained` is set.
        pretrained: Weights for an architecture: a tag of open_clip, a file, or published weights.
        device: The device of the model. By default, a GPU if there is one, else the CPU.
        decoding: Whether the EXIF orientation and the transparency of images are applied. By
            default they are ignored, as in published scripts.
        trust_code: Whether to import classes that are named in a file and are neither part of zoo
            nor of an installed package. Importing them runs their code.
        backbone: Further arguments of `zoo.backbones.Backbone`, if `source` is an architecture.

    Returns:
        The model, in evaluation mode. A model without towers, such as BLIP-ITM, only scores.

    Raises:
        ZooError: There is no such model, `Backbone` has no such argument, or a file names a class
            that needs `trust_code`.

    Examples:
        A small architecture with random weights. `zoo.load("openai/ViT-B-32")` loads OpenAI's CLIP:

        >>> import zoo
        >>> from PIL import Image
        >>> model = zoo.load("zoo-tiny")
        >>> image = Image.new("RGB", (64, 64), "red")
        >>> model.score(image, ["a red square", "a blue square"]).shape
        (1, 2)
    """
    with allow_all_code(trust_code):
        loaded = _load_module_or_scorer(source, pretrained, backbone)
        if isinstance(loaded, PairScorerSource):
            return load_pair_scorer(loaded, device, decoding)
    return Model(loaded, device, decoding=decoding)


def save(module: ZooModule, path: str | Path) -> None:
    """Writes a checkpoint of a module, for example one that your training loop trained.

    `zoo.load` and all commands that take a checkpoint can read it. It has no state of the
    optimizer, so `zoo fit` cannot resume training from it.

    Args:
        module: The module.
        path: The file, usually with the ending `.ckpt`. An existing file is replaced.

    Raises:
        ZooError: The module is not a `ZooModule`, or the file cannot be written.

    Examples:
        >>> import zoo
        >>> from zoo.backbones import Backbone
        >>> from zoo.module import ZooModule
        >>> from zoo.objectives import CLIP
        >>> zoo.save(ZooModule(Backbone("zoo-tiny"), CLIP()), "trained.ckpt")
        >>> zoo.load("trained.ckpt").module.objective
        CLIP()
    """
    if not isinstance(module, ZooModule):
        raise ZooError(
            f"zoo.save writes a ZooModule, not a {type(module).__name__}: save that by torch.save"
        )
    checkpoint = {
        "state_dict": module.state_dict(),
        "pytorch-lightning_version": lightning.__version__,
    }
    module.on_save_checkpoint(checkpoint)
    AtomicCheckpointIO().save_checkpoint(checkpoint, path)


def _load_module_or_scorer(
    source: Any, pretrained: Any, backbone: dict[str, Any]
) -> ZooModule | PairScorerSource:
    """Loads the module for the arguments of `load`, or finds the scorer of pairs."""
    if not isinstance(source, str | Path) or not str(source):
        raise ZooError(
            f"zoo.load got {source!r}: give the name of a model, such as openai/ViT-B-32, or a path"
        )
    if pretrained is None and not backbone:
        found = resolve_model(source)
        if found.pair_scorer is not None:
            return found.pair_scorer
        module = found.load()
    else:
        module = ZooModule(_backbone_of_architecture(str(source), pretrained, backbone))
    weights_note = describe_random_weights(module.weight_origins)
    if weights_note is not None and module.checkpoint is None:
        log.warning("%s; give pretrained a tag or a file of weights", weights_note)
    return module


def _backbone_of_architecture(source: str, pretrained: Any, arguments: dict[str, Any]) -> Backbone:
    """Builds the backbone of an architecture with weights or further arguments of `load`."""
    if source in NAMES or (Path(source).exists() and Path(source).suffix != ".json"):
        raise ZooError(
            f"{source} is a model with its own weights and settings: leave out pretrained "
            "and other arguments of Backbone"
        )
    names = [name for name in signature(Backbone.__init__).parameters if name != "self"]
    for name in arguments:
        if name not in names:
            raise ZooError(
                f"zoo.load has no argument {name}{suggest_names(name, names)}: its arguments "
                f"are device and those of Backbone, {', '.join(names)}"
            )
    weights = str(pretrained) if isinstance(pretrained, Path) else pretrained
    return _backbone({"name": source, "pretrained": weights, **arguments})


def _backbone(settings: dict[str, Any]) -> Backbone:
    """Builds a backbone from arguments that are parsed like those of a YAML file."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(Backbone, "backbone")
    settings = {
        name: asdict(value) if isinstance(value, GROUPS) else value
        for name, value in settings.items()
    }
    try:
        result: Backbone = parser.instantiate(parser.parse_object({"backbone": settings})).backbone
    except ArgumentError as error:
        raise ZooError(f"zoo.load: {shorten_message(str(error))}") from error
    return result


def as_mteb(
    model: str | Path | Model, name: str | None = None, trust_code: bool = False
) -> MtebEncoder:
    """Wraps a model as an encoder that MTEB can evaluate.

    Args:
        model: A Model, or a source as in `load`.
        name: The name of the model in MTEB's results, ORGANIZATION/NAME. By default,
            zoo/ARCHITECTURE.
        trust_code: As in `load`.

    Returns:
        The encoder. Its revision in MTEB's results is a hash of its weights, which distinguishes
        checkpoints with the same name.

    Raises:
        ZooError: The model's head is not `Cosine`, the only score that MTEB uses.

    Examples:
        The encoder takes batches in MTEB's format, which contain texts or images:

        >>> import zoo
        >>> encoder = zoo.as_mteb("zoo-tiny", name="my-lab/tiny")
        >>> encoder.encode([{"text": ["a red cup", "a red mug"]}]).shape
        (2, 128)
    """
    if not isinstance(model, Model):
        loaded = load(model, trust_code=trust_code)
        if not isinstance(loaded, Model):
            raise ZooError(
                f"MTEB compares vectors, and {model} only scores pairs: use another model"
            )
        model = loaded
    head, backbone = model.module.head, model.module.backbone
    if type(head) is not Cosine:
        raise ZooError(
            f"MTEB compares vectors by their cosine, and the head is {type(head).__name__}: use a "
            "model whose head is Cosine"
        )
    return MtebEncoder(model, name or f"zoo/{backbone.name}", weights_hash(backbone)[:12])


def evaluate(
    model: Any,
    benchmarks: "str | Benchmark | Sequence[str | Benchmark]",
    data_root: str | Path | Sequence[str | Path] = ".",
    out: str | Path | None = None,
    presets: "str | Preset | Sequence[str | Preset]" = ("official",),
    overwrite: bool = False,
    cache: "EmbeddingCache | None" = None,
    reference_models: str | Sequence[str] = (),
    require: bool = False,
    trust_code: bool = False,
    quiet: bool = False,
    limit: int | None = None,
) -> "Results":
    """Evaluates a model on benchmarks.

    Args:
        model: A Model, a PairScorer, a ZooModule, a source as in `load`, a model of open_clip, or a
            Hugging Face CLIP. Two kinds of other objects work, too. (1) An object with
            encode_image(pixels) -> `[n, D]`, encode_text(ids) -> `[m, D]`, preprocess (PIL image ->
            pixels `[3, H, W]`) and tokenizer (texts -> ids `[m, L]`). Each distinct image and
            text is encoded once. (2) An object with score(images: list of PIL images, texts: list
            of str) -> `[n, m]`, or a function with these arguments. The method or function is
            called once per case.
        benchmarks: Names, in a list or separated by commas, or Benchmark objects.
        data_root: The folder of annotations and images, or several folders.
        out: A folder for results.json and cases.parquet; None writes nothing.
        presets: Presets, which decide how ties count and which averages are reported: names, in a
            list or separated by commas, or Preset objects.
        overwrite: Whether existing results in `out` may be overwritten.
        cache: Stores the vectors of images and texts, so that later runs need not encode them
            again. None stores nothing.
        reference_models: Models whose published numbers are shown next to these results, in a list
            or separated by commas.
        require: Whether it is an error if a benchmark cannot be run, for example because files are
            missing.
        trust_code: As in `load`.
        quiet: Whether to print neither a progress bar nor the table of results.
        limit: The maximum number of cases per subset, and of images per gallery, for a quick test;
            None for all.

    Returns:
        The results.

    Raises:
        ZooError: A name is unknown, nothing can be scored, files are missing and `require` is set,
            or `model` is not of a kind listed above.

    Examples:
        Any function of images and texts can be evaluated. This one counts a word in the texts:

        >>> import zoo
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> Image.new("RGB", (64, 64), "red").save("red.png")
        >>> _ = Path("pairs.csv").write_text('''image,caption,foil
        ... red.png,a red square,a blue square''')
        >>> def count_red(images, texts):
        ...     return [[text.count("red") for text in texts] for _ in images]
        >>> zoo.evaluate(count_red, "pairs:pairs.csv", quiet=True).value("pairs", "pairs", "i2t")
        100.0
    """
    from zoo.benchmarks.base import Benchmark
    from zoo.datamodules.benchmarks import EvaluationDataModule
    from zoo.results.presets.preset import Preset
    from zoo.results.report import print_results

    roots = list(data_root) if isinstance(data_root, list | tuple) else [data_root]
    data = EvaluationDataModule(
        _names_and_objects(benchmarks, "benchmarks", Benchmark),
        [str(root) for root in roots],
        quiet,
        out=None if out is None else str(out),
        presets=_names_and_objects(presets, "presets", Preset),
        overwrite=overwrite,
        cache=cache,
        reference_models=_names_and_objects(reference_models, "reference_models"),
        require=require,
        limit=limit,
    )
    if isinstance(model, str | Path):
        model = load(model, trust_code=trust_code)
    with isolate_rng(include_cuda=torch.cuda.is_initialized()):  # for training loops
        if not isinstance(model, Model | ZooModule):
            adapted, name = adapt_model(model)
            results = (
                data.evaluation.run_towers(adapted, name, cache)
                if isinstance(adapted, TwoTowers)
                else data.evaluation.run_plain_model(adapted, name, not quiet)
            )
            if not quiet:
                print_results(results)
            return results
        module, device = (
            (model.module, model.device) if isinstance(model, Model) else (model, model.device)
        )
        filter_notices()
        trainer = Trainer(
            accelerator="gpu" if device.type == "cuda" else "cpu",
            devices=[device.index or 0] if device.type == "cuda" else 1,
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=not quiet,
        )
        try:
            trainer.validate(module, datamodule=data, verbose=False)
        finally:
            module.to(device)
    assert data.evaluation.results is not None
    return data.evaluation.results


def _names_and_objects(value: Any, argument: str, kind: type = str) -> list[Any]:
    """Returns names, from a list or separated by commas, and objects of a kind as a list."""
    if isinstance(value, str):
        return split_list(value, argument)
    items = list(value) if isinstance(value, list | tuple) else [value]
    for item in items:
        if not isinstance(item, str | kind):
            raise ZooError(
                f"{argument} has {item!r}, a {type(item).__name__}: give names, in a list or "
                "separated by commas"
            )
    return items
