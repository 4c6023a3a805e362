"""Inputs that misled new users: each is answered with the right way, or simply done."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import yaml
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from safetensors.torch import save_file

import zoo
from tests.support.made import make_root
from tests.support.mistakes import said
from tests.support.runs import command, last_checkpoint
from zoo.backbones.backbone import Backbone
from zoo.backbones.factory import SHIPPED
from zoo.backbones.hugging_face_names import hugging_face_state
from zoo.cli.early_checks import find_mistake
from zoo.cli.recipes import shipped_recipes
from zoo.datamodules import CaptionDataModule
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.sources.readers.csv_table import CsvTable
from zoo.units import RuleExtractor

TINY = "--model.backbone.name zoo-tiny --model.backbone.pretrained null --trainer.accelerator cpu"
PAIRS = "--benchmarks pairs:ROOT/pairs.csv --data_root ROOT --model.backbone.name zoo-tiny"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made data root in the working directory."""
    monkeypatch.chdir(tmp_path)
    return make_root(tmp_path / "root")


def save_hugging_face_model(folder: Path) -> None:
    """Writes zoo-tiny as the folder of a Hugging Face CLIPModel."""
    folder.mkdir()
    (folder / "config.json").write_text(
        '{"model_type": "clip", "vision_config": {"hidden_act": "gelu"}}'
    )
    state = hugging_face_state(Backbone("zoo-tiny").model.state_dict())
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, folder / WEIGHTS)


WEIGHTS = "model.safetensors"


def save_weights(root: Path) -> None:
    torch.save(Backbone("zoo-tiny").model.state_dict(), root / "weights.pt")


def save_bert_config(root: Path) -> None:
    (root / "bert").mkdir()
    (root / "bert" / "config.json").write_text('{"model_type": "bert"}')


