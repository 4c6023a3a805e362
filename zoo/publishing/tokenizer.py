"""The tokenizer of an exported model, in Hugging Face's format."""

from pathlib import Path

from zoo.backbones.backbone import Backbone
from zoo.backbones.factory import merges_file
from zoo.backbones.hugging_face import hugging_face_tokenizer


def write_tokenizer(backbone: Backbone, folder: Path) -> None:
    """Writes CLIP's tokenizer, or the part of it that an architecture has, as a CLIPTokenizer.

    Other tokenizers are not written.

    Args:
        backbone: The towers.
        folder: An existing folder.
    """
    from open_clip import SimpleTokenizer

    if backbone.vocab_size == SimpleTokenizer().vocab_size or merges_file(backbone.name).is_file():
        inner = backbone.tokenizer.inner
        if type(inner) is SimpleTokenizer:
            settings = {"model_max_length": backbone.context}
            hugging_face_tokenizer(inner, **settings).save_pretrained(folder)
