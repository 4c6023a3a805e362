"""Small models of transformers that score pairs, saved to folders as their publishers do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = [
    *("Yes", "yes", "no", "a", "red", "blue", "green", "square", "circle", "triangle", "above"),
    *("below", "Does", "this", "figure", "show", "Please", "answer", "or", "Question", "USER"),
    *("ASSISTANT", "system", "user", "assistant", "Represent", "the", "s", "input"),
    *("?", ".", ":", '"', "'"),
]
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
VISION = ("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>")
SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
TOWER = {**SIZES, "num_attention_heads": 2, "image_size": 32, "patch_size": 8}
TEXT = {**SIZES, "num_attention_heads": 2}
CHAT = (
    "{% for m in messages %}<|im_start|> {{ m.role }} {% for c in m.content %}"
    "{% if c.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c.text }}"
    "{% endif %}{% endfor %} <|im_end|> {% endfor %}"
    "{% if add_generation_prompt %}<|im_start|> assistant{% endif %}"
)
LLAVA_CHAT = (
    "{% for m in messages %} USER : {% for c in m.content %}{% if c.type == 'image' %}<image>"
    "{% else %} {{ c.text }}{% endif %}{% endfor %}{% endfor %} ASSISTANT :"
)


def tokenizer(*special: str, ends: bool = False) -> Any:
    """One token per word, from a fixed list; with `ends` between <s> and </s>."""
    vocabulary = dict.fromkeys([*SPECIAL, *special, *WORDS])
    ids = {word: i for i, word in enumerate(vocabulary)}
    inner = Tokenizer(models.WordLevel(ids, "<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    if ends:
        marks = [("<s>", ids["<s>"]), ("</s>", ids["</s>"])]
        inner.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=marks)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=list(special),
    )


def save(model: Any, processor: Any, folder: Path) -> Path:
    """Saves a model with random weights, whose scores differ clearly, and its processor."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * (0.2 if parameter.ndim > 1 else 0.5))
    model.eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def blip(folder: Path) -> Path:
    tokens = tokenizer(ends=True)
    text = {**TEXT, "vocab_size": len(tokens), "encoder_hidden_size": 32, "pad_token_id": 0}
    text |= {"max_position_embeddings": 12, "bos_token_id": 2, "sep_token_id": 3}
    config = transformers.BlipConfig(
        text_config=text, vision_config=TOWER, image_text_hidden_size=16
    )
    images = transformers.BlipImageProcessor(size={"height": 32, "width": 32})
    processor = transformers.BlipProcessor(images, tokens)
    return save(transformers.BlipForImageTextRetrieval(config), processor, folder)


def instruct_blip(folder: Path) -> Path:
    tokens, query_tokens = tokenizer("<image>", ends=True), tokenizer(ends=True)
    t5 = transformers.T5Config(
        **{"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 2, "num_heads": 2},
        vocab_size=len(tokens),
        decoder_start_token_id=0,
        pad_token_id=0,
    )
    config = transformers.InstructBlipConfig(
        vision_config=TOWER,
        qformer_config={**TEXT, "vocab_size": len(query_tokens), "encoder_hidden_size": 32},
        text_config=t5.to_dict(),
        num_query_tokens=4,
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
    )
    images = transformers.BlipImageProcessor(size={"height": 32, "width": 32})
    processor = transformers.InstructBlipProcessor(images, tokens, query_tokens, num_query_tokens=4)
    return save(transformers.InstructBlipForConditionalGeneration(config), processor, folder)


def llava(folder: Path) -> Path:
    tokens = tokenizer("<image>")
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**TOWER).to_dict(),
        text_config=transformers.LlamaConfig(**TEXT, vocab_size=len(tokens)).to_dict(),
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    processor = transformers.LlavaProcessor(
        images,
        tokens,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=LLAVA_CHAT,
    )
    return save(transformers.LlavaForConditionalGeneration(config), processor, folder)


def qwen(folder: Path, kind: str = "Qwen2_5_VL") -> Path:
    """A Qwen2.5-VL or Qwen3-VL, with images of any size."""
    tokens = tokenizer(*VISION, "<|video_pad|>")
    ids = {name: tokens.convert_tokens_to_ids(f"<|{name}|>") for name in ("image_pad", "video_pad")}
    is_newer = kind == "Qwen3VL"
    vision: dict[str, Any] = {"depth": 2, "hidden_size": 32, "num_heads": 2, "patch_size": 8}
    vision |= {"out_hidden_size": 32, "intermediate_size": 48, "spatial_merge_size": 2}
    vision |= (
        {"deepstack_visual_indexes": [0], "num_position_embeddings": 16}
        if is_newer
        else {"fullatt_block_indexes": [1], "window_size": 32}
    )
    sections = {"mrope_section": [2, 3, 3], "rope_type": "default", "rope_theta": 10_000.0}
    text = {**TEXT, "num_key_value_heads": 2, "vocab_size": len(tokens), "head_dim": 16}
    config = getattr(transformers, f"{kind}Config")(
        vision_config=vision,
        text_config={**text, "rope_parameters": sections},
        image_token_id=ids["image_pad"],
        video_token_id=ids["video_pad"],
        vision_start_token_id=tokens.convert_tokens_to_ids("<|vision_start|>"),
        vision_end_token_id=tokens.convert_tokens_to_ids("<|vision_end|>"),
    )
    patches = {"patch_size": 8, "merge_size": 2}
    processor = getattr(transformers, f"{kind}Processor")(
        transformers.Qwen2VLImageProcessor(
            size={"shortest_edge": 32**2, "longest_edge": 64**2}, **patches
        ),
        tokens,
        transformers.Qwen3VLVideoProcessor(**patches)
        if is_newer
        else transformers.Qwen2VLVideoProcessor(**patches),
        chat_template=CHAT,
    )
    return save(getattr(transformers, f"{kind}ForConditionalGeneration")(config), processor, folder)


def qwen_embedding(folder: Path) -> Path:
    """A Qwen3-VL with the mark of an embedder of sentence-transformers."""
    qwen(folder, "Qwen3VL")
    (folder / "modules.json").write_text("[]")
    return folder


MAKERS: dict[str, Callable[[Path], Path]] = {
    "blip": blip,
    "instructblip": instruct_blip,
    "llava": llava,
    "qwen2_5_vl": qwen,
    "qwen3_vl_embedding": qwen_embedding,
}
