"""Classes start from what their papers or public code state, since Python code has no recipe."""

import inspect
from typing import Any

import pytest

import zoo.heads
import zoo.objectives
from tests.support.parallel import shipped
from zoo.heads.base import Head
from zoo.objectives.base import Objective
from zoo.optim import Optimization

SCALE = {  # CLIP, section 2.5: the scale is learned and never above 100
    "scale": None,
    "max_scale": 100.0,
    "learn_scale": True,
    "bias": None,
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "CLIP": {},
    "NegCLIP": {},
    "SigLIP": {},
    "CoNCLIP": {},
    "TripletCLIP": {},
    "CSCLIP": {  # Half-Truths, Eq. 6 and Table 3; Table 4 with all signals
        "lambda_u": 0.5,
        "global_negatives": True,
        "units": True,
        "foils": True,
        "pairs": "softmax",
    },
    "FSCCLIP": {  # section 4 of the paper; the public code's rows, cut map and tokens
        "lambda_g": 0.5,
        "lambda_l": 0.2,
        "gamma": 2.0,
        "beta": 0.02,
        "weights": "minmax",
        "detach_map": True,
        "rows": "negative",
        "layer": -1,
        "project": True,
        "cls_patch": False,
        "start_token": False,
        "pooling": "sum",
        "local_scale": None,
        "pairs": "softmax",
    },
    "CECLIP": {  # arguments of the public code, whose script overrides one of them
        "lambda_imc": 0.2,
        "lambda_cmr": 0.2,
        "theta_max": 10.0,
        "global_negatives": True,
    },
    "DeGLA": {  # scripts/train_DeGLA.sh of the public code, and the scale in its loss.py
        "lambda_igc": 0.1,
        "lambda_tgc": 0.1,
        "lambda_distill": 0.005,
        "text_scale": 10.0,
        "decay": 0.9996,
        "public_code": False,
    },
    "FLAIR": {"multi_positive": True},  # --add-mps-loss of the public code's scripts
    "READCLIP": {  # config/train_read_clip.yaml of the public code; its reconstruction is off
        "lambda_align": 0.5,
        "lambda_recon": 0.0,
        "decoder": "google/t5-v1_1-large",
        "decoder_tokenizer": None,
        "decoder_width": None,
    },
    "CLIC": {  # utils/train_args.py of the public code: cont, sneg and uni
        "lambda_cont": 0.5,
        "lambda_sneg": 0.5,
        "lambda_uni": 1.0,
    },
    "TSVLC": {  # params.py of the public code, and its README, without --vl_pos
        "lambda_neg": 1.0,
        "lambda_pos": 0.0,
        "global_negatives": True,
    },
    "DAC": {  # params.py and loss.py of the public code
        "lambda_neg": 1.0,
        "lambda_bag": 1.0,
        "lambda_foils": 1.0,
        "global_negatives": True,
    },
    "TIC": {  # fgclip2.py of the public code
        "lambda_tic": 0.1,
        "hardest": 10,
        "most_alike": 0.95,
    },
    "SuperCLIP": {"lambda_class": 1.0},  # the paper adds both losses
    "Cosine": SCALE,
    "MaxSim": {
        "layer": -1,
        "cls_patch": False,
        "start_token": False,
        "chunk": 32,
        **SCALE,
    },
    "Linear": {  # Koishigarina et al. and their code: a map of texts, a scale that starts at 1
        "side": "text",
        "weights": None,
        **SCALE,
        "scale": 1.0,
    },
    "CrossModal": {  # Role of Inference, section 4.2; width and ffn give its parameter count
        "granularity": "local",
        "layers": 4,
        "width": 512,
        "ffn": 2048,
        "attention_heads": 8,
        "dropout": 0.1,  # with activation and pre_norm, those of torch's encoder layer
        "activation": "relu",
        "pre_norm": False,
        "layer": -2,
        "norm": False,
        "cls_patch": True,
        "separator": "token",
        "attend_pads": False,
        "init_std": 0.02,
        "chunk": 128,
        "scale": 1.0,
        "max_scale": 100.0,
        "learn_scale": False,
        "bias": None,
    },
    "TextConditionedPooling": {  # PureAttentionPoolingBlock of the public code
        "attention_heads": 8,
        "chunk": 32,
        "weights": None,
        **SCALE,
    },
    "StructureGuided": {"views": None, "segments": None, "chunk": 32, **SCALE},
    "ComCLIP": {"views": None, "segments": None, "chunk": 32, **SCALE},
    "Optimization": {  # Half-Truths, appendix F; betas and eps of OpenAI's AdamW for ViT
        "lr": 5e-6,
        "lr_image": None,
        "lr_text": None,
        "lr_head": None,
        "weight_decay": 1e-2,
        "weight_decay_on": "matrices",
        "betas": (0.9, 0.98),
        "eps": 1e-6,
        "warmup_steps": None,
        "warmup_epochs": None,
        "warmup_share": None,
        "warmup": "linear",
        "initial_share": None,
        "final_share": 0.0,
        "decay": "cosine",
        "fused": False,
        "algorithm": "AdamW",
        "arguments": None,
    },
}
CLASSES = {
    cls.__name__: cls
    for cls in (
        *shipped(zoo.objectives, Objective),
        *shipped(zoo.heads, Head),
        Optimization,
    )
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_starts_from_what_was_published(name: str) -> None:
    arguments = inspect.signature(CLASSES[name].__init__).parameters.items()
    assert {n: p.default for n, p in arguments if n != "self"} == DEFAULTS[name]


def test_no_class_of_the_table_has_gone() -> None:
    assert DEFAULTS.keys() == CLASSES.keys()
