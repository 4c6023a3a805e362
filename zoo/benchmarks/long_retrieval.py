"""Retrieval with long captions: DCI, DOCCI, ImageInWords, Urban-1k and ShareGPT4V.

Sources, read at the named commits:

- `src/flair/data.py` and `datasets/EVAL_DATASETS.md` of github.com/ExplainableML/flair at 0f9ce05:
  images, captions, their order, and which captions are of one image
- github.com/facebookresearch/DCI at 8326c97: 7,805 images, CC BY-NC 4.0
- google.github.io/docci and the data card google/docci on huggingface.co: 5,000 images, CC BY 4.0
- github.com/google/imageinwords at 96d3937: 100 + 400 + 112 images, CC BY 4.0
- the data cards BeichenZhang/Urban1k and Lin-Chen/ShareGPT4V there: CC BY-NC 4.0
"""

from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.language.text import split_sentences
from zoo.sources.sample import ImageRef
from zoo.support.schema import DOWNLOAD_AGAIN, Text, read_json_lines, read_list, validate_record
from zoo.support.text_files import read_json

URBAN_IMAGES = HubDataset("BeichenZhang/Urban1k", "953fcf1d1a3bde031d9424a91a0154e594b5a586")
DCI, DOCCI, IIW, URBAN = "dci", "docci", "iiw", "urban1k"
DOCCI_SENTENCES, IIW_SENTENCES = "docci_sentences", "iiw_sentences"
SHAREGPT4V = {"sharegpt4v_1k": 1_000, "sharegpt4v_10k": 10_000}  # subset: entries that it takes
IIW_FOLDERS = {"DOCCI_Test": "docci", "IIW-400": "docci_aar", "DCI_Test": "dci"}
_IIW_IMAGES = (
    "put images into three folders of DATA_ROOT/imageinwords: DOCCI's test images into docci, the "
    "images of docci_images_aar.tar.gz (google.github.io/docci) into docci_aar, and DCI's images "
    "into dci"
)


class LongCaption(NamedTuple):
    """A caption of a gallery and its image.

    Args:
        image_id: Captions with the same number are of one image, and no others are.
        image: The image.
        text: The caption.
    """

    image_id: Hashable
    image: ImageRef
    text: str


class _ListedCaption(Struct):
    image_id: int
    image: Text
    caption: str  # may be blank: one of Urban-1k's is, and the published code scores it


class _DocciLine(Struct):
    split: str
    image_file: Text
    description: Text


class _DciFile(Struct):
    image: Text
    short_caption: str
    extra_caption: str


class _ImageInWordsLine(Struct):
    caption: Text = field(name="IIW")
    image: str = ""
    key: str = field(name="image/key", default="")


class _Turn(Struct):
    value: str


class _Conversation(Struct):
    image: Text
    conversations: tuple[_Turn, _Turn]


