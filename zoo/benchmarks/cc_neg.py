"""CC-Neg (Singh et al. 2024): a caption of Conceptual Captions and its negation.

The format and the rule are those of `src/data/evaluation_datasets.py`, `src/configs/__init__.py`
and the README in github.com/jaisidhsingh/CoN-CLIP at 503388a.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from msgspec import Struct, field

from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.plain_pickles import read_plain_pickle
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.schema import DOWNLOAD_AGAIN, Text, validate_record

EVALUATED = 40_000  # the last entries; all others are training data
IMAGES = PurePosixPath("cc_neg/ccneg_images/cc3m_subset_images_extracted_final")
INSTRUCTIONS = (
    f"{download_command('cc_neg')}; or download ccneg_preprocessed.pt and ccneg_images.zip into "
    "DATA_ROOT/cc_neg (links in ccneg_dataset/README.md of github.com/jaisidhsingh/CoN-CLIP) and "
    "unpack the images there"
)


class _CCNegFile(Struct):
    image_paths: list[Any]
    annotations: list[Any]


class _Caption(Struct):
    caption: Text


class _Negation(Struct):
    negated: Text = field(name="negative-prompt")


class _Annotation(Struct):
    json: _Caption
    sop_data: _Negation


class CCNeg(PublishedBenchmark):
    """CC-Neg: a photograph from the web, its caption and a negation of the caption (40,000 cases).

    A language model wrote the negations. As in the authors' code, zoo removes the commas of the
    negations. The cases are the last 40,000 entries of the file. The authors trained their model,
    CoN-CLIP, on the other entries. The protocol is `i2t`. The authors' code lists the caption first
    and takes an argmax, so a tie is right.

    A negation contains a word such as "no", "not" or "without", so a rule can reject the negation
    without the image. Therefore compare `i2t` with the text-only baselines, which zoo prints with
    the results. The baselines are accuracies of guesses without the image.

    zoo expects the images in `cc_neg/ccneg_images/cc3m_subset_images_extracted_final`. zoo's code
    for the annotation file was written from the authors' code, without access to the file. The file
    is a pickle, and zoo reads it without executing any code in it.

    Examples:
        The caption comes first, and an argmax over equal scores takes it:

        >>> from zoo.benchmarks import CCNeg
        >>> [subset] = CCNeg().subsets
        >>> subset.n, subset.chance
        (40000, {'i2t': 50.0})
    """

    name = "cc_neg"
    licence = "MIT (the authors' repository); the photographs have the licences of their owners"
    citation = (
        'Singh et al., Learn "No" to Say "Yes" Better: Improving Vision-Language Models via '
        "Negations, WACV 2025, arXiv:2403.20312"
    )
    hub = HubDataset("jaisidhsingh/ccneg")
    published = (
        Subset(
            "evaluation",
            ("cc_neg/ccneg_preprocessed.pt",),
            EVALUATED,
            INSTRUCTIONS,
            chance={"i2t": 50.0},
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each of the last entries."""
        content = validate_record(read_plain_pickle(path), _CCNegFile, str(path), DOWNLOAD_AGAIN)
        total, match = len(content.annotations), np.array([[True, False]])
        if len(content.image_paths) != total:
            raise ZooError(
                f"{path} has {total:,} annotations and {len(content.image_paths):,} image paths, "
                f"but must have as many of both: {DOWNLOAD_AGAIN}"
            )
        for i in range(max(0, total - EVALUATED), total):
            place = f"{path}[annotations/{i}]"
            annotation = validate_record(content.annotations[i], _Annotation, place, DOWNLOAD_AGAIN)
            image = validate_record(
                content.image_paths[i], str, f"{path}[image_paths/{i}]", DOWNLOAD_AGAIN
            )
            reference = ImageRef("published", str(IMAGES / PurePosixPath(image).name))
            texts = annotation.json.caption, annotation.sop_data.negated.replace(",", "")
            yield Case((reference,), texts, match, "i2t", subset, str(i), right_listed_first=True)
