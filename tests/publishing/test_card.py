"""The model card: what the hub reads of it, and what a reader can do with it."""

import os
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard
from transformers import CLIPModel

import zoo
from tests.backbones.test_towers import small
from tests.publishing.test_export import changed, save
from tests.support.made import draw
from zoo.backbones.backbone import Backbone
from zoo.backbones.catalogue.entry import entries
from zoo.checkpoints.load import load_checkpoint
from zoo.cli import main
from zoo.heads import Cosine, Head, MaxSim
from zoo.heads.linear import Linear
from zoo.module import ZooModule
from zoo.publishing.card import CARD, _base_repository_on_hub, _shorten_paths, write_card
from zoo.publishing.export import export
from zoo.results.report import Results


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    module = ZooModule(Backbone("zoo-tiny"), head=Linear())
    module.origin = {
        "data": {
            "train": {
                "reader": {
                    "class_path": "zoo.sources.readers.CsvTable",
                    "init_args": {"file": "/home/someone/my data/captions.tsv"},
                },
                "files": {"captions.tsv": "ab" * 32},
                "images": 3,
                "captions": 1200,
            },
            "joined": None,
            "negatives": [{"class_path": "zoo.negatives.NegCLIPSwap", "init_args": {}}],
        },
        "trained_images": ["a", "b", "c"],
    }
    return save(module, tmp_path_factory.mktemp("run") / "last.ckpt")


@pytest.fixture(scope="module")
def measured(checkpoint: Path, made_root: Path) -> Results:
    out = checkpoint.parent / "measured"
    return zoo.evaluate(str(checkpoint), f"pairs:{made_root / 'pairs.csv'}", made_root, out=out)


@pytest.fixture(scope="module")
def exported(checkpoint: Path, measured: Results) -> Path:
    folder = checkpoint.parent / "bound"
    told = ["--results", str(checkpoint.parent / "measured"), "--licence", "MIT"]
    assert main(["export", str(checkpoint), str(folder), *told]) == 0
    return folder


def test_the_hub_reads_every_figure_with_its_interval_and_coverage(
    exported: Path, measured: Results
) -> None:
    said = ModelCard.load(exported / CARD).data
    assert (said.license, said.library_name, said.model_name) == ("mit", "open_clip", "bound")
    assert {"zoo", "CLIP"} <= set(said.tags)
    assert [
        (found.dataset_type, found.dataset_config, found.metric_type, found.metric_value)
        for found in said.eval_results
    ] == [(m.benchmark, m.subset, m.metric, round(m.value or 0, 2)) for m in measured.metrics]
    (metric,) = measured.metrics
    assert said.eval_results[0].metric_args == {
        "interval_95": [round(metric.low or 0, 2), round(metric.high or 0, 2)],
        "scored": 12,
        "of": 12,
    }


def test_a_reader_is_told_data_recipe_licence_and_figures_and_no_folder_of_this_machine(
    exported: Path, measured: Results, made_root: Path
) -> None:
    text = (exported / CARD).read_text()
    assert measured.to_markdown() in text
    assert "Captions of 3 images" in text
    assert "| captions | CsvTable(file=captions.tsv) |" in text
    assert "| captions, files | captions.tsv (abababababab) |" in text
    assert "| captions, counts | images 3, captions 1,200 |" in text
    assert "| negatives | NegCLIPSwap |" in text
    assert "joined" not in text, "what was not used is left out"
    assert "class_path: zoo.heads.Linear" in text
    assert "The head Linear scores differently, and only zoo loads it." in text
    assert text.endswith("## Licence\n\nMIT.\n")
    for folder in ("/home/someone", str(exported.parent), str(made_root)):
        assert folder not in text


