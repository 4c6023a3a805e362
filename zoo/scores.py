"""`Scores`: computes scores for objectives, from the images and texts of all processes.

Shapes: there are W ranks (processes), each with B rows, and K texts per row if there are several.
Every rank gathers the texts of all ranks, and scores its own images against them. For the scores of
texts against images, ranks exchange the scores that they have computed, and need not gather images.
Only objectives that remember images of past batches gather images (`image_columns`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.batch import Batch, Encoded, pad_to
from zoo.errors import ZooError
from zoo.heads import answers
from zoo.heads.base import Head, without_autocast_and_tf32
from zoo.support import distributed as gather


@dataclass(frozen=True)
class Block:
    """Scores of n rows against m columns.

    Args:
        logits: The scores, `[n, m]`.
        match: The index of each row's match (its correct column), `[n]`. None for a block without
            matches.
        candidate: Which columns are candidates of each row, `[n, m]`: false for columns that do not
            exist or are excluded.

    Examples:
        The loss of a row whose first column is the match and whose last column is missing:

        >>> import torch
        >>> from zoo.scores import Block
        >>> candidate = torch.tensor([[True, True, False]])
        >>> block = Block(torch.tensor([[2.0, 2.0, 9.0]]), torch.tensor([0]), candidate)
        >>> block.cross_entropy(valid=torch.tensor([True]))
        tensor([0.6931])
        >>> block.correct()  # a tie is not correct
        tensor([False])
    """

    logits: Tensor
    match: Tensor | None
    candidate: Tensor

    def concatenate(self, other: "Block") -> "Block":
        """Appends the columns of another block, and keeps the matches of this block."""
        return Block(
            torch.cat([self.logits, other.logits], dim=1),
            self.match,
            torch.cat([self.candidate, other.candidate], dim=1),
        )

    def with_first_as_match(self) -> "Block":
        """Returns the block with the first column as the match of every row."""
        return replace(self, match=self.candidate.new_zeros(len(self.logits), dtype=torch.long))

    @property
    def is_match(self) -> Tensor:
        """Whether each column is the match of each row, `[n, m]`."""
        if self.match is None:
            raise ValueError("this block has no matches")
        return _one_hot(self.match, self.logits.shape[1])

    def cross_entropy(self, valid: Tensor) -> Tensor:
        """Computes each row's cross-entropy over its candidates, with its match as the target.

        Args:
            valid: Which rows count, `[n]`.

        Returns:
            The losses, `[n]`; 0 without gradient for rows that are not valid.
        """
        if self.match is None:
            raise ValueError("cross-entropy needs a block with matches")
        logits = self.logits.masked_fill(~self.candidate, -torch.inf)
        logits = torch.where(valid[:, None], logits, torch.zeros_like(logits))
        return torch.where(
            valid, F.cross_entropy(logits, self.match, reduction="none"), logits.new_zeros(())
        )

    def correct(self) -> Tensor:
        """Returns whether each row's match scores above every other candidate, `[n]`."""
        if self.match is None:
            raise ValueError("accuracy needs a block with matches")
        logits = self.logits.detach().masked_fill(~self.candidate, -torch.inf)
        match_scores = logits.gather(1, self.match[:, None])
        other_scores = logits.scatter(1, self.match[:, None], -torch.inf)
        return (match_scores > other_scores).all(dim=1)


@dataclass(frozen=True)
class Columns:
    """The images or texts that rows are scored against, the same on all ranks.

    An objective that remembers past batches builds `Columns` from its buffers.

    Args:
        items: m images or texts, as the head's `prepare_images` or `prepare_texts` returned them.
        exists: Which of them exist, `[m]`.
    """

    items: Encoded
    exists: Tensor


