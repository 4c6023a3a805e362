"""CaptionDecoder: the frozen decoder of a pretrained language model, which writes captions.

B texts of at most L tokens, V tokens in the vocabulary.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.errors import ZooError, import_optional

MAX_TOKENS = 77  # the public code of READ-CLIP cuts captions there


class CaptionDecoder:
    """The decoder of an encoder-decoder model of transformers, without its encoder.

    It is not a `torch.nn.Module`, so that checkpoints, optimizers, averages of weights and DDP
    leave it out. It is loaded on first use, has no dropout, and follows the device of its input.

    Args:
        name: The model: a name on the Hugging Face hub or a folder.
        tokenizer: The same for its tokenizer; None for the model's own.
    """

    def __init__(self, name: str, tokenizer: str | None = None) -> None:
        self.name, self.tokenizer_name = name, tokenizer or name

    def __deepcopy__(self, memo: dict[int, Any]) -> "CaptionDecoder":
        return self  # it never changes

    @cached_property
    def width(self) -> int:
        """The width of the states that the decoder attends to, from the model's configuration."""
        with _explained_errors("decoder", self.name):
            config = _load("AutoConfig", self.name)
        if not config.is_encoder_decoder:
            raise ZooError(
                f"{self.name} has no encoder and decoder: set model.objective.decoder to a model "
                "like google/t5-v1_1-large"
            )
        return int(config.hidden_size)

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer; padding follows the text."""
        with _explained_errors("decoder_tokenizer", self.tokenizer_name):
            return _load("AutoTokenizer", self.tokenizer_name, padding_side="right")

    @cached_property
    def model(self) -> Any:
        """The model without its encoder, frozen and in evaluation mode."""
        with _explained_errors("decoder", self.name):
            model = _load("AutoModelForSeq2SeqLM", self.name)
        ids, embeddings = len(self.tokenizer), int(model.config.vocab_size)
        if ids > embeddings:
            raise ZooError(
                f"the tokenizer {self.tokenizer_name} has {ids} ids and {self.name} {embeddings}: "
                "set model.objective.decoder_tokenizer to the tokenizer of this decoder"
            )
        model.base_model.encoder = nn.Module()  # not used
        return model.requires_grad_(False).eval()

    def token_losses(self, states: Tensor, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Computes how well the decoder writes each text, given one vector per text.

        Args:
            states: What the decoder attends to, `[B, width]`.
            texts: The texts, B.

        Returns:
            -log p of each token given the vector and the tokens before it, `[B, L]`, in nats; and
            which tokens are real, including the end of the text, `[B, L]`.
        """
        tokens = self.tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=MAX_TOKENS,
            return_tensors="pt",
        )
        ids, real = (tokens[name].to(states.device) for name in ("input_ids", "attention_mask"))
        model = self.model.to(states.device)
        with _without_fp16(states.device.type):
            output = model(
                encoder_outputs=(states[:, None].to(model.dtype),),
                decoder_input_ids=model.prepare_decoder_input_ids_from_labels(ids),
                use_cache=False,
            )
            losses = F.cross_entropy(output.logits.transpose(1, 2), ids, reduction="none")
        return losses, real.bool()


@contextmanager
def _without_fp16(device: str) -> Iterator[None]:
    """Disables autocast to fp16, in which the states of T5 overflow."""
    is_fp16 = torch.is_autocast_enabled(device) and (
        torch.get_autocast_dtype(device) is torch.float16
    )
    with torch.autocast(device, enabled=False) if is_fp16 else nullcontext():
        yield


def _load(kind: str, name: str, **settings: Any) -> Any:
    """Loads a part of a model without running code from its repository.

    Args:
        kind: A class of transformers.
        name: A name on the hub or a folder.
        settings: Further arguments.
    """
    load: Callable[..., Any] = getattr(import_optional("transformers", "hf"), kind).from_pretrained
    return load(name, trust_remote_code=False, **settings)


@contextmanager
def _explained_errors(argument: str, name: str) -> Iterator[None]:
    """Raises errors of transformers as a ZooError that names the argument."""
    try:
        yield
    except ZooError:
        raise
    except Exception as error:  # it raises many kinds
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ZooError(
            f"{name} cannot be loaded ({reason}): give model.objective.{argument} a name on the "
            "Hugging Face hub or the folder of a saved copy"
        ) from error