@pytest.mark.parametrize("form", ["open_clip", "hf"])
def test_the_commands_of_the_card_load_the_model_that_was_exported(
    form: str,
    checkpoint: Path,
    exported: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = exported
    if form == "hf":
        out = tmp_path / "out"
        assert main(["export", str(checkpoint), str(out), "--format", form]) == 0
    monkeypatch.chdir(tmp_path)
    draw("red", "square", "blue", "circle").save("horse.jpg")
    ran: dict = {}
    text = (out / CARD).read_text()
    blocks = text.split("```python\n")[1:]
    assert len(blocks) == 2
    for block in blocks:
        code = block.partition("```")[0].replace("FOLDER", str(out))
        exec(code, scope := {})
        ran |= {("zoo" if "zoo" in scope else form): scope["model"]}
    np.testing.assert_array_equal(ran["zoo"].encode_texts(["x"]), zoo.load(out).encode_texts(["x"]))
    if form == "open_clip":
        told = text.split("```bash\n")[1].partition("```")[0].replace("FOLDER", str(out))
        assert main(shlex.split(told)[1:]) == 0
        assert CLIPModel.from_pretrained(f"{out}_HF").logit_scale.item() > 0
    theirs = ran[form].state_dict()
    assert float(theirs["logit_scale"]) == pytest.approx(
        float(ran["zoo"].module.backbone.model.logit_scale)
    )


def test_results_of_other_weights_are_refused_and_nothing_is_written(
    measured: Results, checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = save(ZooModule(Backbone("zoo-tiny")), tmp_path / "other.ckpt")
    run = checkpoint.parent / "measured"
    assert main(["export", str(other), str(tmp_path / "out"), "--results", str(run)]) == 1
    said = capsys.readouterr().err
    assert f"zoo: {run} was not measured with the weights of {other}: measure them by" in said
    assert list(tmp_path.iterdir()) == [other]


def test_results_of_the_exported_folder_stand_on_the_card_of_its_next_export(
    exported: Path, made_root: Path, tmp_path: Path
) -> None:
    pairs = f"pairs:{made_root / 'pairs.csv'}"
    zoo.evaluate(str(exported), pairs, made_root, out=tmp_path / "measured")
    again = ["export", str(exported), str(tmp_path / "out"), "--results"]
    assert main([*again, str(tmp_path / "measured")]) == 0
    assert ModelCard.load(tmp_path / "out" / CARD).data.eval_results


def test_a_published_model_is_told_as_its_entry_says(checkpoint: Path, tmp_path: Path) -> None:
    entry = next(e for e in entries().values() if e.licence == "MIT" and e.trained_on)
    write_card(tmp_path, "theirs", "open_clip", load_checkpoint(checkpoint), (), None, entry)
    text = (tmp_path / CARD).read_text()
    for said in (
        entry.description,
        entry.paper,
        "license: mit",
        "No results were given.",
    ):
        assert said in text


def test_a_card_without_a_licence_says_so_and_names_none_to_the_hub(
    checkpoint: Path, tmp_path: Path
) -> None:
    write_card(tmp_path, "bare", "open_clip", load_checkpoint(checkpoint))
    text = (tmp_path / CARD).read_text()
    assert "license:" not in text
    assert "Not given." in text


def test_a_licence_that_is_no_name_of_the_hub_is_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["export", "no.ckpt", str(tmp_path / "out"), "--licence", "CC BY 4.0"]
    assert main(told) == 1
    assert "'CC BY 4.0' is not a licence name of the hub: give one" in capsys.readouterr().err


def test_the_weights_that_training_started_from_are_told_by_every_export_of_it(
    checkpoint: Path, tmp_path: Path
) -> None:
    started = changed(
        checkpoint,
        tmp_path / "started.ckpt",
        lambda held: held["hyper_parameters"]["backbone"]["init_args"].update(
            pretrained="/home/someone/base.pt"
        ),
    )
    export(started, tmp_path / "first")
    export(tmp_path / "first", tmp_path / "again")
    for folder in ("first", "again"):
        text = (tmp_path / folder / CARD).read_text()
        assert "| base | base.pt |" in text
        assert "    pretrained: base.pt" in text
        assert "It depends on those of the base (base.pt) and that" in text


def test_weights_that_nobody_trained_are_told_as_random(tmp_path: Path) -> None:
    write_card(tmp_path, "bare", "open_clip", ZooModule(Backbone("zoo-tiny"), head=Linear()))
    assert "zoo-tiny, with random weights, with the head Linear." in (tmp_path / CARD).read_text()


@pytest.mark.parametrize(("head", "own"), [(Cosine, False), (MaxSim, True)])
def test_only_the_cosine_is_told_as_what_other_libraries_score(
    head: type[Head], own: bool, tmp_path: Path
) -> None:
    write_card(tmp_path, "bare", "open_clip", ZooModule(Backbone("zoo-tiny"), head=head()))
    said = f"The head {head.__name__} scores differently" in (tmp_path / CARD).read_text()
    assert said is own


def test_a_card_loads_no_tokenizer_where_none_could_be_written(tmp_path: Path) -> None:
    backbone = Backbone(small(tmp_path, "few words", {}, {"vocab_size": 1000}, {}))
    export(save(ZooModule(backbone), tmp_path / "last.ckpt"), tmp_path / "out", "hf")
    text = (tmp_path / "out" / CARD).read_text()
    assert "tokenizer is not CLIP's and is not part of this folder" in text
    code = text.split("```python\n")[1].partition("```")[0]
    exec(code.replace("FOLDER", str(tmp_path / "out")), scope := {})
    assert scope["model"].config.text_config.vocab_size == 1000
    assert scope["processor"].crop_size["height"] == backbone.image_size[0]


def test_the_base_is_told_by_its_place_on_the_hub_where_open_clip_knows_it() -> None:
    base = {"name": "ViT-B-32", "pretrained": "openai"}
    assert _base_repository_on_hub(base) == "timm/vit_base_patch32_clip_224.openai"
    assert _base_repository_on_hub({"name": "ViT-B-32", "pretrained": "/a/file.pt"}) is None
    assert _base_repository_on_hub({"name": "zoo-tiny", "pretrained": None}) is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("/home/a b/c.csv", "c.csv"),
        ("pretrained, /home/me/last.ckpt", "pretrained, last.ckpt"),
        ("ViT-B/32 at https://there/is/it", "ViT-B/32 at https://there/is/it"),
        ({"files": ["~/x/y.tsv", 3]}, {"files": ["y.tsv", 3]}),
    ],
)
def test_paths_are_told_without_their_folders(said: object, told: object) -> None:
    assert _shorten_paths(said) == told


