"""Weights: how those of each part of a model came about, and which of them are trained."""

import logging

from zoo.backbones.backbone import Backbone
from zoo.heads.base import Head, starts_at_random
from zoo.support import provenance

log = logging.getLogger(__name__)


class WeightOrigins:
    """How the weights came about, in the words of zoo.support.provenance.

    Args:
        backbone: The towers.
        head: The head, just attached, with nothing loaded into it.

    Attributes:
        recorded: What the checkpoint says that they were loaded from; None where there is none.
        stepped: Whether they were trained since.
    """

    def __init__(self, backbone: Backbone, head: Head) -> None:
        self.backbone, self.head = backbone, head
        self.recorded: dict[str, str] | None = None
        self.stepped = False
        self._drawn_head = starts_at_random(head, backbone.shapes)
        head.register_load_state_dict_post_hook(provenance.mark_loaded)  # type: ignore[no-untyped-call]

    def of_parts(self) -> dict[str, str]:
        """Returns how the weights of every part came about.

        A head is named where it has weights that training makes.
        """
        weights = self.recorded or self._before_training()
        trained = [part for part in weights if self.stepped and self.trains(part)]
        return weights | dict.fromkeys(trained, provenance.TRAINED)

    def trains(self, part: str) -> bool:
        """Returns whether a part has weights that are trained."""
        if part == provenance.HEAD:
            return any(p.requires_grad for p in self.head.parameters())
        return self.backbone.trains("image" if part == provenance.IMAGE else "text")

    def warn_of_random(self, frozen: bool = False) -> None:
        """Warns of parts whose weights are random.

        Args:
            frozen: Whether only parts that training leaves alone count.
        """
        weights = self.of_parts().items()
        said = provenance.random_weights(
            {part: came for part, came in weights if not (frozen and self.trains(part))}
        )
        if said is not None:
            log.warning(said)

    def _before_training(self) -> dict[str, str]:
        if not self._drawn_head:
            return self.backbone.weights
        came = provenance.LOADED if provenance.was_loaded(self.head) else provenance.RANDOM
        return {**self.backbone.weights, provenance.HEAD: came}
