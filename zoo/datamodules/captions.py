"""CaptionDataModule: images and captions of any reader, with negatives, units and hard images.

In order: arguments, captions and images, checks, loaders, the state of a resumed run, and the
description for checkpoints.
"""

import logging
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, cast

import torch
from torch.utils.data import DataLoader, Dataset

from zoo.backbones.backbone import Backbone
from zoo.backbones.preparation import Decoder
from zoo.caption_data import CaptionData
from zoo.datamodules.checks import (
    TruncationCount,
    check_companions,
    check_every_reader,
    check_image_count,
    check_negative_images,
    check_texts,
    count_truncated_captions,
    note_large_batch,
    notes_on_images,
    refuse_with_joined,
    select_weighted_readers,
)
from zoo.datamodules.collate import Collate, StoredCollate
from zoo.datamodules.dataset import (
    BatchRow,
    BrokenImageLog,
    CaptionDataset,
    ImageFiles,
    RowImages,
    Transform,
)
from zoo.datamodules.features import Features, FeatureStore, StoredImages, check_features_constant
from zoo.datamodules.joined import AlternatingDataset, JoinedDataset
from zoo.datamodules.sampler import (
    BatchLoader,
    GlobalBatchSampler,
    Mixture,
    SampleOrder,
    local_batch_size,
)
from zoo.datamodules.texts import CaptionTexts, FixedCaptionTexts, ImageCaptions
from zoo.datamodules.units import check_units_file, read_checked_units
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.module import ZooModule
from zoo.needs import Capabilities
from zoo.negatives.base import NegativeGenerator
from zoo.pixels.cache import CachedPixels, ImageCache, cached_pixels, check_cache
from zoo.positives.base import PositiveGenerator
from zoo.sources.images import ImageFinder
from zoo.sources.negative_images import FoundImages, NegativeImages
from zoo.sources.readers.base import Reader
from zoo.sources.readers.concatenation import Concatenation
from zoo.sources.rgb_conversion import Decoding
from zoo.sources.sample_cache import cached_samples
from zoo.sources.samples import Rows
from zoo.sources.source import Groups, Source, drop_missing_images, read_source, split_by_image
from zoo.support.configurable import to_config
from zoo.support.ranges import NonNegativeInt, OpenUnitInterval, PositiveInt, Ranged
from zoo.support.worker import default_workers
from zoo.units.record import UnitRecord
from zoo.units.sampler import UnitSampler

log = logging.getLogger(__name__)


