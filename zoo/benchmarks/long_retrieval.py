"""Retrieval with long captions: DCI, DOCCI, ImageInWords, Urban-1k and ShareGPT4V."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct, field

from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.published import PublishedBenchmark
from zoo.benchmarks.retrieval import Pair, gallery
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.schema import DOWNLOAD_AGAIN, Text, read_json_lines, read_list, validate_record
from zoo.support.text_files import read_json

FLAIR = "github.com/ExplainableML/flair"
DCI, DOCCI, IIW, URBAN = "dci", "docci", "iiw", "urban1k"
DOCCI_SENTENCES, IIW_SENTENCES = "docci_sentences", "iiw_sentences"
SHAREGPT4V = {"sharegpt4v_1k": 1_000, "sharegpt4v_10k": 10_000}  # subset: entries that it takes
IIW_FOLDERS = {"DOCCI_Test": "docci", "IIW-400": "docci_aar", "DCI_Test": "dci"}
_SENTENCE_END = re.compile(r"\n|</s>|\.")


class _ListedCaption(Struct):
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
    """Long-caption retrieval: recall at 1, 5 and 10, from image to text and from text to image.

    A subset is one case; its `n` is the number of images. Images, captions and their order are
    those of FLAIR's code, and those of DOCCI's test split for `docci`. Captions of `dci`, `iiw` and
    ShareGPT4V are split into sentences and joined by ". " as there. A caption longer than the
    context of the model is truncated; the results count such captions.

    Examples:
        Two images of Urban-1k, each with its caption:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import LongRetrieval
        >>> _ = Path("urban.json").write_text('''{"annotations": [
        ...     {"image": "1.jpg", "caption": "A lively street. Two people wait."},
        ...     {"image": "2.jpg", "caption": "A quiet square. A dog sleeps."}]}''')
        >>> benchmark = LongRetrieval(files={"urban1k": "urban.json"}, subsets=["urban1k"])
        >>> benchmark.read(Path()).cases[0].match.tolist()
        [[True, False], [False, True]]
    """

    name = "long_retrieval"
    licence = (
        "DCI: CC BY-NC 4.0; DOCCI and ImageInWords: CC BY 4.0; Urban-1k and ShareGPT4V: not checked"
    )
    citation = (
        "Urbanek et al., DCI, CVPR 2024, arXiv:2312.08578; Onoe et al., DOCCI, ECCV 2024, "
        "arXiv:2404.19753; Garg et al., ImageInWords, EMNLP 2024, arXiv:2405.02793; Zhang et al., "
        "Long-CLIP, ECCV 2024, arXiv:2403.15378; Chen et al., ShareGPT4V, ECCV 2024, "
        "arXiv:2311.12793; sentences: Xiao et al., FLAIR, CVPR 2025, arXiv:2412.03561"
    )
    published = (
        Subset(
            DCI,
            ("dci/densely_captioned_images/splits.json",),
            7_805,
            "unpack dl.fbaipublicfiles.com/densely_captioned_images/dci.tar.gz into DATA_ROOT/dci "
            "and put the images of SA-1B's sa_000138.tar into its folder photos",
        ),
        Subset(
            DOCCI,
            ("docci/docci_descriptions.jsonlines",),
            5_000,
            "download docci_descriptions.jsonlines and docci_images.tar.gz from "
            "google.github.io/docci into DATA_ROOT/docci and unpack the images",
        ),
        Subset(
            DOCCI_SENTENCES,
            ("docci/annotations/test_annotations.json",),
            5_000,
            f"copy datasets/docci from {FLAIR} to DATA_ROOT/docci and unpack docci_images.tar.gz "
            "from google.github.io/docci there",
        ),
        Subset(
            IIW,
            ("imageinwords/IIW-400/data.jsonl",),
            612,
            f"copy the folders {', '.join(IIW_FOLDERS)} of github.com/google/imageinwords "
            "to DATA_ROOT/imageinwords and put the images into its folders "
            f"{', '.join(IIW_FOLDERS.values())}",
        ),
        Subset(
            IIW_SENTENCES,
            ("imageinwords/test_annotations.json",),
            612,
            f"copy datasets/imageinwords from {FLAIR} to DATA_ROOT/imageinwords and put the "
            f"images into its folders {', '.join(IIW_FOLDERS.values())}",
        ),
        Subset(
            URBAN,
            ("Urban1k/annotations/annotations.json",),
            1_000,
            f"copy datasets/Urban1k from {FLAIR} to DATA_ROOT/Urban1k and put the images of "
            "huggingface.co/datasets/BeichenZhang/Urban1k into its folder images",
        ),
        *(
            Subset(
                name,
                ("share4v/share4v_sam_10k.json",),
                n,
                f"copy datasets/share4v from {FLAIR} to DATA_ROOT/share4v and unpack the images "
                "of SA-1B there",
            )
            for name, n in SHAREGPT4V.items()
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields the gallery of the subset."""
        return iter(self.read_subset(path, subset).cases)

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the gallery of the subset and the files that it was read from."""
        pairs, files = READERS[subset](path)
        if not pairs:
            raise ZooError(f"{path} has no captions of {subset}: {DOWNLOAD_AGAIN}")
        return Contents([gallery(subset, pairs[: SHAREGPT4V.get(subset)])], files, [])


def rejoin_sentences(text: str) -> str:
    """Returns the sentences of a text, without their ends, joined by ". " as FLAIR's code does.

    Args:
        text: The text. A sentence ends at a line break, a full stop or "</s>".
    """
    sentences = (sentence.strip() for sentence in _SENTENCE_END.split(text))
    return ". ".join(sentence for sentence in sentences if sentence)


def _listed_pairs(folder: str) -> Callable[[Path], tuple[list[Pair], list[Path]]]:
    """Returns a reader of FLAIR's lists of images and captions.

    Args:
        folder: The folder of the images under the data root.
    """

    def read(path: Path) -> tuple[list[Pair], list[Path]]:
        entries = validate_record(
            read_json(path), dict[str, list[_ListedCaption]], str(path), DOWNLOAD_AGAIN
        )
        captions = entries.get("annotations", [])
        return [(_image(folder, entry.image), entry.caption) for entry in captions], [path]

    return read


def _docci_pairs(path: Path) -> tuple[list[Pair], list[Path]]:
    lines = read_json_lines(path, _DocciLine, DOWNLOAD_AGAIN)
    pairs = [
        (_image("docci/images", line.image_file), line.description)
        for _, line in lines
        if line.split == "test"
    ]
    return pairs, [path]


def _dci_pairs(path: Path) -> tuple[list[Pair], list[Path]]:
    splits = validate_record(read_json(path), dict[str, list[str]], str(path), DOWNLOAD_AGAIN)
    folder, pairs = path.parent / "annotations", []
    for name in (name for names in splits.values() for name in names):
        file = folder / name
        if not file.is_file():
            raise ZooError(f"{path} names {name}, which {folder} does not have: {DOWNLOAD_AGAIN}")
        entry = validate_record(read_json(file), _DciFile, str(file), DOWNLOAD_AGAIN)
        image = _image("dci/densely_captioned_images/photos", entry.image)
        pairs.append((image, rejoin_sentences(f"{entry.short_caption}\n{entry.extra_caption}")))
    return pairs, [path]


def _image_in_words_pairs(path: Path) -> tuple[list[Pair], list[Path]]:
    pairs, files = [], [path.parents[1] / part / path.name for part in IIW_FOLDERS]
    for file, folder in zip(files, IIW_FOLDERS.values(), strict=True):
        if not file.is_file():
            raise ZooError(
                f"{file} is missing: iiw needs the folders {', '.join(IIW_FOLDERS)} of "
                "github.com/google/imageinwords"
            )
        for place, line in read_json_lines(file, _ImageInWordsLine, DOWNLOAD_AGAIN):
            name = line.image or line.key
            if not name:
                raise ZooError(
                    f"{place}: fields 'image' and 'image/key' are missing: {DOWNLOAD_AGAIN}"
                )
            name = name if ".jpg" in name else f"{name}.jpg"
            pairs.append((_image(f"imageinwords/{folder}", name), rejoin_sentences(line.caption)))
    return pairs, files


def _sharegpt4v_pairs(path: Path) -> tuple[list[Pair], list[Path]]:
    entries = islice(read_list(path, _Conversation), max(SHAREGPT4V.values()))
    pairs = [
        (
            _image("share4v", entry.image.replace("/images", "")),
            rejoin_sentences(entry.conversations[1].value),
        )
        for _, entry in entries
    ]
    return pairs, [path]


def _image(folder: str, name: str) -> ImageRef:
    return ImageRef("published", f"{folder}/{name}")


READERS: dict[str, Callable[[Path], tuple[list[Pair], list[Path]]]] = {
    DCI: _dci_pairs,
    DOCCI: _docci_pairs,
    DOCCI_SENTENCES: _listed_pairs("docci/images"),
    IIW: _image_in_words_pairs,
    IIW_SENTENCES: _listed_pairs("imageinwords"),
    URBAN: _listed_pairs("Urban1k/images"),
    **dict.fromkeys(SHAREGPT4V, _sharegpt4v_pairs),
}
