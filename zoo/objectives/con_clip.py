"""CoN-CLIP (Singh et al., 2024), following its public code.

B images v_i with captions t_i; n_i: a caption that negates t_i, true of another image v~_i;
kappa(x, y) = exp(x . y / tau).

    L_1 = -1/B sum_i log kappa(v_i, t_i) / sum_j [kappa(v_i, t_j) + kappa(v_i, n_j)]
    L_2 = -1/B sum_i log kappa(v_i, t_i) / sum_j [kappa(v_j, t_i) + kappa(v~_j, t_i)]
    L_3 = -1/B sum_i log kappa(v~_i, n_i) / sum_j [kappa(v~_i, n_j) + kappa(v~_i, t_j)]
    L   = (L_1 + L_2 + L_3) / 3
"""

from zoo.batch import Batch
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.scores import Scores


class CoNCLIP(Objective):
    """CLIP's loss, extended by negated captions and by images that match the negated captions.

    The first generator of negatives gives the negated captions, and a negative image is an image of
    a negated caption. The loss is the mean of three terms: images choose captions, captions choose
    images, and negative images choose negated captions. A row without a negative image is left out
    of the third term, and adds no candidate to the second.

    Examples:
        The three terms, with the `batch` and `scores` from the example of `zoo.scores.Scores`. They
        are equal, since images and negative images are equally hard to match in this batch:

        >>> from zoo.objectives import CoNCLIP
        >>> loss = CoNCLIP()(batch, scores)
        >>> {name: round(part.item(), 3) for name, part in loss.parts.items()}
        {'image_to_text': 0.316, 'text_to_image': 0.316, 'negative_image': 0.316}
    """

    @property
    def needs(self) -> Needs:
        """Negatives (negated captions) and negative images."""
        return Needs(negatives=True, negative_images=True)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        negative_batch, negative_scores = scores.swap_negative_images()
        scores.gather_texts(batch.captions, batch.negatives)
        texts = scores.images_against(batch.captions).concatenate(
            scores.images_against(batch.negatives, true=False)
        )
        images = scores.texts_against_images(batch.captions).concatenate(
            negative_scores.texts_against_images(batch.captions)
        )
        negated = negative_scores.images_against(negative_batch.captions).concatenate(
            negative_scores.images_against(negative_batch.negatives, true=False)
        )
        parts = {
            "image_to_text": scores.mean(texts.cross_entropy(scores.rows), scores.rows) / 3,
            "text_to_image": scores.mean(images.cross_entropy(scores.rows), scores.rows) / 3,
            "negative_image": negative_scores.mean(
                negated.cross_entropy(negative_scores.rows), negative_scores.rows
            )
            / 3,
        }
        return Loss(sum(parts.values(), start=scores.head.scale.new_zeros(())), parts)
