"""MMVP-VLM (Tong et al. 2024): pairs of images that CLIP confuses, by nine visual patterns."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct, field

from zoo.benchmarks.annotations import check_kind
from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.csv_rows import read_csv
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.protocols.group import CHANCE, METRICS
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.schema import Text

HUB = HubDataset("MMVP/MMVP_VLM", "211372d5357398f914d806d07dc305aea1f257d2")
# pattern: text, image and group score of OpenAI's ViT-B/32 as measured by vl_compo
PATTERNS = {
    "Orientation": (6.67, 0.0, 0.0),
    "Presence": (6.67, 20.0, 0.0),
    "State": (33.33, 13.33, 13.33),
    "Quantity": (6.67, 6.67, 0.0),
    "Spatial": (6.67, 0.0, 0.0),
    "Color": (53.33, 26.67, 13.33),
    "Structural Character": (26.67, 33.33, 13.33),
    "Text": (13.33, 13.33, 6.67),
    "Camera Perspective": (20.0, 26.67, 13.33),
}
FOLDERS = ("MLLM_VLM Images", "MMVP_VLM_Images")
PREFIX = "a photo of "


class _MMVPRow(Struct):
    number: Text = field(name="Question ID")
    pattern: Text = field(name="Type")
    statement: Text = field(name="Statement")


class MMVP(PublishedBenchmark):
    """MMVP-VLM: two images and two statements that differ in a visual pattern (135 cases).

    There are nine visual patterns, such as orientation and quantity, with 15 cases each. Protocol
    `group` reports three metrics. Metric `text` requires that each image chooses its statement.
    Metric `image` requires that each statement chooses its image. Metric `group` requires both. The
    authors report `image`. As in the authors' script, each statement starts with "a photo of". If
    both images have equal scores with a statement, the script chooses the second image. zoo expects
    the images in `mmvp/MLLM_VLM Images/PATTERN/NUMBER.jpg`.

    The published values are from vl_compo. With 15 cases, the 95 % interval of a value extends
    about 20 percentage points to either side. Therefore compare models by their values over all 135
    cases.

    Examples:
        Two questions in a row are a case:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import MMVP
        >>> _ = Path("questions.csv").write_text('''Question ID,Type,Statement
        ... 241,Orientation,a dog from above
        ... 242,Orientation,a dog from the side''')
        >>> [case] = MMVP({"Orientation": "questions.csv"}, ["Orientation"]).read(Path()).cases
        >>> case.id, case.texts
        ('241-242', ('a photo of a dog from above', 'a photo of a dog from the side'))
    """

    name = "mmvp"
    licence = "MIT"
    citation = (
        "Tong et al., Eyes Wide Shut? Exploring the Visual Shortcomings of Multimodal LLMs, "
        "CVPR 2024, arXiv:2401.06209"
    )
    hub = HUB
    published = tuple(
        Subset(
            pattern,
            ("mmvp/Questions.csv",),
            15,
            HUB.download_instructions("mmvp"),
            chance=CHANCE,
            published=dict(zip(METRICS, values, strict=True)),
        )
        for pattern, values in PATTERNS.items()
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for every two rows of the pattern."""
        folder = next((path.parent / f for f in FOLDERS if (path.parent / f).is_dir()), None)
        images = folder or path.parent / FOLDERS[0]
        table = list(read_csv(path, _MMVPRow))
        for i in range(0, len(table), 2):
            rows = _paired_rows(table[i : i + 2])
            if check_kind(rows[0].pattern, PATTERNS, table[i][0]) == subset:
                yield Case(
                    images=tuple(_image(images, row) for row in reversed(rows)),
                    texts=tuple(f"{PREFIX}{row.statement}" for row in rows),
                    match=np.eye(2, dtype=bool)[::-1],
                    protocol="group",
                    subset=subset,
                    id="-".join(row.number for row in rows),
                    argmax=True,
                )


def _paired_rows(table: Sequence[tuple[str, _MMVPRow]]) -> list[_MMVPRow]:
    rows = [row for _, row in table]
    if len(rows) < 2 or rows[0].pattern != rows[1].pattern:
        numbers = " and ".join(row.number for row in rows)
        raise ZooError(
            f"{table[-1][0]}: question {numbers} is not a pair of one pattern: download the file "
            "again"
        )
    return rows


def _image(folder: Path, row: _MMVPRow) -> ImageRef:
    names = row.pattern, row.pattern.replace(" ", "_")
    subfolder = next((name for name in names if (folder / name).is_dir()), row.pattern)
    return ImageRef("published", str(folder / subfolder / f"{row.number}.jpg"))
