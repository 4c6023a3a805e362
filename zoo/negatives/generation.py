"""Makes the negatives of many captions, in this process or with Ray."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from zoo.errors import ZooError
from zoo.negatives.base import NegativeGenerator
from zoo.support.configurable import from_config, to_config
from zoo.support.ray_jobs import Ray, check_same_component
from zoo.units.record import UnitRecord
from zoo.units.table import unit_table

SeededCaption = tuple[str, str, str]  # a caption, its id, and the seed of its negative


def make_negatives(
    generator: NegativeGenerator,
    captions: Iterable[SeededCaption],
    records: Mapping[str, UnitRecord],
) -> Iterator[str | None]:
    """Yields a negative of each caption, or None if it has none.

    Args:
        generator: The generator of negatives.
        captions: The captions.
        records: Units by caption id.
    """
    for caption, caption_id, seed in captions:
        yield generator.negative(caption, Random(seed), records.get(caption_id))


def make_negatives_on_ray(
    ray: Ray,
    generator: NegativeGenerator,
    captions: Sequence[SeededCaption],
    units: Path | None = None,
) -> Iterator[str | None]:
    """Yields the same as `make_negatives`, in the same order, but uses Ray.

    Args:
        ray: The Ray settings.
        generator: The generator of negatives.
        captions: The captions.
        units: A units file on a file system that all machines share, or None.

    Raises:
        ZooError: A worker failed, or Ray is missing.
    """
    worker_arguments = (
        to_config(generator),
        generator.describe(),
        None if units is None else str(units.absolute()),
    )
    starts = range(0, len(captions), ray.captions)
    parts = [{"captions": json.dumps(captions[at : at + ray.captions])} for at in starts]
    for result in ray.run_parts(NegativesWorker, worker_arguments, parts):
        yield from json.loads(result["negatives"])


class NegativesWorker:
    """Makes the negatives of parts in a Ray process.

    Args:
        config: The generator's configuration, from `to_config`.
        description: The description of the requested generator.
        units: The units file, or None.
    """

    def __init__(
        self, config: dict[str, Any], description: dict[str, str], units: str | None
    ) -> None:
        self._config, self._description, self._units = config, description, units
        self._generator: NegativeGenerator | None = None
        self._records: Mapping[str, UnitRecord] = {}

    def __call__(self, part: dict[str, Any]) -> dict[str, str]:
        """Makes the negatives of one part.

        Args:
            part: Its captions as JSON.

        Returns:
            The negatives as JSON, or an error message.
        """
        captions = json.loads(part["captions"])
        try:
            negatives = list(
                make_negatives(self._load_generator_and_records(), captions, self._records)
            )
        except ZooError as error:
            return {"fault": str(error), "negatives": ""}
        return {"fault": "", "negatives": json.dumps(negatives)}

    def _load_generator_and_records(self) -> NegativeGenerator:
        """Returns the generator, which is built once, and loads the records that it needs.

        Raises:
            ZooError: It differs from the requested generator.
        """
        if self._generator is None:
            generator = from_config(self._config, NegativeGenerator)  # type: ignore[type-abstract]
            check_same_component(generator.describe(), self._description)
            self._records = {} if self._units is None else unit_table(self._units)
            self._generator = generator
        return self._generator
