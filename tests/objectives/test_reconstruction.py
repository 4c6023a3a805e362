"""READ-CLIP's reconstruction by a frozen decoder, as loops, in training and in checkpoints."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.objectives.loops import average, zero
from tests.support.helpers import (
    SHAPES,
    Case,
    attached,
    random_case,
    random_pooled,
    random_tokens,
)
from tests.support.runs import losses, variant
from tests.support.t5 import WIDTH, WORDS, write_small_t5
from zoo.backbones.backbone import Backbone
from zoo.batch import Batch, Encoded
from zoo.checkpoints.load import load_checkpoint
from zoo.cli import main
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.module import ZooModule
from zoo.objectives.caption_decoder import CaptionDecoder
from zoo.objectives.read_clip import READCLIP, TOKENS
from zoo.scores import Scores


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_t5(tmp_path_factory.mktemp("t5"))


def built(t5: Path, **arguments: Any) -> READCLIP:
    torch.manual_seed(0)
    objective = READCLIP(**{"lambda_recon": 0.3, "decoder": str(t5)} | arguments)
    objective.attach(SHAPES, attached(Cosine()), trains=True)
    objective.decoder.model.double()
    return objective.double()


def raw_texts(case: Case) -> tuple[str, ...]:
    """Returns texts of 1 to 5 words."""
    return tuple(
        " ".join(WORDS[(7 * t + 3 * n) % len(WORDS)] for n in range(1 + t % 5))
        for t in range(case.n_texts)
    )


def batch_of(case: Case, seed: int, texts: tuple[str, ...]) -> tuple[Batch, Tensor, Tensor]:
    """Returns the batch, its text tokens, and which of them are real."""
    tokens, mask = random_tokens(seed, case.n_texts, TOKENS, image=False)
    encoded = Encoded(random_pooled(seed, case.n_texts), {TOKENS: tokens}, {TOKENS: mask})
    batch = case.batch(Encoded(random_pooled(seed + 1, 6)), encoded)
    return Batch(**vars(batch) | {"raw_texts": texts}), tokens, mask


def reference(t5: Path) -> Any:
    """Returns the whole T5 of a folder, read without `from_pretrained`."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(**json.loads((t5 / "config.json").read_text()))
    model: Any = T5ForConditionalGeneration(config).double().eval()
    state = load_file(t5 / "model.safetensors")
    model.lm_head.weight = torch.nn.Parameter(state["lm_head.weight"].double())
    model.load_state_dict(state, strict=False)
    return model


def reconstruction(
    case: Case, model: Any, w: Tensor, tokens: Tensor, mask: Tensor, texts: tuple[str, ...]
) -> Tensor:
    """Returns the mean of L_recon,k over k; each word is predicted by a pass of its own."""
    assert case.positives is not None
    total = zero()
    for column in case.positives.T.tolist():
        surprises = []
        for caption, target in zip(case.captions.tolist(), column, strict=True):
            if caption < 0 or target < 0:
                continue
            end = max(position for position, real in enumerate(mask[caption]) if real)
            state = sum(w[:, d] * tokens[caption, end, d] for d in range(w.shape[1]))
            before = [0]
            for word in [*(3 + WORDS.index(word) for word in texts[target].split()), 1]:
                logits = model(
                    encoder_outputs=(state[None, None],), decoder_input_ids=torch.tensor([before])
                ).logits[0, -1]
                surprises.append(logits.exp().sum().log() - logits[word])
                before.append(word)
        total = total + average(surprises)
    return total / case.positives.shape[1]


@pytest.mark.parametrize("seed", range(2))
def test_the_reconstruction_equals_its_formula_and_reaches_text_tokens_and_map(
    seed: int, t5: Path
) -> None:
    objective, case = built(t5), random_case(seed)
    texts = raw_texts(case)
    batch, tokens, mask = batch_of(case, seed, texts)
    parts = objective(batch, Scores(attached(Cosine()), batch)).parts
    assert objective.to_decoder is not None
    w = objective.to_decoder.weight
    expected = reconstruction(case, reference(t5), w, tokens, mask, texts)
    torch.testing.assert_close(parts["reconstruction"], 0.3 * expected, rtol=1e-6, atol=0)
    ours, loops = (
        torch.autograd.grad(loss, [tokens, w]) for loss in (parts["reconstruction"], expected)
    )
    for gradient, formula in zip(ours, loops, strict=True):
        assert formula.any()
        torch.testing.assert_close(
            gradient, 0.3 * formula, rtol=1e-5, atol=1e-6
        )  # T5's softmax is fp32


