"""The batches of training for a loop without Lightning."""

from collections.abc import Iterator

from lightning import Trainer

from zoo.batch import Batch
from zoo.datamodules.captions import CaptionDataModule
from zoo.module import ZooModule
from zoo.support.log import filter_notices


class TrainingLoader:
    """Yields the batches that `zoo fit` trains on, for a custom training loop in one process.

    Each iteration over the loader is one epoch. Epochs differ in the order of the rows, and in
    negatives and units. `len()` is the number of batches per epoch.

    Args:
        data: The captions, with negatives and units.
        module: The module, whose backbone prepares images and tokenizes texts.
        epoch: The number of the first epoch, from 0. A resumed run starts with a later epoch.

    Raises:
        ZooError: The data does not have what its settings or the module need.

    Examples:
        A loop in plain PyTorch; `module` and `data` are those of the page "Your own training loop":

        >>> loader = TrainingLoader(data, module)  # doctest: +SKIP
        >>> for epoch in range(2):  # doctest: +SKIP
        ...     for batch in loader:
        ...         encoded, scores = module.score(batch)
        ...         module.objective(encoded, scores).total.backward()
    """

    def __init__(self, data: CaptionDataModule, module: ZooModule, epoch: int = 0) -> None:
        filter_notices()
        trainer = Trainer(accelerator="cpu", devices=1, logger=False, enable_checkpointing=False)
        trainer.strategy.connect(module)
        data.trainer = trainer
        data.prepare_data()
        data.setup("fit")
        module.check_data(data)
        self._loader = data.train_dataloader()
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Batch]:
        """Yields the batches of the next epoch, on the CPU; `Batch.to` moves them to a device."""
        self._loader.sampler.set_epoch(self.epoch)
        self.epoch += 1
        yield from self._loader
