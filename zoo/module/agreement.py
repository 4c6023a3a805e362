"""Agreement: whether backbone, head, objective and data go together."""

import logging
from collections.abc import Iterable

from zoo.backbones.backbone import Backbone
from zoo.caption_data import CaptionData
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.needs import Capabilities, Needs
from zoo.objectives.base import Objective
from zoo.support.names import classes
from zoo.support.spec import class_path

SOME_POSITIVES = "zoo.positives.OtherCaption"  # of data with several captions an image
SOME_NEGATIVES = "zoo.negatives.NegCLIPSwap"  # made of captions alone
FROZEN_SHOWN = 4  # names of tensors

log = logging.getLogger(__name__)


def refuse_missing_bias(objective: Objective, head: Head, backbone: Backbone) -> None:
    """Holds the head, which is attached, to the bias that an objective needs.

    Raises:
        ZooError: The objective needs a bias, and the head has none.
    """
    if objective.needs.bias and head.bias is None:
        raise ZooError(
            f"{type(objective).__name__} needs a head with a bias, and neither "
            f"{type(head).__name__} nor {backbone.name} has one: set "
            f"`--model.head {class_path(type(head))} --model.head.bias -10` "
            "(as in SigLIP's paper), or the same in the YAML"
        )


def refuse_lacking_data(objective: Objective, head: Head, data: object) -> None:
    """Holds the data to what head and objective need.

    Args:
        objective: The objective.
        head: The head.
        data: The datamodule; one that is no `CaptionData` passes.

    Raises:
        ZooError: Head or objective need what the data does not bring.
    """
    if isinstance(data, CaptionData):
        for part in (objective, head):
            refuse_lacking(type(part).__name__, part.needs, data.provides)


def warn_of_idle_texts(objective: Objective, head: Head, data: object) -> None:
    """Warns of texts that the data makes and the model encodes for nothing."""
    if isinstance(data, CaptionData):
        for what in not_needed((objective.needs, head.needs), data.provides):
            log.warning(
                "%s asks for no %s, and the data makes them: data.init_args.%s null saves "
                "their encoding",
                type(objective).__name__,
                what,
                what,
            )


def report_frozen(backbone: Backbone, frozen: list[str]) -> None:
    """Logs which tensors of the backbone are frozen, where any are."""
    if frozen:
        shown = ", ".join(frozen[:FROZEN_SHOWN]) + (", ..." if frozen[FROZEN_SHOWN:] else "")
        log.info(
            "frozen tensors of the backbone: %d (%s), which the loss does not use or "
            "model.backbone.tuning.towers %s leaves alone",
            len(frozen),
            shown,
            backbone.tuning.towers,
        )


def refuse_lacking(name: str, needs: Needs, provides: Capabilities) -> None:
    """Holds the data to what a part of the model needs.

    Args:
        name: What the part is called.
        needs: What it needs.
        provides: What the data bring.

    Raises:
        ZooError: The part needs what the data do not bring.
    """
    if needs.negatives and not provides.negatives:
        raise ZooError(
            f"{name} needs sentence negatives, and the data makes none: set "
            f"`--data.negatives {SOME_NEGATIVES}`, or data.init_args.negatives in the YAML "
            "(`zoo ls negatives` lists others)"
        )
    if needs.generators and not set(needs.generators) & set(provides.negatives):
        paths = {known: path for known, path, _ in classes("negatives")}
        first = needs.generators[0]
        raise ZooError(
            f"{name} needs negatives of {' or '.join(needs.generators)}, and the data makes "
            f"{', '.join(provides.negatives) or 'none'}: set "
            f"`--data.negatives {paths.get(first, first)}`, or data.init_args.negatives in "
            "the YAML"
        )
    if needs.units and not provides.units:
        raise ZooError(
            f"{name} needs units, and the data has none: make a file by "
            "`zoo units extract CAPTIONS --out F.jsonl`, and set "
            "`--data.units zoo.units.UnitSampler --data.units.file F.jsonl`, or "
            "data.init_args.units in the YAML"
        )
    if needs.positives and not provides.positives:
        raise ZooError(
            f"{name} needs further positives of captions, and the data brings none: set "
            f"`--data.positives {SOME_POSITIVES}`, or data.init_args.positives in the YAML "
            "(`zoo ls positives` lists others)"
        )
    if needs.negative_images and not provides.negative_images:
        raise ZooError(
            f"{name} needs negative images, and the data has none: set "
            "`--data.negative_images zoo.sources.NegativeImages --data.negative_images.file "
            "F.jsonl`, or data.init_args.negative_images in the YAML"
        )
    if needs.token_ids and provides.encoded:
        raise ZooError(
            f"{name} reads the token ids of captions, and data.features brings texts that are "
            "encoded: set data.features to null"
        )
    if needs.teacher is not None and provides.encoded:
        raise ZooError(
            f"{name} needs what a teacher makes of images and texts, and data.features brings them "
            "encoded: set data.features to null"
        )


def not_needed(needs: Iterable[Needs], provides: Capabilities) -> list[str]:
    """Finds the texts and images that would be encoded for nothing.

    Args:
        needs: What each part of the model needs.
        provides: What the data bring.

    Returns:
        Their names, as the data's argument has them.
    """
    needs = list(needs)
    unasked = {
        "negatives": provides.negatives and not any(n.negatives or n.generators for n in needs),
        "positives": provides.positives and not any(n.positives for n in needs),
        "negative_images": provides.negative_images and not any(n.negative_images for n in needs),
        "units": provides.units and not any(n.units for n in needs),
    }
    return [what for what, idle in unasked.items() if idle]
