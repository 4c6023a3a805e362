"""EvaluationDataModule, the data of `zoo validate --benchmarks`."""

from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader

from zoo.benchmarks.base import Benchmark
from zoo.caption_data import BenchmarkedData
from zoo.evaluation.embedding_cache import stored_vectors
from zoo.evaluation.engine import Evaluation
from zoo.evaluation.vector_store import EmbeddingCache
from zoo.module import ZooModule
from zoo.results.presets.preset import Preset
from zoo.results.report import print_results
from zoo.support.ranges import NonNegativeInt, PositiveInt, Ranged


class EvaluationDataModule(Ranged, BenchmarkedData):
    """Only benchmarks, without captions for a loss.

    Args:
        benchmarks: Names, such as sugarcrepe or pairs:FILE.csv, or benchmarks with their options.
        data_root: Folders of annotations and images, one or several. A file is read from the first
            folder that has it.
        out: Folder of results.json and cases.parquet; the logger's folder if None.
        presets: Protocols of scoring and averaging, `official` if None. The first is logged.
        image_batch: Number of images that are encoded at once.
        text_batch: Number of texts that are encoded at once.
        shortlist: Number of candidates by cosine that a head re-ranks, if scoring all pairs of a
            gallery is too expensive.
        workers: Number of processes that load images, per device.
        quiet: Whether to leave out the table of results.
        overwrite: Whether existing results in `out` may be overwritten.
        upright: Whether the EXIF orientation of custom images is applied. Images of published
            benchmarks are always decoded like in their scripts.
        background: Colour under transparent pixels of custom images, such as white. None shows the
            colour that these pixels hide.
        familiar_with: Captions by whose bindings cases are split: a table of bindings, a units
            file, a file of captions, `coco` for COCO's training captions, or `training` for the
            captions that the model was trained on.
        cache: The cache of the vectors of images and texts, so that further runs need not encode
            them; null encodes everything again. Tokens are only cached with its option `tokens`.
        reference_models: Models whose published numbers are shown next to the run's (`zoo ls
            models`).
        exclude_images: Images whose cases are left out of additional metrics, shown next to the
            full ones: a file with one image per line, a file of captions, `karpathy_train` for
            Karpathy's train and restval, or `trained` for the images that the model was trained on.
        fast_images: Whether torchvision decodes and resizes images instead of PIL. Published
            numbers were measured with PIL.
        long: Whether the table shows every subset and note even if there are many.
        require: Whether it is an error if a benchmark cannot be run, for example because files are
            missing.

    Raises:
        ZooError: No benchmark is given, or a name or number is not valid.
    """

    def __init__(
        self,
        benchmarks: list[str | Benchmark],
        data_root: str | list[str] = ".",
        out: str | None = None,
        presets: list[str | Preset] | None = None,
        image_batch: PositiveInt = 64,
        text_batch: PositiveInt = 256,
        shortlist: PositiveInt = 32,
        workers: NonNegativeInt = 2,
        quiet: bool = False,
        overwrite: bool = False,
        upright: bool = False,
        background: str | None = None,
        familiar_with: str | None = None,
        cache: EmbeddingCache | None = EmbeddingCache(),
        reference_models: list[str] | None = None,
        exclude_images: str | None = None,
        fast_images: bool = False,
        long: bool = False,
        require: bool = False,
    ) -> None:
        super().__init__()
        self.quiet, self.cache, self.long = quiet, cache, long
        self.evaluation: Evaluation = Evaluation(
            benchmarks,
            data_root,
            out,
            presets,
            image_batch,
            text_batch,
            shortlist=shortlist,
            workers=workers,
            overwrite=overwrite,
            upright=upright,
            background=background,
            familiar_with=familiar_with,
            reference_models=reference_models,
            exclude_images=exclude_images,
            fast_images=fast_images,
            require=require,
        )

    def check_files(self) -> None:
        """Checks `out`, reads the benchmarks and finds their images, before a model is built.

        Raises:
            ZooError: `out` holds results and `overwrite` is false, or nothing can be scored with
                the existing files.
        """
        self.evaluation.check_output_folder()
        super().check_files()

    def setup(self, stage: str) -> None:
        """Reads the benchmarks and finds their images, unless `check_files` already did."""
        self.check_files()

    def val_dataloader(self) -> list[DataLoader[Any]]:
        """Returns the loaders of the evaluation.

        Its results are written to the logger's folder if `out` is None.
        """
        assert self.trainer is not None
        module = self.trainer.lightning_module
        assert isinstance(module, ZooModule)
        self.evaluation.trained_images = frozenset(module.origin.get("trained_images", ()))
        if (
            self.evaluation.out is None
            and self.trainer.logger is not None
            and self.trainer.log_dir is not None
        ):
            self.evaluation.out = Path(self.trainer.log_dir)
        stored = None
        if self.cache is not None:
            precision = str(self.trainer.precision)
            stored = stored_vectors(
                self.cache, module.backbone, module.head, precision, self.evaluation.decoder
            )
        return self.evaluation.loaders(module.backbone, module.head, stored)

    def teardown(self, stage: str) -> None:
        """Prints the table of results, unless `quiet`."""
        if (
            not self.quiet
            and self.evaluation.results is not None
            and self.trainer is not None
            and self.trainer.is_global_zero
        ):
            print_results(self.evaluation.results, long=self.long)