class CaptionDataModule(Ranged, CaptionData):
    """Batches of images and captions.

    The content of a row depends only on the seed, the epoch and the sample, and not on the numbers
    of workers and devices. Training can be resumed after any batch.

    Args:
        train: Captions to train on, from one or several readers (`zoo ls readers`).
        image_roots: Folders in which images are searched: the folder of all data sets (with folders
            such as `coco` and `flickr30k`), or the folder to which the image paths in a captions
            file are relative.
        val: Captions for the validation loss, from one or several readers. Alternatively,
            `val_share` or `val_images` holds out training images. If none of the three is set,
            there is no validation loss.
        val_share: Share of the training images to hold out, with all of their captions.
        val_images: Number of training images to hold out, instead of `val_share`.
        batch_size: Number of rows per step over all devices, without the rows that `hard_images`
            adds. It must be a multiple of the number of devices.
        val_batch_size: Number of rows per validation step over all devices; `batch_size` if None.
        negatives: Generators of wrong captions (`zoo ls negatives`). Each generator makes one
            negative per row.
        positives: Generators of further true texts of an image (`zoo ls positives`). Each generator
            makes one positive per row.
        caption_generator: Draws the caption of each row from the texts of its image, such as
            sentences of long captions (`SubCaptions`). Negatives are made from the drawn text. If
            no text can be drawn, the row keeps its original caption. With a generator, the number
            of truncated captions is not reported. If None, each row has its original caption.
        negative_images: A file (`negative_images.file`) that names, for each caption, an image that
            does not match the caption.
        joined: Whether each row joins two images into one, with both captions, as in CLIC. Each row
            then also gets a positive: both captions in reverse order. The value can also be
            `alternate`, as in CLIC's public script: in an epoch, steps 1, 3, 5 and so on join
            images. In all other steps, each row has one image with its caption and no further
            texts.
        source_negatives: Whether each row gets one of the negatives that the captions file contains
            for the row's caption. This negative comes before those of the generators in
            `negatives`.
        units: Draws units and foils from a units file (written by `zoo units extract`).
        hard_images: Whether each row adds a second row with a similar image, as in NegCLIP. The
            captions file names the similar images. The second row has the caption and the negatives
            of the similar image. In validation, a similar image is added only if the validation
            data does not already have a row with this image.
        resample: Whether negatives, positives and units are drawn again in every epoch. Otherwise
            they are drawn once, before the first epoch.
        features: Stores the outputs of frozen towers in a folder (`features.folder`), so that
            images and texts are encoded only once. Both towers must be frozen, and
            `model.backbone.augmentation` must be null. If negatives or other texts are drawn at
            random, `resample` must be false.
        captions_per_image: With `all`, every caption is a row of an epoch. With `one`, every image
            is a row of an epoch, and its caption is drawn again in each epoch.
        train_weights: Relative weights of the readers in `train`. A reader with weight 2 provides
            on average twice as many rows as a reader with weight 1. A reader with weight 0 is not
            read. An epoch has as many rows as without weights. Captions of a reader repeat only
            after all of them were drawn.
        seed: Seed of order, augmentation, negatives and units. If None, commands use the setting
            `seed_everything`, and Python code uses 0.
        workers: Number of data-loading processes per device. If None, the number is 2 on a CPU. On
            a GPU, it is one less than the number of CPU cores per GPU, but at least 2 and at most
            8.
        expected_images: Expected number of training images. Any other number is an error.
        truncation: Whether captions that exceed the context length are truncated. If true, a sample
            of the captions is checked, and the number of truncated captions in the sample is
            reported. If false, all captions are checked, and a caption that is too long is an
            error.
        tolerate_missing: Whether missing images and their captions are left out. Their number is
            then reported. If false, a missing image is an error.
        tolerate_broken: Whether rows whose images cannot be decoded are left out of the loss. The
            number of such images is then reported. If false, such an image is an error.
        evaluation: Benchmarks to run at every validation (see the flag `--benchmarks`).
        upright: Whether the EXIF orientation of custom images is applied. It is never applied to
            images of published data sets.
        background: Background colour for transparent pixels of custom images, such as white. None
            ignores transparency and uses the colour stored in each pixel.
        decoder: The library that decodes and resizes JPEGs: `torchvision` or `pil`. Files of other
            formats are always decoded by PIL. `torchvision` is more than twice as fast as `pil`,
            and its pixels differ from those of `pil` by at most one grey level. Benchmarks do not
            use this setting.
        image_cache: Stores decoded and resized training images in a folder (`image_cache.folder`),
            so that they are decoded only once. Random crops are still drawn in every epoch.

    Raises:
        ZooError: An argument or its data is wrong. Errors that can be detected before the first
            batch are raised before it.

    Examples:
        What the batches will contain, before any file is read:

        >>> from zoo.datamodules import CaptionDataModule
        >>> from zoo.negatives import NegCLIPSwap
        >>> from zoo.sources.readers import CsvTable
        >>> from zoo.units import UnitSampler
        >>> data = CaptionDataModule(CsvTable("captions.csv"), image_roots=["images"],
        ...     negatives=NegCLIPSwap(), units=UnitSampler("units.jsonl"), batch_size=256)
        >>> data.provides.negatives, data.provides.units
        (('negclip_swap',), True)
    """

    def __init__(
        self,
        train: Reader | list[Reader],
        image_roots: list[str],
        val: Reader | list[Reader] | None = None,
        val_share: OpenUnitInterval | None = None,
        val_images: PositiveInt | None = None,
        batch_size: PositiveInt = 128,
        val_batch_size: PositiveInt | None = None,
        negatives: NegativeGenerator | list[NegativeGenerator] | None = None,
        positives: PositiveGenerator | list[PositiveGenerator] | None = None,
        negative_images: NegativeImages | None = None,
        joined: bool | Literal["alternate"] = False,
        source_negatives: bool = False,
        units: UnitSampler | None = None,
        hard_images: bool = False,
        resample: bool = True,
        features: Features | None = None,
        captions_per_image: Literal["all", "one"] = "all",
        train_weights: list[float] | None = None,
        seed: NonNegativeInt | None = None,
        workers: NonNegativeInt | None = None,
        expected_images: PositiveInt | None = None,
        truncation: bool = True,
        tolerate_missing: bool = False,
        tolerate_broken: bool = False,
        evaluation: Evaluation | None = None,
        upright: bool = False,
        background: str | None = None,
        decoder: Decoder = "torchvision",
        image_cache: ImageCache | None = None,
        caption_generator: PositiveGenerator | None = None,
    ) -> None:
        super().__init__()
        if sum(choice is not None for choice in (val, val_share, val_images)) > 1:
            raise ZooError(
                "val, val_share and val_images each define the validation data: give one of them"
            )
        self.train_reader, self.train_weights = select_weighted_readers(train, train_weights)
        self.val_reader: Reader | None = Concatenation(val) if isinstance(val, list) else val
        self.roots = image_roots
        self.val_share, self.val_images = val_share, val_images
        self.batch_size, self.val_batch_size = batch_size, val_batch_size or batch_size
        self.generators = (
            [negatives] if isinstance(negatives, NegativeGenerator) else list(negatives or ())
        )
        self.positives = (
            [positives] if isinstance(positives, PositiveGenerator) else list(positives or ())
        )
        self.caption_generator = caption_generator
        if caption_generator is not None and not truncation:
            raise ZooError(
                "data.truncation is false, which checks whole captions, and "
                "data.caption_generator draws others: set truncation to true"
            )
        self.negative_images, self.joined = negative_images, joined
        if joined:
            refuse_with_joined(
                features=features,
                units=units,
                negative_images=negative_images,
                source_negatives=source_negatives,
                hard_images=hard_images,
                train_weights=train_weights,
            )
        self.source_negatives, self.units, self.hard_images = source_negatives, units, hard_images
        self.resample, self.features = resample, features
        self.captions_per_image: Literal["all", "one"] = captions_per_image
        self.seed, self.workers, self.expected_images, self.truncation = (
            seed or 0,
            workers,
            expected_images,
            truncation,
        )
        self.tolerate_missing, self.tolerate_broken = tolerate_missing, tolerate_broken
        self.evaluation: Evaluation | None = evaluation
        self.decoding, self.decoder = Decoding(upright, background), decoder
        self.image_cache = image_cache
        check_cache(image_cache, decoder, features_are_stored=features is not None)
        self.broken = BrokenImageLog()
        self._resumed: dict[str, Any] | None = None
        self._store: tuple[FeatureStore, StoredImages] | None = None
        self.truncated: TruncationCount | None = None

    @property
    def provides(self) -> Capabilities:
        """What the batches contain."""
        names = tuple(generator.name for generator in self.generators)
        return Capabilities(
            (("source",) if self.source_negatives else ()) + names,
            self.units is not None,
            encoded=self.features is not None,
            positives=("joined",) * bool(self.joined) + tuple(g.name for g in self.positives),
            negative_images=self.negative_images is not None,
        )

    @property
    def validates(self) -> bool:
        """Whether there are captions for a validation loss."""
        return any(c is not None for c in (self.val_reader, self.val_share, self.val_images))

    @cached_property
    def finder(self) -> ImageFinder:
        """Finds and opens images."""
        return ImageFinder(self.roots, self.decoding)

    @cached_property
    def sources(self) -> tuple[Source, Source | None]:
        """Training and validation captions whose images exist."""
        train, val = self._read_source(self.train_reader), None
        if self.val_share is not None or self.val_images is not None:
            train, val = split_by_image(train, self.val_share, self.val_images)
        elif self.val_reader is not None:
            val = self._read_source(self.val_reader)
        check_every_reader(train)
        return train, val

    @property
    def _splits(self) -> list[Source]:
        return [source for source in self.sources if source is not None]

    def _read_source(self, reader: Reader) -> Source:
        source = read_source(reader)
        if not self.hard_images:
            source = source.without_companions()
        return drop_missing_images(source, self.finder, self.tolerate_missing)

    @cached_property
    def texts(self) -> CaptionTexts:
        """Draws the negatives, positives and units of captions, after checking the units file."""
        records: Mapping[str, UnitRecord] = {}
        if self.units is not None:
            check_units_file(self.units, self.train_reader)
            splits = self._splits
            # splits of one reader share its samples
            read_once = {id(split.samples): split.samples for split in splits}.values()
            whole_readers = (split.reader.all_splits() for split in splits)
            records = read_checked_units(
                self.units, read_once, lambda: map(cached_samples, whole_readers)
            )
        kind = CaptionTexts if self.resample and self.features is None else FixedCaptionTexts
        return kind(
            self.seed,
            self.generators,
            self.source_negatives,
            self.units,
            records,
            self.positives,
            ImageCaptions(self._splits) if self.positives or self.caption_generator else {},
            self.caption_generator,
        )

    @cached_property
    def found_negative_images(self) -> FoundImages:
        """The negative images that exist."""
        if self.negative_images is None:
            return FoundImages()
        return self.negative_images.find_images(self.finder, self.tolerate_missing)

    def check_files(self) -> None:
        """Reads captions, units and benchmarks, and finds images, before a model is built.

        Raises:
            ZooError: A file is missing.
        """
        # these properties are cached for `setup`
        _ = self.finder
        check_image_count(self.sources[0], self.expected_images)
        _ = self.texts, self.found_negative_images
        super().check_files()

    def check_devices(self, world: int) -> None:
        """Checks that the batch sizes are multiples of the number of devices.

        Raises:
            ZooError: A batch size is not a multiple of this number.
        """
        for size in (self.batch_size, self.val_batch_size):
            local_batch_size(size, world)

    def setup(self, stage: str) -> None:
        """Checks the data against the settings, and reports what is left out.

        Raises:
            ZooError: The data does not have what the settings need, or no trainer is attached.
        """
        if self.trainer is None:
            raise ZooError(
                "CaptionDataModule.setup needs a trainer, whose model tokenizes the captions: call "
                "Trainer.fit(module, datamodule=data), which calls setup, or data.check_files() to "
                "check the files alone"
            )
        self.check_devices(self.trainer.world_size)
        self._store = None
        if self.features is not None:
            has_drawn_texts = (
                self.generators
                or self.positives
                or self.source_negatives
                or self.units
                or self.caption_generator
            )
            check_features_constant(
                self._backbone,
                self.trainer.strategy,
                resamples_texts=bool(has_drawn_texts) and self.resample,
            )
        self.check_files()
        for note in self._check_captions():
            if self.trainer.is_global_zero:
                log.warning(note)

    def _check_captions(self) -> Iterator[str]:
        """Checks the captions against the settings, and yields notes on what is left out or cut."""
        train, val = self.sources
        yield from note_large_batch(
            self.batch_size,
            self.rows_per_epoch,
            self.captions_per_image,
        )
        if self.hard_images:
            yield from check_companions(train)
        yield from check_texts(train, self.texts)
        if self.negative_images is not None:
            yield from check_negative_images(
                train, self.found_negative_images, self.negative_images.file
            )
        if self.caption_generator is None:
            self.truncated = count_truncated_captions(
                self._splits, self._backbone.tokenizer, self.truncation
            )
            yield from self.truncated.notes()
        yield from notes_on_images(train, val, self.found_negative_images, self.finder)

    def train_dataloader(self) -> BatchLoader:
        """Returns the training loader. In a resumed run, it continues where the run stopped.

        Raises:
            ZooError: The settings differ from those of the interrupted run, so that samples would
                have another order.
        """
        loader = self._loader(self.sources[0], self.batch_size, is_validation=False)
        if self._resumed is not None:
            self._order.check_same_settings(self._resumed)
            loader.load_state_dict(self._resumed)
        return loader

    def val_dataloader(self) -> list[DataLoader[Any]]:
        """Returns the loaders of the validation loss and of the benchmarks, if there are any."""
        source = self.sources[1]
        loaders: list[DataLoader[Any]] = []
        if source is not None:
            loaders.append(self._loader(source, self.val_batch_size, is_validation=True))
        if self.evaluation is not None:
            self.evaluation.trained_images = frozenset(self.trained_images())
            loaders += self.evaluation.build_loaders(self._backbone, self._module.head)
        return loaders

    def _loader(self, source: Source, batch_size: int, is_validation: bool) -> BatchLoader:
        assert self.trainer is not None
        cached_pixels = None if is_validation else self._load_cached_pixels(source)
        images: RowImages = ImageFiles(
            self.finder, self._transform(is_validation), self.decoder, cached_pixels
        )
        collate = Collate(self._backbone.tokenizer)
        mixture = None if is_validation else self._mixture
        groups = source.training_groups(self.captions_per_image, by_reader=mixture is not None)
        if self.features is not None:
            store, images = self._fill_feature_store()
            collate = StoredCollate(store.images, store.texts)
        rows = (JoinedDataset if self.joined else CaptionDataset)(
            source.samples,
            groups,
            self.texts,
            images,
            self.seed,
            companions=self._companions(source, is_validation),
            tolerate_broken=self.tolerate_broken,
            negative_images=self.found_negative_images,
        )
        data: Dataset[list[BatchRow]] = rows
        if isinstance(rows, JoinedDataset) and self.joined == "alternate" and not is_validation:
            data = AlternatingDataset(rows, self.trainer.accumulate_grad_batches)
        sampler = GlobalBatchSampler(
            len(rows),
            batch_size,
            self.seed,
            self.trainer.global_rank,
            self.trainer.world_size,
            is_validation,
            mixture,
        )

        return BatchLoader(
            data,
            sampler,
            collate,
            self._worker_count(),
            pin_memory=torch.cuda.is_available(),
            on_batch=self.broken.record,
        )

    def _worker_count(self) -> int:
        if self.workers is not None:
            return self.workers
        assert self.trainer is not None
        on_gpu = self.trainer.strategy.root_device.type == "cuda"
        return default_workers(self.trainer.num_devices, on_gpu)

    def _transform(self, is_validation: bool) -> Transform:
        backbone = self._backbone
        if self.decoder == "pil":
            return backbone.eval_transform if is_validation else backbone.train_transform
        return backbone.eval_uint8_transform if is_validation else backbone.train_uint8_transform

    def _load_cached_pixels(self, source: Source) -> CachedPixels | None:
        if self.image_cache is None:
            return None
        side = self.image_cache.side or self._backbone.min_side_for_crops
        images = [*source.images, *self.found_negative_images.by_caption.values()]
        return cached_pixels(
            self.image_cache, side, images, self.finder, self._worker_count(), self.tolerate_broken
        )

    def _companions(self, source: Source, is_validation: bool) -> Rows:
        if not self.hard_images:
            return source.kept[:0]
        if not is_validation:
            return source.kept
        return source.select(source.column("companion_only").to_numpy()).kept

    def _fill_feature_store(self) -> tuple[FeatureStore, StoredImages]:
        """Returns the feature store, filled with all needed images and texts.

        It is built with the first loader, since a resumed run loads its weights just before that.
        """
        assert self.trainer is not None
        if self._store is None:
            assert self.features is not None
            assert isinstance(self.texts, FixedCaptionTexts)
            module: Any = self.trainer.lightning_module
            store = FeatureStore(
                self.features,
                module.backbone,
                module.image_keys,
                module.text_keys,
                self.decoder,
            )
            sources = self._splits if self.trainer.state.fn == "fit" else self._splits[1:]
            images = [image for source in sources for image in source.images]
            images += self.found_negative_images.by_caption.values()
            texts = [
                text
                for source in sources
                for i in source.kept.tolist()
                for text in self.texts.all_texts(source.samples[i], i)
            ]
            stored = store.fill(
                images,
                texts,
                module.backbone,
                self.finder,
                self._worker_count(),
                self.tolerate_broken,
            )
            self._store = store, stored
        return self._store

    @property
    def _module(self) -> ZooModule:
        assert self.trainer is not None
        return cast(ZooModule, self.trainer.lightning_module)

    @property
    def _backbone(self) -> Backbone:
        return self._module.backbone

    def state_dict(self) -> dict[str, Any]:
        """Returns the position of training in the current epoch.

        The datamodule saves this position, because Lightning loses the state of the loader itself
        if the schedule has read the loader's length (Lightning issue 20550).
        """
        loader = None if self.trainer is None else self.trainer.train_dataloader
        return (
            {**loader.state_dict(), **vars(self._order)} if isinstance(loader, BatchLoader) else {}
        )

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores a position in an epoch, from which the training loader will continue."""
        self._resumed = state_dict or None

    @property
    def _order(self) -> SampleOrder:
        mixture, n_rows = self._mixture, len(self._training_groups)
        mixed = () if mixture is None else (mixture.weights, mixture.sizes)
        return SampleOrder(self.batch_size, self.seed, n_rows, self.decoder, *mixed)

    @property
    def rows_per_epoch(self) -> int:
        """Number of rows per epoch: captions, or images if `captions_per_image` is `one`."""
        return len(self._training_groups)

    @property
    def _training_groups(self) -> Groups:
        return self.sources[0].training_groups(self.captions_per_image, bool(self.train_weights))

    @cached_property
    def _mixture(self) -> Mixture | None:
        if not self.train_weights:
            return None
        parts = self.sources[0].split_by_reader()
        sizes = (len(part.training_groups(self.captions_per_image)) for part in parts)
        return Mixture(tuple(sizes), self.train_weights)

    def trained_images(self) -> list[str]:
        """Returns the references of the training images as strings."""
        return [str(image) for image in self.sources[0].images]

    def describe(self) -> dict[str, Any]:
        """Returns the description of the data in checkpoints and results, as plain values."""
        return {**self._description, "broken_images": sorted(self.broken.names)}

    @cached_property
    def _description(self) -> dict[str, Any]:
        train, val = self.sources
        truncated, units = self.truncated, None
        if self.units is not None:
            with_units = self.units.records().count_covered_captions(train.column("caption_id"))
            units = {**self.units.describe(), "training_captions_with_units": with_units}
        return {
            "train": train.describe(),
            "val": None if val is None else val.describe(),
            "seed": self.seed,
            "batch_size": self.batch_size,
            "captions_per_image": self.captions_per_image,
            "train_weights": list(self.train_weights),
            "hard_images": self.hard_images,
            "source_negatives": self.source_negatives,
            "resample": self.resample,
            "own_images": vars(self.decoding),
            "decoder": self.decoder,
            "image_cache": self.image_cache and {"side": self.image_cache.side},
            "features": None if self.features is None else self.features.precision,
            "negatives": [
                {**to_config(generator), **generator.describe()} for generator in self.generators
            ],
            "joined": self.joined,
            "positives": [
                {**to_config(generator), **generator.describe()} for generator in self.positives
            ],
            "caption_generator": self.caption_generator
            and {**to_config(self.caption_generator), **self.caption_generator.describe()},
            "negative_images": self.negative_images
            and {**self.negative_images.describe(), "missing": self.found_negative_images.missing},
            "units": units,
            "truncation": {}
            if truncated is None
            else {"checked": truncated.checked, "truncated": truncated.count},
        }
