"""ZooModule: the one LightningModule.

It encodes a batch, lets the head score it, and lets the objective judge it. Its hooks stand in the
order in which Lightning calls them: set-up, steps of training, validation, checkpoints.
"""

import dataclasses
import logging
import time
from typing import Any

import lightning
import torch
from lightning import LightningModule
from torch import Tensor

from zoo import __version__
from zoo.backbones.backbone import Backbone
from zoo.batch import Batch, Encoded, TextBank, TokenKey
from zoo.caption_data import Benchmarks, CaptionData, benchmarks_of, data_name, data_of
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.module.agreement import (
    refuse_lacking_data,
    refuse_missing_bias,
    report_frozen,
    warn_of_idle_texts,
)
from zoo.module.checkpoint import (
    keep_own_objective,
    recorded_part,
    refuse_half_an_average,
    refuse_other_adapters,
    refuse_other_tensors,
)
from zoo.module.in_place import changed_in_place
from zoo.module.step_numbers import step_numbers
from zoo.module.teacher import Teacher
from zoo.module.weights import WeightOrigins
from zoo.needs import needs_of
from zoo.objectives.base import Loss, Objective, loss_of
from zoo.objectives.clip import CLIP
from zoo.optim import Optimization, learning_rates
from zoo.scores import Scores
from zoo.support.distributed import (
    average_scalars,
    gather_parameters,
    mean_over_ranks,
    rank,
    shard,
    sum_over_ranks,
)
from zoo.support.ranges import NonNegativeInt, Ranged
from zoo.support.spec import to_config

log = logging.getLogger(__name__)

PARTS = ("backbone", "head", "objective")


