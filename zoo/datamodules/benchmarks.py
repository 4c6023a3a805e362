"""EvaluationDataModule: what `zoo validate --benchmarks` runs on."""

from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader

from zoo.benchmarks.base import Benchmark
from zoo.caption_data import BenchmarkedData
from zoo.evaluation.engine import Evaluation
from zoo.evaluation.kept import kept_vectors
from zoo.evaluation.store import EmbeddingCache
from zoo.module import ZooModule
from zoo.results.presets.base import Preset
from zoo.results.show import show
from zoo.support.ranges import NonNegativeInt, PositiveInt, Ranged


class EvaluationDataModule(Ranged, BenchmarkedData):
    """Benchmarks and nothing else.

    Args:
        benchmarks: Names, such as sugarcrepe or pairs:FILE.csv, or benchmarks with their options.
        data_root: Folder of annotations and images, or several. The first that has a file wins.
        out: Folder of results.json and cases.parquet; the logger's folder where None.
        presets: Ways of counting and averaging, `official` where None. The first is logged.
        image_batch: Number of images that are encoded at once.
        text_batch: Number of texts that are encoded at once.
        shortlist: Number of candidates by cosine that a head orders, where a pair costs it too much
            for a whole gallery.
        workers: Number of processes that load images, on each device.
        quiet: Whether to leave the table out.
        overwrite: Whether results that lie in `out` may be lost.
        upright: Whether a user's own images are turned as their EXIF orientation says. Images of
            published benchmarks are always decoded as their scripts do.
        background: Colour under transparent pixels of a user's own images, such as white. Where
            None, the colour that these pixels hide is shown.
        familiar_with: Captions by whose bindings cases are split: a table of bindings, a units
            file, a file of captions, `coco` for COCO's training captions, or `training` for those
            that the model was trained on.
        cache: Where the vectors of images and texts are kept, so that further runs need not encode
            them; null encodes all anew. What heads that read tokens encode is kept where it says
            so.
        beside: Models whose published figures stand beside the run's (`zoo ls models`).
        exclude_images: Images whose cases are left out of metrics that stand beside the full ones:
            a file of images, one a line, a file of captions, `karpathy_train` for Karpathy's train
            and restval, or `trained` for those that the model was trained on.
        fast_images: Whether torchvision decodes and resizes images, in place of PIL, by whose
            pixels published numbers were measured.
        long: Whether the table has every subset and note where there are many.
        require: Whether it is an error that something cannot be measured, as its files are missing.

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
        beside: list[str] | None = None,
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
            beside=beside,
            exclude_images=exclude_images,
            fast_images=fast_images,
            require=require,
        )

    def check_files(self) -> None:
        """Looks at `out`, reads the benchmarks and finds their images, before a model is built.

        Raises:
            ZooError: `out` holds results that may not be lost, or nothing can be scored with what
                is there.
        """
        self.evaluation.check_out()
        super().check_files()

    def setup(self, stage: str) -> None:
        """Reads the benchmarks and finds their images, where `check_files` did not."""
        self.check_files()

    def val_dataloader(self) -> list[DataLoader[Any]]:
        """Returns the loaders of the evaluation.

        Its results go to the logger's folder where `out` says no other.
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
        kept = None
        if self.cache is not None:
            precision = str(self.trainer.precision)
            kept = kept_vectors(
                self.cache, module.backbone, module.head, precision, self.evaluation.decoder
            )
        return self.evaluation.loaders(module.backbone, module.head, kept)

    def teardown(self, stage: str) -> None:
        """Prints the table of results, unless `quiet`."""
        if (
            not self.quiet
            and self.evaluation.results is not None
            and self.trainer is not None
            and self.trainer.is_global_zero
        ):
            show(self.evaluation.results, long=self.long)
