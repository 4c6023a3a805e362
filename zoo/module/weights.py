"""The origin of the weights of each part of a model, and whether they are trained."""

import logging

from zoo.backbones.backbone import Backbone
from zoo.heads.base import Head, starts_at_random
from zoo.support import provenance

log = logging.getLogger(__name__)


class WeightOrigins:
    """The origin of each part's weights, in the terms of zoo.support.provenance.

    Args:
        backbone: The towers.
        head: The head, just attached, with nothing loaded into it.

    Attributes:
        recorded: The origins recorded in the loaded checkpoint; None without a checkpoint.
        stepped: Whether the trainer made an optimizer step since.
    """

    def __init__(self, backbone: Backbone, head: Head) -> None:
        self.backbone, self.head = backbone, head
        self.recorded: dict[str, str] | None = None
        self.stepped = False
        self._head_starts_at_random = starts_at_random(head, backbone.shapes)
        head.register_load_state_dict_post_hook(provenance.mark_loaded)  # type: ignore[no-untyped-call]
        self._initial_versions = self._versions()
        for part in (backbone.model, head):
            part.register_load_state_dict_post_hook(self._restart)

    def origins_by_part(self) -> dict[str, str]:
        """Returns the origin of the weights of every part.

        A head is included only if it has weights that start at random.
        """
        weights = self.recorded or self._before_training()
        stepped = self.stepped or self._versions() > self._initial_versions
        trained = [part for part in weights if stepped and self.trains(part)]
        return weights | dict.fromkeys(trained, provenance.TRAINED)

    def trains(self, part: str) -> bool:
        """Returns whether a part has weights that are trained."""
        if part == provenance.HEAD:
            return any(p.requires_grad for p in self.head.parameters())
        return self.backbone.has_trained_parameters("image" if part == provenance.IMAGE else "text")

    def warn_of_random(self, only_frozen: bool = False) -> None:
        """Warns about parts with random weights.

        Args:
            only_frozen: Whether to consider only parts that are not trained.
        """
        weights = self.origins_by_part().items()
        message = provenance.describe_random_weights(
            {part: origin for part, origin in weights if not (only_frozen and self.trains(part))}
        )
        if message is not None:
            log.warning(message)

    def _versions(self) -> int:
        """Returns a number that each optimizer step increases, also without a trainer."""
        parameters = (p for module in (self.backbone, self.head) for p in module.parameters())
        # tensors that were made in inference mode cannot be trained, and have no version
        return sum(p._version for p in parameters if p.requires_grad and not p.is_inference())

    def _restart(self, *_: object) -> None:
        self._initial_versions = self._versions()

    def _before_training(self) -> dict[str, str]:
        if not self._head_starts_at_random:
            return self.backbone.origin_by_tower
        origin = provenance.LOADED if provenance.was_loaded(self.head) else provenance.RANDOM
        return {**self.backbone.origin_by_tower, provenance.HEAD: origin}
