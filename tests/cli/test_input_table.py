"""Bad input of every command: no traceback, no hang, one sentence that names the culprit.

A row holds arguments and what the sentence must name. Mistakes that need a scene of their own are
in `test_bad_input`.
"""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest
import torch

from tests.support.compared import outcomes, results
from tests.support.made import make_root
from tests.support.mistakes import names, said
from tests.support.shards import sample, write_tar
from zoo.cli import main
from zoo.results.report import write_results
from zoo.sources.tar_index import write_index

SECONDS = 10  # of this process's own time, so that a busy machine changes nothing
SAMPLE = 16  # of the slower rows, one in so many is in the default run


class Row(NamedTuple):
    """Arguments, of which capital words stand for paths, and a part of the sentence."""

    arguments: tuple[str, ...]
    named: str


def rows(command: str, *tried: tuple[str, str]) -> list[Row]:
    """tried: arguments after the command in one string, and what the sentence names."""
    return [Row((*command.split(), *arguments.split()), named) for arguments, named in tried]


# every setting of a recipe by the values that it cannot have; the sentence names the last word of
# the setting
SETTINGS = {
    "seed_everything": "x -1",
    "trainer.max_epochs": "many -5 1.5",
    "trainer.max_steps": "many -2",
    "trainer.min_epochs": "-1 x",
    "trainer.accumulate_grad_batches": "0 -1 1.5 x",
    "trainer.gradient_clip_val": "-1 x nan",
    "trainer.gradient_clip_algorithm": "nope",
    "trainer.check_val_every_n_epoch": "0 -1 x",
    "trainer.val_check_interval": "0 -1 1.5",
    "trainer.log_every_n_steps": "-1 x",
    "trainer.limit_train_batches": "-1 1.5 x",
    "trainer.limit_val_batches": "-0.5 x",
    "trainer.num_sanity_val_steps": "-2 x",
    "trainer.devices": "0 -2",
    "trainer.num_nodes": "0 x",
    "trainer.overfit_batches": "2 0.5",
    "trainer.fast_dev_run": "-1 x",
    "trainer.profiler": "nope",
    "trainer.strategy": "nope",
    "trainer.accelerator": "gppu",
    "trainer.precision": "17 16-mixed",
    "trainer.logger": "nope",
    "trainer.callbacks": "[nope] 3",
    "trainer.deterministic": "x",
    "trainer.benchmark": "x",
    "trainer.inference_mode": "x",
    "trainer.enable_progress_bar": "maybe",
    "trainer.sync_batchnorm": "2",
    "trainer.detect_anomaly": "2",
    "trainer.reload_dataloaders_every_n_epochs": "-1 x",
    "model.seed": "x",
    "model.optimizer.lr": "-1 nan inf x [1]",
    "model.optimizer.lr_image": "-1 x",
    "model.optimizer.weight_decay": "-1 x",
    "model.optimizer.betas": "[0.9] [0.9,1] [-1,0.9] x",
    "model.optimizer.eps": "0 -1 x",
    "model.optimizer.warmup_steps": "-1 1.5 x",
    "model.optimizer.warmup_share": "2 -1",
    "model.optimizer.final_share": "2 x",
    "model.optimizer.warmup": "nope",
    "model.optimizer.decay": "nope",
    "model.objective.lambda_u": "-1 nan inf x",
    "model.objective.units": "maybe",
    "model.head.scale": "0 -1 x 1000",
    "model.head.max_scale": "0 -1 x",
    "model.head.learn_scale": "maybe",
    "model.head.bias": "x nan",
    "model.backbone.name": "zoo-tinny",
    "model.backbone.tuning.towers": "all",
    "model.backbone.compute.chunk": "0 -1 1.5 x",
    "model.backbone.pretrained": "nope",
    "model.backbone.pretrained.path": "nope",
    "model.backbone.compute.compile": "nope",
    "model.backbone.compute.packed": "maybe",
    "model.backbone.compute.checkpoint_blocks": "maybe",
    "model.backbone.tuning.batch_norm": "nope",
    "model.backbone.augmentation.patch_dropout": "1 -0.1 x",
    "model.backbone.tuning.image_groups": "0 x",
    "model.backbone.tuning.text_groups": "0 x",
    "model.backbone.activation": "relu",
    "model.backbone.tuning.lora.rank": "0 x",
    "model.backbone.tuning.lora.alpha": "0 -1",
    "model.backbone.augmentation": "maybe",
    "model.backbone.text.context_length": "0 -1 x",
    "model.backbone.augmentation.crop_scale": "[0.9,0.1] [-1,1] [0,0] [2,3] x",
    "model.backbone.text.lengths": "[-1] [0] x",
    "data.batch_size": "0 -4 four 1.5 []",
    "data.val_batch_size": "0 -4 x",
    "data.val_images": "0 -1 x 12 99",
    "data.workers": "-1 x",
    "data.expected_images": "0 x 99",
    "data.seed": "x",
    "data.captions_per_image": "two",
    "data.truncation": "skip",
    "data.resample": "maybe",
    "data.hard_images": "maybe",
    "data.train.file": "nowhere.tsv ROOT",
    "data.train.image_column": "nope",
    "data.train.caption_column": "nope",
    "data.negatives": "nope 3",
    "data.units.file": "nowhere.jsonl",
    "data.units.n_units": "0 x",
    "data.units.p_rel": "-0.1 1.1 x",
    "data.units.max_conjunction": "0",
    "data.units.conjunction_share": "2",
    "data.units.edits": "[nope]",
    "data.evaluation": "3 [aro]",
    "data.features.limit_gib": "0",
    "last_checkpoint.every_n_steps": "0 -1 x",
    "best_checkpoint.mode": "most",
}
FIT = [
    Row(("fit", "--config", "RECIPE", f"--{name}", value), name.rpartition(".")[2])
    for name, values in SETTINGS.items()
    for value in values.split()
]
FIT += [
    Row(
        ("fit", "--config", "RECIPE", "--data.val_images", "null", "--data.val_share", v),
        "val_share",
    )
    for v in ("0", "1", "-1", "2", "x", "0.0001")
]
SHARDS = {
    "BAD/cut.tar": "cut.tar is not a complete tar",
    "BAD/wordless.tar": "wordless.tar#000000000 has no caption",
    "BAD/other.tar": "other.tar.arrow is the index of a tar of",
}
FIT += rows(
    "fit --config RECIPE --data.train WebDataset --data.train.path",
    *SHARDS.items(),
)
FIT += rows(
    "fit --config",
    ("nowhere.yaml", "nowhere.yaml"),
    ("BAD/empty", "holds nothing"),
    ("BAD/binary", "binary is not valid YAML"),
    ("BAD/list.json", "a list"),
    ("BAD/deep.json", "deep.json nests"),
    ("BAD/tab.yaml", "tab.yaml is not valid YAML"),
    ("BAD/python.yaml", "python.yaml is not valid YAML"),
    ("BAD/number.yaml", "Key must be a string"),
    ("BAD/modle.yaml", "modle"),
    ("BAD/lr.yaml", "lr is a flag, not a key of a recipe: pass --lr, or write model.optimizer.lr"),
    ("RECIPE --data.train BAD/captions.csv", "{class_path: CsvTable, init_args: {file: BAD/"),
    ("BAD/files.yaml", "data.train takes readers, not files"),
    ("BAD/twice.yaml", "twice.yaml:2"),
    ("BAD", "neither a file"),
    ('RECIPE --config {"modle":1}', "modle"),
    ('RECIPE --config {"modle":{}}', "modle"),
    ('{"modle":', "--config is not valid YAML"),
    ("clip.yaml", "--data_root"),
    ("cs_clap.yaml", "did you mean cs_clip.yaml"),
    ("RECIPE --quux", "--quux"),
    ("RECIPE --trainer.max_time x", "duration='x'"),
    ("RECIPE --data.evaluation.benchmarks [nope]", "nope"),
    ("RECIPE --data.evaluation.benchmarks []", "no benchmark is given"),
    ("RECIPE --data.image_roots [nowhere]", "nowhere is not a folder"),
    ("RECIPE --ckpt_path nowhere.ckpt", "nowhere.ckpt"),
    ("RECIPE --ckpt_path RECIPE", "recipe.yaml"),
    ("RECIPE --ckpt_path BAD/cut.ckpt", "cut.ckpt"),
    ("RECIPE --model.backbone.name BAD/deep.json", "deep.json"),
    ("RECIPE --model.backbone.name BAD/list.json", "list.json"),
    ("RECIPE --data.units.file BAD/deep.json", "deep.json"),
    ("RECIPE --model.objective zoo.heads.cosine.Cosine", "subclass of Objective"),
    ("RECIPE --model.objective nowhere.Thing", "nowhere"),
    ("RECIPE --model.objective zoo.objectives.clip.Nothing", "Nothing"),
    ("RECIPE --model.head zoo.objectives.clip.CLIP", "subclass of Head"),
    ("RECIPE --data zoo.heads.cosine.Cosine", "Cosine"),
    ("RECIPE --model.objective.lamda_u 1", "did you mean lambda_u"),
    ("RECIPE --data.batchsize 4", "did you mean batch_size"),
    ("RECIPE --trainer.max_epoch 3", "did you mean trainer.max_epochs"),
    ("RECIPE --data_root", "--data_root"),
    ("RECIPE stray", "stray"),
)
VALIDATE = rows(
    "validate --model.backbone.name zoo-tiny --data_root ROOT --benchmarks",
    ("", "--benchmarks"),
    ("nope", "nope"),
    ("sugarcrape", "did you mean sugarcrepe"),
    ("aro,aro", "aro is repeated"),
    ("aro,,winoground", "has an empty name"),
    ("winoground", "winoground"),
    ("pairs:nowhere.csv", "nowhere.csv"),
    ("pairs:ROOT", "ROOT"),
    ("pairs:BAD/empty", "empty"),
    ("pairs:BAD/binary", "binary"),
    ("pairs:ROOT/captions.tsv", "captions.tsv"),
    ("half_truth:nowhere.jsonl", "nowhere.jsonl"),
    ("half_truth:BAD/binary", "binary"),
    ("scene_swaps:nowhere", "nowhere"),
    ("PAIRS --presets nope", "nope"),
    ("PAIRS --presets strict,", "has an empty name"),
    ("PAIRS --data.image_batch 0", "image_batch"),
    ("PAIRS --data.text_batch -1", "text_batch"),
    ("PAIRS --data.workers -1", "workers"),
    ("PAIRS --data.shortlist 9", "shortlist"),
    ("PAIRS --data.quiet maybe", "quiet"),
    ("PAIRS --ckpt_path nowhere.ckpt", "nowhere.ckpt"),
    ("PAIRS --ckpt_path BAD/binary", "binary"),
    ("PAIRS --ckpt_path BAD/weights.pt", "weights.pt"),
    ("PAIRS --ckpt_path BAD/list.pt", "list.pt"),
    ("PAIRS --ckpt_path BAD", "BAD"),
    ("PAIRS --out RECIPE", "recipe.yaml"),
    ("PAIRS --trainer.precision 17", "17"),
    ("PAIRS --trainer.limit_val_batches -1", "limit_val_batches"),
    ("PAIRS --model.backbone.nam x", "nam"),
)
VALIDATE += rows(
    "validate",
    ("--out o --config RECIPE", "--out requires --benchmarks"),
    ("--presets strict --config RECIPE", "--presets requires --benchmarks"),
    ("--benchmarks aro --data_root nowhere --model.backbone.name zoo-tiny", "nowhere"),
    ("--benchmarks aro --data_root RECIPE --model.backbone.name zoo-tiny", "not a folder"),
    (
        "--benchmarks PAIRS --data_root ROOT --model.backbone.name zoo-tinny",
        "did you mean zoo-tiny",
    ),
)
SMALL = list(
    chain(
        rows(
            "export",
            ("", "checkpoint"),
            ("nowhere.ckpt out", "nowhere.ckpt"),
            ("BAD/empty out", "empty"),
            ("BAD/binary out", "binary"),
            ("BAD/weights.pt out", "weights.pt"),
            ("BAD/list.pt out", "list.pt"),
            ("BAD/cut.ckpt out", "cut.ckpt"),
            ("BAD out", "BAD"),
            ("CKPT", "out"),
            ("CKPT ROOT", "ROOT"),
            ("CKPT RECIPE", "recipe.yaml"),
            ("CKPT RECIPE/under", "recipe.yaml"),
            ("CKPT out --format onnx", "onnx"),
            ("CKPT out --fromat hf", "--fromat"),
            ("CKPT out more", "more"),
        ),
        rows(
            "merge",
            ("", "--ckpt_path"),
            ("--ckpt_path", "--ckpt_path"),
            ("--ckpt_path nowhere.ckpt", "nowhere.ckpt"),
            ("--ckpt_path BAD/binary", "binary"),
            ("--ckpt_path BAD/weights.pt", "weights.pt"),
            ("--ckpt_path BAD/cut.ckpt", "cut.ckpt"),
            ("--ckpt_path CKPT --alphas x", "x"),
            ("--ckpt_path CKPT --alphas 0,,1", "--alphas"),
            ("--ckpt_path CKPT --alphas nan", "nan"),
            ("--ckpt_path CKPT --alphas inf", "inf"),
            ("--ckpt_path CKPT --alphas 0,1e-9,...,1", "--alphas"),
            ("--ckpt_path CKPT --alphas 0,0.1,...,", "--alphas"),
            ("--ckpt_path CKPT --alphas 1,0.9,...,2", "--alphas"),
            ("--ckpt_path CKPT --alphas 0,0,...,1", "--alphas"),
            ("--ckpt_path CKPT --base nowhere.pt", "nowhere.pt"),
            ("--ckpt_path CKPT --base BAD/binary", "binary"),
            ("--ckpt_path CKPT --base CKPT --out RECIPE", "recipe.yaml"),
            ("--ckpt_path CKPT --base CKPT --benchmarks nope", "nope"),
            ("--ckpt_path CKPT --base CKPT --benchmarks aro,", "has an empty name"),
            ("--ckpt_path CKPT --base CKPT --benchmarks aro --data_root nowhere", "nowhere"),
            ("--ckpt CKPT", "--ckpt"),
        ),
        rows(
            "rescore",
            ("", "run"),
            ("nowhere", "nowhere"),
            ("BAD", "cases.parquet"),
            ("RECIPE", "recipe.yaml"),
            ("RESULTS --preset nope", "nope"),
            ("RESULTS --preset strict,", "has an empty name"),
            ("RESULTS --out RECIPE", "recipe.yaml"),
            ("BAD/run", "cases.parquet"),
        ),
        rows(
            "compare",
            ("", "RUN"),
            ("RESULTS", "1 run given"),
            ("RESULTS RESULTS", "is named twice"),
            ("RESULTS nowhere", "nowhere"),
            ("RESULTS BAD", "cases.parquet"),
            ("RESULTS BAD/run", "cases.parquet"),
            ("RESULTS OTHERS", "has no case in common with RESULTS"),
            ("RESULTS EMPTY", "EMPTY has no case"),
            ("EMPTY RESULTS", "EMPTY has no case"),
            ("OTHERS UNSCORED", "have no case that all of them scored"),
            ("a=RESULTS a=RESULTS", "two runs are named a"),
            ("a=RESULTS a=OTHERS", "two runs are named a"),
            ("=RESULTS b=OTHERS", "has nothing before the ="),
            ("RESULTS b=OTHERS BAD/RESULTS", "two runs are named RESULTS: give"),
            ("a=RESULTS b=RESULTS --group seed", "the same recipe, data and seed"),
            ("a=RESULTS b=RESULTS --group method", "method"),
            ("a=RESULTS b=RESULTS --reference_models nope", "nope"),
            ("a=RESULTS b=RESULTS --preset nope", "nope"),
            ("a=RESULTS b=RESULTS --preset official,", "has an empty name"),
            ("a=RESULTS b=RESULTS --metrics nope/*", "nope/*"),
            ("a=RESULTS b=RESULTS --format tex", "tex"),
            ("a=RESULTS b=RESULTS --plot forest.jpg", "ends in .png, .svg or .pdf"),
            ("a=RESULTS b=RESULTS --plot RECIPE/a.png", "recipe.yaml"),
            ("a=RESULTS b=RESULTS --rank_shifts ranks.png", "has no familiarity split"),
            ("a=RESULTS b=RESULTS --resamples 0", "--resamples"),
            ("a=RESULTS b=RESULTS --seed x", "--seed"),
            ("RESULTS --reference_model x", "did you mean --reference_models"),
        ),
        rows(
            "report",
            ("", "RUN"),
            ("RESULTS", "--out"),
            ("nowhere --out o", "nowhere"),
            ("BAD --out o", "cases.parquet"),
            ("BAD/run --out o", "cases.parquet"),
            ("RECIPE --out o", "recipe.yaml"),
            ("EMPTY --out o", "EMPTY has no case"),
            ("UNSCORED --out o", "scored no case"),
            ("RESULTS OTHERS --out o", "has no case in common with RESULTS"),
            ("RESULTS EMPTY --out o", "EMPTY has no case"),
            ("OTHERS UNSCORED --out o", "have no case that all of them scored"),
            ("RESULTS RESULTS --out o", "is named twice"),
            ("a=RESULTS a=OTHERS --out o", "two runs are named a"),
            ("b=OTHERS RESULTS BAD/RESULTS --out o", "two runs are named RESULTS: give"),
            ("RESULTS --out RECIPE", "recipe.yaml"),
            ("RESULTS --out RECIPE/under", "recipe.yaml"),
            ("RESULTS --out ROOT", "is not a report"),
            ("RESULTS --out ROOT --overwrite", "is not a report"),
            ("RESULTS --out o --preset nope", "nope"),
            ("RESULTS --out o --preset official,", "has an empty name"),
            ("RESULTS --out o --data_root nowhere", "nowhere"),
            ("RESULTS --out o --data_root RECIPE", "recipe.yaml"),
            ("RESULTS --out o --max_size_mb 0", "--max_size_mb"),
            ("RESULTS --out o --max_size x", "did you mean --max_size_mb"),
        ),
        rows(
            "study",
            ("", "STUDY"),
            ("nowhere.yaml", "nowhere.yaml"),
            ("scenes_first_tri", "did you mean scenes_first_try"),
            ("BAD/binary", "binary"),
            ("BAD/empty", "empty"),
            ("BAD/list.json", "list.json"),
            ("BAD/deep.json", "deep.json"),
            ("BAD/twice.yaml", "twice.yaml"),
            ("RECIPE", "unknown key 'model'"),
            ("small_flickr8k", "lists no recipes"),
            ("methods_on_coco", "--data_root"),
            ("methods_on_coco nowhere.yaml", "nowhere.yaml"),
            ("methods_on_coco --data_root ROOT --run_number x", "--run_number"),
            ("methods_on_coco --data_root ROOT --run_number 99", "are numbered 0 to 11"),
            ("methods_on_coco --data_root ROOT --work_dir ROOT", "is not empty"),
            ("methods_on_coco --data_root ROOT --work_dir ROOT --list", "is not empty"),
            ("methods_on_coco --data_root ROOT --work_dir RECIPE", "recipe.yaml"),
            ("methods_on_coco --data_root ROOT --work_dir RECIPE/under", "recipe.yaml"),
            ("methods_on_coco --data_root nowhere", "nowhere"),
            ("methods_on_coco --data_root ROOT --table", "fewer than two rows"),
            ("methods_on_coco --data_root ROOT --trial x", "--trial"),
            ("methods_on_coco --data_root ROOT --slurm gpu", "give NAME=VALUE"),
            ("methods_on_coco --data_root ROOT --rerun_mismatched --any_version", "--any_version"),
            (
                "methods_on_coco --objective nowhere.CLIP --data_root ROOT",
                "--objective nowhere.CLIP adds the run CLIP",
            ),
            ("methods_on_coco --object x", "did you mean --objective"),
        ),
        rows(
            "doctor",
            ("--data_root", "--data_root"),
            ("--data_root nowhere", "nowhere"),
            ("--data_root RECIPE", "recipe.yaml"),
            ("--benchmarks nope", "nope"),
            ("--benchmarks sugarcrape", "did you mean sugarcrepe"),
            ("--benchmarks aro,", "has an empty name"),
            ("--data-root ROOT", "--data-root"),
            ("stray", "stray"),
        ),
        rows(
            "ls",
            ("objective", "objective"),
            ("heads stray", "stray"),
            ("--all", "--all"),
            ("heads --json", "--json"),
        ),
        rows(
            "negatives",
            ("", "command"),
            ("show", "show"),
            ("preview", "captions"),
            ("preview nowhere.txt", "nowhere.txt"),
            ("preview BAD", "BAD"),
            ("preview BAD/empty", "empty"),
            ("preview BAD/binary", "binary"),
            ("preview BAD/deep.json", "deep.json"),
            ("preview BAD/list.json", "list.json"),
            ("preview CAPTIONS --n -1", "-1"),
            ("preview CAPTIONS --n many", "many"),
            ("preview CAPTIONS --sample_size -1", "-1"),
            ("preview CAPTIONS --seed x", "x"),
            ("preview CAPTIONS --tagger nope", "nope"),
            ("preview CAPTIONS --generator nope", "nope"),
            ("preview CAPTIONS --generator nowhere.Thing", "nowhere"),
            ("preview CAPTIONS --generator zoo.heads.cosine.Cosine", "Cosine"),
            ("preview CAPTIONS --generator Replace", "table"),
            ("preview CAPTIONS --generator Replace --generator.table nowhere", "nowhere"),
            ("preview CAPTIONS --generator Replace --generator.table BAD/binary", "binary"),
            ("preview CAPTIONS --generator SwapOrFoil --generator.sentence_swap_share 2", "2"),
            ("preview CAPTIONS --generator SwapOrFoil --generator.swap 3", "swap"),
            ("preview CAPTIONS --generator Replay --generator.file nowhere", "nowhere"),
            ("preview CAPTIONS --generator Replay --generator.file BAD/binary", "binary"),
            ("preview CAPTIONS --generator Replay --generator.file BAD/deep.json", "deep.json"),
            ("preview CAPTIONS --generator AROShuffle --generator.kinds [nope]", "nope"),
            ("preview CAPTIONS --generator AROShuffle --generator.kindz [x]", "did you mean kinds"),
            ("preview CAPTIONS --generator EntityFoilInPlace", "--units"),
            ("preview CAPTIONS --units nowhere.jsonl", "nowhere.jsonl"),
            ("preview CAPTIONS --units BAD/binary", "binary"),
            ("preview CAPTIONS --units BAD/deep.json", "deep.json"),
            ("export CAPTIONS", "--out"),
            ("export CAPTIONS --out ROOT", "ROOT"),
            ("export CAPTIONS --out RECIPE", "recipe.yaml"),
            ("export CAPTIONS --out RECIPE/under", "recipe.yaml"),
            ("build CAPTIONS", "--out"),
            ("build CAPTIONS --out ROOT", "ROOT"),
            ("build CAPTIONS --out t.arrow --wordnet nowhere", "nowhere"),
            ("build CAPTIONS --out t.arrow --min_count -1", "-1"),
        ),
        rows(
            "units",
            ("", "command"),
            ("extrakt", "extrakt"),
            ("extract", "captions"),
            ("extract CAPTIONS", "--out"),
            ("extract nowhere.txt --out u.jsonl", "nowhere.txt"),
            ("extract BAD --out u.jsonl", "BAD"),
            ("extract BAD/empty --out u.jsonl", "empty"),
            ("extract BAD/binary --out u.jsonl", "binary"),
            ("extract BAD/deep.json --out u.jsonl", "deep.json"),
            ("extract CAPTIONS --out ROOT", "ROOT"),
            ("extract CAPTIONS --out RECIPE", "recipe.yaml"),
            ("extract CAPTIONS --out u.jsonl --seed x", "x"),
            ("extract CAPTIONS --out u.jsonl --tagger nope", "nope"),
            ("extract CAPTIONS --out u.jsonl --extractor nope", "nope"),
            ("extract CAPTIONS --out u.jsonl --extractor Nope", "zoo ls extractors"),
            ("extract CAPTIONS --out u.jsonl --extractor Rul", "did you mean rule"),
            ("extract CAPTIONS --out u.jsonl --extractor nowhere.Thing", "nowhere"),
            ("extract CAPTIONS --out u.jsonl --extractor zoo.heads.cosine.Cosine", "Cosine"),
            ("extract CAPTIONS --out u.jsonl --splits nope", "nope"),
            *((f"extract {tar} --out u.jsonl", told) for tar, told in SHARDS.items()),
            ("extract CAPTIONS --out u.jsonl --spilts x", "did you mean --splits"),
            ("show", "file"),
            ("show nowhere.jsonl", "nowhere.jsonl"),
            ("show BAD/empty", "empty"),
            ("show BAD/binary", "binary"),
            ("show BAD/deep.json", "deep.json"),
            ("show BAD/list.json", "list.json"),
            ("show BAD/object.json", "object.json"),
            ("show UNITS --n -1", "-1"),
            ("show UNITS --n x", "x"),
            ("show UNITS --seed x", "x"),
        ),
        rows(
            "scenes",
            ("", "command"),
            ("rendr", "rendr"),
            ("render", "--out"),
            ("render --out s --n 0", "0"),
            ("render --out s --n x", "x"),
            ("render --out s --size 0", "0"),
            ("render --out s --samples 0", "0"),
            ("render --out s --objects 0-2", "0-2"),
            ("render --out s --objects 4-2", "4-2"),
            ("render --out s --objects x", "x"),
            ("render --out s --workers -1", "-1"),
            ("render --out s --seed x", "x"),
            ("render --out s --held_out purple,cow", "cow"),
            ("render --out RECIPE --n 1 --workers 0", "recipe.yaml"),
            ("render --out BAD/scenes --n 1 --workers 0", "manifest.json"),
        ),
        rows(
            "demo",
            ("--scenes 0", "0"),
            ("--scenes x", "x"),
            ("--steps 0", "0"),
            ("--steps x", "x"),
            ("--tuning_steps -1", "-1"),
            ("--workers -1", "-1"),
            ("--out RECIPE", "recipe.yaml"),
            ("--sceens 3", "did you mean --scenes"),
            ("stray", "stray"),
        ),
        rows("data pack", *((f"{tar} --out s", told) for tar, told in SHARDS.items())),
        rows("", ("validat", "did you mean validate"), ("trian", "trian"), ("--quux", "--quux")),
    )
)
SLOWER = [*FIT, *VALIDATE]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the capital words stand for; one run was trained and measured."""
    folder = tmp_path_factory.mktemp("table")
    root, bad = make_root(folder / "ROOT"), folder / "BAD"
    (bad / "run").mkdir(parents=True)
    (bad / "run" / "cases.parquet").write_bytes(b"PAR1")
    for name, content in {
        "empty": "",
        "list.json": "[1, 2]",
        "object.json": '{"caption": 3}',
        "deep.json": '{"a":' * 100_000 + "1" + "}" * 100_000,
        "tab.yaml": "\tmodel: 3",
        "python.yaml": "x: !!python/object/apply:os.system [ls]",
        "number.yaml": "1: 2",
        "modle.yaml": "modle: {seed: 3}",
        "lr.yaml": "lr: 1.0e-3",
        "captions.csv": "filepath,title\na.png,a cat\n",
        "files.yaml": f"data: {{init_args: {{train: [{bad / 'captions.csv'}]}}}}",
        "twice.yaml": "model: {}\nmodel: {}",
    }.items():
        (bad / name).write_text(content)
    (bad / "scenes").mkdir()
    (bad / "scenes" / "manifest.json").write_text((bad / "deep.json").read_text())
    (bad / "binary").write_bytes(bytes(range(256)) * 40)
    cut = write_tar(bad / "cut.tar", sample(0))
    cut.write_bytes(cut.read_bytes()[:900])
    for name, files in {"wordless": sample(0)[:1], "other": sample(0)}.items():
        tar = write_tar(bad / f"{name}.tar", files)
        write_index(str(tar), tar.with_name(f"{tar.name}.arrow"))
    write_tar(bad / "other.tar", [file for number in range(9) for file in sample(number)])
    torch.save({"a": torch.zeros(3)}, bad / "weights.pt")
    torch.save([1, 2], bad / "list.pt")
    before = Path.cwd()
    try:
        os.chdir(folder)
        steps = ["--trainer.max_epochs", "1", "--trainer.limit_train_batches", "1"]
        assert main(["fit", "--config", str(root / "recipe.yaml"), *steps]) == 0
        measured = ["--data_root", str(root), "--out", "RESULTS", "--data.workers", "0"]
        pairs = f"pairs:{root / 'pairs.csv'}"
        tiny = ["--model.backbone.name", "zoo-tiny"]
        assert main(["validate", "--benchmarks", pairs, *tiny, *measured]) == 0
    finally:
        os.chdir(before)
    for name, answers in {"OTHERS": [True, False], "UNSCORED": [None, None], "EMPTY": []}.items():
        write_results(results(outcomes(answers)), folder / name)
    checkpoint = folder / "runs" / "version_0" / "checkpoints" / "last.ckpt"
    (bad / "cut.ckpt").write_bytes(checkpoint.read_bytes()[:5_000])
    return {
        "RECIPE": str(root / "recipe.yaml"),
        "CAPTIONS": str(root / "captions.tsv"),
        "UNITS": str(root / "units.jsonl"),
        "PAIRS": f"pairs:{root / 'pairs.csv'}",
        **{name: str(folder / name) for name in ("RESULTS", "OTHERS", "UNSCORED", "EMPTY")},
        "CKPT": str(checkpoint),
        "ROOT": str(root),
        "BAD": str(bad),
    }


def filled(arguments: tuple[str, ...], places: dict[str, str]) -> list[str]:
    out = []
    for argument in arguments:
        word = re.split("[:=]", argument.partition("/")[0])[-1]
        out.append(argument.replace(word, places[word]) if word in places else argument)
    return out


@contextmanager
def bounded() -> Iterator[None]:
    """Ends what runs for more than SECONDS."""

    def hangs(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"it still runs after {SECONDS} seconds of its own")

    before = signal.signal(signal.SIGVTALRM, hangs)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def name_of(row: Row) -> str:
    return " ".join(row.arguments)[:80]


def refuse(row: Row, places: dict[str, str]) -> None:
    """Checks that the sentence names the culprit, and that nothing new lies about.

    It looks where the command ran and where its data are.
    """
    folders = [Path.cwd(), Path(places["ROOT"]).parent]
    before = [names(folder) for folder in folders]
    with bounded():
        sentence = said(filled(row.arguments, places)).sentence
    assert row.named in sentence
    assert [names(folder) for folder in folders] == before


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=() if i % 3 == 0 else pytest.mark.slow)
        for i, row in enumerate(SMALL)
    ],
    ids=[name_of(row) for row in SMALL],
)
def test_a_small_command_names_the_culprit(
    row: Row, places: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refuse(row, places)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=() if i % SAMPLE == 0 else pytest.mark.slow)
        for i, row in enumerate(SLOWER)
    ],
    ids=[name_of(row) for row in SLOWER],
)
def test_fit_and_validate_name_the_culprit(
    row: Row, places: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refuse(row, places)


def test_the_table_is_long() -> None:
    rows = {row.arguments for row in (*SMALL, *SLOWER)}
    assert len(rows) == len(SMALL) + len(SLOWER)
    assert len(rows) >= 300
