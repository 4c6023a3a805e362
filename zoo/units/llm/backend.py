"""What answers: a server or an engine, seen from the stages, and how it may fail."""

from dataclasses import dataclass
from typing import Protocol

from zoo.units.llm.stages import Message, Stage


@dataclass(frozen=True)
class Reply:
    """What a model said.

    Args:
        text: Its words, which should be JSON.
        cut_short: Whether it was ended by the greatest number of tokens.
        tokens_in: How many tokens the question had.
        tokens_out: How many tokens the reply has.
    """

    text: str
    cut_short: bool = False
    tokens_in: int = 0
    tokens_out: int = 0


class Busy(Exception):
    """The back end takes no questions now, which no caption is to blame for.

    Args:
        reason: A word for it, which is counted.
        detail: What the back end said.
        after: After how many seconds it wants to be asked again, where it says so.
    """

    def __init__(self, reason: str, detail: str, after: float | None = None) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail, self.after = reason, detail, after


class QuestionFailed(Exception):
    """A question got no answer that can be used.

    Args:
        reason: A word for it, which is counted.
        detail: What the back end or the model said.
        again: Whether the same question may be answered next time.
        anew: Whether it is the model's fault, who would say the same again under the same seed.
    """

    def __init__(self, reason: str, detail: str, again: bool = True, anew: bool = False) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail, self.again, self.anew = reason, detail, again, anew


class Backend(Protocol):
    """A server or an engine.

    Attributes:
        place: What errors call it, such as the server's address.
    """

    place: str

    async def ask(self, stage: Stage, messages: list[Message], seed: int) -> Reply:
        """Returns the model's reply to one question.

        Args:
            stage: What is asked.
            messages: The question.
            seed: Settles what the model draws.

        Raises:
            Busy: It takes no questions now.
            Failed: This question got no answer.
            ZooError: No question will ever be answered.
        """
        ...