def edit_recipe(root: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the arguments of the data in the made recipe."""
    recipe = yaml.safe_load((root / "recipe.yaml").read_text())
    change(recipe["data"]["init_args"])
    (root / "recipe.yaml").write_text(yaml.safe_dump(recipe))


def save_csv_overlay(root: Path) -> None:
    """Writes an overlay that reads captions of a table."""
    data = {"train": {"class_path": "CsvTable", "init_args": {"file": f"{root}/captions.tsv"}}}
    (root / "csv.yaml").write_text(yaml.safe_dump({"data": {"init_args": data}}))


def save_flickr8k(root: Path) -> None:
    """Writes the images of the root as Flickr8k's."""
    folder = root / "flickr8k"
    folder.mkdir()
    names = [f"{i:03}.jpg" for i in range(12)]
    for name in names:
        shutil.copy(root / "pictures" / name.replace("jpg", "png"), folder / name)
    lines = [f"{name}#0\ta red square above a green circle" for name in names]
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n")
    (folder / "Flickr_8k.trainImages.txt").write_text("\n".join(names[:8]) + "\n")
    (folder / "Flickr_8k.devImages.txt").write_text("\n".join(names[8:]) + "\n")


class Row(NamedTuple):
    """A command in which ROOT is the data root, what is made before, and parts of the answer."""

    command: str
    parts: tuple[str, ...]
    prepare: Callable[[Path], object] = lambda root: None
    absent: tuple[str, ...] = ()


ROWS = {
    "weights from a file of a Hugging Face folder": Row(
        "fit --config ROOT/recipe.yaml --model.backbone.pretrained hf/model.safetensors",
        ("hf/model.safetensors has the weights of a Hugging Face model", "give its folder, hf"),
        lambda root: save_hugging_face_model(Path("hf")),
    ),
    "a Hugging Face folder in place of a checkpoint": Row(
        f"validate {PAIRS} --ckpt_path hf",
        ("hf is a model of open_clip or Hugging Face", "--model", "zoo.load"),
        lambda root: save_hugging_face_model(Path("hf")),
        ("zoo.json",),
    ),
    "a Hugging Face folder of another kind of model": Row(
        "validate --benchmarks pairs:ROOT/pairs.csv --data_root ROOT --model ROOT/bert",
        ("Hugging Face model of type bert", "zoo.evaluate"),
        save_bert_config,
    ),
    "a folder without a model": Row(
        "validate --benchmarks pairs:ROOT/pairs.csv --data_root ROOT --model runs",
        ("runs is not the folder of a model", "config.json"),
        lambda root: Path("runs").mkdir(),
    ),
    "a list of backbones": Row(
        "fit --config ROOT/recipe.yaml --model.backbone [Backbone]",
        ("model.backbone takes one Backbone, and got a list: give one",),
        lambda root: None,
        ("Got value",),
    ),
    "a recipe with units on the captions of an overlay": Row(
        f"fit --config cs_clip.yaml --config flickr8k.yaml --data_root ROOT {TINY}",
        (
            "zoo units extract ROOT/flickr8k/Flickr8k.token.txt --out ROOT/flickr8k/units.jsonl",
            "--data.units.file ROOT/flickr8k/units.jsonl",
        ),
        save_flickr8k,
        ("--out ROOT/coco",),
    ),
    "captions of an overlay that are not counted by the recipe": Row(
        f"fit --config clip.yaml --config ROOT/csv.yaml --data_root ROOT {TINY} --data.val null",
        ("12 training images", "113,287", "--data.expected_images null"),
        save_csv_overlay,
    ),
    "a misspelt setting as a flag": Row(
        "fit --config ROOT/recipe.yaml --model.optimizer.lrr 1",
        ("'model.optimizer.lrr'", "model.optimizer.lr"),
        absent=("model)",),
    ),
    "a misspelt objective as a short flag": Row(
        "fit --config ROOT/recipe.yaml --objective NegClip",
        ("no class NegClip ", "NegCLIP", "zoo ls objectives"),
        absent=("import path", "NegCLIPSwap", "NegClipTsv"),
    ),
    "a misspelt objective as a full flag": Row(
        "fit --config ROOT/recipe.yaml --model.objective NegClip",
        ("no class NegClip ", "NegCLIP", "zoo ls objectives"),
        absent=("import path", "NegCLIPSwap", "NegClipTsv"),
    ),
    "two checkpoints": Row(
        f"validate {PAIRS} --ckpt_path a,b",
        ("only one checkpoint", "zoo compare"),
    ),
    "a caption file that retrieval cannot find": Row(
        "validate --benchmarks retrieval:captoins.tsv --data_root ROOT "
        "--model.backbone.name zoo-tiny",
        ("captoins.tsv", "path of a caption file"),
    ),
    "an export of plain weights": Row(
        "export ROOT/weights.pt out",
        ("ROOT/weights.pt is not a checkpoint of `zoo fit`", "MODEL.yaml:ROOT/weights.pt"),
        save_weights,
        ("init_args",),
    ),
    "an evaluation of plain weights as a checkpoint": Row(
        f"validate {PAIRS} --ckpt_path ROOT/weights.pt",
        ("--model.backbone.pretrained ROOT/weights.pt", "zoo.load("),
        save_weights,
    ),
    "COCO's captions that are missing": Row(
        f"fit --config clip.yaml --data_root ROOT {TINY}",
        (
            "ROOT/coco/dataset_coco.json",
            "zoo doctor --config clip.yaml --data_root ROOT",
            "--config flickr8k.yaml",
        ),
    ),
}


@pytest.mark.parametrize("case", ROWS)
def test_the_message_gives_the_right_way(case: str, root: Path) -> None:
    row = ROWS[case]
    row.prepare(root)
    sentence = said(row.command.replace("ROOT", str(root)).split()).sentence
    for part in row.parts:
        assert part.replace("ROOT", str(root)) in sentence
    for part in row.absent:
        assert part.replace("ROOT", str(root)) not in sentence


@pytest.mark.slow
def test_a_run_folder_gives_its_last_weights(root: Path, tmp_path: Path) -> None:
    command(tmp_path, "fit", "--config", str(root / "recipe.yaml"), "--trainer.max_epochs", "1")
    by_folder = Backbone("zoo-tiny", "runs/version_0")
    by_file = Backbone("zoo-tiny", str(last_checkpoint(tmp_path)))
    assert torch.equal(by_folder.model.visual.proj, by_file.model.visual.proj)
    Path("empty").mkdir()
    with pytest.raises(
        ZooError, match=r"empty is a folder without weights: give .* folder of a run"
    ):
        Backbone("zoo-tiny", "empty")


def test_retrieval_runs_on_a_caption_file(root: Path) -> None:
    answer = said(
        [
            *["validate", "--benchmarks", f"retrieval:{root}/captions.tsv"],
            *["--data_root", str(root), "--model.backbone.name", "zoo-tiny"],
        ]
    )
    assert answer.status == 0
    assert "i2t_r@1" in answer.out


def test_an_architecture_file_takes_weights(root: Path) -> None:
    shutil.copy(SHIPPED / "zoo-tiny.json", "zoo-tiny.json")
    save_weights(root)
    model = zoo.load("zoo-tiny.json", root / "weights.pt")
    expected = torch.load(root / "weights.pt")["visual.proj"]
    assert torch.equal(model.module.backbone.model.visual.proj, expected)


def test_help_of_a_named_backbone_lists_its_arguments() -> None:
    page = said(["fit", "--model.backbone", "Backbone", "--help"]).out
    assert "--model.backbone.pretrained" in page
    assert "usage:" not in page


def test_captions_without_ids_are_refused_with_an_example() -> None:
    with pytest.raises(ZooError, match=r"'a caption': give each caption as \(caption, caption_id"):
        list(RuleExtractor().extract_all(["a caption"]))  # type: ignore[list-item]


def test_setup_without_a_trainer_names_the_trainer(root: Path) -> None:
    data = CaptionDataModule(CsvTable(root / "captions.tsv"), [str(root)], val_images=4)
    with pytest.raises(ZooError, match=r"Trainer\.fit\(module, datamodule=data\)"):
        data.setup("fit")


class WorkerTermination(Callback):
    """Raises torch's error of a worker that SIGTERM ended, after the first step."""

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step == 1:
            raise RuntimeError("DataLoader worker (pid 7) is killed by signal: Terminated. ")


@pytest.mark.parametrize(("every", "saved"), [(1, True), (100, False)])
def test_a_step_stopped_by_sigterm_is_not_blamed_on_memory(
    every: int, saved: bool, root: Path
) -> None:
    arguments = ["fit", "--config", str(root / "recipe.yaml")]
    arguments += ["--trainer.callbacks", f"{__name__}.{WorkerTermination.__name__}"]
    answer = said([*arguments, "--last_checkpoint.every_n_steps", str(every)])
    assert answer.status == 128 + signal.SIGTERM
    assert "stopped by SIGTERM" in answer.sentence
    assert ("--ckpt_path last" in answer.sentence) is saved
    assert "memory" not in answer.sentence


EARLY = {
    "an unknown recipe": "--config clipp.yaml",
    "a recipe that is not YAML": "--config ROOT/broken.yaml",
    "an unknown setting": "--config ROOT/recipe.yaml --model.optimizer.lrr 1",
    "an unknown class": "--config ROOT/recipe.yaml --objective NegClip",
    "an unknown argument of a class": "--config ROOT/recipe.yaml --data.batchsize 4",
    "an unknown setting of the trainer": "--config ROOT/recipe.yaml --trainer.max_epoch 4",
    "missing captions": "--config clip.yaml --data_root ROOT",
}


def test_mistakes_in_a_recipe_are_found_before_torch_is_imported(root: Path) -> None:
    (root / "broken.yaml").write_text("model: {a: [\n")
    script = (
        "import sys; from zoo.cli import main; "
        "statuses = [main(['fit', *line.split()]) for line in sys.argv[1:]]; "
        "assert all(statuses), statuses; assert 'torch' not in sys.modules"
    )
    lines = [line.replace("ROOT", str(root)) for line in EARLY.values()]
    answer = subprocess.run(
        [sys.executable, "-c", script, *lines],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(zoo.__file__).parents[1])},
    )
    assert answer.returncode == 0, answer.stderr
    assert len(re.findall("^zoo: ", answer.stderr, re.MULTILINE)) == len(EARLY)


