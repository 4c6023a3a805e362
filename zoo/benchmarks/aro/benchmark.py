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
    """ARO: foils with exchanged objects, exchanged attributes or shuffled words (82,695 cases).

    All four subsets have protocol `i2t`. In VG-Relation, the foil exchanges two objects of the
    caption. In VG-Attribution, the foil exchanges two attributes. In both subsets, the image is
    cropped to the box in the annotations, and a tie is wrong. Metric `macro` is the mean of `i2t`
    over relations (VG-Relation) or over pairs of attributes (VG-Attribution). As in the authors'
    notebook, `macro` leaves out 157 relations, and pairs of attributes with fewer than 25 cases.

    In COCO-Order and Flickr30k-Order, each caption has four foils, with its words in other orders.
    A tie is right. ARO's authors do not publish these foils. Therefore, `zoo data get` downloads
    versions of these two subsets that others published on the Hub, with their own foils. If the
    caption files in the table below exist, zoo does not use these versions. Instead, zoo creates
    foils once, with a seed, and saves them to a file that you can share.

    Some of the foils that zoo creates depend on which words are nouns or adjectives. A
    part-of-speech tagger finds these words. By default, this is TextBlob's tagger. ARO's authors
    used spaCy's `en_core_web_sm` (`--benchmarks.tagger SpacyTagger`). Another tagger gives other
    foils, so a note names the tagger. If a foil equals its caption, the two texts have the same
    score. Preset `official` counts this tie as right. Preset `strict` drops the foil.

    Images are from Visual Genome, COCO and Flickr30k. Boxes are in pixels of the published images.
    If many boxes extend beyond your images, the images were probably resized. In this case, zoo
    leaves out all cases with boxes, and a note reports this.

    Args:
        files: Paths of annotation files, by subset, if they are not the default ones. For
            COCO-Order and Flickr30k-Order, you can also give a file of foils (.jsonl) that another
            run saved.
        seed: Seed of the foils that zoo creates for COCO-Order and Flickr30k-Order.
        tagger: The tagger for the foils that zoo creates. By default, TextBlob's.
        order_dir: The folder where zoo saves the foils. By default, your cache folder.
        subsets: The chosen subsets; None for all.

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
