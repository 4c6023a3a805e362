"""The published sets of labelled images, and their names in other packages."""

from dataclasses import dataclass
from typing import Literal

Metric = Literal["accuracy", "mean-per-class", "11point_mAP", "roc_auc"]


@dataclass(frozen=True)
class LabelledSet:
    """A published set.

    Attributes:
        name: Its name, the same as CLIP_benchmark's if that has the set.
        n_images: Number of images of its test split if all publications use the same split, else
            None.
        is_imagenet: Whether its classes are ImageNet's 1,000, whose names and templates are in
            open_clip.
        clip_benchmark_name: Its name in CLIP_benchmark's prompt files; empty if it is not there.
        elevater_name: Its name in ELEVATER's toolkit; empty if it is not there.
        elevater_n_images: Number of images of ELEVATER's test split.
        elevater_metric: ELEVATER's metric.
    """

    name: str
    n_images: int | None = None
    is_imagenet: bool = False
    clip_benchmark_name: str = ""
    elevater_name: str = ""
    elevater_n_images: int | None = None
    elevater_metric: Metric = "accuracy"


# Sizes and metrics are those of the toolkit (vision_datasets.json and other files in its folder).
SETS = {
    one.name: one
    for one in (
        LabelledSet("imagenet1k", 50_000, True, "imagenet1k", "imagenet-1k", 50_000),
        LabelledSet("imagenetv2", is_imagenet=True, clip_benchmark_name="imagenet1k"),
        LabelledSet("imagenet_sketch", is_imagenet=True, clip_benchmark_name="imagenet1k"),
        LabelledSet("imagenet-a"),
        LabelledSet("imagenet-o"),
        LabelledSet("imagenet-r"),
        LabelledSet(
            "caltech101",
            None,
            False,
            "caltech101",
            "caltech-101",
            6_084,
            "mean-per-class",
        ),
        LabelledSet("cars", 8_041, False, "cars", "stanford-cars", 8_041),
        LabelledSet("cifar10", 10_000, False, "cifar10", "cifar-10", 10_000),
        LabelledSet("cifar100", 10_000, False, "cifar100", "cifar-100", 10_000),
        LabelledSet("country211", 21_100, False, "country211", "country211", 21_100),
        LabelledSet("dtd", 1_880, False, "dtd", "dtd", 1_880),
        LabelledSet("eurosat", None, False, "eurosat", "eurosat_clip", 5_000),
        LabelledSet("fer2013", None, False, "fer2013", "fer-2013", 3_589),
        LabelledSet(
            "fgvc_aircraft",
            3_333,
            False,
            "fgvc_aircraft",
            "fgvc-aircraft-2013b-variants102",
            3_333,
            "mean-per-class",
        ),
        LabelledSet(
            "flowers", 6_149, False, "flowers", "oxford-flower-102", 6_149, "mean-per-class"
        ),
        LabelledSet("food101", 25_250, False, "food101", "food-101", 25_250),
        LabelledSet("gtsrb", 12_630, False, "gtsrb", "gtsrb", 12_630),
        LabelledSet("hateful_memes", None, False, "", "hateful-memes", 500, "roc_auc"),
        LabelledSet(
            "kitti_distance",
            None,
            False,
            "kitti_closest_vehicle_distance",
            "kitti-distance",
            711,
        ),
        LabelledSet("mnist", 10_000, False, "mnist", "mnist", 10_000),
        LabelledSet("pcam", 32_768, False, "pcam", "patch-camelyon", 32_768),
        LabelledSet("pets", 3_669, False, "pets", "oxford-iiit-pets", 3_669, "mean-per-class"),
        LabelledSet("renderedsst2", 1_821, False, "renderedsst2", "rendered-sst2", 1_821),
        LabelledSet("resisc45", None, False, "resisc45", "resisc45_clip", 25_200),
        LabelledSet("stl10", None, False, "stl10"),
        LabelledSet("sun397", None, False, "sun397"),
        LabelledSet(
            "voc2007_multilabel",
            4_952,
            False,
            "voc2007_multilabel",
            "voc-2007-classification",
            4_952,
            "11point_mAP",
        ),
    )
}
ELEVATER = {name: one for name, one in SETS.items() if one.elevater_name}
# data sets of huggingface.co/clip-benchmark by set, except ImageNet, whose terms must be accepted
HUB_COPIES = {
    "imagenetv2": "wds_imagenetv2",
    "imagenet_sketch": "wds_imagenet_sketch",
    "imagenet-a": "wds_imagenet-a",
    "imagenet-o": "wds_imagenet-o",
    "imagenet-r": "wds_imagenet-r",
    "caltech101": "wds_vtab-caltech101",
    "cars": "wds_cars",
    "cifar10": "wds_vtab-cifar10",
    "cifar100": "wds_vtab-cifar100",
    "country211": "wds_country211",
    "dtd": "wds_vtab-dtd",
    "eurosat": "wds_vtab-eurosat",
    "fer2013": "wds_fer2013",
    "fgvc_aircraft": "wds_fgvc_aircraft",
    "flowers": "wds_vtab-flowers",
    "gtsrb": "wds_gtsrb",
    "kitti_distance": "wds_vtab-kitti_closest_vehicle_distance",
    "mnist": "wds_mnist",
    "pcam": "wds_vtab-pcam",
    "pets": "wds_vtab-pets",
    "renderedsst2": "wds_renderedsst2",
    "resisc45": "wds_vtab-resisc45",
    "stl10": "wds_stl10",
    "sun397": "wds_sun397",
    "voc2007_multilabel": "wds_voc2007_multilabel",
}
