"""ARO (Yuksekgonul et al. 2023).

Captions of Visual Genome have swapped relations and attributes; captions of COCO and Flickr30k have
a perturbed word order.
"""

from collections.abc import Iterator
from pathlib import Path

from zoo.benchmarks.aro.attribution import (
    ATTRIBUTION,
    RELATION,
    swap_cases,
)
from zoo.benchmarks.aro.order import (
    COCO_ORDER,
    FLICKR_ORDER,
    hub_copy_cases,
    load_order_set,
)
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.published import PublishedBenchmark
from zoo.language.tagger import Tagger
from zoo.language.taggers import default_tagger


class ARO(PublishedBenchmark):
    """ARO: captions with exchanged objects, exchanged attributes or shuffled words (82,695 cases).

    VG-Relation exchanges two objects of a caption, and VG-Attribution exchanges two attributes. The
    image is cropped to a box. A tie is wrong, and the published value is `macro`: the mean over
    relations or over pairs of attributes, as in the authors' notebook.

    COCO-Order and Flickr30k-Order compare a caption with four perturbations of its word order. A
    tie is right. All four subsets have protocol `i2t`.

    The authors publish no perturbations. zoo creates them once, with a seed, and saves them to a
    file that you can share. A tagger finds the nouns and adjectives. The authors used spaCy's
    `en_core_web_sm` (`tagger: SpacyTagger`), and the default is TextBlob's. Another tagger gives
    other perturbations, and the report names it. A perturbation can equal its caption, which is a
    tie. Preset `official` counts this tie as right. Preset `strict` drops the perturbation.

    Images are from Visual Genome, COCO and Flickr30k. Boxes are in pixels of the published images.
    If many boxes do not fit your images, your copy of the images was probably resized. zoo then
    leaves out all cases with boxes, and a note reports this.

    Args:
        files: Paths of the annotations if not the default ones, by subset. For an order set, also a
            file of perturbed captions (.jsonl) from another run.
        seed: Seed of the perturbations of the order sets.
        tagger: The tagger for the perturbations. None is TextBlob's. Official results
            use spaCy's.
        order_dir: The folder where perturbed captions are saved. None is the user's cache folder;
            the data root is only read.
        subsets: The chosen subsets, None for all four.

    Examples:
        An entry of VG-Relation, whose box is cropped from the image:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import ARO
        >>> _ = Path("relations.json").write_text('''[{"image_path": "7.jpg", "relation_name": "on",
        ... "true_caption": "the cup on the tray", "false_caption": "the tray on the cup",
        ... "bbox_x": 1, "bbox_y": 2, "bbox_w": 5, "bbox_h": 4}]''')
        >>> benchmark = ARO({"VG-Relation": "relations.json"}, subsets=["VG-Relation"])
        >>> [case] = benchmark.read(Path()).cases
        >>> str(case.images[0]), case.texts, case.group
        ('visual_genome:7@1,2,5,4', ('the cup on the tray', 'the tray on the cup'), 'on')
    """

    name = "aro"
    licence = "MIT"
    citation = (
        "Yuksekgonul et al., When and why vision-language models behave like bags-of-words, "
        "ICLR 2023, arXiv:2210.01936"
    )
    copies = (
        HubDataset("mteb/ARO-Visual-Attribution", "25fe9b460426ff67cdb0608a737c94f8f49a901e"),
    )
    published = (
        Subset(
            RELATION,
            ("aro/visual_genome_relation.json", "aro/relation/data/test-*.parquet"),
            23_937,
            download_command(f"aro:{RELATION}"),
            chance={"i2t": 50.0, "macro": 50.0},
            published={"macro": 59.9},
        ),
        Subset(
            ATTRIBUTION,
            ("aro/visual_genome_attribution.json", "aro/attribution/data/train-*.parquet"),
            28_748,
            download_command(f"aro:{ATTRIBUTION}"),
            chance={"i2t": 50.0, "macro": 50.0},
            published={"macro": 63.2},
        ),
        Subset(
            COCO_ORDER,
            ("aro/coco_karpathy_test.json", "aro/coco_order/data/test-*.parquet"),
            25_010,
            download_command(f"aro:{COCO_ORDER}"),
            chance={"i2t": 20.0},
            published={"i2t": 47.6},
        ),
        Subset(
            FLICKR_ORDER,
            ("aro/flickr30k_test.json", "aro/flickr_order/data/test-*.parquet"),
            5_000,
            download_command(f"aro:{FLICKR_ORDER}"),
            chance={"i2t": 20.0},
            published={"i2t": 59.6},
        ),
    )

    def __init__(
        self,
        files: dict[str, str] | None = None,
        seed: int = 1,
        tagger: Tagger | None = None,
        order_dir: str | None = None,
        subsets: list[str] | None = None,
    ) -> None:
        super().__init__(files, subsets)
        self.seed, self.tagger = seed, tagger
        self.order_dir = None if order_dir is None else Path(order_dir)

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset.

        Captions of the order sets are perturbed and saved if that was not done before. Those of a
        copy on the hub were perturbed by its authors.

        Args:
            path: Its annotation file, or a table of its copy on the hub.
            subset: Its name.

        Raises:
            ZooError: The file is invalid, or perturbed captions cannot be written.
        """
        if subset in (RELATION, ATTRIBUTION):
            return super().read_subset(path, subset)
        if path.suffix == ".parquet":
            contents = super().read_subset(path, subset)
            contents.notes[subset] = f"captions as perturbed in the copy on the hub ({path})"
            return contents
        tagger = self.tagger or default_tagger()
        order = load_order_set(path, subset, self.seed, tagger, self.order_dir)
        return Contents(order.cases, order.files, [], {subset: order.note})

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each entry of a VG set, or for each row of a copy."""
        read_cases = swap_cases if subset in (RELATION, ATTRIBUTION) else hub_copy_cases
        return read_cases(path, subset)
