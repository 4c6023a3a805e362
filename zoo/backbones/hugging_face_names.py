"""Names of tensors in open_clip and in Hugging Face: CLIPModel, read both ways, and SiglipModel."""

import re
from pathlib import Path

import torch
from torch import Tensor

from zoo.backbones.weights import TEXT_TOWER, list_keys
from zoo.errors import ZooError

State = dict[str, Tensor]
# Pairs of open_clip's and Hugging Face's names. These are beginnings of a tensor's name.
BEGINNINGS = (
    ("visual.class_embedding", "vision_model.embeddings.class_embedding"),
    ("visual.conv1.", "vision_model.embeddings.patch_embedding."),
    ("visual.positional_embedding", "vision_model.embeddings.position_embedding.weight"),
    ("visual.ln_pre.", "vision_model.pre_layrnorm."),
    ("visual.ln_post.", "vision_model.post_layernorm."),
    ("visual.transformer.resblocks.", "vision_model.encoder.layers."),
    ("token_embedding.", "text_model.embeddings.token_embedding."),
    ("positional_embedding", "text_model.embeddings.position_embedding.weight"),
    ("ln_final.", "text_model.final_layer_norm."),
    ("transformer.resblocks.", "text_model.encoder.layers."),
)
# These are parts of a block.
PARTS = (
    (".ln_1.", ".layer_norm1."),
    (".ln_2.", ".layer_norm2."),
    (".mlp.c_fc.", ".mlp.fc1."),
    (".mlp.c_proj.", ".mlp.fc2."),
    (".attn.out_proj.", ".self_attn.out_proj."),
)
# These are transposed.
PROJECTIONS = (
    ("visual.proj", "visual_projection.weight"),
    ("text_projection", "text_projection.weight"),
)
# Parts of names in SiglipModel's image tower, as `open_clip_state` leaves them, and in timm's.
SIGLIP_IMAGE_NAMES = (
    ("visual.conv1.", "visual.trunk.patch_embed.proj."),
    ("visual.positional_embedding", "visual.trunk.pos_embed"),
    ("visual.ln_post.", "visual.trunk.norm."),
    ("visual.transformer.resblocks.", "visual.trunk.blocks."),
    (".ln_1.", ".norm1."),
    (".ln_2.", ".norm2."),
    (".attn.in_proj_", ".attn.qkv."),
    (".attn.out_proj.", ".attn.proj."),
    (".mlp.c_fc.", ".mlp.fc1."),
    (".mlp.c_proj.", ".mlp.fc2."),
    ("vision_model.head.probe", "visual.trunk.attn_pool.latent"),
    ("vision_model.head.attention.out_proj.", "visual.trunk.attn_pool.proj."),
    ("vision_model.head.layernorm.", "visual.trunk.attn_pool.norm."),
    ("vision_model.head.mlp.", "visual.trunk.attn_pool.mlp."),
)
# Queries, keys and values are one tensor in open_clip and three in Hugging Face.
JOINED = re.compile(r"(.*)\.attn\.in_proj_(weight|bias)$")
QUERIES = re.compile(r"(.*)\.self_attn\.q_proj\.(weight|bias)$")


def hugging_face_state(state: State) -> State:
    """Returns a state under Hugging Face's names.

    Args:
        state: The state of a plain CLIP under open_clip's names.
    """
    projections = dict(PROJECTIONS)
    renamed: State = {}
    for key, tensor in ((key.removeprefix("text."), tensor) for key, tensor in state.items()):
        joined = JOINED.match(key)
        if joined is not None:
            names = _attention_projection_names(_rename_key(joined[1] + ".", 0, 1), joined[2])
            parts = zip(names, tensor.chunk(3), strict=True)
            renamed |= {name: part.clone() for name, part in parts}
        elif key in projections:
            renamed[projections[key]] = tensor.T.contiguous()
        else:
            renamed[_rename_key(key, 0, 1)] = tensor
    return renamed


def open_clip_state(file: Path, state: State, separate_text: bool = False) -> State:
    """Returns a state under open_clip's names.

    Unknown names are kept, and rejected when the state is loaded.

    Args:
        file: The file of the state in messages.
        state: The state of one tower or of both, under Hugging Face's names.
        separate_text: Whether open_clip has the text tower under `text.`.

    Raises:
        ZooError: Some of the queries, keys and values of a layer are missing.
    """
    projections = {theirs: ours for ours, theirs in PROJECTIONS}
    renamed: State = {}
    joined: set[str] = set()
    for key in state:
        queries = QUERIES.match(key)
        if queries is not None:
            members = _attention_projection_names(queries[1] + ".", queries[2])
            if missing := [member for member in members if member not in state]:
                raise ZooError(f"{file} has {key} without {list_keys(missing)}: download it again")
            name = f"{_rename_key(queries[1] + '.', 1, 0)}attn.in_proj_{queries[2]}"
            renamed[name] = torch.cat([state[member] for member in members])
            joined |= set(members)
    for key in state.keys() - joined:
        if key in projections:
            renamed[projections[key]] = state[key].T.contiguous()
        else:
            renamed[_rename_key(key, 1, 0)] = state[key]
    return {
        f"text.{key}" if separate_text and key.startswith(TEXT_TOWER) else key: tensor
        for key, tensor in renamed.items()
    }


def open_clip_siglip_state(file: Path, state: State) -> State:
    """Returns a state of a SiglipModel under open_clip's names, whose image tower is timm's.

    Unknown names are kept, and rejected when the state is loaded.

    Args:
        file: The file of the state in messages.
        state: The state of both towers under Hugging Face's names.

    Raises:
        ZooError: Some of the queries, keys and values of a layer are missing.
    """
    pool, trunk = "vision_model.head.attention.", "visual.trunk."
    texts = {k: t for k, t in state.items() if k.startswith(("text_model.", "logit_"))}
    renamed = {
        key if key.startswith("logit_") else f"text.{key}": tensor
        for key, tensor in open_clip_state(file, texts).items()
    }
    renamed = {
        key.replace("text.text_model.head.", "text.text_projection."): tensor
        for key, tensor in renamed.items()
    }
    for key, tensor in open_clip_state(file, {k: state[k] for k in state.keys() - texts}).items():
        if key.startswith(f"{pool}in_proj_"):
            kind = key.removeprefix(f"{pool}in_proj_")
            queries, keys_and_values = tensor.tensor_split([len(tensor) // 3])
            renamed[f"{trunk}attn_pool.q.{kind}"] = queries
            renamed[f"{trunk}attn_pool.kv.{kind}"] = keys_and_values
            continue
        for theirs, ours in SIGLIP_IMAGE_NAMES:
            key = key.replace(theirs, ours)
        renamed[key] = tensor[None] if key == f"{trunk}pos_embed" else tensor
    return renamed


def _attention_projection_names(block: str, kind: str) -> list[str]:
    """Returns Hugging Face's names of three tensors of a block, whose own name ends in a dot."""
    return [f"{block}self_attn.{part}_proj.{kind}" for part in "qkv"]


def _rename_key(key: str, source: int, target: int) -> str:
    """Translates a name from one column of the table to the other."""
    for row in BEGINNINGS:
        if key.startswith(row[source]):
            key = row[target] + key.removeprefix(row[source])
            break
    for row in PARTS:
        key = key.replace(row[source], row[target])
    return key