class Scores:
    """Scores of one batch; each block is computed once and cached.

    Args:
        head: The head, which scores pairs.
        batch: The batch with encoded images and texts.
        mask_same_image: Whether a row's candidates exclude the true texts (captions, units) of
            other rows with the same image.
        mask_same_text: Whether a row's candidates exclude a true text of another row if it has the
            same words as the row's own text.
        prepared_texts: What the head's `prepare_texts` returned for the batch, if it has already
            been called.
        tokens_in_bf16: Whether text tokens and their gradients are sent between ranks in bf16.

    Attributes:
        images: The images of the rows as the backbone encoded them, for losses that read tokens.
        texts: The texts as the backbone encoded them, for losses that read tokens.

    Examples:
        Cosines for the `batch` in the example of `zoo.batch.Batch`: each image against the captions
        of all rows, and against its own negative:

        >>> from zoo.heads import Cosine
        >>> from zoo.scores import Scores
        >>> scores = Scores(Cosine(learn_scale=False), batch)
        >>> scores.images_against(batch.captions).logits.round(decimals=2)
        tensor([[1., 0.],
                [0., 1.]])
        >>> scores.own_texts(batch.negatives).logits.flatten().round(decimals=2)
        tensor([0.5000, 0.5000])
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
            raise TypeError("Scores needs a batch with encoded images and texts")
        self.head, self.batch = head, batch
        self.images, self.texts = first_items(batch.images, len(batch)), batch.texts
        if not len(self.texts):  # a rank with only filling rows gets one text of zeros
            self.texts = self.texts.rows(batch.captions.new_zeros(1))
        self.mask_same_image, self.mask_same_text = mask_same_image, mask_same_text
        self.tokens_in_bf16 = tokens_in_bf16
        self._images = answers.prepare_images(head, self.images)
        self._texts = (
            answers.prepare_texts(head, self.texts) if prepared_texts is None else prepared_texts
        )
        # caches keep the tensor of their key, so that its address is not reused
        self._blocks: dict[object, tuple[Tensor, Block]] = {}
        self._columns: dict[object, tuple[Tensor, Columns]] = {}
        self._exists: dict[object, tuple[Tensor, Tensor]] = {}
        self._counts: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def rows(self) -> Tensor:
        """Which rows have a caption, `[B]`. The others are filling rows."""
        return self.exists(self.batch.captions)

    def exists(self, rows: Tensor) -> Tensor:
        """Returns which texts exist, in the shape of `rows`.

        For the same tensor `rows`, the result is always the same tensor. `mean` caches counts by
        tensor, and therefore counts the existing texts of all ranks only once.

        Args:
            rows: Indices into the text bank; -1 is missing.
        """
        key = _memory_key(rows)
        if key not in self._exists:
            exists = rows >= 0
            self._exists[key] = (rows, exists)
            if key in self._facts_of_all_ranks:
                self._counts[id(exists)] = (exists, self._facts_of_all_ranks[key].sum())
        return self._exists[key][1]

    def gather_texts(self, *rows: Tensor) -> None:
        """Gathers several groups of texts of all ranks at once, and caches them.

        Without this call, each group is gathered separately when it is first scored.

        Args:
            rows: The groups, each as indices into the text bank, `[B]` or `[B, K]`; -1 is missing.
        """
        new = {_memory_key(r): r for r in rows if _memory_key(r) not in self._columns}
        if gather.world_size() == 1 or len(new) < 2:
            return
        counts = [r.numel() for r in new.values()]
        gathered = self._gathered_texts(torch.cat([r.reshape(-1) for r in new.values()]))

        def split(t: Tensor) -> list[Tensor]:
            by_rank = t.unflatten(0, (gather.world_size(), -1)).split(counts, dim=1)
            return [part.flatten(0, 1) for part in by_rank]

        pooled = split(gathered.pooled)
        tokens = {k: split(t) for k, t in gathered.tokens.items()}
        masks = {k: split(m) for k, m in gathered.masks.items()}
        for i, (key, r) in enumerate(new.items()):
            items = Encoded(
                pooled[i], {k: t[i] for k, t in tokens.items()}, {k: m[i] for k, m in masks.items()}
            )
            self._columns[key] = (r, Columns(items, self._exists_on_all_ranks(r)))

    def images_against(self, rows: Tensor, true: bool = True) -> Block:
        """Scores this rank's images against texts of all ranks.

        The block has matches only if `true` is set and `rows` is `[B]`. Only then do
        `mask_same_image` and `mask_same_text` exclude candidates.

        Args:
            rows: Indices into the text bank, `[B]` or `[B, K]`; -1 is missing.
            true: Whether the texts are true of the image in their row, like captions and units.

        Returns:
            The block, `[B, W B]` or `[B, W B K]`.
        """
        return self._cached_block("images", rows, true, lambda: self._images_against(rows, true))

    def texts_against_images(self, rows: Tensor) -> Block:
        """Scores this rank's texts against images of all ranks.

        Args:
            rows: Indices into the text bank, `[B]`; -1 is missing.

        Returns:
            The block, `[B, W B]`, with matches.
        """
        return self._cached_block("texts", rows, True, lambda: self._texts_against_images(rows))

    def own_texts(self, rows: Tensor) -> Block:
        """Scores each image against its own texts.

        Args:
            rows: Indices into the text bank, `[B]` or `[B, K]`; -1 is missing.

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
        """Gathers and caches the texts of all ranks, which are the columns of `images_against`.

        Args:
            rows: Indices into the text bank, `[B]` or `[B, K]`; -1 is missing.

        Returns:
            The W B or W B K texts. Gradients flow back to their ranks.
        """
        key = _memory_key(rows)
        if key not in self._columns:
            texts = self._gathered_texts(rows.reshape(-1))
            self._columns[key] = (rows, Columns(texts, self._exists_on_all_ranks(rows)))
        return self._columns[key][1]

    def image_columns(self) -> Columns:
        """Gathers the images of all ranks, and their tokens if the head reads them.

        Returns:
            The W B images. Gradients flow back to their ranks.
        """
        exists = self._exists_on_all_ranks(self.batch.captions)
        return Columns(self._images.map(gather.gather), exists)

    def images_against_columns(self, texts: Columns) -> Block:
        """Scores this rank's images against texts that may come from other batches.

        Args:
            texts: m texts, from `text_columns` of this or an earlier batch.

        Returns:
            The block, `[B, m]`, without matches.

        Raises:
            ZooError: The texts do not have the form that the head's `prepare_texts` returns.
        """
        self._refuse_other(texts.items, self._texts, "text_columns")
        logits = answers.block(self.head, self._images, texts.items)
        return Block(logits, None, texts.exists.expand(len(logits), -1))

    def texts_against_columns(self, rows: Tensor, images: Columns) -> Block:
        """Scores this rank's texts against images that may come from other batches.

        Args:
            rows: Indices into the text bank, `[B]`; -1 is missing.
            images: m images, from `image_columns` of this or an earlier batch.

        Returns:
            The block, `[B, m]`, without matches.

        Raises:
            ZooError: The images do not have the form that the head's `prepare_images` returns.
        """
        self._refuse_other(images.items, self._images, "image_columns")
        logits = answers.block(self.head, images.items, self._texts.rows(rows)).T
        return Block(logits, None, images.exists.expand(len(logits), -1))

    def swap_negative_images(self) -> tuple[Batch, "Scores"]:
        """Swaps images with negative images, and captions with first negatives.

        A row's first negative becomes its caption, and its caption becomes its only negative. A row
        without a negative or without a negative image becomes a filling row. `mask_same_image` no
        longer applies, since rows with the same image have different negative images.

        Returns:
            The batch with swapped roles, and its scores.
        """
        batch = self.batch
        assert isinstance(batch.images, Encoded)
        negatives = batch.negatives[:, 0]
        exists = self.rows & (batch.negative_images >= 0) & (negatives >= 0)
        swapped = replace(
            batch,
            images=batch.images.rows(batch.negative_images),
            captions=torch.where(exists, negatives, -1),
            negatives=batch.captions[:, None],
            negative_images=torch.full_like(batch.negative_images, -1),
        )
        scores = Scores(
            self.head,
            swapped,
            mask_same_text=self.mask_same_text,
            prepared_texts=self._texts,
            tokens_in_bf16=self.tokens_in_bf16,
        )
        # the same texts in other roles, which are already gathered
        negatives_per_row = batch.negatives.shape[1]
        first_negatives = self.text_columns(batch.negatives).items.map(
            lambda t: t[::negatives_per_row]
        )
        captions = Columns(first_negatives, gather.gather(exists))
        scores._columns = {
            _memory_key(swapped.captions): (swapped.captions, captions),
            _memory_key(swapped.negatives): (swapped.negatives, self.text_columns(batch.captions)),
        }
        return swapped, scores

    def image_vectors(self, teacher: bool = False) -> Tensor:
        """Returns the pooled vectors of this rank's images at unit length; the head is not used.

        Args:
            teacher: Whether to return the teacher's vectors.

        Returns:
            The vectors in at least fp32, `[B, D]`.
        """
        images = self.batch.teacher_images if teacher else self.images
        if images is None:
            raise ValueError("the batch has no teacher: set `teacher` in the objective's Needs")
        return _unit(first_items(images, len(self.batch)).pooled)

    def text_vectors(self, rows: Tensor, teacher: bool = False) -> Tensor:
        """Returns the pooled vectors of texts at unit length; the head is not used.

        Args:
            rows: Indices into the text bank, of any shape; -1 is missing.
            teacher: Whether to return the teacher's vectors.

        Returns:
            The vectors in at least fp32, `[..., D]`. A missing text is replaced by another text,
            which the caller must mask.
        """
        texts = self.batch.teacher_texts if teacher else self.texts
        if texts is None:
            raise ValueError("the batch has no teacher: set `teacher` in the objective's Needs")
        vectors = _unit(texts.rows(rows.reshape(-1)).pooled)
        return vectors.reshape(*rows.shape, -1)

    def texts_against_texts(self, rows: Tensor, columns: Tensor) -> Block:
        """Computes cosines of this rank's texts with texts of all ranks; the head is not used.

        Args:
            rows: This rank's texts as indices into the text bank, `[B]`; -1 is missing.
            columns: The texts to gather from each rank, as indices into its text bank, `[B]` or
                `[B, K]`; -1 is missing.

        Returns:
            Unscaled cosines of the towers' pooled vectors, `[B, W B]` or `[B, W B K]`. The block
            has matches only if `columns` is `[B]`.
        """
        flat = columns.reshape(-1)
        vectors = gather.gather(self.text_vectors(flat))
        with without_autocast_and_tf32(vectors):
            cosines = self.text_vectors(rows) @ vectors.T
        return Block(
            cosines,
            self._own_columns(len(rows)) if columns.ndim == 1 else None,
            self._exists_on_all_ranks(columns).expand(len(rows), -1),
        )

    def image_vectors_against_texts(self, rows: Tensor) -> Block:
        """Computes cosines of this rank's images with texts of all ranks; the head is not used.

        Args:
            rows: Indices into the text bank, `[B]` or `[B, K]`; -1 is missing.

        Returns:
            Unscaled cosines of the towers' pooled vectors, `[B, W B]` or `[B, W B K]`, without
            matches.
        """
        vectors = gather.gather(self.text_vectors(rows.reshape(-1)))
        with without_autocast_and_tf32(vectors):
            cosines = self.image_vectors() @ vectors.T
        return Block(cosines, None, self._exists_on_all_ranks(rows).expand(len(cosines), -1))

    def mean(self, values: Tensor, valid: Tensor) -> Tensor:
        """Computes this rank's contribution to a mean over all ranks, times W.

        DDP averages gradients over ranks, which divides their sum by W. The factor W cancels this
        division.

        Args:
            values: The values, `[B]` or another shape.
            valid: Which of them count, in the same shape.

        Returns:
            The contribution, a scalar. If no value is valid, it is 0, with a graph for the backward
            pass.
        """
        count = self.count(valid).to(values.dtype).clamp(min=1)
        return torch.where(valid, values, torch.zeros_like(values)).sum() * (
            gather.world_size() / count
        )

    def total(self, values: Tensor, valid: Tensor) -> Tensor:
        """Computes this rank's contribution to a sum over all ranks, times W, as in `mean`.

        Args:
            values: The values, of any shape.
            valid: Which of them count, in the same shape.

        Returns:
            The contribution, a scalar.
        """
        return torch.where(valid, values, torch.zeros_like(values)).sum() * gather.world_size()

    def count(self, valid: Tensor) -> Tensor:
        """Returns the number of valid entries on all ranks, a scalar."""
        self.count_together([valid])
        return self._counts[id(valid)][1]

    def count_together(self, masks: Sequence[Tensor]) -> None:
        """Counts the valid entries of several masks on all ranks at once, and caches the counts.

        Without this call, `count` and `mean` communicate separately for each mask.

        Args:
            masks: Masks of any shape.
        """
        new = [mask for mask in masks if id(mask) not in self._counts]
        if new:
            counts = gather.sum_over_ranks(torch.stack([mask.sum() for mask in new]))
            self._counts |= {id(m): (m, n) for m, n in zip(new, counts, strict=True)}

    def column_means(self, values: Tensor, valid: Tensor) -> Tensor:
        """Averages each column over the rows of all ranks, for running statistics.

        Args:
            values: The values, `[B, m]`.
            valid: Which of them count, `[B, m]`.

        Returns:
            The means without gradient, `[m]`, the same on all ranks; NaN for a column in which no
            value counts.
        """
        counted = torch.where(valid, values, torch.zeros_like(values))
        sums = torch.stack([counted.sum(0), valid.sum(0).to(values.dtype)])
        means: Tensor = torch.div(*gather.sum_over_ranks(sums))
        return means

    def false_negatives(self) -> tuple[dict[str, Tensor], Tensor]:
        """Finds captions of other rows that are false negatives of a row.

        Returns:
            Three masks of rows against captions of all ranks, `[B, W B]`. The dictionary has the
            masks `same_image` (the caption belongs to the same image) and `same_text` (the caption
            has the same words). The third mask is true if the caption exists and belongs to another
            row. A caption is a false negative of a row if the third mask is true and at least one
            of the others is.
        """
        captions = self.batch.captions
        same_image, same_text, is_other = self._same_image_and_text_masks(
            captions, self._exists_on_all_ranks(captions)
        )
        return {"same_image": same_image, "same_text": same_text}, is_other

    def _refuse_other(self, items: Encoded, prepared: Encoded, method: str) -> None:
        """Raises ZooError if columns do not have the form of the items that the head prepares."""
        actual, expected = (
            f"vectors of {form.pooled.shape[1]} numbers and {len(form.tokens)} sets of tokens"
            for form in (items, prepared)
        )
        if actual != expected or items.tokens.keys() != prepared.tokens.keys():
            raise ZooError(
                f"columns to score against have {actual}, and {type(self.head).__name__} prepares "
                f"{expected}: store all that scores.{method} returns, or use a head of pooled "
                "vectors as wide as the backbone's"
            )

    def _cached_block(
        self, kind: str, rows: Tensor, true: bool, make: Callable[[], Block]
    ) -> Block:
        key = (kind, true, _memory_key(rows))
        if key not in self._blocks:
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
        exists = self._exists_on_all_ranks(self.batch.captions)
        candidate = self._without_false_negatives(exists.expand(len(rows), -1), rows, exists)
        return Block(logits, self._own_columns(len(rows)), candidate)

    @cached_property
    def _facts_of_all_ranks(self) -> dict[object, Tensor]:
        """What ranks know of each other's rows, by the memory of a tensor of the batch.

        All is gathered in one message: of rows of the text bank, which exist, `[W B]` or `[W B K]`;
        of images, their ids, `[W B]`; of captions' hashes, the hashes.
        """
        if gather.world_size() == 1:
            return {}
        batch, n = self.batch, gather.world_size() * len(self.batch)
        roles = (batch.captions, batch.negatives, batch.positives, batch.units, batch.foils)
        own_facts = [*((r >= 0).long() for r in roles), batch.image_ids, self._caption_hashes]
        widths = [fact.shape[1] if fact.ndim > 1 else 1 for fact in own_facts]
        gathered = gather.gather(torch.cat([f.reshape(len(batch), -1) for f in own_facts], dim=1))
        *exists, image_ids, hashes = gathered.split(widths, dim=1)
        facts: dict[object, Tensor] = {
            _memory_key(batch.image_ids): image_ids.reshape(n),
            _memory_key(self._caption_hashes): hashes.reshape(n),
        }
        for rows, flags in zip(roles, exists, strict=True):
            facts[_memory_key(rows)] = flags.reshape(-1).bool()
            if rows.ndim > 1:
                for k in range(rows.shape[1]):
                    facts[_memory_key(rows[:, k])] = flags[:, k].bool()
        return facts

    def _exists_on_all_ranks(self, rows: Tensor) -> Tensor:
        """Returns which texts of all ranks exist, `[W B]` or `[W B K]`."""
        facts = self._facts_of_all_ranks.get(_memory_key(rows))
        return gather.gather(self.exists(rows).reshape(-1)) if facts is None else facts

    @cached_property
    def _caption_hashes(self) -> Tensor:
        return self._hashes(self.batch.captions)

    def _hashes(self, rows: Tensor) -> Tensor:
        hashes = self.batch.hashes
        return hashes[rows.clamp(min=0)] if len(hashes) else torch.zeros_like(rows)

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
        same_image, same_text, is_other = self._same_image_and_text_masks(rows, columns)
        masked = (same_image & self.mask_same_image) | (same_text & self.mask_same_text)
        return candidate & ~(masked & is_other)

    def _same_image_and_text_masks(
        self, rows: Tensor, columns: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compares rows with columns by image and by words.

        Args:
            rows: Indices into the text bank, `[B]`; -1 is missing.
            columns: Which columns exist, `[W B]`.

        Returns:
            Three masks, `[B, W B]`: columns of the row's image, columns with its words, and all
            existing columns except its own.
        """
        ids, exists = self.batch.image_ids, self.exists(rows)
        is_caption = _memory_key(rows) == _memory_key(self.batch.captions)
        hashes = self._caption_hashes if is_caption else self._hashes(rows)
        all_ids, all_hashes = (self._facts_of_all_ranks.get(_memory_key(t)) for t in (ids, hashes))
        if all_ids is None:
            all_ids = gather.gather(ids)
        if all_hashes is None:
            all_hashes = gather.gather(hashes)
        same_image = ids[:, None] == all_ids[None]
        same_text = (
            (hashes[:, None] == all_hashes[None])
            & exists[:, None]
            & self._exists_on_all_ranks(rows)[None]
        )
        own_column = _one_hot(self._own_columns(len(rows)), len(columns))
        return same_image, same_text, columns[None] & exists[:, None] & ~own_column


class EqualScores(Scores):
    """The blocks of given scores, with every logit replaced by 0: a uniform guess.

    An objective computes its `chance_loss` from them.

    Args:
        scores: The scores from which an objective has already computed its loss.

    Examples:
        A guess between two captions, with `batch` and `scores` of the example of `Scores`:

        >>> from zoo.objectives import CLIP
        >>> from zoo.scores import EqualScores
        >>> round(CLIP()(batch, EqualScores(scores)).total.item(), 4)  # log 2
        0.6931
    """

    def __init__(self, scores: Scores) -> None:
        self.__dict__.update(scores.__dict__, _blocks=dict(scores._blocks))

    def own_texts(self, rows: Tensor) -> Block:
        """Returns logits of 0 for each image's own texts; see `Scores.own_texts`."""
        rows = rows.reshape(len(rows), -1)
        return Block(torch.zeros(rows.shape, device=rows.device), None, rows >= 0)

    def _cached_block(
        self, kind: str, rows: Tensor, true: bool, make: Callable[[], Block]
    ) -> Block:
        block = super()._cached_block(kind, rows, true, make)
        return replace(block, logits=torch.zeros_like(block.logits, dtype=torch.float32))


def _memory_key(rows: Tensor) -> object:
    """Returns a key that is equal for tensors that are the same view of the same memory."""
    return rows.data_ptr(), rows.shape, rows.stride()


def first_items(items: Encoded, n: int) -> Encoded:
    """Returns the first n items. A batch's first `len(batch)` images are those of its rows."""
    return items if len(items) == n else items.map(lambda t: t[:n])


def _one_hot(indices: Tensor, n: int) -> Tensor:
    """Returns one-hot rows, `[len(indices), n]`, in bool."""
    return indices[:, None] == torch.arange(n, device=indices.device)


def _unit(vectors: Tensor) -> Tensor:
    """Returns vectors at unit length, raised from half types to fp32."""
    return F.normalize(vectors if vectors.dtype.itemsize >= 4 else vectors.float(), dim=-1)
