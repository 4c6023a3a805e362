"""ZooModule: the one LightningModule.

It encodes a batch, scores it with the head, and computes the loss with the objective. Its hooks are
in the order in which Lightning calls them: set-up, training steps, validation, checkpoints.
"""

import logging
import time
from typing import Any

import lightning
import torch
from lightning import LightningModule
from torch import Tensor

from zoo import __version__
from zoo.backbones.backbone import TEMPERATURE, Backbone
from zoo.batch import Batch, Encoded, TextBank, TokenKey
from zoo.caption_data import Benchmarks, CaptionData, benchmarks_of, data_name, data_of
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.module.checkpoint import (
    recorded_part,
    refuse_other_adapters,
    refuse_other_tensors,
    refuse_unused_average,
    replace_objective_state,
)
from zoo.module.compatibility import (
    check_data_provided,
    refuse_missing_bias,
    report_frozen,
    warn_of_unused_texts,
)
from zoo.module.inplace_errors import translate_inplace_error
from zoo.module.step_numbers import compute_step_metrics, stack_metrics
from zoo.module.teacher import Teacher
from zoo.module.weights import WeightOrigins
from zoo.needs import needs_of
from zoo.objectives.base import Loss, Objective, loss_of
from zoo.objectives.clip import CLIP
from zoo.optim import Optimization, learning_rates
from zoo.scores import Scores
from zoo.support.configurable import to_config, to_plain
from zoo.support.distributed import (
    average_scalar_gradients,
    clip_sharded_gradients,
    gather_or_reshard_parameters,
    mean_over_ranks,
    rank,
    shard,
    sum_over_ranks,
)
from zoo.support.lightning_internals import discard_logged_metrics, is_logged_step
from zoo.support.ranges import NonNegativeInt, Ranged

log = logging.getLogger(__name__)

PARTS = ("backbone", "head", "objective")


