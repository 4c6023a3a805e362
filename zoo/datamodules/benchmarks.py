"""EvaluationDataModule: what `zoo validate --benchmarks` runs on."""

from pathlib import Path
from typing import Any

from lightning import LightningDataModule
from torch.utils.data import DataLoader

from zoo.benchmarks.base import Benchmark
from zoo.evaluation.engine import Evaluation
from zoo.module import ZooModule
from zoo.results.report import refuse_results
from zoo.results.show import show
from zoo.support.ranges import NonNegativeInt, PositiveInt, Ranged


class EvaluationDataModule(Ranged, LightningDataModule):
    """Benchmarks and nothing else.

    benchmarks: names, such as sugarcrepe or pairs:FILE.csv, or benchmarks with their options. The rest is Evaluation's; without `out`,
    results go to the logger's folder. quiet: whether to leave the table out.
    """

    def __init__(
        self,
        benchmarks: list[str | Benchmark],
        data_root: str | list[str] = ".",
        out: str | None = None,
        presets: list[str] | None = None,
        image_batch: PositiveInt = 64,
        text_batch: PositiveInt = 256,
        shortlist: PositiveInt = 32,
        workers: NonNegativeInt = 2,
        quiet: bool = False,
        overwrite: bool = False,
        upright: bool = False,
        background: str | None = None,
    ) -> None:
        super().__init__()
        self.quiet = quiet
        self.evaluation = Evaluation(
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
        )

    def check_files(self) -> None:
        """Raises ZooError where nothing can be scored with what is there, before a model is built."""
        self.evaluation.prepare()

    def setup(self, stage: str) -> None:
        self.evaluation.prepare()

    def val_dataloader(self) -> list[DataLoader[Any]]:
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
            refuse_results(self.evaluation.out, self.evaluation.overwrite)
        return self.evaluation.loaders(module.backbone, module.head)

    def teardown(self, stage: str) -> None:
        if (
            not self.quiet
            and self.evaluation.results is not None
            and self.trainer is not None
            and self.trainer.is_global_zero
        ):
            show(self.evaluation.results)
