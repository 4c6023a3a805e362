"""Making: the negatives of many captions, in this process or in Ray's."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from zoo.errors import ZooError
from zoo.negatives.base import NegativeGenerator
from zoo.support.on_ray import Ray, refuse_other
from zoo.support.spec import from_config, to_config
from zoo.units.record import UnitRecord
from zoo.units.table import unit_table

Seeded = tuple[str, str, str]  # a caption, its id, and the seed of its negative


def make(
    generator: NegativeGenerator, captions: Iterable[Seeded], records: Mapping[str, UnitRecord]
) -> Iterator[str | None]:
    """Yields a negative of each caption, None where it has none.

    Args:
        generator: Makes the negatives.
        captions: The captions.
        records: Units by caption id.
    """
    for caption, caption_id, seed in captions:
        yield generator.negative(caption, Random(seed), records.get(caption_id))


def make_on_ray(
    ray: Ray, generator: NegativeGenerator, captions: Sequence[Seeded], units: Path | None = None
) -> Iterator[str | None]:
    """Yields what `make` does, in the same order.

    Args:
        ray: Does the work.
        generator: Makes the negatives.
        captions: The captions.
        units: A units file that all machines see, None for none.

    Raises:
        ZooError: A worker cannot go on, or Ray is missing.
    """
    given = (
        to_config(generator),
        generator.describe(),
        None if units is None else str(units.absolute()),
    )
    starts = range(0, len(captions), ray.captions)
    parts = [{"captions": json.dumps(captions[at : at + ray.captions])} for at in starts]
    for said in ray.run_parts(NegativesWorker, given, parts):
        yield from json.loads(said["negatives"])


class NegativesWorker:
    """Makes the negatives of parts in a process of Ray.

    Args:
        described: The generator, as `spec` describes it.
        asked: What the generator says of itself where it was asked for.
        units: The units file, None for none.
    """

    def __init__(self, described: dict[str, Any], asked: dict[str, str], units: str | None) -> None:
        self._described, self._asked, self._units = described, asked, units
        self._generator: NegativeGenerator | None = None
        self._records: Mapping[str, UnitRecord] = {}

    def __call__(self, part: dict[str, Any]) -> dict[str, str]:
        """Makes the negatives of one part.

        Args:
            part: Its captions as JSON.

        Returns:
            The negatives as JSON, or what is wrong, in a sentence.
        """
        captions = json.loads(part["captions"])
        try:
            negatives = list(make(self._build_generator(), captions, self._records))
        except ZooError as error:
            return {"fault": str(error), "negatives": ""}
        return {"fault": "", "negatives": json.dumps(negatives)}

    def _build_generator(self) -> NegativeGenerator:
        """Returns the generator, which is made once, as are the records that it asks.

        Raises:
            ZooError: It is not the one that was asked for.
        """
        if self._generator is None:
            made = from_config(self._described, NegativeGenerator)  # type: ignore[type-abstract]
            refuse_other(made.describe(), self._asked)
            self._records = {} if self._units is None else unit_table(self._units)
            self._generator = made
        return self._generator
