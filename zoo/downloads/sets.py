"""The data sets that `zoo data get` fetches, by name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import PurePath

from zoo.benchmarks.aro.attribution import ATTRIBUTION, ATTRIBUTION_COPY, RELATION, RELATION_COPY
from zoo.benchmarks.aro.order import COCO_ORDER, COCO_ORDER_COPY, FLICKR_ORDER, FLICKR_ORDER_COPY
from zoo.benchmarks.base import Benchmark
from zoo.benchmarks.catalog import benchmark_names, build_benchmark
from zoo.benchmarks.cc_neg import IMAGES as CC_NEG_IMAGES
from zoo.benchmarks.countercurate import IMAGES as COUNTERCURATE_IMAGES
from zoo.benchmarks.countercurate import POSITIONS, CounterCurate
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.long_retrieval import URBAN_IMAGES
from zoo.benchmarks.naturalbench import FOLDER as NATURALBENCH_FOLDER
from zoo.benchmarks.spec import TEXTS as SPEC_TEXTS
from zoo.benchmarks.zero_shot.published_sets import FOLDER
from zoo.benchmarks.zero_shot.sets import HUB_COPIES
from zoo.downloads import images
from zoo.downloads.files import Archive, PublishedFile, format_bytes, listed_files
from zoo.downloads.hub import HubFiles
from zoo.errors import ZooError, suggest_names
from zoo.support.class_names import class_of

GB = 10**9
COCO_LICENCE = "CC BY 4.0; the photographs have their Flickr licences"
FLAIR = "github.com/ExplainableML/flair"
ANY_COCO = ("val2017", "train2017")  # together they have every image of train2014 and val2014
VAL2017 = ("val2017",)
VAL2014 = ("val2014",)


@dataclass(frozen=True)
class PublishedSet:
    """A data set that can be fetched.

    Args:
        name: Its name on the command line.
        licence: Its licence.
        source: Where it comes from.
        files: Files at fixed addresses.
        hub: Files on huggingface.co.
        archives: The zips and tars among these files, which are unpacked.
        benchmarks: The benchmarks that need it, each with its subset after a colon if only that one
            does.
        coco_folders: The folders of COCO that have the images of these benchmarks.
        note: What it does not include, or what else is to be known.
    """

    name: str
    licence: str
    source: str
    files: tuple[PublishedFile, ...] = ()
    hub: tuple[HubFiles, ...] = ()
    archives: tuple[Archive, ...] = ()
    benchmarks: tuple[str, ...] = ()
    coco_folders: tuple[str, ...] = ANY_COCO
    note: str = ""

    def includes(self, path: PurePath) -> bool:
        """Returns whether a file is one of this set.

        Args:
            path: Its path under the data root, also gzipped or in `benchmarks`.
        """
        name = path.as_posix().removeprefix("benchmarks/").removesuffix(".gz")
        patterns = (
            *(file.path for file in self.files),
            *(f"{part.folder}/*" for part in self.hub),
            *(pattern for archive in self.archives for pattern, _ in archive.complete),
        )
        return any(fnmatchcase(name, pattern) for pattern in patterns)

    @property
    def size(self) -> str:
        """The size of the downloads that is known before a server is asked."""
        sizes = [*(file.bytes for file in self.files), *(part.bytes for part in self.hub)]
        total = sum(size for size in sizes if size is not None)
        if None not in sizes:
            return f"{'about ' if self.hub else ''}{format_bytes(total)}"
        return f"at least {format_bytes(total)}" if total else "not known"

    @property
    def checksums(self) -> str:
        """The checksums that `zoo` verifies; files of the hub are left to huggingface_hub."""
        if self.hub:
            return "the hub's"
        n_checked = sum(bool(file.checksum) for file in self.files)
        if n_checked == len(self.files):
            return "published"
        return f"{n_checked} of {len(self.files)} files" if n_checked else "not checked"


@cache
def published_sets() -> dict[str, PublishedSet]:
    """Returns all sets by name."""
    sets = (*_benchmark_sets(), *_zero_shot_sets(), *_caption_sets(), *_image_sets())
    return {item.name: item for item in sets}


def find_sets(name: str) -> list[PublishedSet]:
    """Returns the sets that a name means: all that a benchmark needs, or the set of that name.

    Args:
        name: A benchmark, with subsets as for `zoo validate`, or a set.

    Raises:
        ZooError: There is none. The error says how to get a benchmark that cannot be fetched.
    """
    benchmark, colon, _ = name.partition(":")
    if benchmark in benchmark_names():
        try:
            subsets = build_benchmark(name if colon else benchmark).subsets
        except ZooError:
            if colon and benchmark in fetchable_names():
                raise
            raise ZooError(
                f"{benchmark} reads your own files, which `zoo data get` cannot fetch"
            ) from None
        if sets := find_benchmark_sets(benchmark, [subset.name for subset in subsets]):
            return sets
        instructions = dict.fromkeys(subset.instructions for subset in subsets)
        raise ZooError(f"{benchmark} cannot be fetched: {'; '.join(instructions)}")
    if name in published_sets():
        return [published_sets()[name]]
    raise ZooError(
        f"unknown data set {name!r}{suggest_names(name, fetchable_names())}: `zoo data ls` "
        "lists them"
    )


def find_benchmark_sets(benchmark: str, subsets: Iterable[str]) -> list[PublishedSet]:
    """Returns the sets that subsets of a benchmark need; none if it cannot be fetched.

    Args:
        benchmark: The name of the benchmark.
        subsets: The names of the subsets.
    """
    needed_by = {benchmark, *(f"{benchmark}:{subset}" for subset in subsets)}
    return [item for item in published_sets().values() if needed_by & {*item.benchmarks}]


def fetchable_names() -> list[str]:
    """Returns the names of all sets, and of all benchmarks that need any."""
    sets = published_sets().values()
    benchmarks = (name.partition(":")[0] for item in sets for name in item.benchmarks)
    return sorted({*published_sets(), *benchmarks})


def _benchmark_sets() -> Iterator[PublishedSet]:
    yield _git_set("sugarcrepe", "github.com/RAIVNLab/sugar-crepe", coco_folders=VAL2017)
    yield _hub_set(
        "sugarcrepe_pp",
        ("data/*.json",),
        bytes=1_400_000,
        benchmarks=("sugarcrepe_pp", "sugarcrepe_pp_text"),
        coco_folders=VAL2017,
    )
    for subset, folder, dataset, size in (
        (RELATION, "relation", RELATION_COPY, 0.8),
        (ATTRIBUTION, "attribution", ATTRIBUTION_COPY, 1.7),
        (COCO_ORDER, "coco_order", COCO_ORDER_COPY, 2.5),
        (FLICKR_ORDER, "flickr_order", FLICKR_ORDER_COPY, 0.35),
    ):
        is_order = subset in (COCO_ORDER, FLICKR_ORDER)
        yield PublishedSet(
            f"aro_{folder}",
            _licence("aro"),
            f"a copy with the images, {dataset.page} at {dataset.revision[:7]}",
            hub=(HubFiles(dataset, f"aro/{folder}", ("data/*.parquet",), round(size * GB)),),
            benchmarks=(f"aro:{subset}",),
            coco_folders=VAL2014,
            note="already perturbed, by the author of the copy" if is_order else "",
        )
    yield _hub_set(
        "winoground",
        benchmarks=("winoground", "winoground_tags"),
        archives=(
            Archive(
                "winoground/data/images.zip",
                (("*", "winoground/data"),),
                (("winoground/data/images/*", 1),),
            ),
        ),
    )
    yield _git_set("winoground_tags", "github.com/ajd12342/why-winoground-hard")
    yield _git_set(
        "valse",
        "github.com/Heidelberg-NLP/VALSE",
        note="without the images of SWiG and VisDial",
    )
    yield _git_set(
        "vl_checklist",
        "github.com/om-ai-lab/VL-CheckList",
        note="without the images of SWiG and HAKE",
    )
    yield _git_set("cola", "github.com/arijitray1993/COLA")
    yield _git_set(
        "cola_single",
        "github.com/arijitray1993/COLA",
        note="without the images of CLEVR",
    )
    yield PublishedSet(
        "crepe",
        _licence("crepe"),
        "github.com/RAIVNLab/CREPE",
        listed_files()["crepe"],
        archives=(
            _crepe_archive("prod_hard_negatives", "*/*.csv", 27),
            _crepe_archive("syst_hard_negatives", "*.csv", 6),
        ),
        benchmarks=("crepe",),
    )
    yield _git_set("hard_positives", "github.com/amitakamath/hard_positives")
    yield _git_set("fg_ovd", "github.com/360CVGroup/FG-CLIP", coco_folders=VAL2017)
    yield _git_set("comvg", "github.com/eric-ai-lab/ComCLIP")
    yield _git_set("bla", "github.com/shin-ee-chen/BLA, an earlier commit")
    yield _git_set(
        "svo_probes",
        "github.com/google-deepmind/svo_probes",
        note="without the images, which are links to many servers",
    )
    yield PublishedSet(
        "imagecode",
        _licence("imagecode"),
        "github.com/McGill-NLP/imagecode and, for the images, zenodo.org/record/6518944",
        listed_files()["imagecode"],
        archives=(
            Archive(
                "imagecode/image-sets.zip",
                (("*", "imagecode"),),
                (("imagecode/image-sets/*/*.jpg", 1),),
            ),
        ),
        benchmarks=("imagecode",),
    )
    yield _git_set(
        "winoground_t2i",
        "github.com/zhuxiangru/Winoground-T2I",
        note="no images are published",
    )
    yield PublishedSet(
        "whatsup",
        _licence("whatsup"),
        "Google Drive, by the links in github.com/amitakamath/whatsup_vlms",
        listed_files()["whatsup"],
        archives=tuple(
            Archive(
                f"whatsup/{folder}.tar.gz",
                ((f"*{folder}/*", "whatsup"),),
                ((f"whatsup/{folder}/*", n),),
            )
            for folder, n in (("controlled_images", 412), ("controlled_clevr", 408))
        ),
        benchmarks=("whatsup",),
        coco_folders=VAL2017,
    )
    yield from _long_retrieval_sets()
    yield _hub_set("colorswap")
    yield _hub_set("mmvp")
    yield _hub_set("biscor")
    yield _hub_set("bivlc", bytes=GB // 2)
    yield _hub_set("vismin", bytes=3 * GB // 2)
    yield _hub_set(
        "coco_cf",
        bytes=64 * GB // 10,
        archives=(
            Archive(
                "coco_cf/data/images.zip", (("*", "coco_cf/data"),), (("coco_cf/data/images/*", 1),)
            ),
        ),
    )
    yield _hub_set(
        "naturalbench",
        (f"{NATURALBENCH_FOLDER}.zip",),
        bytes=332_052_942,
        archives=(
            Archive(
                f"naturalbench/{NATURALBENCH_FOLDER}.zip",
                (("*", "naturalbench"),),
                ((f"naturalbench/{NATURALBENCH_FOLDER}/images/*", 1),),
            ),
        ),
    )
    yield _hub_set(
        "cc_neg",
        ("ccneg_preprocessed.pt", "ccneg_images.zip"),
        archives=(
            Archive(
                "cc_neg/ccneg_images.zip",
                (("*", "cc_neg"),),
                ((f"{CC_NEG_IMAGES}/*", 1),),
            ),
        ),
    )
    dataset = CounterCurate.hub
    assert dataset is not None
    yield PublishedSet(
        "countercurate",
        "a Creative Commons licence without a stated version",
        f"{dataset.page} at {dataset.revision[:7]}",
        hub=(
            HubFiles(
                dataset, "countercurate", ("clip_sample_data/test_*.csv", "train_data.tar.gz")
            ),
        ),
        archives=(
            Archive(
                "countercurate/train_data.tar.gz",
                (("*", "countercurate"),),
                ((f"countercurate/{COUNTERCURATE_IMAGES}/up_down/neg/*", 1),),
            ),
        ),
        benchmarks=tuple(f"countercurate:{subset}" for subset in POSITIONS),
        note="without the images of Flickr30k",
    )
    yield PublishedSet(
        "countercurate_counting",
        "none stated",
        "github.com/princetonvisualai/pointingqa",
        listed_files()["countercurate_counting"],
        benchmarks=("countercurate:counting",),
    )
    yield _hub_set(
        "spec",
        ("data.zip",),
        archives=(Archive("spec/data.zip", (("*", "spec"),), ((f"spec/**/{SPEC_TEXTS}", 1),)),),
    )


def _long_retrieval_sets() -> Iterator[PublishedSet]:
    files = listed_files()
    no_images = "without the images: `zoo doctor` explains how to get them"
    yield PublishedSet(
        "dci",
        "CC BY-NC 4.0",
        f"github.com/facebookresearch/DCI, its splits from {FLAIR}",
        files["dci"],
        archives=(
            Archive(
                "dci/dci.tar.gz",
                (("*densely_captioned_images/annotations/*.json", "dci"),),
                (("dci/densely_captioned_images/annotations/*.json", 7_805),),
            ),
        ),
        benchmarks=("long_retrieval:dci",),
        note=no_images,
    )
    yield PublishedSet(
        "docci",
        "CC BY 4.0",
        f"google.github.io/docci, its test sentences from {FLAIR}",
        files["docci"],
        archives=(
            Archive(
                "docci/docci_images.tar.gz",
                (("*images/test_*.jpg", "docci"),),
                (("docci/images/test_*.jpg", 5_000),),
            ),
        ),
        benchmarks=("long_retrieval:docci", "long_retrieval:docci_sentences"),
        note="only the test images are unpacked",
    )
    yield PublishedSet(
        "imageinwords",
        "CC BY 4.0",
        f"github.com/google/imageinwords, its test sentences from {FLAIR}",
        files["imageinwords"],
        benchmarks=("long_retrieval:iiw", "long_retrieval:iiw_sentences"),
        note=no_images,
    )
    yield PublishedSet(
        "urban1k",
        "CC BY-NC 4.0",
        f"{URBAN_IMAGES.page} at {URBAN_IMAGES.revision[:7]}, its captions from {FLAIR}",
        files["urban1k"],
        hub=(HubFiles(URBAN_IMAGES, "Urban1k", ("Urban1k.zip",), 80_586_923),),
        archives=(
            Archive(
                "Urban1k/Urban1k.zip",
                (("Urban1k/image/*.jpg", "."),),
                (("Urban1k/image/*.jpg", 1_000),),
                80_000_000,
            ),
        ),
        benchmarks=("long_retrieval:urban1k",),
    )
    yield PublishedSet(
        "sharegpt4v",
        "CC BY-NC 4.0",
        f"{FLAIR}: the first 10,000 captions of images of SA-1B",
        files["sharegpt4v"],
        benchmarks=("long_retrieval:sharegpt4v_1k", "long_retrieval:sharegpt4v_10k"),
        note=no_images,
    )


def _zero_shot_sets() -> Iterator[PublishedSet]:
    for name, copy in HUB_COPIES.items():
        dataset = HubDataset(f"clip-benchmark/{copy}")
        texts = ("classnames.txt", "zeroshot_classification_templates.txt", "dataset_type.txt")
        yield PublishedSet(
            f"zero_shot_{name}",
            "that of the set, see its page",
            dataset.page,
            hub=(HubFiles(dataset, f"{FOLDER}/{name}", (*texts, "test/*")),),
            benchmarks=(f"zero_shot:{name}",),
            note="only the test split; no revision is pinned",
        )


def _caption_sets() -> Iterator[PublishedSet]:
    yield PublishedSet(
        "coco_captions",
        "CC BY 4.0 (COCO's captions); Flickr30k's: only research and education",
        "cs.stanford.edu/people/karpathy: Karpathy's splits of COCO and Flickr30k",
        listed_files()["coco_captions"],
        archives=(
            Archive(
                "coco/caption_datasets.zip",
                (("dataset_coco.json", "coco"), ("dataset_flickr30k.json", "flickr30k")),
                (("coco/dataset_coco.json", 1), ("flickr30k/dataset_flickr30k.json", 1)),
                190_000_000,
            ),
        ),
        benchmarks=("retrieval:coco_karpathy", "retrieval:flickr30k"),
        coco_folders=VAL2014,
        note="its images for training are coco_train2014 and coco_val2014",
    )
    yield PublishedSet(
        "coco_annotations",
        COCO_LICENCE,
        "cocodataset.org: the captions of 2017",
        listed_files()["coco_annotations"],
        archives=(
            Archive(
                "coco/annotations_trainval2017.zip",
                (("annotations/captions_*2017.json", "coco"),),
                (("coco/annotations/captions_*2017.json", 2),),
                100_000_000,
            ),
        ),
        benchmarks=("colorfoil",),
        coco_folders=VAL2017,
        note="its images for training are coco_train2017",
    )
    yield PublishedSet(
        "flickr8k",
        "only research and education",
        "github.com/jbrownlee/Datasets, a copy of the authors' texts",
        listed_files()["flickr8k"],
        archives=(
            Archive(
                "flickr8k/Flickr8k_text.zip",
                (("Flickr8k.token.txt", "flickr8k"), ("Flickr_8k.*Images.txt", "flickr8k")),
                (("flickr8k/Flickr8k.token.txt", 1), ("flickr8k/Flickr_8k.*Images.txt", 3)),
                4_000_000,
            ),
        ),
        benchmarks=("retrieval:flickr8k",),
        note="without the images: ask their owners (shannon.cs.illinois.edu/DenotationGraph)",
    )
    yield PublishedSet(
        "neg_clip",
        "MIT",
        "github.com/mertyg/vision-language-models-are-bows",
        listed_files()["neg_clip"],
        note="its images are coco_train2014 and coco_val2014",
    )
    yield PublishedSet(
        "trohn_img",
        "see its page",
        "huggingface.co/datasets/imirandam/TROHN-Img",
        hub=(HubFiles(HubDataset("imirandam/TROHN-Img"), "trohn_img"),),
        note="no revision is pinned; its other images are coco_train2014 and coco_val2014",
    )


def _image_sets() -> Iterator[PublishedSet]:
    for name, folder in images.COCO.items():
        yield PublishedSet(
            f"coco_{name}",
            COCO_LICENCE,
            f"cocodataset.org: {folder.count:,} images",
            (folder.zip,),
            archives=(folder.archive,),
        )
    yield PublishedSet(
        "visual_genome",
        "CC BY 4.0; the photographs have their Flickr licences",
        f"visualgenome.org: {sum(folder.count for folder in images.VISUAL_GENOME):,} images",
        tuple(folder.zip for folder in images.VISUAL_GENOME),
        archives=tuple(folder.archive for folder in images.VISUAL_GENOME),
    )


def _crepe_archive(name: str, csv_files: str, count: int) -> Archive:
    return Archive(
        f"crepe/{name}.zip",
        ((f"{name}/*.csv", "crepe"),),
        ((f"crepe/{name}/{csv_files}", count),),
    )


def _licence(benchmark: str) -> str:
    cls: type[Benchmark] = class_of(benchmark, "benchmarks", Benchmark)
    return cls.licence


def _git_set(
    name: str, source: str, coco_folders: tuple[str, ...] = ANY_COCO, note: str = ""
) -> PublishedSet:
    return PublishedSet(
        name,
        _licence(name),
        source,
        listed_files()[name],
        benchmarks=(name,),
        coco_folders=coco_folders,
        note=note,
    )


def _hub_set(
    name: str,
    patterns: tuple[str, ...] = (),
    bytes: int | None = None,
    benchmarks: Iterable[str] = (),
    coco_folders: tuple[str, ...] = ANY_COCO,
    archives: tuple[Archive, ...] = (),
) -> PublishedSet:
    cls: type[Benchmark] = class_of(name, "benchmarks", Benchmark)
    dataset = cls.hub
    assert dataset is not None, "a benchmark of the hub names its data set"
    return PublishedSet(
        name,
        cls.licence,
        f"{dataset.page}{f' at {dataset.revision[:7]}' if dataset.revision else ''}",
        hub=(HubFiles(dataset, name, patterns, bytes),),
        archives=archives,
        benchmarks=tuple(benchmarks) or (name,),
        coco_folders=coco_folders,
        note="" if dataset.revision else "no revision is pinned",
    )
