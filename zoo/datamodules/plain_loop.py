"""The batches of training for a loop without Lightning."""

from collections.abc import Iterator

from lightning import Trainer

from zoo.batch import Batch
from zoo.datamodules.captions import CaptionDataModule
from zoo.module import ZooModule
from zoo.support.log import filter_notices


def training_batches(
    data: CaptionDataModule, module: ZooModule, epochs: int = 1
) -> Iterator[Batch]:
    """Yields the batches that `zoo fit` trains on, on the CPU, in one process.

    Args:
        data: The captions, with negatives and units.
        module: The module, whose backbone prepares images and tokenizes texts.
        epochs: How many epochs there are. Each has another order and other negatives and units.

    Yields:
        Batches, which `Batch.to` moves to a device.

    Raises:
        ZooError: The data does not have what its settings or the module need.

    Examples:
        A loop in plain PyTorch; `module` and `data` are those of the page "Your own training loop":

        >>> for batch in training_batches(data, module, epochs=2):  # doctest: +SKIP
        ...     encoded, scores = module.score(batch)
        ...     module.objective(encoded, scores).total.backward()
    """
    filter_notices()
    trainer = Trainer(accelerator="cpu", devices=1, logger=False, enable_checkpointing=False)
    trainer.strategy.connect(module)
    data.trainer = trainer
    data.prepare_data()
    data.setup("fit")
    module.check_data(data)
    loader = data.train_dataloader()
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        yield from loader
