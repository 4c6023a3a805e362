"""READ-CLIP (Kwon et al., NeurIPS 2025): reconstruction and alignment of paraphrases.

B captions t_i with paraphrases p_ik, k = 1..K; s = cosine / tau; h_i: the end token of t_i in the
last layer of the text tower, before its projection; p_ik1 .. p_ikL: the tokens of p_ik for a frozen
language model; W: a trained linear map.

    L_recon,k = -1/n_k sum_i sum_l log P(p_ikl | p_ik1 .. p_ik(l-1), W h_i), over all n_k tokens
    L_align,k = -1/B sum_i log exp s(p_ik, t_i) / sum_j exp s(p_ik, t_j)
    L         = L_NegCLIP + 1/K sum_k (lambda_recon L_recon,k + lambda_align L_align,k)
"""

import torch
from torch import Tensor, nn

from zoo.batch import Batch, TokenKey, TowerShapes
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective, TextScale
from zoo.objectives.caption_decoder import CaptionDecoder
from zoo.objectives.negclip import negclip_loss
from zoo.scores import Block, Scores
from zoo.support.ranges import NonNegativeNumber, PositiveInt

TOKENS = TokenKey(project=False)


class READCLIP(Objective):
    """NegCLIP's loss, plus terms that align captions with paraphrases and reconstruct paraphrases.

    The paraphrases of a caption are its positives. For both added terms, the first paraphrases of
    all rows give one loss, the second paraphrases another loss, and so on. The term is the mean of
    these losses. A row without a k-th paraphrase is left out of the k-th loss, but its caption
    remains a candidate. The reconstruction is off by default, since it downloads a language model.
    This model is frozen and not part of checkpoints.

    Args:
        lambda_align: Weight of the alignment.
        lambda_recon: Weight of the reconstruction, 0.1 in the public code. At 0, no language model
            is loaded.
        decoder: The language model: an encoder-decoder model of the library transformers, given by
            its name on the Hugging Face hub or its folder. Only its decoder is used.
        decoder_tokenizer: The name or folder of the tokenizer. By default, that of `decoder`.
        decoder_width: The width of the vectors that the decoder attends to. By default, it is read
            from the decoder's configuration. Checkpoints store it.

    Examples:
        The terms of the loss, with the `batch` and `scores` from the example of
        `zoo.scores.Scores`:

        >>> from zoo.objectives import READCLIP
        >>> loss = READCLIP(lambda_align=0.5)(batch, scores)
        >>> {name: round(part.item(), 3) for name, part in loss.parts.items()}
        {'global': 0.631, 'alignment': 0.2}
    """

    def __init__(
        self,
        lambda_align: NonNegativeNumber = 0.5,
        lambda_recon: NonNegativeNumber = 0.0,
        decoder: str = "google/t5-v1_1-large",
        decoder_tokenizer: str | None = None,
        decoder_width: PositiveInt | None = None,
    ) -> None:
        super().__init__()
        self.text_scale = TextScale()
        self.lambda_align, self.lambda_recon = lambda_align, lambda_recon
        self.decoder, self.decoder_width = CaptionDecoder(decoder, decoder_tokenizer), decoder_width
        self.to_decoder: nn.Linear | None = None

    @property
    def needs(self) -> Needs:
        """Negatives, positives, pooled vectors of texts, and text tokens for the reconstruction."""
        text_keys = frozenset({TOKENS} if self.lambda_recon else ())
        return Needs(negatives=True, positives=True, pooled_texts=True, text_keys=text_keys)

    def attach(self, shapes: TowerShapes, head: Head, trains: bool) -> None:
        """Sets the scale of cosines between texts, and builds the map to the decoder's width."""
        self.text_scale.attach(shapes, head)
        if self.lambda_recon:
            width = self.decoder_width or self.decoder.width
            self.to_decoder = nn.Linear(shapes.text_width, width, bias=False)
            # recorded, so that a checkpoint is evaluated without the decoder
            if "decoder_width" in self.recorded_arguments:
                self.recorded_arguments["decoder_width"] = width

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`.

        Raises:
            ZooError: Paraphrases are to be reconstructed, and the batch has no texts as strings
                (`Batch.raw_texts`).
        """
        global_loss = negclip_loss(batch, scores)
        columns = list(batch.positives.T)

        def mean(losses: list[Tensor]) -> Tensor:
            return sum(losses, start=global_loss.new_zeros(())) / max(len(losses), 1)

        alignment = mean([self.alignment(p, batch, scores) for p in columns])
        parts = {"global": global_loss, "alignment": self.lambda_align * alignment}
        if self.lambda_recon:
            reconstruction = mean([self.reconstruction(p, batch, scores) for p in columns])
            parts["reconstruction"] = self.lambda_recon * reconstruction
        return Loss(sum(parts.values(), start=global_loss.new_zeros(())), parts)

    def alignment(self, paraphrases: Tensor, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_align,k, the alignment of captions with the k-th paraphrases.

        Args:
            paraphrases: The k-th paraphrase of each row, as an index into the text bank, `[B]`; -1
                is missing.
            batch: This rank's rows.
            scores: The scores of the batch.

        Returns:
            The mean over the rows of all ranks, a scalar in nats.
        """
        cosines = scores.texts_against_texts(paraphrases, batch.captions)
        logits = self.text_scale(scores) * cosines.logits
        valid = scores.rows & (paraphrases >= 0)
        block = Block(logits, cosines.match, cosines.candidate)
        return scores.mean(block.cross_entropy(valid), valid)

    def reconstruction(self, paraphrases: Tensor, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_recon,k, the reconstruction of the k-th paraphrases.

        Args:
            paraphrases: The k-th paraphrase of each row, as an index into the text bank, `[B]`; -1
                is missing.
            batch: This rank's rows.
            scores: The scores of the batch.

        Returns:
            The mean over the tokens of all ranks, a scalar in nats.

        Raises:
            ZooError: The batch has no texts as strings (`Batch.raw_texts`).
        """
        assert self.to_decoder is not None
        if len(batch.raw_texts) != len(batch.texts):
            raise ZooError(
                f"READCLIP(lambda_recon={self.lambda_recon}) reads captions as text, and the batch "
                "has no raw_texts: use a CaptionDataModule, or set lambda_recon to 0"
            )
        captions = scores.texts.rows(batch.captions)
        ends = captions.masks[TOKENS].sum(1) - 1
        end_tokens = captions.tokens[TOKENS][torch.arange(len(ends), device=ends.device), ends]
        # rows without a paraphrase get an empty text, so that W has a gradient on every rank
        texts = [batch.raw_texts[row] if row >= 0 else "" for row in paraphrases.tolist()]
        losses, real = self.decoder.token_losses(self.to_decoder(end_tokens), texts)
        valid = scores.rows & (paraphrases >= 0)
        return scores.mean(losses, real & valid[:, None])
