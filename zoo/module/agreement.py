"""Agreement: whether backbone, head, objective and data go together."""

import logging

from zoo.backbones.backbone import Backbone
from zoo.caption_data import CaptionData
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.needs import not_needed, refuse_lacking
from zoo.objectives.base import Objective
from zoo.support.spec import class_path

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
