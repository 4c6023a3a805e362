"""Tokenizer: texts to token ids, and where each text ends.

In shapes, n is the number of texts and L the context length.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Any

import torch
from torch import Tensor

from zoo.backbones.factory import merges_file, silence_open_clip
from zoo.errors import ZooError, import_optional
from zoo.support.class_paths import REMOTE_CODE

# from texts to their ids, lengths and hashes
Tokenize = Callable[[Sequence[str]], tuple[Tensor, Tensor, Tensor]]


@dataclass(frozen=True)
class TextEnd:
    """How the texts of a tower end.

    If neither argument is given, a text ends at its largest id, which is CLIP's end of text.

    Args:
        token: The id of the end token.
        padding: The id of the padding, which follows the end.
    """

    token: int | None = None
    padding: int | None = None

    def lengths(self, ids: Tensor) -> Tensor:
        """Returns how many tokens each text has, its end token included, `[n]`.

        Args:
            ids: Token ids, `[n, L]`.
        """
        if self.padding is not None:
            real = ids != self.padding
            return ids.shape[1] - real.flip(-1).int().argmax(-1)
        if self.token is not None:
            return (ids == self.token).int().argmax(-1) + 1
        return ids.argmax(-1) + 1


class Tokenizer:
    """Tokenizes texts for one tower. It is small when pickled, for workers of a data loader.

    Args:
        inner: open_clip's tokenizer.
        context: The longest text, in tokens.
        end: Where texts end.
    """

    def __init__(self, inner: Any, context: int, end: TextEnd) -> None:
        self.inner, self.context, self.end = inner, context, end

    def certainly_fits(self, text: str) -> bool:
        """Returns whether a text is too short to be truncated, without tokenizing it.

        open_clip's tokenizer makes at most one token per character of ASCII text, and two more. In
        other text, cleaning can add characters. Nothing is known of other tokenizers.

        Args:
            text: The text.
        """
        from open_clip.tokenizer import SimpleTokenizer

        return (
            len(text) + 2 <= self.context
            and text.isascii()
            and "&" not in text  # may begin an entity of HTML
            and type(self.inner) is SimpleTokenizer
        )

    def __call__(self, texts: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the token ids of texts, where they end, and their hashes.

        Returns:
            Ids `[n, L]`; lengths `[n]`, up to and including the end token; hashes `[n]` of the ids,
            which are the same in every process.
        """
        ids = self._ids(texts)
        hashes = [
            int.from_bytes(blake2b(row.tobytes(), digest_size=8).digest(), "little", signed=True)
            for row in ids.numpy()
        ]
        return ids, self.end.lengths(ids), torch.tensor(hashes, dtype=torch.long)

    def decode_tokens(self, ids: Sequence[int]) -> list[str]:
        """Returns the text of each token id, without surrounding spaces.

        Args:
            ids: Token ids.
        """
        # Hugging Face's tokenizers are inside open_clip's
        decode = getattr(self.inner, "tokenizer", self.inner).decode
        return [str(decode([token])).strip() for token in ids]

    def _ids(self, texts: Sequence[str]) -> Tensor:
        if not texts:
            return torch.zeros(0, self.context, dtype=torch.long)
        ids: Tensor = self.inner(list(texts), context_length=self.context)
        return ids


def caching_tokenizer(tokenizer: Tokenize) -> Tokenize:
    """Returns a tokenizer that caches the ids of lists of texts."""
    cache: dict[tuple[str, ...], tuple[Tensor, Tensor, Tensor]] = {}

    def tokenize(texts: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        key = tuple(texts)
        if key not in cache:
            cache[key] = tokenizer(texts)
        return cache[key]

    return tokenize


@cache
def _tokenizer_of_clip(name: str, context: int) -> Any:
    """Returns open_clip's own tokenizer; models share it, since its vocabulary takes 0.2 s."""
    import open_clip

    return open_clip.get_tokenizer(name, context)


def build_tokenizer(
    name: str,
    text_config: dict[str, Any],
    folder: str | None,
    vocab_size: int,
    context: int,
    end: TextEnd,
) -> Tokenizer:
    """Builds the tokenizer of a text tower.

    Args:
        name: A known architecture.
        text_config: Its `text_cfg`.
        folder: The folder of a Hugging Face tokenizer in place of the architecture's own.
        vocab_size: How many ids the tower has.
        context: The longest text, in tokens.
        end: Where texts end.

    Raises:
        ZooError: The tokenizer cannot be loaded, or has more ids than the tower.
    """
    import open_clip
    from open_clip.tokenizer import HFTokenizer

    if folder is not None or text_config.get("hf_tokenizer_name"):
        import_optional("transformers", "hf")
    # if it is not set, transformers asks the user whether to run a tokenizer's code
    settings = {REMOTE_CODE: False, **text_config.get("tokenizer_kwargs", {})}
    own_settings = settings if text_config.get("hf_tokenizer_name") else {}
    merges = merges_file(name)
    if merges.is_file():  # a cut vocabulary next to the architecture
        own_settings = {"bpe_path": str(merges)}
    try:
        with silence_open_clip():
            if folder is not None:
                inner = HFTokenizer(folder, context, **settings)
            elif own_settings or "tokenizer_kwargs" in text_config or ":" in name:
                inner = open_clip.get_tokenizer(name, context, **own_settings)
            else:
                inner = _tokenizer_of_clip(name, context)
    except Exception as error:
        source = (
            f"the tokenizer of {name} ({text_config.get('hf_tokenizer_name')})"
            if folder is None
            else f"tokenizer={folder!r}"
        )
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ZooError(
            f"{source} cannot be loaded ({reason}): give backbone.text.tokenizer the folder of a "
            "saved Hugging Face tokenizer"
        ) from error
    size = len(inner.tokenizer) if hasattr(inner, "tokenizer") else inner.vocab_size
    if size > vocab_size:
        raise ZooError(
            f"the tokenizer has {size} ids and the text tower of {name} {vocab_size}: set "
            "backbone.text.tokenizer to the tower's own"
        )
    return Tokenizer(inner, context, end)
