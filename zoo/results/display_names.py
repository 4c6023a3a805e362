"""Names of methods and benchmarks as papers print them."""

import re

METHODS = (
    *("CLIP", "NegCLIP", "CS-CLIP", "FSC-CLIP", "SigLIP", "CE-CLIP", "DeGLA", "READ-CLIP", "CLIC"),
    *("CoN-CLIP", "TripletCLIP", "TSVLC", "DAC", "TIC", "SuperCLIP", "FLAIR"),
    *("LabCLIP", "TF-Local", "TF-Global", "MaxSim", "SGI"),
)
BENCHMARKS = {
    "aro": "ARO",
    "biscor": "BiSCoR-Ctrl",
    "bivlc": "BiVLC",
    "bla": "BLA",
    "cc_neg": "CC-Neg",
    "coco_cf": "COCO-Counterfactuals",
    "cola": "COLA, multi-object",
    "cola_single": "COLA, single-object",
    "colorfoil": "ColorFoil",
    "colorswap": "ColorSwap",
    "comvg": "ComVG",
    "countercurate": "CounterCurate",
    "crepe": "CREPE",
    "elevater": "ELEVATER",
    "eqben": "EqBen",
    "fg_ovd": "FG-OVD",
    "half_truth": "Half-truths",
    "hard_positives": "Hard Positives",
    "image_half_truth": "Image half-truths",
    "imagecode": "ImageCoDe",
    "long_retrieval": "Long retrieval",
    "mmvp": "MMVP-VLM",
    "naturalbench": "NaturalBench",
    "negbench": "NegBench",
    "pairs": "Pairs",
    "pug_spare": "PUG: SPARE",
    "retrieval": "Retrieval",
    "scene_grid": "Scene grid",
    "scene_pairs": "Scene pairs",
    "scene_swaps": "Scene swaps",
    "spec": "SPEC",
    "sugarcrepe": "SugarCrepe",
    "sugarcrepe_pp": "SugarCrepe++",
    "sugarcrepe_pp_text": "SugarCrepe++, texts",
    "svo_probes": "SVO-Probes",
    "valse": "VALSE",
    "vismin": "VisMin",
    "vl_checklist": "VL-CheckList",
    "whatsup": "What'sUp",
    "winoground": "Winoground",
    "winoground_t2i": "Winoground-T2I",
    "winoground_tags": "Winoground, by tag",
    "world_bindings": "World bindings",
    "world_pairs": "World pairs",
    "zero_shot": "Zero-shot",
    "zero_shot_folder": "Zero-shot, custom",
}
_BENCHMARK = re.compile(rf"\b({'|'.join(sorted(BENCHMARKS, key=len, reverse=True))})\b")


def method_name(run: str) -> str:
    """Returns the name of the method that a run is called after; other names are returned as is.

    Example:
        >>> [method_name(run) for run in ("cs_clip", "NegCLIP", "my_run")]
        ['CS-CLIP', 'NegCLIP', 'my_run']
    """
    return next((name for name in METHODS if method_key(name) == method_key(run)), run)


def method_key(name: str) -> str:
    """Returns the letters and digits of a name, by which spellings of a method are recognized."""
    return re.sub(r"[\W_]+", "", name).lower()


def benchmark_name(row: str) -> str:
    """Returns the name of a row with the display name of the benchmark that it begins with.

    Example:
        >>> [benchmark_name(row) for row in ("sugarcrepe", "retrieval:flickr8k", "Comp")]
        ['SugarCrepe', 'Retrieval:flickr8k', 'Comp']
    """
    match = _BENCHMARK.match(row)
    return row if match is None else BENCHMARKS[match[1]] + row[match.end() :]
