"""Every recipe holds the values that its paper or its public code states."""

import importlib
import inspect
import math
from typing import Any

import pytest
import yaml

from zoo.cli.recipes import shipped_recipes
from zoo.optim import Optimization

# dotted path in the recipe, where a class's own arguments follow its place; what the recipe leaves
# out has the class's default
CLIP_STEPS = {  # OpenAI's and open_clip's AdamW for ViT
    "model.optimizer.betas": (0.9, 0.98),
    "model.optimizer.eps": 1e-6,
}
# section 5.1 and appendix F of Half-Truths: 25 epochs, batch 128, cosine warm-up of an epoch,
# cosine decay
CS_CLIP = {
    **CLIP_STEPS,
    "model.optimizer.lr": 5e-6,
    "model.optimizer.weight_decay": 1e-2,
    "model.optimizer.warmup_epochs": 1,
    "model.optimizer.warmup": "cosine",
    "model.optimizer.decay": "cosine",
    "model.optimizer.final_share": 0.0,
    "model.backbone.name": "ViT-B-32-quickgelu",
    "model.backbone.pretrained": "openai",
    "data.batch_size": 128,
    "data.expected_images": 113287,
    "data.train.splits": ["train", "restval"],
    "trainer.max_epochs": 25,
}
FSC_CLIP = {  # section 4 of FSC-CLIP
    **CLIP_STEPS,
    "model.optimizer.lr": 5e-6,
    "model.optimizer.weight_decay": 0.1,
    "model.optimizer.warmup_steps": 50,
    "model.optimizer.warmup": "linear",
    "model.optimizer.decay": "cosine",
    "model.objective.lambda_g": 0.5,
    "model.objective.lambda_l": 0.2,
    "model.objective.gamma": 2.0,
    "model.objective.beta": 0.02,
    "model.objective.weights": "minmax",
    "data.batch_size": 256,
    "trainer.max_epochs": 5,
}
LABCLIP = {  # Koishigarina et al. and their code: torch's Adam at 1e-3, a scale that starts at 1
    "model.optimizer.lr": 1e-3,
    "model.optimizer.weight_decay": 0.0,
    "model.optimizer.betas": (0.9, 0.999),
    "model.optimizer.eps": 1e-8,
    "model.optimizer.decay": "none",
    "model.head.side": "text",
    "model.head.scale": 1.0,
    "model.backbone.tuning.towers": "none",
    "data.resample": False,
    "data.batch_size": 1024,
    "trainer.max_epochs": 10,
}
TF = {  # appendix D.1 of Role of Inference
    "model.optimizer.lr": 1e-4,
    "model.optimizer.weight_decay": 1e-7,
    "model.optimizer.betas": (0.9, 0.95),
    "model.optimizer.eps": 1e-8,
    "model.optimizer.warmup_share": 0.1,
    "model.head.layers": 4,
    "model.head.width": 512,
    "model.head.ffn": 2048,
    "model.head.attention_heads": 8,
    "model.backbone.tuning.towers": "none",
    "data.batch_size": 50,
    "data.val_share": 0.2,
    "trainer.max_epochs": 5,
}
FINETUNE = {  # appendix D.1 of Role of Inference
    **CLIP_STEPS,
    "model.optimizer.lr": 1e-6,
    "model.optimizer.weight_decay": 0.1,
    "model.optimizer.warmup_steps": 50,
    "trainer.max_epochs": 10,
}
DOVEH = {  # TSVLC and DAC share their code
    **CLIP_STEPS,
    "model.optimizer.lr": 5e-6,
    "model.optimizer.weight_decay": 0.1,
    "model.optimizer.warmup_steps": 10_000,
    "model.backbone.tuning.lora.rank": 4,
    "model.backbone.tuning.lora.alpha": 1.0,
    "model.head.learn_scale": False,
    "model.objective.lambda_neg": 1.0,
    "model.objective.global_negatives": True,
    "data.negatives.sentence_swap_share": 0.5,
    "trainer.max_epochs": 5,
}
PUBLISHED: dict[str, dict[str, Any]] = {
    "clip.yaml": CS_CLIP,
    "cs_clip.yaml": {
        **CS_CLIP,
        "model.objective.lambda_u": 0.5,
        "model.objective.global_negatives": True,
        "model.objective.units": True,
        "model.objective.foils": True,
        "data.units.n_units": 2,
        "data.units.p_rel": 1.0,
        "data.units.max_conjunction": 2,
        "data.units.with_replacement": True,
        "data.negatives.sentence_swap_share": 1.0,
    },
    "cs_clip_public_code.yaml": {  # its configs: a tenth of 5e-6, 128 on each of 8 devices
        **CLIP_STEPS,
        "model.optimizer.lr": 5.1e-7,
        "model.optimizer.weight_decay": 1e-2,
        "model.optimizer.decay": "none",
        "model.objective.lambda_u": 0.5,
        "model.head.max_scale": 1e6,
        "data.units.n_units": 2,
        "data.units.p_rel": 1.0,
        "data.units.with_replacement": True,
        "data.units.shuffle_conjunction_independently": True,
        "data.batch_size": 1024,
        "data.expected_images": 82783,
        "trainer.max_epochs": 5,
        "trainer.gradient_clip_val": 1.0,
    },
    "negclip.yaml": {  # Yuksekgonul et al., appendix C, and their script
        **CLIP_STEPS,
        "model.optimizer.lr": 1e-6,
        "model.optimizer.weight_decay": 0.2,
        "model.optimizer.warmup_steps": 50,
        "data.hard_images": True,
        "data.source_negatives": True,
        "data.batch_size": 256,
        "trainer.max_epochs": 5,
    },
    "fsc_clip.yaml": FSC_CLIP,
    "fsc_clip_lora.yaml": {  # the rank is the paper's, rate and alpha those of its code
        **FSC_CLIP,
        "model.optimizer.lr": 5e-5,
        "model.backbone.tuning.lora.rank": 4,
        "model.backbone.tuning.lora.alpha": 1.0,
        "model.head.learn_scale": False,
    },
    "fsc_clip_public_code.yaml": {  # its script for ViT-B/16
        "model.backbone.name": "ViT-B-16-quickgelu",
        "model.objective.lambda_l": 0.5,
        "model.objective.detach_map": True,
        "model.objective.rows": "negative",
        "data.batch_size": 128,
    },
    "fsc_clip_ablation_no_global.yaml": {"model.objective.lambda_g": 0.0},
    "fsc_clip_ablation_no_local.yaml": {"model.objective.lambda_l": 0.0},
    "fsc_clip_ablation_no_focal.yaml": {"model.objective.gamma": 0.0},
    "fsc_clip_ablation_no_smoothing.yaml": {"model.objective.beta": 0.0},
    "labclip.yaml": {
        **LABCLIP,
        "data.expected_images": 113287,
        "data.train.splits": ["train", "restval"],
    },
    "labclip_public_code.yaml": {
        **LABCLIP,
        "data.expected_images": 82783,
        "model.head.max_scale": 1e6,
    },
    "tf_local.yaml": {**TF, "model.head.granularity": "local", "model.head.layer": -2},
    "tf_global.yaml": {**TF, "model.head.granularity": "global"},
    "tf_trohn_img.yaml": {"data.batch_size": 25, "data.hard_images": True},
    "finetune_coco.yaml": {**FINETUNE, "data.batch_size": 400, "data.val_share": 0.2},
    "finetune_trohn_img.yaml": {**FINETUNE, "data.batch_size": 200, "data.hard_images": True},
    "finetune_public_code.yaml": {"model.backbone.augmentation": None, "model.head.max_scale": 1e6},
    "siglip.yaml": {  # Zhai et al., section 3.2 and its second beta; the rest is CS-CLIP's
        **CS_CLIP,
        "model.optimizer.betas": (0.9, 0.95),
        "model.head.scale": 10.0,
        "model.head.bias": -10.0,
    },
    "ce_clip.yaml": {  # scripts/run_multiple_nodes.sh of the public code
        **CLIP_STEPS,
        "model.optimizer.lr": 5e-6,
        "model.optimizer.weight_decay": 0.1,
        "model.optimizer.warmup_steps": 50,
        "model.objective.lambda_imc": 0.3,
        "model.objective.lambda_cmr": 0.2,
        "model.objective.theta_max": 10.0,
        "model.objective.global_negatives": True,
        "data.train.splits": ["train"],
        "data.expected_images": 82783,
        "data.batch_size": 378,
        "trainer.max_epochs": 10,
    },
    "degla.yaml": {  # scripts/train_DeGLA.sh of the public code, 32 rows on each of 8 devices
        **CLIP_STEPS,
        "model.optimizer.lr": 1e-6,
        "model.optimizer.weight_decay": 0.1,
        "model.optimizer.warmup_steps": 50,
        "model.objective.lambda_igc": 0.1,
        "model.objective.lambda_tgc": 0.1,
        "model.objective.lambda_distill": 0.005,
        "model.objective.text_scale": 10.0,
        "model.objective.decay": 0.9996,
        "data.batch_size": 256,
        "trainer.max_epochs": 5,
    },
    "read_clip.yaml": {  # config/train_read_clip.yaml of the public code; its AdamW is torch's
        "model.optimizer.lr": 1e-5,
        "model.optimizer.weight_decay": 0.1,
        "model.optimizer.betas": (0.9, 0.999),
        "model.optimizer.eps": 1e-8,
        "model.optimizer.warmup_steps": 50,
        "model.objective.lambda_align": 0.5,
        "data.batch_size": 256,
        "trainer.max_epochs": 5,
    },
    "read_clip_decoder.yaml": {  # the same file, and the tokenizer of its collator
        "model.objective.lambda_recon": 0.1,
        "model.objective.decoder": "google/t5-v1_1-large",
        "model.objective.decoder_tokenizer": "google/flan-t5-xl",
    },
    "clic.yaml": {  # utils/train_args.py and trigger_train.sh of the public code, 4 devices
        "model.optimizer.lr": 1e-6,
        "model.optimizer.weight_decay": 0.1,
        "model.optimizer.betas": (0.9, 0.98),
        "model.optimizer.eps": 1e-8,
        "model.optimizer.warmup_epochs": 0.2,
        "model.optimizer.initial_share": 0.1,
        "model.optimizer.final_share": 0.01,
        "model.objective.lambda_cont": 0.5,
        "model.objective.lambda_sneg": 0.5,
        "model.objective.lambda_uni": 1.0,
        "model.backbone.tuning.towers": "text",
        "data.joined": "alternate",
        "data.positives": [{"class_path": "OtherCaption"}] * 2,  # p_3 and p_4
        "data.batch_size": 800,
        "trainer.max_epochs": 1,
    },
    "con_clip.yaml": {  # training_utils/helpers.py and run_finetuning.sh of the public code
        "model.optimizer.lr": 1e-6,
        "model.optimizer.weight_decay": 0.2,
        "model.optimizer.weight_decay_on": "all",
        "model.optimizer.betas": (0.9, 0.999),
        "model.optimizer.eps": 1e-8,
        "model.optimizer.warmup_steps": 50,
        "model.backbone.tuning.towers": "text",
        "data.batch_size": 200,
        "trainer.max_epochs": 5,
    },
    "triplet_clip.yaml": {  # src/openclip of the public code: parse_args.py and sample_train.sh
        "model.optimizer.lr": 5e-4,
        "model.optimizer.weight_decay": 0.5,
        "model.optimizer.weight_decay_on": "all",
        "model.optimizer.betas": (0.9, 0.999),
        "model.optimizer.eps": 1e-8,
        "model.optimizer.warmup_steps": 1000,
        "data.batch_size": 1024,
        "trainer.max_epochs": 10,
    },
    "tsvlc.yaml": {  # params.py and loss.py of the public code; README's --lora and --neg_type both
        **DOVEH,
        "model.objective.lambda_pos": 0.0,
        "data.train.caption_field": None,
        "data.batch_size": 128,
    },
    "dac.yaml": {  # params.py and loss.py of the public code; README's --batch-size, --mil_batch
        **DOVEH,
        "model.objective.lambda_bag": 1.0,
        "model.objective.lambda_foils": 1.0,
        "data.units.n_units": 10,
        "data.units.with_replacement": True,
        "data.batch_size": 32,
    },
    "clove.yaml": {  # scripts/example_multi_gpu.sh of the public code, 256 rows on 8 devices
        **CLIP_STEPS,
        "model.optimizer.lr": 1e-6,
        "model.optimizer.weight_decay": 0.1,
        "model.optimizer.warmup_steps": 2000,
        "data.train.caption_field": "top_caption",
        "data.batch_size": 256 * 8,
        # 100 epochs of 10 million rows, rounded up to whole batches of each of 24 workers
        "trainer.max_steps": 100 * 24 * math.ceil(math.ceil(10_000_000 / (256 * 8)) / 24),
    },
    "super_clip.yaml": {**CS_CLIP, "model.objective.lambda_class": 1.0},
    "flair.yaml": {  # src/flair of the public code; the rest is CS-CLIP's
        **{path: value for path, value in CS_CLIP.items() if path != "model.backbone.name"},
        "model.backbone.name": "ViT-B-16-quickgelu",
        "model.optimizer.lr_head": 5e-4,
        "model.head.attention_heads": 8,
        "model.head.scale": 1 / 0.07,
        "model.head.bias": -10.0,
        "model.objective.multi_positive": True,
    },
    "tic.yaml": {  # fgclip2.py of the public code; the rest is CS-CLIP's
        **CS_CLIP,
        "model.objective.lambda_tic": 0.1,
        "model.objective.hardest": 10,
        "model.objective.most_alike": 0.95,
    },
    "pe_core_b_16.yaml": {
        "model.backbone.name": "PE-Core-B-16",
        "model.backbone.pretrained": "meta",
        "model.backbone.preprocess.resize_mode": "shortest",
        "model.backbone.preprocess.interpolation": "bicubic",
    },
}
UNPUBLISHED = {  # of this project, or a change of corpus or objective alone
    "coco_matched.yaml",
    "dfn_b_16.yaml",
    "flickr8k.yaml",
    "fsc_clip_cc3m.yaml",
    "fsc_clip_laion_coco.yaml",
    "fsc_clip_negclip.yaml",
    "metaclip2_h_14.yaml",
    "mobileclip2_s0.yaml",
    "siglip2_b_32.yaml",
    "tiny_from_scratch.yaml",
    "world_from_scratch.yaml",
}


