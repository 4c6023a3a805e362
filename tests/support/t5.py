"""A small T5 1.1 with random weights, and a tokenizer of words, in a folder as the hub has them."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn

WORDS = ["a", "one", "two", "dog", "cat", "red", "blue", "square", "disc", "on", "above", "the"]
WIDTH = 8


def write_small_t5(folder: Path, spare_ids: int = 2) -> Path:
    """Writes model and tokenizer, whose ids 0 to 2 are padding, end and unknown words."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    ids = {word: i for i, word in enumerate(["<pad>", "</s>", "<unk>", *WORDS])}
    inner: Any = Tokenizer(WordLevel(ids, unk_token="<unk>"))
    inner.normalizer, inner.pre_tokenizer = Lowercase(), Whitespace()
    folder.mkdir(parents=True, exist_ok=True)
    inner.post_processor = TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
    PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    state = torch.random.get_rng_state()
    torch.manual_seed(5)
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(ids) + spare_ids,
            d_model=WIDTH,
            d_kv=4,
            d_ff=12,
            num_layers=2,
            num_heads=2,
            feed_forward_proj="gated-gelu",
            decoder_start_token_id=0,
        )
    )
    model.lm_head.weight = nn.Parameter(torch.randn_like(model.lm_head.weight))  # T5 1.1's own
    torch.random.set_rng_state(state)
    # not by `save_pretrained`, which writes on one rank only
    tensors = {n: t.clone() for n, t in model.state_dict().items() if "embed_tokens" not in n}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    config = model.config.to_dict() | {"tie_word_embeddings": False}
    config.pop("scale_decoder_outputs", None)  # not in the published configurations
    (folder / "config.json").write_text(json.dumps(config))
    return folder