def test_others_may_read_the_card(exported: Path) -> None:
    assert os.stat(exported / CARD).st_mode & 0o777 == 0o644


def test_a_model_that_zoo_did_not_train_has_no_recipe_and_says_what_it_was_trained_on(
    tmp_path: Path,
) -> None:
    backbone = Backbone("zoo-tiny")
    torch.save(backbone.model.state_dict(), tmp_path / "theirs.pt")
    (tmp_path / "theirs.yaml").write_text(
        "description: somebody's model\npaper: nobody\narchitecture: zoo-tiny\nactivation: gelu\n"
        "file: theirs.pt\nlicence: MIT\ntrained_on: twelve drawings\nunknown: [sha256]\n"
    )
    out = tmp_path / "out"
    named = f"{tmp_path / 'theirs.yaml'}:{tmp_path / 'theirs.pt'}"
    assert main(["export", named, str(out), "--licence", "mit"]) == 0
    text = (out / CARD).read_text()
    assert "## Training data\n\ntwelve drawings" in text
    assert "somebody's model (nobody)" in text
    for of_training in ("## Recipe", "objective", "optimizer", "- CLIP\n", "does not say"):
        assert of_training not in text


def test_a_model_that_zoo_trained_has_its_recipe(exported: Path) -> None:
    text = (exported / CARD).read_text()
    assert "## Recipe\n\nFile names are shown without" in text
    assert "| objective | CLIP |" in text