@pytest.mark.parametrize("recipe", sorted(shipped_recipes()))
def test_no_early_check_stops_a_shipped_recipe(recipe: str) -> None:
    assert find_mistake(["fit", "--config", "clip.yaml", "--config", recipe]) is None


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--trainer.tf32", "true"],
        ["--trainer.callbacks+", "my.Callback"],
        ["--config", '{"trainer": {"tf32": true}}'],
    ],
)
def test_settings_of_the_trainer_and_no_settings_pass_the_early_checks(words: list[str]) -> None:
    assert find_mistake(["fit", *words]) is None


def test_flags_that_replace_classes_of_recipes_take_the_settings_of_the_new_ones() -> None:
    recipe = ["validate", "--config", "clip.yaml"]
    assert find_mistake([*recipe, "--benchmarks", "aro", "--data.cache.tokens", "true"]) is None
    assert find_mistake([*recipe, "--model", "fsc_clip", "--model.head.layers", "2"]) is None


def test_captions_of_a_reader_that_a_later_recipe_replaced_are_not_looked_for(
    tmp_path: Path,
) -> None:
    asked = ["fit", "--config", "clip.yaml", "--data_root", str(tmp_path)]
    with pytest.raises(ZooError, match=r"coco/dataset_coco\.json, do not exist"):
        find_mistake(asked)
    other = (
        '{"data": {"init_args": {"train": {"class_path": "Scenes", "init_args": {"folder": "s"}}}}}'
    )
    assert find_mistake([*asked, "--config", other]) is None


def test_classes_of_users_are_left_to_the_parser() -> None:
    recipe = '{"model": {"objective": {"class_path": "my.Loss", "init_args": {"a": 1}}}}'
    assert find_mistake(["fit", "--config", "clip.yaml", "--config", recipe]) is None
    assert Cosine.__name__ in str(find_mistake(["fit", "--head", "Cosin"]))
