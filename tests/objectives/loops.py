"""The papers' formulas written out as loops over scalars."""

from collections.abc import Callable

import torch
from torch import Tensor

from tests.support.helpers import Case

Score = Callable[[int, int], Tensor]  # (image row, text of the bank) -> logit


def cosine_score(images: Tensor, texts: Tensor, log_scale: Tensor) -> Score:
    """Returns the logit of CS-CLIP's Eq. 2: cos(v, t) / tau, with 1 / tau = exp(log_scale)."""

    def score(i: int, t: int) -> Tensor:
        return cosine(images[i], texts[t]) * log_scale.exp()

    return score


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Returns the cosine of two vectors."""
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    norms = [sum(x * x for x in vector).sqrt() for vector in (a, b)]
    return dot / norms[0] / norms[1]


def zero() -> Tensor:
    return torch.zeros((), dtype=torch.float64)


def average(values: list[Tensor]) -> Tensor:
    return sum(values, start=zero()) / max(len(values), 1)


def surprise(own: Tensor, candidates: list[Tensor]) -> Tensor:
    """Returns -log of exp(own) over the sum of exp(candidates)."""
    return -torch.log(own.exp() / sum(c.exp() for c in candidates))


class Formulas:
    """Losses of a case by loops. mask_same_image, mask_same_text: as Scores has them."""

    def __init__(
        self, case: Case, score: Score, mask_same_image: bool = False, mask_same_text: bool = False
    ) -> None:
        self.case, self.score = case, score
        self.mask_same_image, self.mask_same_text = mask_same_image, mask_same_text
        self.real = [i for i, caption in enumerate(case.captions.tolist()) if caption >= 0]

    def stands_against(self, i: int, j: int, texts: list[int]) -> bool:
        """Returns whether true text j, or image j, is a candidate for row i."""
        if i == j:
            return True
        same_image = bool(self.case.image_ids[i] == self.case.image_ids[j])
        same_text = texts[i] == texts[j]
        return not (self.mask_same_image and same_image) and not (self.mask_same_text and same_text)

    def image_to_text(self, texts: list[int], extra: Callable[[int], list[int]]) -> Tensor:
        """CS-CLIP's Eqs. 3, 7 and 10: texts of all rows and those that `extra` gives row i."""
        rows = [i for i, t in enumerate(texts) if t >= 0]
        losses = []
        for i in rows:
            columns = [texts[j] for j in rows if self.stands_against(i, j, texts)] + extra(i)
            losses.append(surprise(self.score(i, texts[i]), [self.score(i, t) for t in columns]))
        return average(losses)

    def text_to_image(self, texts: list[int]) -> Tensor:
        """CS-CLIP's Eqs. 4 and 8: every real image is a column, be its own text missing or not."""
        losses = []
        for i in (i for i, t in enumerate(texts) if t >= 0):
            columns = [j for j in self.real if self.stands_against(i, j, texts)]
            losses.append(
                surprise(self.score(i, texts[i]), [self.score(j, texts[i]) for j in columns])
            )
        return average(losses)

    def clip(self) -> Tensor:
        """CS-CLIP's Eq. 9."""
        texts = self.case.captions.tolist()
        return (self.image_to_text(texts, lambda i: []) + self.text_to_image(texts)) / 2

    def negclip(self) -> Tensor:
        """CS-CLIP's Eq. 11: the negatives of all rows stand against every image."""
        texts = self.case.captions.tolist()
        negatives = [t for t in self.case.negatives.flatten().tolist() if t >= 0]
        return (self.image_to_text(texts, lambda i: negatives) + self.text_to_image(texts)) / 2

    def unit(self, foils: bool = True) -> Tensor:
        """CS-CLIP's Eq. 5."""

        def own_foil(k: int) -> Callable[[int], list[int]]:
            column = self.case.foils[:, k].tolist()
            return lambda i: [column[i]] if foils and column[i] >= 0 else []

        total = zero()
        n_units = self.case.units.shape[1]
        for k in range(n_units):
            texts = self.case.units[:, k].tolist()
            total = total + self.image_to_text(texts, own_foil(k)) + self.text_to_image(texts)
        return total / (2 * max(n_units, 1))