class ZooModule(Ranged, LightningModule):
    """Any backbone, head and objective, trained and measured.

    Args:
        backbone: The image tower and the text tower.
        objective: The loss; `CLIP` if None.
        head: Computes the score of an image and a text; `Cosine` if None.
        optimizer: Learning rates and schedule.
        seed: Seed of dropout and other noise, at least 0. The noise of a step depends on the seed
            and on the number of the step. If None, commands use the setting `seed_everything`, and
            Python code uses 0.
        mask_same_image: Whether the loss of a row leaves out other captions and units of the row's
            image. If false, the loss treats them as wrong texts, as in the papers of the
            objectives.
        mask_same_text: Whether the loss of a row leaves out those texts of other rows that have the
            same words as the row's true text. If false, the loss treats them as wrong texts, as in
            the papers of the objectives.
        tokens_in_bf16: Whether devices exchange the token vectors of texts, and the gradients of
            these vectors, in bf16. This affects only heads that read token vectors. Pooled vectors
            keep their precision.

    Raises:
        ZooError: Head or objective need tokens that the backbone does not have, or the objective
            needs a bias that the head does not have.

    Examples:
        A backbone, an objective and a head are combined freely. The head decides which tokens of
        the image tower are read:

        >>> from zoo.backbones import Backbone
        >>> from zoo.heads import MaxSim
        >>> from zoo.module import ZooModule
        >>> from zoo.objectives import NegCLIP
        >>> module = ZooModule(Backbone("zoo-tiny"), NegCLIP(), MaxSim())
        >>> module.image_keys
        frozenset({TokenKey(layer=-1, norm=True, project=True, prefix=False)})
    """

    def __init__(
        self,
        backbone: Backbone,
        objective: Objective | None = None,
        head: Head | None = None,
        optimizer: Optimization = Optimization(),  # noqa: B008  a frozen dataclass
        seed: NonNegativeInt | None = None,
        mask_same_image: bool = False,
        mask_same_text: bool = False,
        tokens_in_bf16: bool = False,
    ) -> None:
        super().__init__()
        self.backbone, self.optimizer, self.seed = backbone, optimizer, seed or 0
        self.mask_same_image, self.mask_same_text = mask_same_image, mask_same_text
        self.tokens_in_bf16 = tokens_in_bf16
        self.objective: Objective = CLIP() if objective is None else objective
        self.head: Head = Cosine() if head is None else head
        self.head.attach(backbone.shapes)
        self._weights = WeightOrigins(backbone, self.head)
        needs = (needs_of(self.head), needs_of(self.objective))
        refuse_missing_bias(self.objective, self.head, backbone)
        self.image_keys = frozenset[TokenKey]().union(*(need.image_keys for need in needs))
        self.text_keys = frozenset[TokenKey]().union(*(need.text_keys for need in needs))
        self._untuned = {name for name, p in backbone.named_parameters() if not p.requires_grad}
        self._untuned -= set(TEMPERATURE)  # which the head replaces
        self.frozen = backbone.freeze_unused(
            self.image_keys,
            self.text_keys,
            any(need.pooled for need in needs),
            any(need.pooled_texts for need in needs),
        )
        self.objective.attach(
            backbone.shapes,
            self.head,
            trains=backbone.has_trained_parameters("image")
            or backbone.has_trained_parameters("text"),
        )
        decay = needs[1].teacher
        self.teacher = None if decay is None else Teacher(backbone, decay)
        self.origin: dict[str, Any] = {}
        # the file that the weights were read from, if Lightning did not read it
        self.checkpoint: str | None = None
        self.sharded = False
        # the names and values of the metrics of a step that is logged, until after its backward
        self._step_metrics: tuple[list[str], Tensor] | None = None
        self._step_began = self._seconds = 0.0
        self._texts = 0

    def setup(self, stage: str) -> None:
        """Refuses data that the objective cannot use, and logs what is frozen or not needed.

        Args:
            stage: Lightning's stage; only `fit` is checked.

        Raises:
            ZooError: The objective needs something that the data does not provide.
        """
        if stage == "fit":
            data = data_of(self.trainer)
            self.check_data(data)
            self._refuse_clipping_fused()
            self.backbone.refuse_tokens_of_dropped_patches(self.image_keys)
            if self.trainer.is_global_zero:
                warn_of_unused_texts(self.objective, self.head, data)
                report_frozen(self.backbone, self.frozen, self._untuned)

    def _refuse_clipping_fused(self) -> None:
        """Refuses what Lightning would refuse at the first step, in terms of other names."""
        trainer = self.trainer
        if (
            self.device_mesh is None
            and self.optimizer.fused
            and trainer.gradient_clip_val
            and "mixed" in str(trainer.precision)
        ):
            raise ZooError(
                f"trainer.gradient_clip_val {trainer.gradient_clip_val} does not work with "
                f"model.optimizer.fused in trainer.precision {trainer.precision}: set fused to "
                "false, or gradient_clip_val to null"
            )

    def check_data(self, data: object) -> None:
        """Checks that the data provides what head and objective need.

        Args:
            data: The datamodule; only a `CaptionData` is checked.

        Raises:
            ZooError: Head or objective need something that the data does not provide.
        """
        check_data_provided(self.objective, self.head, data)

    def configure_model(self) -> None:
        """Shards the parameters over devices if the strategy has a device mesh.

        Lightning calls it before every fit and validate.
        """
        if self.device_mesh is not None and not self.sharded:
            shard(self, self.device_mesh["data_parallel"], ("training_step", "validation_step"))
            self.sharded = True

    def configure_optimizers(self) -> dict[str, Any]:  # type: ignore[override]
        """Returns optimizer and schedule for the steps of this run."""
        total = int(self.trainer.estimated_stepping_batches)
        epochs = total / max(
            self.trainer.num_training_batches / self.trainer.accumulate_grad_batches, 1
        )
        return self.optimizer.build(self.named_parameters(), self.learning_rate_part, total, epochs)

    def learning_rate_part(self, name: str) -> str:
        """Returns the part that a parameter belongs to.

        Args:
            name: The parameter's name.

        Returns:
            'image', 'text' or 'head'; the objective's own parameters count as the head's.
        """
        return (
            self.backbone.tower_of_parameter(name.removeprefix("backbone."))
            if name.startswith("backbone.")
            else "head"
        )

    def encode(self, batch: Batch) -> Batch:
        """Returns the batch with images and texts encoded, unless they already are."""
        batch = batch if self.teacher is None else self.teacher.encode(batch)
        images, texts = batch.images, batch.texts
        if not isinstance(images, Encoded):
            images = self.backbone.encode_images(images, self.image_keys)
        if isinstance(texts, TextBank):
            texts = self.backbone.encode_texts(texts, self.text_keys)
        return batch.with_encoded(images, texts)

    def score(self, batch: Batch) -> tuple[Batch, Scores]:
        """Returns the encoded batch and its scores."""
        encoded = self.encode(batch)
        return encoded, Scores(
            self.head,
            encoded,
            self.mask_same_image,
            self.mask_same_text,
            tokens_in_bf16=self.tokens_in_bf16,
        )

    def _compute_loss(self, batch: Batch) -> tuple[Scores, Loss]:
        if not isinstance(batch, Batch):
            raise ZooError(
                f"{data_name(self.trainer)} yields a {type(batch).__name__}, but a step needs a "
                "zoo.batch.Batch: return one from the loader's collate_fn"
            )
        encoded, scores = self.score(batch)
        return scores, loss_of(self.objective, encoded, scores)

    def on_train_start(self) -> None:
        """Warns about random frozen weights, and restores this run's optimizer settings."""
        if self.trainer.is_global_zero:
            self._weights.warn_of_random(only_frozen=True)
        for optimizer, schedule in zip(
            self.trainer.optimizers, self.trainer.lr_scheduler_configs, strict=True
        ):
            self.optimizer.override_loaded_settings(optimizer, schedule.scheduler)  # type: ignore[arg-type]

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seeds the step's noise from seed, step and rank."""
        step = self.trainer.fit_loop.epoch_loop.total_batch_idx
        torch.manual_seed((self.seed * 1_000_003 + step) * 4_096 + rank())
        self._step_began = time.perf_counter()

    def training_step(self, batch: Batch, batch_idx: int) -> dict[str, Any]:
        """Computes the loss of one batch, and its metrics in a step that is logged.

        Returns:
            `loss`, a scalar in nats, and `loss_parts`, its terms by name without gradient.
        """
        scores, loss = self._compute_loss(batch)
        if is_logged_step(self.trainer):
            with torch.no_grad():
                chance_loss = self.objective.chance_loss(scores.batch, scores)
            metrics = compute_step_metrics("train", batch, scores, loss, chance_loss)
            self._step_metrics = list(metrics), mean_over_ranks(stack_metrics(metrics, loss))
        return {
            "loss": loss.total,
            "loss_parts": {name: part.detach() for name, part in loss.parts.items()},
        }

    def backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        """Computes the gradients.

        Raises:
            ZooError: A custom part modified a tensor in place that the gradient needs.
        """
        try:
            super().backward(loss, *args, **kwargs)
        except RuntimeError as error:
            mistake = translate_inplace_error(error, (self.objective, self.head, self.backbone))
            if mistake is None:
                raise
            raise mistake from error

    def on_after_backward(self) -> None:
        """Averages the gradients of scalars, which are not split, and logs the step's metrics."""
        if self.sharded:
            average_scalar_gradients(self)
        if self._step_metrics is None:
            return
        # one copy for all: each copy from a GPU waits for all that it computes
        names, values = self._step_metrics[0], self._step_metrics[1].cpu()
        metrics = dict(zip(names, values, strict=True))
        rates = learning_rates(self.trainer.optimizers[0])
        metrics |= {f"lr_{part}": torch.tensor(lr) for part, lr in rates.items()}
        for name, value in metrics.items():
            self.log(f"train/{name}", value, prog_bar=name == "loss", on_step=True, batch_size=1)

    def configure_gradient_clipping(
        self,
        optimizer: Any,
        gradient_clip_val: int | float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clips the gradients, which Lightning cannot do where parameters are split over devices.

        Args:
            optimizer: The optimizer.
            gradient_clip_val: The trainer's `gradient_clip_val`.
            gradient_clip_algorithm: `norm` or `value`; None for `norm`.
        """
        if self.sharded and gradient_clip_val:
            clip_sharded_gradients(self, gradient_clip_val, gradient_clip_algorithm == "value")
        else:
            super().configure_gradient_clipping(
                optimizer, gradient_clip_val, gradient_clip_algorithm
            )

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        """Takes the optimizer's step, clamps the head's scale and moves the teacher."""
        super().optimizer_step(*args, **kwargs)
        if self.teacher is not None:
            self.teacher.follow(self.backbone)
        self._weights.stepped = True
        # not in `on_train_batch_end`, since callbacks write checkpoints before it
        self.head.clamp_scale()

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Logs how many texts were encoded per second since the last step that was logged."""
        if isinstance(batch.texts, TextBank):
            self._texts += len(batch.texts)
            self._seconds += time.perf_counter() - self._step_began
        if self._step_metrics is None:
            if self.trainer.should_stop:
                discard_logged_metrics(self.trainer, "train/")
            return
        if self._texts:
            speed = torch.tensor(self._texts / max(self._seconds, 1e-9), device=self.device)
            self.log("train/texts_per_second", sum_over_ranks(speed).cpu(), batch_size=1)
        self._step_metrics, self._texts, self._seconds = None, 0, 0.0

    @property
    def evaluation(self) -> Benchmarks | None:
        """The benchmarks of the datamodule, or None."""
        return benchmarks_of(data_of(self.trainer))

    def on_validation_epoch_start(self) -> None:
        """Starts the benchmarks' engine; warns about random weights if nothing is trained."""
        if self.evaluation is not None:
            if self.trainer.state.fn == "validate" and self.trainer.is_global_zero:
                self._weights.warn_of_random()
            if self.trainer.state.fn == "fit":
                self._record_training_data()
            self.evaluation.start(self.backbone, self.head, self.describe_model())
        if self.sharded:
            gather_or_reshard_parameters(
                self, gathered=True
            )  # benchmarks are scored by the head alone, outside any step

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Logs the loss of a batch of captions, or passes a benchmark's batch to the engine."""
        if isinstance(batch, Batch) or self.evaluation is None:
            self._log_validation_metrics(batch)
        else:
            self.evaluation.step(self.backbone, self.head, batch)

    def _log_validation_metrics(self, batch: Batch) -> None:
        scores, loss = self._compute_loss(batch)
        metrics = compute_step_metrics("val", batch, scores, loss)
        values = mean_over_ranks(stack_metrics(metrics, loss))
        n_captions = int(scores.count(scores.rows))
        for name, value in zip(metrics, values, strict=True):
            self.log(
                f"val/{name}",
                value,
                prog_bar=name == "loss",
                on_step=False,
                on_epoch=True,
                sync_dist=True,  # already equal, but Lightning warns without it
                batch_size=n_captions,
                add_dataloader_idx=False,
            )

    def on_validation_epoch_end(self) -> None:
        """Ends the benchmarks' engine, and logs their metrics while fitting."""
        if self.evaluation is None or self.trainer.sanity_checking:
            return
        fitting = self.trainer.state.fn == "fit"
        checkpoint = None if fitting else self.trainer.ckpt_path or self.checkpoint
        description = {
            "checkpoint": None if checkpoint is None else str(checkpoint),
            "precision": str(self.trainer.precision),
            **self.describe_model(),
        }
        # short-lists are encoded here, in the precision of everything else
        with self.trainer.precision_plugin.val_step_context():
            results = self.evaluation.finish(self.backbone, self.head, description)
        metrics = results.scalars() if fitting else {}  # `zoo validate` prints a table
        for name, value in metrics.items():
            # logged on every rank, since checkpoints may be chosen by it
            self.log(f"benchmark/{name}", value, sync_dist=True)

    def on_validation_end(self) -> None:
        """Shards the parameters again after they were gathered for benchmarks."""
        if self.sharded:
            gather_or_reshard_parameters(self, gathered=False)

    @property
    def weight_origins(self) -> dict[str, str]:
        """The origin of every part's weights, in the terms of zoo.support.provenance."""
        return self._weights.origins_by_part()

    def constructor_config(self) -> dict[str, Any]:
        """Returns the module's parts in plain data, as in a YAML file."""
        parts = {name: to_config(getattr(self, name)) for name in PARTS}
        masks = {
            "mask_same_image": self.mask_same_image,
            "mask_same_text": self.mask_same_text,
            "tokens_in_bf16": self.tokens_in_bf16,
        }
        settings = to_plain(self.optimizer, "Optimization(arguments=...)")
        return {**parts, "optimizer": settings, "seed": self.seed, **masks}

    def describe_model(self) -> dict[str, Any]:
        """Returns the description of the model in results: recipe, origin of weights, data."""
        return {
            "recipe": self.constructor_config(),
            "weights": self.weight_origins,
            "origin": {k: v for k, v in self.origin.items() if k != "trained_images"},
        }

    def _has_trainer(self) -> bool:
        try:
            return self.trainer is not None
        except RuntimeError:  # Lightning's, without a trainer
            return False

    def _record_training_data(self) -> None:
        """Records this run's data as the data that the weights were trained on."""
        data = data_of(self.trainer)
        if isinstance(data, CaptionData):
            self.origin = {"data": data.describe(), "trained_images": data.trained_images()}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Adds the model's configuration and the origin of its weights and data."""
        checkpoint["hyper_parameters"] = {
            **self.constructor_config(),
            "_instantiator": "lightning.pytorch.cli.instantiate_module",
        }
        if self._has_trainer():
            self._record_training_data()
        checkpoint["zoo"] = {
            "version": __version__,
            "lightning": lightning.__version__,
            "weights": self.weight_origins,
            # stored, since the initial weights are not read again
            "start_log_scale": self.head.initial_log_scale,
            **self.origin,
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restores the recorded origin of the weights, and refuses a checkpoint that does not fit.

        Args:
            checkpoint: Lightning's. The parameters of another objective are replaced by this one's.

        Raises:
            ZooError: It has tensors or adapters of another model, averaged weights that this run
                does not use, or the state of another optimizer.
        """
        recorded_model = checkpoint.get("zoo", {})
        self.origin = {k: v for k, v in recorded_model.items() if k in ("data", "trained_images")}
        self._weights.recorded = recorded_model.get("weights")
        self.head.initial_log_scale = recorded_model.get(
            "start_log_scale", self.head.initial_log_scale
        )
        recorded = recorded_part(checkpoint, "objective").get("class_path")
        if self._has_trainer() and self.trainer.state.fn == "fit":
            this_objective = to_config(self.objective)["class_path"]
            if recorded != this_objective:
                log.warning("a run of %s is resumed with %s", recorded, this_objective)
            self._refuse_other_algorithm(checkpoint)
            refuse_unused_average(checkpoint, self.trainer.callbacks)  # type: ignore[attr-defined]
        if "state_dict" not in checkpoint:
            return  # a sharding strategy has checked and loaded it
        replace_objective_state(
            checkpoint["state_dict"], recorded, self.objective, self.state_dict()
        )
        self.refuse_mismatched_tensors(checkpoint)

    def _refuse_other_algorithm(self, checkpoint: dict[str, Any]) -> None:
        """Refuses to resume a run whose optimizer was of another class."""
        settings = checkpoint.get("hyper_parameters", {}).get("optimizer") or {}
        recorded = settings.get("algorithm", Optimization.algorithm)
        if recorded != self.optimizer.algorithm:
            raise ZooError(
                f"a run of {recorded} cannot be resumed with {self.optimizer.algorithm}: set "
                f"model.optimizer.algorithm to {recorded}, or start a new run from its weights "
                "with --model.backbone.pretrained"
            )

    def refuse_mismatched_tensors(self, checkpoint: dict[str, Any]) -> None:
        """Checks that a checkpoint has this module's adapters and tensors.

        Args:
            checkpoint: A checkpoint of Lightning.

        Raises:
            ZooError: Its adapters differ, or the names or shapes of its tensors.
        """
        refuse_other_adapters(checkpoint, self.backbone)
        parts = {"head": self.head, "objective": self.objective}
        refuse_other_tensors(checkpoint, self.state_dict(), parts)