def value(recipe: dict[str, Any], path: str) -> Any:
    """Returns what a recipe gives at a dotted path, or its class's default there."""
    place: Any = recipe
    defaults: dict[str, Any] = {}
    for name in path.split("."):
        if not isinstance(place, dict) or name not in place:
            return defaults[name]
        place = place[name]
        defaults = defaults_of(Optimization) if name == "optimizer" else {}
        if isinstance(place, dict) and "class_path" in place:
            defaults = defaults_of(
                getattr(importlib.import_module(room_of(name)), place["class_path"])
            )
            place = place.get("init_args", {})
    return tuple(place) if name == "betas" else place


def room_of(name: str) -> str:
    """Returns the module that shows the classes which a recipe names under `name`."""
    rooms = {
        "backbone": "zoo.backbones.backbone",
        "head": "zoo.heads",
        "objective": "zoo.objectives",
        "data": "zoo.datamodules",
        "train": "zoo.sources.readers",
        "units": "zoo.units",
    }
    return rooms.get(name, "zoo.negatives")


def defaults_of(cls: type) -> dict[str, Any]:
    return {name: p.default for name, p in inspect.signature(cls.__init__).parameters.items()}


@pytest.mark.parametrize(
    ("name", "path"), [(name, path) for name, values in PUBLISHED.items() for path in values]
)
def test_a_recipe_holds_what_was_published(name: str, path: str) -> None:
    recipe = yaml.safe_load(shipped_recipes()[name].read_text("utf-8"))
    assert value(recipe, path) == PUBLISHED[name][path]


def test_every_recipe_is_held_to_what_was_published() -> None:
    assert PUBLISHED.keys() | UNPUBLISHED == shipped_recipes().keys()
