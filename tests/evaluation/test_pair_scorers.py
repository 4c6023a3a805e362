"""Scorers of transformers score each pair as its model does alone, and run no code of a folder."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers
from huggingface_hub import constants
from PIL import Image
from safetensors.torch import load_file

import zoo
from tests.support.hub_server import COMMIT, serve_hub
from tests.support.tiny_scorers import MAKERS, blip, qwen
from zoo.backbones.hub import _files_to_fetch
from zoo.checkpoints.model_sources import resolve_model
from zoo.cli import main
from zoo.errors import ZooError
from zoo.evaluation.pair_scorers import BlipITM, MultimodalEmbedder, VQAScore, load_pair_scorer

TEXTS = ["a red square", "a blue circle above a green triangle", "green"]
QUESTION = 'Does this figure show "{}"? Please answer yes or no.'


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("scorers")
    return {name: make(root / name) for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def images() -> list[Image.Image]:
    random = np.random.default_rng(0)
    sizes = ((40, 40, 3), (40, 72, 3), (64, 32, 3))
    return [Image.fromarray(random.integers(0, 255, s, dtype=np.uint8)) for s in sizes]


Loop = Callable[[Image.Image, str], float]


def match_probability(folder: Path) -> Loop:
    """What the forward pass of transformers gives a single pair, to which it adds no padding."""
    model = transformers.BlipForImageTextRetrieval.from_pretrained(folder).eval()
    processor = transformers.AutoProcessor.from_pretrained(folder)

    def score(image: Image.Image, text: str) -> float:
        with torch.no_grad():
            logits = model(**processor(image, text, return_tensors="pt")).itm_score
        return float(logits.softmax(-1)[0, 1])

    return score


def first_token_probability(folder: Path) -> Loop:
    """The probability of Yes when transformers generates the first token of an answer."""
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder).eval()
    processor = transformers.AutoProcessor.from_pretrained(folder)
    shown = "<|vision_start|><|image_pad|><|vision_end|>"
    prompt = {
        "instructblip": "QUESTION",
        "llava": " USER : <image> QUESTION ASSISTANT :",
        "qwen2_5_vl": f"<|im_start|> user {shown} QUESTION <|im_end|> <|im_start|> assistant",
    }[folder.name]

    def score(image: Image.Image, text: str) -> float:
        asked = prompt.replace("QUESTION", QUESTION.replace("{}", text))
        out = model.generate(
            **processor(images=image, text=asked, return_tensors="pt"),
            **{"max_new_tokens": 1, "do_sample": False, "num_beams": 1},
            **{"output_logits": True, "return_dict_in_generate": True},
        )
        yes = processor.tokenizer.convert_tokens_to_ids("Yes")
        return float(out.logits[0].softmax(-1)[0, yes])

    return score


def last_token_cosine(folder: Path) -> Loop:
    """The cosine of the states of two prompts that are read one by one."""
    model = transformers.Qwen3VLForConditionalGeneration.from_pretrained(folder).model.eval()
    processor = transformers.AutoProcessor.from_pretrained(folder)
    start = "<|im_start|> system Represent the user's input. <|im_end|> <|im_start|> user "
    end = " <|im_end|> <|im_start|> assistant"
    shown = f"{start}<|vision_start|><|image_pad|><|vision_end|>{end}"

    def score(image: Image.Image, text: str) -> float:
        prompts = (
            processor(images=image, text=shown, return_tensors="pt"),
            processor(text=f"{start}{text}{end}", return_tensors="pt"),
        )
        with torch.no_grad():
            vectors = [model(**inputs).last_hidden_state[0, -1] for inputs in prompts]
        return float(F.cosine_similarity(*vectors, dim=0))

    return score


LOOPS: dict[str, tuple[type, Callable[[Path], Loop]]] = {
    "blip": (BlipITM, match_probability),
    "instructblip": (VQAScore, first_token_probability),
    "llava": (VQAScore, first_token_probability),
    "qwen2_5_vl": (VQAScore, first_token_probability),
    "qwen3_vl_embedding": (MultimodalEmbedder, last_token_cosine),
}


@pytest.mark.parametrize("name", LOOPS)
def test_every_pair_is_scored_as_it_is_alone(
    name: str, folders: dict[str, Path], images: list[Image.Image]
) -> None:
    kind, build_loop = LOOPS[name]
    score_alone = build_loop(folders[name])
    scorer = zoo.load(folders[name], device="cpu")
    assert isinstance(scorer, kind)
    scorer.batch_size = 4
    if isinstance(scorer, MultimodalEmbedder):  # the limits of the folder's processor
        scorer.min_pixels, scorer.max_pixels = 32**2, 64**2
    scores = scorer.score(images, TEXTS)
    assert scores.shape == (3, 3)
    for i, image in enumerate(images):
        for j, text in enumerate(TEXTS):
            expected = score_alone(image, text)
            actual = scores[i, j] if kind is MultimodalEmbedder else np.exp(scores[i, j])
            assert actual == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert np.ptp(scores, axis=0).min() > 1e-4  # images count
    assert np.ptp(scores, axis=1).min() > 1e-4  # texts count


@pytest.mark.parametrize("name", LOOPS)
def test_no_more_than_a_batch_is_computed_at_once_and_without_gradients(
    name: str, folders: dict[str, Path], images: list[Image.Image]
) -> None:
    scorer = zoo.load(folders[name], device="cpu")
    scorer.batch_size, rows = 2, []
    part = scorer.model.text_encoder if name == "blip" else scorer.model
    part.register_forward_hook(
        lambda _, args, kwargs, out: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    scorer.score(images, TEXTS)
    assert sum(rows) == (6 if name == "qwen3_vl_embedding" else 9)
    assert max(rows) == 2
    assert not scorer.model.training
    assert not any(weight.requires_grad for weight in scorer.model.parameters())


def test_an_embedder_encodes_a_text_once_over_several_calls(
    folders: dict[str, Path], images: list[Image.Image]
) -> None:
    embedder = zoo.load(folders["qwen3_vl_embedding"], device="cpu")
    rows = list[int]()
    embedder.model.register_forward_hook(
        lambda _, args, kwargs, out: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    first = embedder.score(images[:1], TEXTS)
    np.testing.assert_allclose(embedder.score(images[:1], TEXTS[::-1]), first[:, ::-1])
    assert sum(rows) == 1 + 3 + 1


@pytest.mark.parametrize("name", ["blip", "qwen3_vl_embedding"])
def test_validate_takes_a_folder(
    name: str,
    folders: dict[str, Path],
    images: list[Image.Image],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    for i, image in enumerate(images):
        image.save(f"{i}.png")
    rows = [f"{i}.png,{TEXTS[i]},{TEXTS[(i + 1) % 3]}" for i in range(3)]
    Path("pairs.csv").write_text("\n".join(["image,caption,foil", *rows]))
    words = ["--benchmarks", "pairs:pairs.csv", "--data_root", ".", "--out", "results"]
    cache = ["--cache", "vectors"] if name == "blip" else []
    assert main(["validate", "--model", str(folders[name]), *words, *cache]) == 0
    assert ("--cache has no effect, since" in caplog.text) == bool(cache)
    assert not Path("vectors").exists()
    scores = zoo.load(folders[name]).score(images, TEXTS)
    right = [scores[i, i] > scores[i, (i + 1) % 3] for i in range(3)]
    results = json.loads(Path("results/results.json").read_text())
    metric = results["presets"][0]["metrics"][0]
    assert metric["value"] == pytest.approx(100 * np.mean(right))
    model = results["model"]
    assert model["model"] == str(folders[name])
    assert model["scorer"] == LOOPS[name][0].__name__
    assert model.get("question") == (QUESTION if name == "qwen2_5_vl" else None)
    assert zoo.evaluate(str(folders[name]), "pairs:pairs.csv").header["model"] == model


def test_parts_of_a_model_next_to_a_scorer_are_refused(
    folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--model", str(folders["blip"]), "--head", "Linear", "--benchmarks", "winoground"]
    assert main(["validate", *words]) == 1
    assert "scores pairs by itself: leave out --head" in capsys.readouterr().err


def test_a_scorer_is_not_exported_or_put_into_mteb(folders: dict[str, Path]) -> None:
    with pytest.raises(ZooError, match="has no towers: it can only be evaluated"):
        resolve_model(folders["blip"]).load()
    with pytest.raises(ZooError, match="only scores pairs"):
        zoo.as_mteb(str(folders["blip"]))


def test_a_name_of_the_catalogue_brings_question_and_answer(folders: dict[str, Path]) -> None:
    source = resolve_model(f"vqascore_instructblip_flant5_xl:{folders['instructblip']}")
    assert source.pair_scorer is not None
    scorer = load_pair_scorer(source.pair_scorer, "cpu")
    assert isinstance(scorer, VQAScore)
    assert scorer.build_prompt("a cat").startswith('Question: Does this figure show "a cat"?')
    assert scorer.answer_id == scorer.processor.tokenizer.convert_tokens_to_ids("yes")


def test_a_yaml_file_chooses_the_scorer(folders: dict[str, Path], tmp_path: Path) -> None:
    """A folder of a Qwen3-VL is asked questions, unless an entry says that it is an embedder."""
    folder = qwen(tmp_path / "qwen", "Qwen3VL")
    entry = "{description: d, paper: p, architecture: a, scorer: MultimodalEmbedder, "
    entry += "arguments: %s, unknown: [activation, file, sha256, licence, trained_on]}"
    (tmp_path / "mine.yaml").write_text(entry % "{instruction: Find it., batch_size: 3}")
    assert isinstance(zoo.load(folder), VQAScore)
    embedder = zoo.load(f"{tmp_path / 'mine.yaml'}:{folder}")
    assert isinstance(embedder, MultimodalEmbedder)
    assert (embedder.instruction, embedder.batch_size) == ("Find it.", 3)
    (tmp_path / "mine.yaml").write_text(entry % "{question: What}")
    with pytest.raises(ZooError, match="sets question, and MultimodalEmbedder takes folder"):
        zoo.load(f"{tmp_path / 'mine.yaml'}:{folder}")


@pytest.fixture
def hub(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    files = {file.name: file.read_bytes() for file in folders["blip"].iterdir()}
    with serve_hub({"lab/blip": files}) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        template = f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        yield


@pytest.mark.usefixtures("hub")
def test_results_name_the_commit_of_the_hub(
    folders: dict[str, Path], images: list[Image.Image]
) -> None:
    scorer = zoo.load("lab/blip")
    assert isinstance(scorer, BlipITM)
    assert scorer.describe()["revision"] == COMMIT
    expected = zoo.load(folders["blip"]).score(images, TEXTS)
    np.testing.assert_array_equal(scorer.score(images, TEXTS), expected)


def test_shards_of_safetensors_are_downloaded_before_pickled_weights() -> None:
    shards = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    settings = ["config.json", "chat_template.jinja", "qformer_tokenizer/tokenizer.json"]
    others = ["pytorch_model.bin", "code.py", "onnx/config.json"]
    assert _files_to_fetch("page", [*others, *shards, *settings]) == [*settings, *shards]


def changed(folder: Path, place: Path, **config: Any) -> Path:
    """A copy of a folder with other settings in config.json."""
    shutil.copytree(folder, place)
    settings = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**settings, **config}))
    return place


def test_code_that_a_configuration_names_is_not_run(
    folders: dict[str, Path], images: list[Image.Image], tmp_path: Path
) -> None:
    names = {"auto_map": {"AutoModel": "code.Model"}, "attn_implementation": "someone/kernel"}
    folder = changed(folders["llava"], tmp_path / "llava", **names)
    (folder / "code.py").write_text("raise SystemExit('it ran')")
    scores = zoo.load(folder).score(images, TEXTS)
    np.testing.assert_array_equal(scores, zoo.load(folders["llava"]).score(images, TEXTS))


def test_other_files_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    remote = changed(folders["blip"], tmp_path / "remote", trust_remote_code=True)
    with pytest.raises(ZooError, match="lets a tokenizer or model run custom code"):
        zoo.load(remote)
    adapters = changed(folders["blip"], tmp_path / "adapters")
    (adapters / "adapter_config.json").write_text("{}")
    with pytest.raises(ZooError, match="has adapters of another model"):
        zoo.load(adapters)
    empty = changed(folders["blip"], tmp_path / "empty")
    (empty / "model.safetensors").unlink()
    with pytest.raises(ZooError, match=r"it needs safetensors or pytorch_model\.bin"):
        zoo.load(empty)
    torch.save({"weight": Path("code")}, empty / "pytorch_model.bin")
    with pytest.raises(ZooError, match="cannot be loaded as BlipForImageTextRetrieval"):
        zoo.load(empty)


def test_pickled_weights_give_the_same_scores(
    folders: dict[str, Path], images: list[Image.Image], tmp_path: Path
) -> None:
    pickled = changed(folders["blip"], tmp_path / "pickled")
    torch.save(load_file(pickled / "model.safetensors"), pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    scores = zoo.load(pickled).score(images, TEXTS)
    np.testing.assert_array_equal(scores, zoo.load(folders["blip"]).score(images, TEXTS))


def test_a_captioner_is_not_taken_for_a_model_with_a_matching_head(tmp_path: Path) -> None:
    folder = blip(tmp_path / "blip")
    config = transformers.BlipConfig.from_pretrained(folder)
    transformers.BlipForConditionalGeneration(config).save_pretrained(folder)
    with pytest.raises(ZooError, match=r"is not a BlipForImageTextRetrieval: its files have no"):
        zoo.load(folder)


def test_a_question_without_a_place_for_the_text_is_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(ZooError, match="has no place for the text"):
        VQAScore(folders["llava"], question="Is it so?")
    with pytest.raises(ZooError, match="does not have the answer 'Perhaps'"):
        VQAScore(folders["llava"], answer="Perhaps")


def test_a_missing_transformers_is_one_sentence(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ZooError, match=r"^transformers is not installed: pip install .*\[hf\]'$"):
        zoo.load(folders["blip"])
