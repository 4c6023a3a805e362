"""Scores: the blocks of scores that an objective asks for.

The head makes them over the texts and images of all ranks. B rows of this rank, W ranks. A row's
images and texts stay on their rank; what travels is scores, and prepared texts that become
columns.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.batch import Batch, Encoded, pad_to
from zoo.errors import ZooError
from zoo.heads import answers
from zoo.heads.base import Head, without_autocast
from zoo.support import distributed as gather


@dataclass(frozen=True)
class Block:
    """Scores of n rows against m columns.

    Args:
        logits: The scores, `[n, m]`.
        match: The column that is right for a row, `[n]`, or None.
        candidate: Which columns count, `[n, m]`: false where a column does not exist or is to be
            left out.
    """

    logits: Tensor
    match: Tensor | None
    candidate: Tensor

    def concatenate(self, other: "Block") -> "Block":
        """Returns the columns of both blocks, this one's first; its matches hold."""
        return Block(
            torch.cat([self.logits, other.logits], dim=1),
            self.match,
            torch.cat([self.candidate, other.candidate], dim=1),
        )

    @property
    def is_match(self) -> Tensor:
        """Which columns are a row's match, `[n, m]`."""
        if self.match is None:
            raise ValueError("a block without matches has no own columns")
        return F.one_hot(self.match, self.logits.shape[1]).bool()

    def cross_entropy(self, valid: Tensor) -> Tensor:
        """Computes -log softmax at each row's match over its candidates.

        Args:
            valid: Which rows count, `[n]`.

        Returns:
            The losses, `[n]`, in nats; rows that are not valid give 0 without gradient.
        """
        if self.match is None:
            raise ValueError("a block without matches has no cross-entropy")
        logits = self.logits.masked_fill(~self.candidate, -torch.inf)
        logits = torch.where(valid[:, None], logits, torch.zeros_like(logits))
        return torch.where(
            valid, F.cross_entropy(logits, self.match, reduction="none"), logits.new_zeros(())
        )

    def correct(self) -> Tensor:
        """Returns whether each row's match scores above every other candidate, `[n]`."""
        if self.match is None:
            raise ValueError("a block without matches has no accuracy")
        logits = self.logits.detach().masked_fill(~self.candidate, -torch.inf)
        own = logits.gather(1, self.match[:, None])
        others = logits.scatter(1, self.match[:, None], -torch.inf)
        return (own > others).all(dim=1)


@dataclass(frozen=True)
class Columns:
    """What rows are scored against: images or texts, the same on all ranks.

    An objective that remembers past batches makes them of its buffers.

    Args:
        items: The items as the head prepared them, m of them.
        exists: Which of them are there, `[m]`.
    """

    items: Encoded
    exists: Tensor


