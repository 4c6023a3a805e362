"""The interface of back ends (servers and engines), their replies and their errors."""

from dataclasses import dataclass
from typing import Protocol

from zoo.units.llm.stages import Message, Stage


@dataclass(frozen=True)
class Reply:
    """The reply of a model.

    Args:
        text: The text, which should be JSON.
        cut_short: Whether it was truncated at the maximum number of tokens.
        tokens_in: The number of tokens of the question.
        tokens_out: The number of tokens of the reply.
    """

    text: str
    cut_short: bool = False
    tokens_in: int = 0
    tokens_out: int = 0


class BackendBusy(Exception):
    """The back end accepts no questions now, whatever the caption.

    Args:
        reason: A key under which it is counted.
        detail: The message of the back end.
        wait_seconds: The number of seconds to wait, if the back end requests one.
    """

    def __init__(self, reason: str, detail: str, wait_seconds: float | None = None) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail, self.wait_seconds = reason, detail, wait_seconds


class QuestionFailed(Exception):
    """A question got no usable answer.

    Args:
        reason: A key under which it is counted.
        detail: The message of the back end or the model.
        may_retry: Whether the question may be retried.
        needs_new_seed: Whether the model caused the failure, so that a retry needs another seed.
    """

    def __init__(
        self, reason: str, detail: str, may_retry: bool = True, needs_new_seed: bool = False
    ) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail, self.may_retry, self.needs_new_seed = (
            reason,
            detail,
            may_retry,
            needs_new_seed,
        )


class Backend(Protocol):
    """A server or an engine.

    Attributes:
        place: The name in errors, such as the server's address.
    """

    place: str

    async def ask(self, stage: Stage, messages: list[Message], seed: int) -> Reply:
        """Returns the model's reply to one question.

        Args:
            stage: The stage of the question.
            messages: The question.
            seed: The sampling seed.

        Raises:
            BackendBusy: The back end accepts no questions now.
            QuestionFailed: This question got no answer.
            ZooError: No question can be answered.
        """
        ...
