"""PUG:SPARE (Koishigarina et al. 2025), split by how many of two bindings training has seen."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from zoo.benchmarks.annotations import check_subsets, find_annotation_file
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.benchmarks.bindings import BindingImage, binding_cases
from zoo.errors import ZooError
from zoo.scenes import blocks
from zoo.sources.readers.pug_spare import (
    AnimalPair,
    Holdout,
    format_caption,
    holdout,
    read_animal_pairs,
)
from zoo.sources.sample import ImageRef

INSTRUCTIONS = (
    "download PUG_SPARE.csv and the archives Desert, Island, MountainRange and Spaceship (links in "
    "data_loading/pug.py of github.com/kdariina/CLIP-not-BoW-unimodally), and unpack them in "
    "DATA_ROOT/pug_spare"
)
FILE = "pug_spare/PUG_SPARE.csv"
CAPTIONS = 7_392


class PUGSpare(Benchmark):
    """PUG:SPARE: two coloured animals. An image chooses between two captions, or among 7,392.

    A *binding* is an animal with its colour, and a caption has two bindings. As in BindSplit (Peng
    et al., 2026), nine bindings do not occur in training: all combinations of 3 colours and 3
    animals. In `seen`, both bindings of a caption occur in training. In `partial`, only one of the
    two does. In `unseen`, none does. The data reader `PUGSpare` reads the captions for training.

    The *swap* of a caption exchanges the two colours. In protocol `i2t`, an image chooses between
    its caption and the swap. In protocol `retrieval`, the image chooses among all captions. Its
    caption is then right in both orders of the animals.

    Of 7,392 captions, 4,708 are for training. The subsets have other captions: 524 in `seen`, 504
    in `partial` and 36 in `unseen`. The remaining 1,620 captions are not used: caption and swap
    have different numbers of held-out bindings, so one of them would be more familiar to the model.

    BindSplit's published values are means over three sets of nine bindings. These sets are not
    published, so the table has no published values.

    Args:
        file: The path of PUG_SPARE.csv, by default pug_spare/PUG_SPARE.csv in the data root. The
            folders of the images are next to this file.
        block_seed: The seed that selects the nine bindings and the captions of `seen`. It must be
            the `block_seed` of the data reader that was used in training.
        subsets: The chosen subsets; None for all.

    Examples:
        The combinations that no training with block seed 3 has seen:

        >>> from zoo.benchmarks import PUGSpare
        >>> [subset] = PUGSpare(block_seed=3, subsets=["unseen"]).subsets
        >>> subset.name, subset.files, subset.chance
        ('unseen', ('pug_spare/PUG_SPARE.csv',), {'i2t': 50.0})
    """

    name = "pug_spare"
    subset_names = blocks.SPLITS
    licence = "PUG's licence, which forbids commercial use and use with generative AI"
    citation = (
        "Koishigarina et al., CLIP Behaves like a Bag-of-Words Model Cross-modally but not "
        "Uni-modally, arXiv:2502.03566; Bordes et al., PUG, NeurIPS 2023, arXiv:2308.03977"
    )

    def __init__(
        self, file: str | None = None, block_seed: int = 0, subsets: list[str] | None = None
    ) -> None:
        self.file, self.block_seed = file, block_seed
        self.wanted = check_subsets(self.name, subsets, self.subset_names)

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The chosen subsets, all read from one file."""
        published_subsets = tuple(
            Subset(name, (FILE,), None, INSTRUCTIONS, {"i2t": 50.0}) for name in self.wanted
        )
        if self.file is None:
            return published_subsets
        return tuple(
            replace(subset, files=(self.file,), from_user=True) for subset in published_subsets
        )

    def read(self, root: Path) -> Contents:
        """Returns the cases if the file exists."""
        path = find_annotation_file(root, self.subsets[0])
        if path is None:
            return Contents([], [], list(self.subsets))
        rows = list(read_animal_pairs(path))
        block = holdout(rows, self.block_seed)
        if not block.held_out:
            raise ZooError(
                f"{path} has {len(block.attributes)} colours and {len(block.objects)} animals, but "
                f"{blocks.BLOCK_SIDE} of each must be held out: download the file again"
            )
        captions = [format_caption(c) for c in blocks.captions(block.attributes, block.objects)]
        folder = path.parent.absolute()
        if path.is_relative_to(root):
            # so that results do not depend on the path of the root
            folder = path.parent.relative_to(root)
        cases = [
            case
            for subset in self.wanted
            for case in self._cases(subset, rows, block, captions, folder)
        ]
        counts = f"{len(captions):,} in the file, {CAPTIONS:,} as published"
        notes = {"captions": counts} if len(captions) != CAPTIONS else {}
        return Contents(cases, [path], [], notes)

    def _cases(
        self,
        subset: str,
        rows: list[AnimalPair],
        block: Holdout,
        captions: list[str],
        folder: Path,
    ) -> Iterator[Case]:
        binding_images = [
            BindingImage(
                ImageRef("published", (folder / row.image_path).as_posix()),
                row.place.rpartition(":")[2],
                format_caption(row.caption),
                format_caption(blocks.swap_attributes(row.caption)),
                (format_caption(row.caption), format_caption((row.caption[1], row.caption[0]))),
            )
            for row in rows
            if block.split_of(row.caption) == subset
        ]
        return binding_cases(subset, binding_images, captions)