class Scores:
    """Scores of one batch; blocks are made once and remembered.

    Args:
        head: What scores pairs.
        batch: The batch, both sides encoded.
        mask_same_image: Whether *true* texts (captions, units) of a row's own image stop being
            candidates against it.
        mask_same_text: Whether true texts with a row's own words stop being candidates against
            it.
        prepared_texts: The batch's texts as the head prepares them, where it has.
        tokens_in_bf16: Whether tokens of texts travel between ranks in bf16, and their gradients
            back.

    Attributes:
        images: The rows' encoded images as the backbone gave them, for terms that read tokens.
        texts: The encoded texts as the backbone gave them, for terms that read tokens.
    """

    def __init__(
        self,
        head: Head,
        batch: Batch,
        mask_same_image: bool = False,
        mask_same_text: bool = False,
        prepared_texts: Encoded | None = None,
        tokens_in_bf16: bool = False,
    ) -> None:
        if not isinstance(batch.images, Encoded) or not isinstance(batch.texts, Encoded):
            raise TypeError("scores are made of an encoded batch")
        self.head, self.batch = head, batch
        self.images, self.texts = first_items(batch.images, len(batch)), batch.texts
        if not len(self.texts):  # a rank of filling alone: a text of zeros stands in
            self.texts = self.texts.rows(batch.captions.new_zeros(1))
        self.mask_same_image, self.mask_same_text = mask_same_image, mask_same_text
        self.tokens_in_bf16 = tokens_in_bf16
        self._images = answers.prepare_images(head, self.images)
        self._texts = (
            answers.prepare_texts(head, self.texts) if prepared_texts is None else prepared_texts
        )
        self._blocks: dict[object, tuple[Tensor, Block]] = {}
        self._columns: dict[object, tuple[Tensor, Columns]] = {}

    @property
    def rows(self) -> Tensor:
        """Which rows are real, `[B]`: those with a caption. Filling is neither row nor column."""
        return self.batch.captions >= 0

    def images_against(self, rows: Tensor, true: bool = True) -> Block:
        """Scores this rank's images against texts of all ranks.

        Only `[B]` rows of true texts have matches and can be masked as false negatives.

        Args:
            rows: Rows of the text bank, `[B]` or `[B, K]`; -1 is missing.
            true: Whether the texts are true of their own image, as captions and units are.

        Returns:
            The block, `[B, W B]` or `[B, W B K]`.
        """
        return self._cached_block("images", rows, true, lambda: self._images_against(rows, true))

    def texts_against_images(self, rows: Tensor) -> Block:
        """Scores this rank's texts against images of all ranks.

        Args:
            rows: Rows of the text bank, `[B]`; -1 is missing.

        Returns:
            The block, `[B, W B]`.
        """
        return self._cached_block("texts", rows, True, lambda: self._texts_against_images(rows))

    def own_texts(self, rows: Tensor) -> Block:
        """Scores each image against its own texts.

        Args:
            rows: Rows of the text bank, `[B]` or `[B, K]`; -1 is missing.

        Returns:
            The block, `[B, K]`, without matches.
        """
        rows = rows.reshape(len(rows), -1)
        n, k = rows.shape
        i = torch.arange(n, device=rows.device).repeat_interleave(k)
        j = rows.clamp(min=0).reshape(-1)
        logits = answers.pairs(self.head, self._images, self._texts, i, j)
        return Block(logits.reshape(n, k), None, rows >= 0)

    def text_columns(self, rows: Tensor) -> Columns:
        """Gathers texts of all ranks, which are the columns of `images_against`.

        They travel once, however often they are asked for.

        Args:
            rows: Rows of the text bank, `[B]` or `[B, K]`; -1 is missing.

        Returns:
            The texts, `W B` or `W B K` of them, with gradients to the ranks that they came from.
        """
        key = _place(rows)
        if key not in self._columns:
            flat = rows.reshape(-1)
            columns = Columns(self._gathered_texts(flat), gather.gather(flat >= 0))
            # holding `rows` keeps its address from being used again
            self._columns[key] = (rows, columns)
        return self._columns[key][1]

    def image_columns(self) -> Columns:
        """Gathers the images of all ranks, their tokens too where the head reads them.

        Returns:
            The images, `W B` of them, with gradients to the ranks that they came from.
        """
        return Columns(self._images.map(gather.gather), gather.gather(self.rows))

    def images_against_columns(self, texts: Columns) -> Block:
        """Scores this rank's images against texts that may be of other batches.

        Args:
            texts: m texts, those of `text_columns` or what was remembered of them.

        Returns:
            The block, `[B, m]`, without matches.

        Raises:
            ZooError: The texts are not as the head prepares texts.
        """
        self._refuse_other(texts.items, self._texts, "text_columns")
        logits = answers.block(self.head, self._images, texts.items)
        return Block(logits, None, texts.exists.expand(len(logits), -1))

    def texts_against_columns(self, rows: Tensor, images: Columns) -> Block:
        """Scores this rank's texts against images that may be of other batches.

        Args:
            rows: Rows of the text bank, `[B]`; -1 is missing.
            images: m images, those of `image_columns` or what was remembered of them.

        Returns:
            The block, `[B, m]`, without matches.

        Raises:
            ZooError: The images are not as the head prepares images.
        """
        self._refuse_other(images.items, self._images, "image_columns")
        logits = answers.block(self.head, images.items, self._texts.rows(rows)).T
        return Block(logits, None, images.exists.expand(len(logits), -1))

    def turned_round(self) -> tuple[Batch, "Scores"]:
        """Scores negative images in place of images.

        A row's caption is then its first negative, and its caption the only negative. A row without
        a negative or a negative image is filling. Rows of one image have negative images of their
        own, so that nothing is masked as being of the same image.

        Returns:
            The batch turned round, and its scores.
        """
        batch = self.batch
        assert isinstance(batch.images, Encoded)
        negatives = batch.negatives[:, 0]
        there = self.rows & (batch.negative_images >= 0) & (negatives >= 0)
        turned = replace(
            batch,
            images=batch.images.rows(batch.negative_images),
            captions=torch.where(there, negatives, -1),
            negatives=batch.captions[:, None],
            negative_images=torch.full_like(batch.negative_images, -1),
        )
        scores = Scores(
            self.head,
            turned,
            mask_same_text=self.mask_same_text,
            prepared_texts=self._texts,
            tokens_in_bf16=self.tokens_in_bf16,
        )
        # the same texts in other roles, which need not travel again
        each = batch.negatives.shape[1]
        first_negatives = self.text_columns(batch.negatives).items.map(lambda t: t[::each])
        captions = Columns(first_negatives, gather.gather(there))
        scores._columns = {
            _place(turned.captions): (turned.captions, captions),
            _place(turned.negatives): (turned.negatives, self.text_columns(batch.captions)),
        }
        return turned, scores

    def image_vectors(self, teacher: bool = False) -> Tensor:
        """Returns this rank's images as pooled vectors at unit length, whatever the head.

        Args:
            teacher: Whether as the teacher encodes them.

        Returns:
            The vectors in at least fp32, `[B, D]`.
        """
        images = self.batch.teacher_images if teacher else self.images
        if images is None:
            raise ValueError("the batch has no teacher: state one in Needs")
        return _unit(first_items(images, len(self.batch)).pooled)

    def text_vectors(self, rows: Tensor, teacher: bool = False) -> Tensor:
        """Returns texts as pooled vectors at unit length, for terms that no head scores.

        Args:
            rows: Rows of the text bank, of any shape; -1 is missing.
            teacher: Whether as the teacher encodes them.

        Returns:
            The vectors in at least fp32, `[..., D]`. A missing text gives another's, for the caller
            to mask.
        """
        texts = self.batch.teacher_texts if teacher else self.texts
        if texts is None:
            raise ValueError("the batch has no teacher: state one in Needs")
        vectors = _unit(texts.rows(rows.reshape(-1)).pooled)
        return vectors.reshape(*rows.shape, -1)

    def texts_against_texts(self, rows: Tensor, columns: Tensor) -> Block:
        """Compares this rank's texts with texts of all ranks, whatever the head.

        Args:
            rows: Rows of the text bank, `[B]`; -1 is missing.
            columns: Rows of the text bank, `[B]` or `[B, K]`; -1 is missing.

        Returns:
            Cosines of the towers' own vectors, not scaled, `[B, W B]` or `[B, W B K]`. Columns of
            `[B]` have matches.
        """
        flat = columns.reshape(-1)
        others = gather.gather(self.text_vectors(flat))
        with without_autocast(others):
            cosines = self.text_vectors(rows) @ others.T
        return Block(
            cosines,
            self._own_columns(len(rows)) if columns.ndim == 1 else None,
            gather.gather(flat >= 0).expand(len(rows), -1),
        )

    def mean(self, values: Tensor, valid: Tensor) -> Tensor:
        """Computes this rank's share of a mean over all ranks, times W.

        DDP's mean over ranks turns these shares into the mean.

        Args:
            values: The values, `[B]` or another shape.
            valid: Which of them count, of the same shape.

        Returns:
            The share, a scalar; 0 with a graph where no value is valid.
        """
        count = self.count(valid).to(values.dtype).clamp(min=1)
        return torch.where(valid, values, torch.zeros_like(values)).sum() * (
            gather.world_size() / count
        )

    def total(self, values: Tensor, valid: Tensor) -> Tensor:
        """Computes this rank's share of a sum over all ranks, times W; see `mean`.

        Args:
            values: The values, of any shape.
            valid: Which of them count, of the same shape.

        Returns:
            The share, a scalar.
        """
        return torch.where(valid, values, torch.zeros_like(values)).sum() * gather.world_size()

    def count(self, valid: Tensor) -> Tensor:
        """Counts what is valid on all ranks, a scalar."""
        return gather.sum_over_ranks(valid.sum())

    def column_means(self, values: Tensor, valid: Tensor) -> Tensor:
        """Averages each column over the rows of all ranks, for what an objective remembers.

        Args:
            values: The values, `[B, m]`.
            valid: Which of them count, `[B, m]`.

        Returns:
            The means without gradient, `[m]`, the same on all ranks; nan where no value counts.
        """
        counted = torch.where(valid, values, torch.zeros_like(values))
        sums = torch.stack([counted.sum(0), valid.sum(0).to(values.dtype)])
        means: Tensor = torch.div(*gather.sum_over_ranks(sums))
        return means

    def false_negative_shares(self) -> dict[str, Tensor]:
        """Measures how many caption columns are false negatives.

        Returns:
            The share of caption columns, other than a row's own, that are of the row's image
            (`same_image`) or have its words (`same_text`), each as `mean` gives it.
        """
        same_image, same_text, others = self._likeness(
            self.batch.captions, gather.gather(self.rows)
        )
        return {
            "same_image": self.mean(same_image.float(), others),
            "same_text": self.mean(same_text.float(), others),
        }

    def _refuse_other(self, items: Encoded, prepared: Encoded, method: str) -> None:
        """Raises ZooError where columns are not of the form that the head's own items have."""
        theirs, own = (
            f"vectors of {some.pooled.shape[1]} numbers and {len(some.tokens)} sets of tokens"
            for some in (items, prepared)
        )
        if theirs != own or items.tokens.keys() != prepared.tokens.keys():
            raise ZooError(
                f"columns to score against have {theirs}, and {type(self.head).__name__} prepares "
                f"{own}: remember all that scores.{method} gives, or take a head of pooled vectors "
                "as wide as the backbone's"
            )

    def _cached_block(
        self, kind: str, rows: Tensor, true: bool, make: Callable[[], Block]
    ) -> Block:
        key = (kind, true, _place(rows))
        if key not in self._blocks:
            # holding `rows` keeps its address from being used again
            self._blocks[key] = (rows, make())
        return self._blocks[key][1]

    def _images_against(self, rows: Tensor, true: bool) -> Block:
        columns = self.text_columns(rows)
        block = self.images_against_columns(columns)
        if not true or rows.ndim > 1:
            return block
        candidate = self._without_false_negatives(block.candidate, rows, columns.exists)
        return Block(block.logits, self._own_columns(len(rows)), candidate)

    def _texts_against_images(self, rows: Tensor) -> Block:
        logits = gather.transpose(self.images_against(rows).logits)
        exists = gather.gather(self.rows)
        candidate = self._without_false_negatives(exists.expand(len(rows), -1), rows, exists)
        return Block(logits, self._own_columns(len(rows)), candidate)

    def _gathered_texts(self, flat: Tensor) -> Encoded:
        texts = self._texts.rows(flat)
        if gather.world_size() > 1 and texts.tokens:
            lengths = {
                k: gather.max_over_ranks(t.shape[1], t.device) for k, t in texts.tokens.items()
            }
            texts = Encoded(
                texts.pooled,
                {k: pad_to(t, lengths[k]) for k, t in texts.tokens.items()},
                {k: pad_to(m, lengths[k]) for k, m in texts.masks.items()},
            )
        if not self.tokens_in_bf16:
            return texts.map(gather.gather)
        tokens = {
            k: gather.gather(t.bfloat16()).to(t.dtype) if gather.world_size() > 1 else t
            for k, t in texts.tokens.items()
        }
        masks = {k: gather.gather(m) for k, m in texts.masks.items()}
        return Encoded(gather.gather(texts.pooled), tokens, masks)

    def _own_columns(self, n: int) -> Tensor:
        return torch.arange(n, device=self.batch.captions.device) + gather.rank() * n

    def _without_false_negatives(self, candidate: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        if not (self.mask_same_image or self.mask_same_text):
            return candidate
        same_image, same_text, others = self._likeness(rows, columns)
        false = (same_image & self.mask_same_image) | (same_text & self.mask_same_text)
        return candidate & ~(false & others)

    def _likeness(self, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compares rows with columns by image and by words.

        Args:
            rows: Rows of the text bank, `[B]`; -1 is missing.
            columns: Which columns exist, `[W B]`.

        Returns:
            Three masks, `[B, W B]`: columns of the row's image, columns with its words, and
            existing columns but its own.
        """
        ids = self.batch.image_ids
        hashes = (
            self.batch.hashes[rows.clamp(min=0)]
            if len(self.batch.hashes)
            else torch.zeros_like(rows)
        )
        exists = rows >= 0
        same_image = ids[:, None] == gather.gather(ids)[None]
        same_text = (
            (hashes[:, None] == gather.gather(hashes)[None])
            & exists[:, None]
            & gather.gather(exists)[None]
        )
        own = F.one_hot(self._own_columns(len(rows)), len(columns)).bool()
        return same_image, same_text, columns[None] & exists[:, None] & ~own


def _place(rows: Tensor) -> object:
    """Returns what is equal for rows that are the same view of the same memory."""
    return rows.data_ptr(), rows.shape, rows.stride()


def first_items(items: Encoded, n: int) -> Encoded:
    """Returns the first n items: of a batch's images, those of its rows."""
    return items if len(items) == n else items.map(lambda t: t[:n])


def _unit(vectors: Tensor) -> Tensor:
    """Returns vectors at unit length, raised from half types to fp32."""
    return F.normalize(vectors if vectors.dtype.itemsize >= 4 else vectors.float(), dim=-1)