class ZooModule(Ranged, LightningModule):
    """Any backbone, head and objective, trained and measured.

    Args:
        backbone: The towers.
        objective: The loss; CLIP's where None.
        head: How pairs are scored; by cosine where None.
        optimizer: Learning rates and schedule.
        seed: What dropout and other noise of a step are a function of, together with the step's
            number, from 0 up. None takes that of seed_everything on the command line, else 0.
        mask_same_image: Whether *true* texts (captions, units) of a row's own image stop being
            candidates against it. The papers do not mask them.
        mask_same_text: Whether true texts with a row's own words stop being candidates against
            it. The papers do not mask them.
        tokens_in_bf16: Whether tokens of texts, where the head reads them, travel between devices
            in bf16, and their gradients back. Pooled vectors travel as they are.

    Raises:
        ZooError: Head or objective want tokens that the backbone does not have, or the objective a
            bias that the head does not have.
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
        self.frozen = backbone.freeze(
            self.image_keys,
            self.text_keys,
            any(need.pooled for need in needs),
            any(need.pooled_texts for need in needs),
        )
        self.objective.attach(
            backbone.shapes, self.head, trains=backbone.trains("image") or backbone.trains("text")
        )
        decay = needs[1].teacher
        self.teacher = None if decay is None else Teacher(backbone, decay)
        self.origin: dict[str, Any] = {}
        # the file that the weights were read from, where Lightning did not read it
        self.checkpoint: str | None = None
        self.sharded = False
        self._step_began = 0.0

    def setup(self, stage: str) -> None:
        """Refuses data that the objective cannot use, and says what is frozen or not needed.

        Args:
            stage: Lightning's; only `fit` is looked at.

        Raises:
            ZooError: The objective needs what the data does not bring.
        """
        if stage == "fit":
            data = data_of(self.trainer)
            self.refuse_what_cannot_be(data)
            if self.trainer.is_global_zero:
                warn_of_idle_texts(self.objective, self.head, data)
                report_frozen(self.backbone, self.frozen)

    def refuse_what_cannot_be(self, data: object) -> None:
        """Holds the data to what head and objective need.

        Args:
            data: The datamodule; one that is no `CaptionData` passes.

        Raises:
            ZooError: Head or objective need what the data does not bring.
        """
        refuse_lacking_data(self.objective, self.head, data)

    def configure_model(self) -> None:
        """Splits the parameters over devices where the strategy brings a mesh of them.

        Lightning calls it before every fit and validate.
        """
        if self.device_mesh is not None and not self.sharded:
            shard(self, self.device_mesh["data_parallel"], ("training_step", "validation_step"))
            self.sharded = True

    def configure_optimizers(self) -> dict[str, Any]:  # type: ignore[override]
        """Returns optimiser and schedule for the steps of this run."""
        total = int(self.trainer.estimated_stepping_batches)
        epochs = total / max(
            self.trainer.num_training_batches / self.trainer.accumulate_grad_batches, 1
        )
        return self.optimizer.build(self.named_parameters(), self.part, total, epochs)

    def part(self, name: str) -> str:
        """Returns the part that a parameter belongs to by its name.

        Args:
            name: The parameter's name.

        Returns:
            'image', 'text' or 'head'; the objective's own parameters count as the head's.
        """
        return (
            self.backbone.tower(name.removeprefix("backbone."))
            if name.startswith("backbone.")
            else "head"
        )

    def encode(self, batch: Batch) -> Batch:
        """Returns the batch with images and texts encoded; what came encoded stays as it is."""
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

    def _compute_loss(self, stage: str, batch: Batch) -> Loss:
        if not isinstance(batch, Batch):
            raise ZooError(
                f"{data_name(self.trainer)} yields a {type(batch).__name__}, and a step takes a "
                "zoo.batch.Batch: make one in the loader's collate_fn"
            )
        encoded, scores = self.score(batch)
        loss = loss_of(self.objective, encoded, scores)
        self.log_step(stage, batch, scores, loss)
        return loss

    def log_step(self, stage: str, batch: Batch, scores: Scores, loss: Loss) -> None:
        """Logs the numbers of a step, as means over all ranks.

        Args:
            stage: 'train' or 'val', which the names begin with.
            batch: This rank's batch, as it was loaded.
            scores: Its scores.
            loss: Its loss.
        """
        numbers = step_numbers(stage, batch, scores, loss)
        if stage == "train":
            of_parts = learning_rates(self.trainer.optimizers[0])
            numbers |= {f"lr_{part}": torch.tensor(lr) for part, lr in of_parts.items()}
        dtype = torch.promote_types(loss.total.dtype, torch.float32)
        own = torch.stack([value.to(self.device, dtype) for value in numbers.values()])
        for name, value in zip(numbers, mean_over_ranks(own), strict=True):
            self.log(
                f"{stage}/{name}",
                value,
                prog_bar=name == "loss",
                on_step=stage == "train",
                on_epoch=stage == "val",
                sync_dist=stage == "val",  # equal by now, and Lightning warns without
                batch_size=int(sum_over_ranks(scores.rows.sum())) if stage == "val" else len(batch),
                add_dataloader_idx=False,
            )

    def on_train_start(self) -> None:
        """Warns of random frozen weights, and puts this run's settings over a checkpoint's."""
        if self.trainer.is_global_zero:
            self._weights.warn_of_random(frozen=True)
        for optimizer, schedule in zip(
            self.trainer.optimizers, self.trainer.lr_scheduler_configs, strict=True
        ):
            self.optimizer.restate(optimizer, schedule.scheduler)  # type: ignore[arg-type]

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seeds the step's noise by seed, step and rank."""
        step = self.trainer.fit_loop.epoch_loop.total_batch_idx
        torch.manual_seed((self.seed * 1_000_003 + step) * 4_096 + rank())
        self._step_began = time.perf_counter()

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Returns the loss of one batch, and logs its numbers."""
        return self._compute_loss("train", batch).total

    def backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        """Goes backward.

        Raises:
            ZooError: A part that comes from outside changed a tensor in place that is needed here.
        """
        try:
            super().backward(loss, *args, **kwargs)
        except RuntimeError as error:
            mistake = changed_in_place(error, (self.objective, self.head, self.backbone))
            if mistake is None:
                raise
            raise mistake from error

    def on_after_backward(self) -> None:
        """Averages the gradients of scalars, which are not split, over ranks."""
        if self.sharded:
            average_scalars(self)

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        """Takes the optimiser's step, clamps the head's scale and moves the teacher."""
        super().optimizer_step(*args, **kwargs)
        if self.teacher is not None:
            self.teacher.follow(self.backbone)
        self._weights.stepped = True
        # here, since callbacks write checkpoints before `on_train_batch_end` of the module
        self.head.clamp_scale()

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Logs how many texts were encoded a second."""
        if isinstance(batch.texts, TextBank):
            seconds = time.perf_counter() - self._step_began
            speed = torch.tensor(len(batch.texts) / max(seconds, 1e-9), device=self.device)
            self.log("train/texts_a_second", sum_over_ranks(speed), batch_size=1)

    @property
    def evaluation(self) -> Benchmarks | None:
        """The benchmarks that the datamodule brought, or None."""
        return benchmarks_of(data_of(self.trainer))

    def on_validation_epoch_start(self) -> None:
        """Starts the benchmarks' engine; warns of random weights where nothing is trained."""
        if self.evaluation is not None:
            if self.trainer.state.fn == "validate" and self.trainer.is_global_zero:
                self._weights.warn_of_random()
            if self.trainer.state.fn == "fit":
                self._note_data()
            self.evaluation.start(self.backbone, self.head, self.describe_model())
        if self.sharded:
            gather_parameters(
                self, whole=True
            )  # benchmarks are scored by the head alone, outside any step

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Logs the loss of a batch of captions, or hands a benchmark's batch to the engine."""
        if isinstance(batch, Batch) or self.evaluation is None:
            self._compute_loss("val", batch)
        else:
            self.evaluation.step(self.backbone, self.head, batch)

    def on_validation_epoch_end(self) -> None:
        """Ends the benchmarks' engine, and logs their metrics while fitting."""
        if self.evaluation is None or self.trainer.sanity_checking:
            return
        fitting = self.trainer.state.fn == "fit"
        checkpoint = None if fitting else self.trainer.ckpt_path or self.checkpoint
        about = {
            "checkpoint": None if checkpoint is None else str(checkpoint),
            "precision": str(self.trainer.precision),
            **self.describe_model(),
        }
        # short-lists are encoded here, in the precision that everything else was encoded in
        with self.trainer.precision_plugin.val_step_context():
            results = self.evaluation.finish(self.backbone, self.head, about)
        metrics = results.scalars() if fitting else {}  # `validate` prints a table of its own
        for name, value in metrics.items():
            # every rank has it, and may choose by it
            self.log(f"benchmark/{name}", value, sync_dist=True)

    def on_validation_end(self) -> None:
        """Splits the parameters again where they were gathered for benchmarks."""
        if self.sharded:
            gather_parameters(self, whole=False)

    @property
    def weights(self) -> dict[str, str]:
        """How the weights of every part came about, in the words of zoo.support.provenance."""
        return self._weights.of_parts()

    def recipe(self) -> dict[str, Any]:
        """Returns the module's parts in plain data, as a YAML would have them."""
        parts = {name: to_config(getattr(self, name)) for name in PARTS}
        settings = {
            n: list(v) if isinstance(v, tuple) else v
            for n, v in dataclasses.asdict(self.optimizer).items()
        }
        masks = {
            "mask_same_image": self.mask_same_image,
            "mask_same_text": self.mask_same_text,
            "tokens_in_bf16": self.tokens_in_bf16,
        }
        return {**parts, "optimizer": settings, "seed": self.seed, **masks}

    def describe_model(self) -> dict[str, Any]:
        """Returns what results say of the model: its recipe, its weights' origin, its data."""
        return {
            "recipe": self.recipe(),
            "weights": self.weights,
            "origin": {k: v for k, v in self.origin.items() if k != "trained_images"},
        }

    def _note_data(self) -> None:
        """Takes the data of this run for those that the weights were trained on."""
        data = data_of(self.trainer)
        if isinstance(data, CaptionData):
            self.origin = {"data": data.describe(), "trained_images": data.trained_images()}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Adds what rebuilds the model, and what is known of its weights and data."""
        checkpoint["hyper_parameters"] = {
            **self.recipe(),
            "_instantiator": "lightning.pytorch.cli.instantiate_module",
        }
        if self._trainer is not None:
            self._note_data()
        checkpoint["zoo"] = {
            "version": __version__,
            "lightning": lightning.__version__,
            "weights": self.weights,
            # the weights that it came from are not asked again
            "start_log_scale": self.head.start,
            **self.origin,
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Takes what a checkpoint says of its weights, and refuses one that does not fit.

        Args:
            checkpoint: Lightning's. Another objective's own parameters are replaced by this one's.

        Raises:
            ZooError: It holds tensors or adapters of another model, or an average that this run
                does not keep.
        """
        said = checkpoint.get("zoo", {})
        self.origin = {k: v for k, v in said.items() if k in ("data", "trained_images")}
        self._weights.recorded = said.get("weights")
        self.head.start = said.get("start_log_scale", self.head.start)
        recorded = recorded_part(checkpoint, "objective").get("class_path")
        if self._trainer is not None and self.trainer.state.fn == "fit":
            own = to_config(self.objective)["class_path"]
            if recorded != own:
                log.warning("a run of %s is resumed with %s", recorded, own)
            refuse_half_an_average(checkpoint, self.trainer.callbacks)  # type: ignore[attr-defined]
        if "state_dict" not in checkpoint:
            return  # a strategy that splits parameters has checked and loaded it
        keep_own_objective(checkpoint["state_dict"], recorded, self.objective, self.state_dict())
        self.refuse_other_shapes(checkpoint)

    def refuse_other_shapes(self, checkpoint: dict[str, Any]) -> None:
        """Holds a checkpoint to this module's adapters and tensors.

        Args:
            checkpoint: Lightning's.

        Raises:
            ZooError: It has other adapters, or its tensors differ from this module's in name or
                shape.
        """
        refuse_other_adapters(checkpoint, self.backbone)
        parts = {"head": self.head, "objective": self.objective}
        refuse_other_tensors(checkpoint, self.state_dict(), parts)
