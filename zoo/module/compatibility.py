"""Checks that backbone, head, objective and data fit together."""

import logging
from collections.abc import Iterable

from zoo.backbones.backbone import Backbone
from zoo.caption_data import CaptionData
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.needs import Capabilities, Needs
from zoo.objectives.base import Objective
from zoo.support.class_names import list_classes
from zoo.support.configurable import class_path

SOME_POSITIVES = "zoo.positives.OtherCaption"  # for data with several captions per image
SOME_NEGATIVES = "zoo.negatives.NegCLIPSwap"  # needs only captions
FROZEN_SHOWN = 4  # names of tensors

log = logging.getLogger(__name__)


def refuse_missing_bias(objective: Objective, head: Head, backbone: Backbone) -> None:
    """Checks that an attached head has the bias that an objective needs.

    Raises:
        ZooError: The objective needs a bias, and the head has none.
    """
    if objective.needs.bias and head.bias is None:
        raise ZooError(
            f"{type(objective).__name__} needs a head with a bias, but neither "
            f"{type(head).__name__} nor {backbone.name} has one: set "
            f"`--model.head {class_path(type(head))} --model.head.bias -10` "
            "(as in SigLIP's paper), or the same in the YAML"
        )


def check_data_provided(objective: Objective, head: Head, data: object) -> None:
    """Checks that the data provides what head and objective need.

    Args:
        objective: The objective.
        head: The head.
        data: The datamodule; only a `CaptionData` is checked.

    Raises:
        ZooError: Head or objective need something that the data does not provide.
    """
    if isinstance(data, CaptionData):
        for part in (objective, head):
            check_provided(type(part).__name__, part.needs, data.provides)


def warn_of_unused_texts(objective: Objective, head: Head, data: object) -> None:
    """Warns about texts that the data makes and the model encodes but does not use."""
    if isinstance(data, CaptionData):
        for kind in unused_data_arguments((objective.needs, head.needs), data.provides):
            log.warning(
                "%s does not use the %s that the data makes: set data.init_args.%s to null to "
                "avoid encoding them",
                type(objective).__name__,
                kind,
                kind,
            )


def report_frozen(backbone: Backbone, frozen: list[str], untuned: set[str]) -> None:
    """Logs which tensors of the backbone are frozen, if any, and why.

    Args:
        backbone: The backbone.
        frozen: The names of its frozen tensors.
        untuned: Those that were already frozen by its settings of tuning.
    """
    towers = f"not tuned with model.backbone.tuning.towers {backbone.tuning.describe_towers()}"
    for reason, names in (
        ("not used by the loss", [name for name in frozen if name not in untuned]),
        (towers, [name for name in frozen if name in untuned]),
    ):
        if names:
            shown = ", ".join(names[:FROZEN_SHOWN]) + (", ..." if names[FROZEN_SHOWN:] else "")
            log.info("frozen tensors of the backbone: %d (%s), %s", len(names), shown, reason)


def check_provided(name: str, needs: Needs, provides: Capabilities) -> None:
    """Checks that the data provide what a part of the model needs.

    Args:
        name: The name of the part.
        needs: What it needs.
        provides: What the data provide.

    Raises:
        ZooError: The data do not provide something that the part needs.
    """
    if needs.negatives and not provides.negatives:
        raise ZooError(
            f"{name} needs sentence negatives, and the data have none: set "
            f"`--data.negatives {SOME_NEGATIVES}`, or data.init_args.negatives in the YAML "
            "(`zoo ls negatives` lists others)"
        )
    if needs.generators and not set(needs.generators) & set(provides.negatives):
        paths = {name_of_class: path for name_of_class, path, _ in list_classes("negatives")}
        generator = needs.generators[0]
        raise ZooError(
            f"{name} needs negatives of {' or '.join(needs.generators)}, and the data have "
            f"{', '.join(provides.negatives) or 'none'}: set "
            f"`--data.negatives {paths.get(generator, generator)}`, or data.init_args.negatives in "
            "the YAML"
        )
    if needs.units and not provides.units:
        raise ZooError(
            f"{name} needs units, and the data have none: create a file with "
            "`zoo units extract CAPTIONS --out F.jsonl`, and set "
            "`--data.units zoo.units.UnitSampler --data.units.file F.jsonl`, or "
            "data.init_args.units in the YAML"
        )
    if needs.positives and not provides.positives:
        raise ZooError(
            f"{name} needs further positives of captions, and the data have none: set "
            f"`--data.positives {SOME_POSITIVES}`, or data.init_args.positives in the YAML "
            "(`zoo ls positives` lists others)"
        )
    if needs.negative_images and not provides.negative_images:
        raise ZooError(
            f"{name} needs negative images, and the data have none: set "
            "`--data.negative_images zoo.sources.NegativeImages --data.negative_images.file "
            "F.jsonl`, or data.init_args.negative_images in the YAML"
        )
    if needs.token_ids and provides.encoded:
        raise ZooError(
            f"{name} reads the token ids of captions, and data.features provides texts already "
            "encoded: set data.features to null"
        )
    if needs.teacher is not None and provides.encoded:
        raise ZooError(
            f"{name} needs images and texts encoded by a teacher, and data.features provides them "
            "already encoded: set data.features to null"
        )


def unused_data_arguments(needs: Iterable[Needs], provides: Capabilities) -> list[str]:
    """Lists the texts and images that would be encoded but not used.

    Args:
        needs: What each part of the model needs.
        provides: What the data provide.

    Returns:
        Their names, which are those of the arguments of the data.
    """
    needs = list(needs)
    unused = {
        "negatives": provides.negatives and not any(n.negatives or n.generators for n in needs),
        "positives": provides.positives and not any(n.positives for n in needs),
        "negative_images": provides.negative_images and not any(n.negative_images for n in needs),
        "units": provides.units and not any(n.units for n in needs),
    }
    return [name for name, is_unused in unused.items() if is_unused]
