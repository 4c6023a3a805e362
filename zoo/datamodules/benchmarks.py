"""EvaluationDataModule, the data of `zoo validate --benchmarks`."""

from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader

from zoo.benchmarks.base import Benchmark
from zoo.caption_data import BenchmarkedData
from zoo.evaluation.embedding_cache import EmbeddingCache
from zoo.evaluation.engine import Evaluation
from zoo.evaluation.stored_embeddings import open_stored_vectors
from zoo.module import ZooModule
from zoo.results.report import print_results
from zoo.support.ranges import Ranged


class EvaluationDataModule(Ranged, BenchmarkedData):
    """Batches of benchmark cases only, without captions for a loss.

    Args:
        benchmarks: Names, such as `sugarcrepe` or `pairs:FILE.csv`, or benchmark classes with
            arguments.
        data_root: One or several folders of annotations and images.
        quiet: Whether to print no table of results.
        cache: Stores the pooled vectors of images and texts, so that later runs need not encode
            them again. With `cache.tokens`, token vectors are also stored. If null, nothing is
            stored.
        long: Whether the table of results shows all subsets and notes, even if there are many.
        **settings: The other arguments of `Evaluation`. If `out` is None, the logger's folder takes
            its place.

    Raises:
        ZooError: No benchmark is given, or a name or number is not valid.

    Examples:
        Two benchmarks, one by its name and one as a class with arguments:

        >>> from zoo.benchmarks import SugarCrepe
        >>> from zoo.datamodules import EvaluationDataModule
        >>> benchmarks = ["winoground", SugarCrepe(subsets=["swap_obj"])]
        >>> data = EvaluationDataModule(benchmarks, data_root=".")
        >>> [benchmark.name for benchmark in data.evaluation.benchmarks]
        ['winoground', 'sugarcrepe']
    """

    argument_classes = (Evaluation,)  # whose arguments `settings` are, for help and completion

    def __init__(
        self,
        benchmarks: list[str | Benchmark],
        data_root: str | list[str] = ".",
        quiet: bool = False,
        cache: EmbeddingCache | None = EmbeddingCache(),
        long: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__()
        self.quiet, self.cache, self.long = quiet, cache, long
        self.evaluation: Evaluation = Evaluation(benchmarks, data_root, **settings)

    def check_files(self) -> None:
        """Checks the output folder, reads benchmarks and finds images, before a model is built.

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

        If `out` is None, results are written to the logger's folder.
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
            stored = open_stored_vectors(
                self.cache, module.backbone, module.head, precision, self.evaluation.decoder
            )
        return self.evaluation.build_loaders(module.backbone, module.head, stored)

    def teardown(self, stage: str) -> None:
        """Prints the table of results, unless `quiet`."""
        if (
            not self.quiet
            and self.evaluation.results is not None
            and self.trainer is not None
            and self.trainer.is_global_zero
        ):
            print_results(self.evaluation.results, long=self.long)
