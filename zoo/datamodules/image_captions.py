"""ImageCaptions: the captions of each image, looked up on access."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from zoo.sources.source import Source
from zoo.support.text_index import TextIndex, index_of


class ImageCaptions(Mapping[str, Sequence[str]]):
    """The captions of each image by its id, in the order of the samples.

    Args:
        sources: The captions in use.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._ids = [source.image_ids for source in sources]
        indexes = (pa.Table.from_batches([index_of(ids.to_pylist())]) for ids in self._ids)
        self._found = [
            (source, source.by_image(), TextIndex(pa.chunked_array([ids]), index))
            for source, ids, index in zip(sources, self._ids, indexes, strict=True)
        ]

    def __getitem__(self, image_id: str) -> list[str]:
        captions = [
            str(source.samples.captions.column("caption")[position].as_py())
            for source, groups, keys in self._found
            for row in keys.rows(image_id)
            for position in groups[row]
        ]
        if not captions:
            raise KeyError(image_id)
        return captions

    def __iter__(self) -> Iterator[str]:
        return iter(pa.chunked_array(self._ids).unique().to_pylist())

    def __len__(self) -> int:
        return len(pa.chunked_array(self._ids).unique())
