"""VQAScore: the probability that a generative model answers Yes."""

from inspect import signature
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from zoo.errors import ZooError
from zoo.evaluation.pair_scorers.base import PairScorer, last_real_tokens
from zoo.sources.rgb_conversion import AS_PUBLISHED, Decoding

QUESTION = 'Does this figure show "{}"? Please answer yes or no.'
ANSWER = "Yes"


class VQAScore(PairScorer):
    """VQAScore (Lin et al., 2024): the logarithm of the probability of the answer Yes.

    The probability is that of the answer's first token, at the position where the model begins to
    answer. For InstructBLIP and LLaVA, the paper's code instead uses the geometric mean of this
    probability and that of the end-of-text token. The logarithm ranks texts as the probability
    does, but avoids ties between probabilities that round to 1. If the model has a chat template,
    the question is put into it. The model's own processor prepares the images.

    Args:
        folder: The folder of an InstructBLIP, LLaVA, Qwen2.5-VL or Qwen3-VL model.
        device: Where the model runs; None uses a GPU if there is one.
        batch_size: Number of pairs per forward pass.
        decoding: Whether the EXIF orientation and the transparency of images are applied. By
            default, both are ignored.
        question: The question, with {} as the placeholder of the text.
        answer: The answer whose probability is the score.

    Raises:
        ZooError: The question has no {}, or the model's tokenizer cannot encode the answer.

    Examples:
        >>> from zoo.evaluation.pair_scorers import VQAScore
        >>> vqa_score = VQAScore("Qwen2.5-VL-3B-Instruct", batch_size=4)  # doctest: +SKIP
        >>> vqa_score.score("horse.jpg", ["a person on the horse"])  # doctest: +SKIP
    """

    model_class = "AutoModelForImageTextToText"

    def __init__(
        self,
        folder: str | Path,
        device: str | torch.device | None = None,
        batch_size: int = 8,
        decoding: Decoding = AS_PUBLISHED,
        question: str = QUESTION,
        answer: str = ANSWER,
    ) -> None:
        if "{}" not in question:
            raise ZooError(f"question {question!r} has no place for the text: write {{}} there")
        super().__init__(folder, device, batch_size, decoding)
        self.question, self.answer = question, answer
        tokenizer = self.processor.tokenizer
        ids = tokenizer.encode(answer, add_special_tokens=False)
        if not ids or ids[0] == tokenizer.unk_token_id:
            raise ZooError(f"the tokenizer of {self.folder} does not have the answer {answer!r}")
        self.answer_id = ids[0]

    def settings(self) -> dict[str, Any]:
        """Returns the question and the answer."""
        return {"question": self.question, "answer": self.answer}

    def score_table(self, images: list[Image.Image], texts: list[str]) -> Tensor:
        """Returns log P(answer) of RGB images and texts, `[n, m]`."""
        prompts = [self.build_prompt(text) for text in texts]
        scores = []
        for i, j in self._pair_batches(len(images), len(texts)):
            inputs = self.processor(
                images=[images[row] for row in i.tolist()],
                text=[prompts[row] for row in j.tolist()],
                padding=True,
                padding_side="right",  # real tokens then have the same positions as without padding
                return_tensors="pt",
            )
            logits = self._answer_logits(self._to_device(inputs))
            scores.append(logits.double().log_softmax(-1)[:, self.answer_id])
        return torch.cat(scores).view(len(images), len(texts))

    def build_prompt(self, text: str) -> str:
        """Returns the question about a text, in the model's chat template if it has one."""
        question = self.question.replace("{}", text)
        if getattr(self.processor, "chat_template", None) is None:
            return question
        content = [{"type": "image"}, {"type": "text", "text": question}]
        prompt: str = self.processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
        )
        return prompt

    def _answer_logits(self, inputs: Any) -> Tensor:
        """Returns the logits of the first token of the answer, `[n, tokens]`."""
        text_config = self.model.config.get_text_config()
        mask = inputs["attention_mask"]
        if text_config.is_encoder_decoder:
            start = mask.new_full((len(mask), 1), text_config.decoder_start_token_id)
            logits: Tensor = self.model(**inputs, decoder_input_ids=start).logits
            return logits[:, 0]
        last = last_real_tokens(mask)
        rows = torch.arange(len(last), device=last.device)
        if "logits_to_keep" not in signature(self.model.forward).parameters:
            logits = self.model(**inputs, use_cache=False).logits
            return logits[rows, last]
        # those of all tokens would take gigabytes
        kept, column = last.unique(return_inverse=True)
        logits = self.model(**inputs, use_cache=False, logits_to_keep=kept).logits
        return logits[rows, column]