def test_the_decoder_is_frozen_without_dropout_and_no_part_of_the_objective(t5: Path) -> None:
    objective = built(t5).train()
    batch, *_ = batch_of(case := random_case(0), 0, raw_texts(case))
    objective(batch, Scores(attached(Cosine()), batch)).total.backward()
    model = objective.decoder.model
    assert not any(part.training for part in model.modules())
    assert all(p.grad is None and not p.requires_grad for p in model.parameters())
    assert not list(model.base_model.encoder.parameters())
    assert set(objective.state_dict()) == {"to_decoder.weight"}
    assert objective.to_decoder is not None
    assert objective.to_decoder.weight.grad is not None


def test_without_weight_no_language_model_is_read() -> None:
    objective = READCLIP(decoder="no/such_model")
    objective.attach(SHAPES, attached(Cosine()), trains=True)
    assert objective.to_decoder is None
    assert not objective.needs.text_keys


def test_a_batch_without_any_paraphrase_has_a_finite_gradient_of_zero(t5: Path) -> None:
    objective, case = built(t5), random_case(0)
    assert case.positives is not None
    case.positives.fill_(-1)
    batch, tokens, _ = batch_of(case, 0, raw_texts(case))
    objective(batch, Scores(attached(Cosine()), batch)).parts["reconstruction"].backward()
    assert tokens.grad is not None
    assert not tokens.grad.any()
    assert objective.to_decoder is not None
    assert objective.to_decoder.weight.grad is not None  # DDP waits for it on every rank
    assert not objective.to_decoder.weight.grad.any()


def test_long_texts_are_cut_and_padding_does_not_change_a_text(t5: Path) -> None:
    decoder = CaptionDecoder(str(t5))
    states = torch.randn(2, WIDTH)
    long = "a dog " * 50
    cut, real = decoder.token_losses(states, [long, "a red dog"])
    assert cut.shape == (2, 77)
    alone, _ = decoder.token_losses(states[1:], ["a red dog"])
    torch.testing.assert_close(cut[1][real[1]], alone[0])


def test_a_batch_without_raw_texts_is_refused(t5: Path) -> None:
    objective = built(t5)
    batch, *_ = batch_of(random_case(0), 0, ())
    with pytest.raises(ZooError, match="batch has no raw_texts: use a CaptionDataModule"):
        objective(batch, Scores(attached(Cosine()), batch))


def test_decoders_that_cannot_be_used_are_refused(t5: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ZooError,
        match=r"absent cannot be loaded \(.*\): give model\.objective\.decoder ",
    ):
        built(tmp_path / "absent")
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(ZooError, match="has no encoder and decoder"):
        built(tmp_path)
    few = write_small_t5(tmp_path / "few", spare_ids=-1)
    with pytest.raises(ZooError, match=r"has 15 ids and .*few 14: .*decoder_tokenizer"):
        built(few)


def test_a_checkpoint_has_no_decoder_and_is_loaded_without_it(t5: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(t5, tmp_path / "copy"))
    module = ZooModule(Backbone("zoo-tiny"), READCLIP(lambda_recon=0.1, decoder=str(copy)))
    assert isinstance(module.objective, READCLIP)
    assert module.objective.decoder.model is not None
    checkpoint = {"state_dict": module.state_dict()}
    module.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, tmp_path / "last.ckpt")
    shutil.rmtree(copy)
    loaded = load_checkpoint(tmp_path / "last.ckpt")
    of_objective = {n: p for n, p in loaded.state_dict().items() if n.startswith("objective.")}
    assert list(of_objective) == ["objective.to_decoder.weight"]
    assert torch.equal(
        of_objective["objective.to_decoder.weight"], module.objective.to_decoder.weight
    )
    assert isinstance(loaded.objective, READCLIP)
    with pytest.raises(ZooError, match="cannot be loaded"):
        loaded.objective.decoder.model  # noqa: B018


@pytest.mark.slow
def test_the_reconstruction_falls_and_a_resumed_run_has_the_losses_of_an_uninterrupted_one(
    made_root: Path, tmp_path: Path, t5: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = {"lambda_align": 0.0, "lambda_recon": 1.0, "decoder": str(t5)}
    positives = {"file": str(made_root / "beside.jsonl")}
    recipe = variant(
        tmp_path,
        made_root,
        {"objective": {"class_path": "READCLIP", "init_args": arguments}},
        {"positives": {"class_path": "Paraphrases", "init_args": positives}},
    )
    fit = ["fit", "--config", str(recipe), "--trainer.limit_val_batches", "0"]
    fit += ["--model.optimizer.lr_head", "0.03", "--model.optimizer.decay", "none"]
    fit += ["--trainer.max_epochs", "20", "--trainer.max_steps"]
    assert main([*fit, "14"]) == 0
    assert main([*fit, "9"]) == 0
    assert main([*fit, "14", "--ckpt_path", "last"]) == 0
    whole, resumed = (losses(tmp_path, v, "train/loss_reconstruction") for v in (0, 2))
    assert resumed == {step: loss for step, loss in whole.items() if step >= 9}
    assert sum(whole[s] for s in range(10, 14)) < sum(whole[s] for s in range(4))
