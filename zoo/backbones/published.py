"""Rules that turn the weights of other projects into those of a plain open_clip model.

A rule says what its files are like: the prefix of open_clip's names, whether adapters lie beside
the weights, the activation that they were trained with, the number of text positions, and whether
they are interpolated with the weights that they came from. A file that is not like its rule is
refused with a list of what does not fit. Nothing is loaded in part.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from zoo.backbones.factory import Activation, build, check_tag
from zoo.backbones.weights import Weights, listed, read_weights
from zoo.errors import ZooError
from zoo.support.tensors import read_tensors

State = dict[str, Tensor]
RuleName = Literal[
    "negclip", "cs_clip", "fsc_clip", "fsc_clip_lora", "tsvlc", "dac", "clove", "tripletclip"
]
LORA_ALPHA = 1  # in the code of TSVLC, DAC and FSC-CLIP; no file records it


@dataclass(frozen=True)
class Rule:
    """What the files of a publication are like.

    Attributes:
        activation: The activation they were trained with; None where it differs between files, so
            that the user must say it.
        prefixes: The prefixes that open_clip's names may have.
        beside: Keys that always lie beside the model's and are left out.
        lora: Whether adapters are merged.
        context: The text positions; None for the architecture's own.
        share: The share of the file in the interpolation with the weights it came from; None where
            it is taken as it is.
        towers: Whether it is a folder of two towers under Hugging Face's names.
    """

    activation: Activation | None = "quickgelu"
    prefixes: tuple[str, ...] = ("", "module.")
    beside: tuple[str, ...] = ()
    lora: bool = False
    context: int | None = None
    share: float | None = None
    towers: bool = False


RULES: dict[RuleName, Rule] = {
    "negclip": Rule(),
    "cs_clip": Rule(prefixes=("model.",), beside=("head.logit_scale",)),
    "fsc_clip": Rule(activation=None),
    "fsc_clip_lora": Rule(lora=True),
    "tsvlc": Rule(lora=True),
    "dac": Rule(lora=True),
    "clove": Rule(context=64, share=0.6),
    "tripletclip": Rule(activation=None, towers=True),
}


def read_published(rule: RuleName, path: str | None, name: str, base: str) -> Weights:
    """Reads published weights by a rule.

    Args:
        rule: The publication.
        path: The file, or TripletCLIP's folder.
        name: The architecture.
        base: The weights that CLoVe's came from, a tag or a file.

    Returns:
        Plain weights under open_clip's names.

    Raises:
        ZooError: There is no file, or it is not like its rule; the message lists what is wrong.
    """
    form = RULES[rule]
    if path is None or not Path(path).exists():
        raise ZooError(
            f"backbone.rule {rule} reads a file and backbone.pretrained is {path}: give the path "
            "of the published weights"
        )
    if form.towers:
        return Weights(Path(path), read_towers(Path(path)), form.activation)
    weights = read_weights(Path(path))
    state = dict(weights.state)
    faults = (
        []
        if weights.prefix in form.prefixes
        else [f"its names begin with {weights.prefix!r} and not {_any(form.prefixes)}"]
    )
    faults += [f"it has no {key}" for key in form.beside if state.pop(key, None) is None]
    faults += [f"{key} lies beside the model" for key in weights.beside if key not in form.beside]
    adapters = [key for key in state if _is_adapter(key)]
    if form.lora != bool(adapters):
        faults.append(
            "it has no LoRA tensors"
            if form.lora
            else f"it has {len(adapters)} LoRA tensors ({listed(adapters)})"
        )
    positions = state["positional_embedding"].shape[0] if "positional_embedding" in state else None
    if form.context is not None and positions != form.context:
        faults.append(f"it has {positions} text positions and not {form.context}")
    if faults:
        raise ZooError(
            f"{path} is no file of rule {rule}: {'; '.join(faults)}: choose another backbone.rule, "
            "or null for a plain model"
        )
    if form.lora:
        state = merged(Path(path), state)
    if form.share is not None:
        state = interpolated(Path(path), _base(name, base), state, form.share)
    return Weights(Path(path), state, form.activation)


def merged(file: Path, state: State) -> State:
    """Merges the adapters of loralib's layers into their weights: W + alpha / r B A.

    The rank r is that of the tensors. A convolution of k x k pixels has adapters of k r rows, whose
    product is reshaped into the kernel, as published.

    Args:
        file: The file of the state, as errors name it.
        state: Weights with the adapters `lora_A` and `lora_B` beside them.

    Returns:
        The merged weights.

    Raises:
        ZooError: Adapters lack their twin or their weight, or have other shapes; the message lists
            them.
    """
    out = {key: value for key, value in state.items() if not _is_adapter(key)}
    faults = []
    for key in filter(_is_adapter, state):
        weight, twin = _adapted(key), key[:-1] + ("B" if key.endswith("A") else "A")
        if weight not in out or twin not in state:
            faults.append(f"{key} without {weight if weight not in out else twin}")
        elif key.endswith("A"):
            whole, a, b = out[weight].float(), state[key].float(), state[twin].float()
            side = whole.shape[-1] if whole.ndim == 4 else 1
            rows, columns = (n * side for n in (*whole.shape, 0, 0)[:2])
            if (
                whole.shape[2:] not in ((), (side, side))
                or a.ndim != 2
                or (a.shape[1:], b.shape) != ((columns,), (rows, len(a)))
                or not len(a)
                or len(a) % side
            ):
                faults.append(
                    f"{key} {tuple(a.shape)} and {tuple(b.shape)} for a weight of "
                    f"{tuple(whole.shape)}"
                )
            else:
                out[weight] = whole + LORA_ALPHA * side / len(a) * (b @ a).view(whole.shape)
    if faults:
        raise ZooError(
            f"{file} has LoRA tensors that cannot be merged ({listed(faults)}): download it anew, "
            "or choose another backbone.rule"
        )
    return out


def _is_adapter(key: str) -> bool:
    return key.endswith(("lora_A", "lora_B"))


def _adapted(key: str) -> str:
    """Returns the weight that an adapter changes.

    `c_fc.lora_A` changes the layer's weight, `in_proj_weight_lora_A` the tensor of that name.
    """
    return re.sub(r"_lora_[AB]$", "", re.sub(r"\.lora_[AB]$", ".weight", key))


def interpolated(file: Path, start: State, end: State, share: float) -> State:
    """Returns (1 - share) start + share end, of all tensors, the temperature included.

    Args:
        file: The file of `end`, as errors name it.
        start: The weights at share 0.
        end: The weights at share 1.
        share: The share of `end`, from 0 to 1.

    Returns:
        The interpolated state. Its table of text positions is cut to the shorter one (CLoVe).

    Raises:
        ZooError: A tensor is in one state alone, or has another size in the other.
    """
    faults = [f"{key} only in one" for key in start.keys() ^ end.keys()]
    out = {}
    for key in start.keys() & end.keys():
        a, b = start[key].float(), end[key].float()
        if key == "positional_embedding" and a.shape[1:] == b.shape[1:]:
            a, b = a[: len(b)], b[: len(a)]
        if a.numel() != b.numel():
            faults.append(f"{key} {tuple(a.shape)} and {tuple(b.shape)}")
        else:
            out[key] = torch.lerp(a.reshape(b.shape), b, share)
    if faults:
        raise ZooError(
            f"{file} cannot be interpolated with the weights it came from "
            f"({listed(sorted(faults))}): mend backbone.base"
        )
    return out


def _base(name: str, base: str) -> State:
    if Path(base).is_file():
        return read_weights(Path(base)).state
    check_tag(name, base, "backbone.base")
    return build(name, base, "quickgelu", None).state_dict()


def read_towers(folder: Path) -> State:
    """Reads two towers under Hugging Face's names (TripletCLIP).

    Args:
        folder: Holds `vision-encoder` and `text-encoder`, each with the tensors of a CLIP tower
            under `model.`.

    Returns:
        Their state under open_clip's names. Neither tower has a temperature, so it holds
        open_clip's at the start of training.

    Raises:
        ZooError: A tower is missing or cannot be read.
    """
    state: State = {}
    for tower in ("vision-encoder", "text-encoder"):
        file = next(
            (
                f
                for n in ("model.safetensors", "pytorch_model.bin")
                if (f := folder / tower / n).is_file()
            ),
            None,
        )
        if file is None:
            raise ZooError(
                f"{folder} has no {tower}/model.safetensors: give backbone.pretrained the folder "
                "that holds both towers"
            )
        held = {
            key.removeprefix("model."): value
            for key, value in read_tensors(file).items()
            if isinstance(value, Tensor)
        }
        state |= open_clip_names(
            file, {key: value for key, value in held.items() if not key.endswith("position_ids")}
        )
    state.setdefault("logit_scale", torch.tensor(1 / 0.07).log())
    return state


NAMES = (
    (r"^vision_model\.embeddings\.class_embedding$", "visual.class_embedding"),
    (r"^vision_model\.embeddings\.patch_embedding\.", "visual.conv1."),
    (r"^vision_model\.embeddings\.position_embedding\.weight$", "visual.positional_embedding"),
    (r"^vision_model\.pre_layrnorm\.", "visual.ln_pre."),
    (r"^vision_model\.post_layernorm\.", "visual.ln_post."),
    (r"^vision_model\.encoder\.layers\.", "visual.transformer.resblocks."),
    (r"^text_model\.embeddings\.token_embedding\.", "token_embedding."),
    (r"^text_model\.embeddings\.position_embedding\.weight$", "positional_embedding"),
    (r"^text_model\.final_layer_norm\.", "ln_final."),
    (r"^text_model\.encoder\.layers\.", "transformer.resblocks."),
    (r"\.layer_norm([12])\.", r".ln_\1."),
    (r"\.mlp\.fc1\.", ".mlp.c_fc."),
    (r"\.mlp\.fc2\.", ".mlp.c_proj."),
    (r"\.self_attn\.out_proj\.", ".attn.out_proj."),
)
PROJECTIONS = {
    "visual_projection.weight": "visual.proj",
    "text_projection.weight": "text_projection",
}
QKV = re.compile(r"(.*)\.self_attn\.q_proj\.(weight|bias)$")


def open_clip_names(file: Path, state: State) -> State:
    """Returns a state of Hugging Face's CLIP under open_clip's names.

    Queries, keys and values become one tensor, and projections are transposed. Unknown names stay
    as they are, and loading refuses them.

    Args:
        file: The file of the state, as errors name it.
        state: The state of one tower or of both, under Hugging Face's names.

    Raises:
        ZooError: Of queries, keys and values of a layer, some are missing.
    """
    out, joined = {}, set()
    for key in state:
        found = QKV.match(key)
        if found is not None:
            block, kind = found.groups()
            members = [f"{block}.self_attn.{part}_proj.{kind}" for part in "qkv"]
            if missing := [member for member in members if member not in state]:
                raise ZooError(f"{file} lacks {listed(missing)} beside {key}: download it anew")
            out[_renamed(f"{block}.attn.in_proj_{kind}")] = torch.cat(
                [state[member] for member in members]
            )
            joined |= set(members)
    for key in state.keys() - joined:
        out[PROJECTIONS.get(key) or _renamed(key)] = (
            state[key].T.contiguous() if key in PROJECTIONS else state[key]
        )
    return out


def _renamed(key: str) -> str:
    for pattern, name in NAMES:
        key = re.sub(pattern, name, key)
    return key


def _any(prefixes: tuple[str, ...]) -> str:
    return " or ".join(map(repr, prefixes))