class LongRetrieval(PublishedBenchmark):
    """Retrieval with long captions: recall at 1, 5 and 10, image to text and text to image.

    All images and captions of a subset form one gallery, with protocol `retrieval`. In the table,
    the number of cases is the number of images. `docci` is DOCCI's test split. The other subsets
    have the same images and captions as the public code of FLAIR (Xiao et al., 2025), in the same
    order.

    In `docci_sentences` and `iiw_sentences`, an image has several captions, each of one sentence.
    In these two subsets and in `urban1k`, captions with the same `image_id` in the file belong to
    one image.

    In `dci`, `iiw`, `sharegpt4v_1k` and `sharegpt4v_10k`, each entry of the annotations has an
    image and one long caption. Every entry counts as a separate image, even if two entries name the
    same image file. FLAIR's code counts in the same way. zoo also formats the captions of these
    subsets like FLAIR's code: zoo splits a caption into sentences and joins them by ". ".

    A caption that is longer than the model's context is truncated. The results contain the number
    of truncated captions.

    `urban1k`, `iiw` and `iiw_sentences` were tested with the published files. The other subsets
    were tested only with small files of the same format. The table has no published values.

    Examples:
        Two images of Urban-1k, each with its caption:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import LongRetrieval
        >>> _ = Path("urban.json").write_text('''{"annotations": [
        ...     {"image_id": 0, "image": "1.jpg", "caption": "A lively street. Two people wait."},
        ...     {"image_id": 1, "image": "2.jpg", "caption": "A quiet square. A dog sleeps."}]}''')
        >>> benchmark = LongRetrieval(files={"urban1k": "urban.json"}, subsets=["urban1k"])
        >>> benchmark.read(Path()).cases[0].match.tolist()
        [[True, False], [False, True]]
    """

    name = "long_retrieval"
    version = 2
    licence = (
        "DCI, Urban-1k and ShareGPT4V: CC BY-NC 4.0; DOCCI and ImageInWords: CC BY 4.0; FLAIR's "
        "lists of captions: none stated"
    )
    citation = (
        "Urbanek et al., DCI, CVPR 2024, arXiv:2312.08578; Onoe et al., DOCCI, ECCV 2024, "
        "arXiv:2404.19753; Garg et al., ImageInWords, 2024, arXiv:2405.02793; Zhang et al., "
        "Long-CLIP, ECCV 2024, arXiv:2403.15378; Chen et al., ShareGPT4V, ECCV 2024, "
        "arXiv:2311.12793; lists of captions: Xiao et al., FLAIR, CVPR 2025, arXiv:2412.03561"
    )
    published = (
        Subset(
            DCI,
            ("dci/densely_captioned_images/splits.json",),
            7_805,
            f"{download_command(f'long_retrieval:{DCI}')}; accept the licence of SA-1B at "
            "ai.meta.com/datasets/segment-anything-downloads, and unpack sa_000138.tar from there "
            "into DATA_ROOT/dci/densely_captioned_images/photos",
        ),
        Subset(
            DOCCI,
            ("docci/docci_descriptions.jsonlines",),
            5_000,
            download_command(f"long_retrieval:{DOCCI}"),
        ),
        Subset(
            DOCCI_SENTENCES,
            ("docci/annotations/test_annotations.json",),
            5_000,
            download_command(f"long_retrieval:{DOCCI_SENTENCES}"),
        ),
        Subset(
            IIW,
            ("imageinwords/IIW-400/data.jsonl",),
            612,
            f"{download_command(f'long_retrieval:{IIW}')}; {_IIW_IMAGES}",
        ),
        Subset(
            IIW_SENTENCES,
            ("imageinwords/test_annotations.json",),
            612,
            f"{download_command(f'long_retrieval:{IIW_SENTENCES}')}; {_IIW_IMAGES}",
        ),
        Subset(
            URBAN,
            ("Urban1k/annotations/annotations.json",),
            1_000,
            download_command(f"long_retrieval:{URBAN}"),
        ),
        *(
            Subset(
                name,
                ("share4v/share4v_sam_10k.json",),
                n,
                f"{download_command(f'long_retrieval:{name}')}; put the images of SA-1B into "
                "DATA_ROOT/share4v; the image with the path FOLDER/images/FILE in the annotations "
                "becomes DATA_ROOT/share4v/FOLDER/FILE",
            )
            for name, n in SHAREGPT4V.items()
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields the gallery of the subset."""
        return iter(self.read_subset(path, subset).cases)

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the gallery of the subset and the files that it was read from."""
        captions, files = READERS[subset](path)
        if not captions:
            raise ZooError(f"{path} has no captions of {subset}: {DOWNLOAD_AGAIN}")
        return Contents([_gallery(subset, captions[: SHAREGPT4V.get(subset)])], files, [])


def rejoin_sentences(text: str) -> str:
    """Returns the sentences of a text, without their ends, joined by ". " as FLAIR's code does.

    Args:
        text: The text. A sentence ends at a line break, a full stop or "</s>".
    """
    return ". ".join(split_sentences(text))


def _gallery(subset: str, captions: list[LongCaption]) -> Case:
    images = dict[Hashable, ImageRef]()
    for caption in captions:
        images.setdefault(caption.image_id, caption.image)
    row = {image_id: i for i, image_id in enumerate(images)}
    match = np.zeros((len(images), len(captions)), dtype=bool)
    for column, caption in enumerate(captions):
        match[row[caption.image_id], column] = True
    texts = tuple(caption.text for caption in captions)
    return Case(tuple(images.values()), texts, match, "retrieval", subset, "all")


def _listed_captions(*folders: str) -> Callable[[Path], tuple[list[LongCaption], list[Path]]]:
    """Returns a reader of FLAIR's lists of images and captions.

    Args:
        *folders: The folders under the data root that may have the images. The last is used if
            none exists next to the folder of the list.
    """

    def read(path: Path) -> tuple[list[LongCaption], list[Path]]:
        entries = validate_record(
            read_json(path), dict[str, list[_ListedCaption]], str(path), DOWNLOAD_AGAIN
        )
        folder = next(
            (f for f in folders if (path.parent.parent / Path(f).name).is_dir()), folders[-1]
        )
        captions = [
            LongCaption(entry.image_id, _image(folder, entry.image), entry.caption)
            for entry in entries.get("annotations", [])
        ]
        return captions, [path]

    return read


def _docci_captions(path: Path) -> tuple[list[LongCaption], list[Path]]:
    lines = read_json_lines(path, _DocciLine, DOWNLOAD_AGAIN)
    captions = [
        LongCaption(line.image_file, _image("docci/images", line.image_file), line.description)
        for _, line in lines
        if line.split == "test"
    ]
    return captions, [path]


def _dci_captions(path: Path) -> tuple[list[LongCaption], list[Path]]:
    splits = validate_record(read_json(path), dict[str, list[str]], str(path), DOWNLOAD_AGAIN)
    folder, captions = path.parent / "annotations", list[LongCaption]()
    for name in (name for names in splits.values() for name in names):
        file = folder / name
        if not file.is_file():
            raise ZooError(f"{path} names {name}, which {folder} does not have: {DOWNLOAD_AGAIN}")
        entry = validate_record(read_json(file), _DciFile, str(file), DOWNLOAD_AGAIN)
        image = _image("dci/densely_captioned_images/photos", entry.image)
        text = rejoin_sentences(f"{entry.short_caption}\n{entry.extra_caption}")
        captions.append(LongCaption(len(captions), image, text))
    return captions, [path]


def _image_in_words_captions(path: Path) -> tuple[list[LongCaption], list[Path]]:
    files = [path.parents[1] / part / path.name for part in IIW_FOLDERS]
    captions = list[LongCaption]()
    for file, folder in zip(files, IIW_FOLDERS.values(), strict=True):
        if not file.is_file():
            raise ZooError(
                f"{file} is missing: iiw needs the folders {', '.join(IIW_FOLDERS)} that are under "
                "datasets/ in github.com/google/imageinwords"
            )
        for place, line in read_json_lines(file, _ImageInWordsLine, DOWNLOAD_AGAIN):
            name = line.image or line.key
            if not name:
                raise ZooError(
                    f"{place}: fields 'image' and 'image/key' are missing: {DOWNLOAD_AGAIN}"
                )
            image = _image(f"imageinwords/{folder}", name if ".jpg" in name else f"{name}.jpg")
            captions.append(LongCaption(len(captions), image, rejoin_sentences(line.caption)))
    return captions, files


def _sharegpt4v_captions(path: Path) -> tuple[list[LongCaption], list[Path]]:
    entries = islice(read_list(path, _Conversation), max(SHAREGPT4V.values()))
    captions = [
        LongCaption(
            i,
            _image("share4v", entry.image.replace("/images", "")),  # as FLAIR's code opens them
            rejoin_sentences(entry.conversations[1].value),
        )
        for i, (_, entry) in enumerate(entries)
    ]
    return captions, [path]


def _image(folder: str, name: str) -> ImageRef:
    return ImageRef("published", f"{folder}/{name}")


READERS: dict[str, Callable[[Path], tuple[list[LongCaption], list[Path]]]] = {
    DCI: _dci_captions,
    DOCCI: _docci_captions,
    DOCCI_SENTENCES: _listed_captions("docci/images"),
    IIW: _image_in_words_captions,
    IIW_SENTENCES: _listed_captions("imageinwords"),
    URBAN: _listed_captions("Urban1k/image", "Urban1k/images"),  # the zip's folder, and FLAIR's
    **dict.fromkeys(SHAREGPT4V, _sharegpt4v_captions),
}
