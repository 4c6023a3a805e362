"""Answers: a model's words, read as JSON of a stage's form."""

import json
import unicodedata
from typing import Any

from zoo.units.llm.backend import QuestionFailed, Reply
from zoo.units.llm.stages import Stage

_KINDS: dict[str, type] = {"object": dict, "array": list, "string": str}
_SHOWN = 80


def answer_of(reply: Reply, stage: Stage) -> tuple[Any, bool]:
    """Reads a reply.

    Args:
        reply: What the model said.
        stage: What it was asked.

    Returns:
        The answer, which has the form of the stage's schema, and whether control characters were
        taken out of it. Space within its texts is single.

    Raises:
        Failed: The reply is cut short, no JSON or of another form.
    """
    shown = " ".join(reply.text.split())[:_SHOWN]
    if reply.cut_short:
        raise QuestionFailed(
            "cut_short", f"after {reply.tokens_out:,} tokens, at '{shown}'", anew=True
        )
    try:
        value = json.loads(reply.text, strict=False)  # engines let control characters through
    except (ValueError, RecursionError) as error:
        raise QuestionFailed("malformed", f"'{shown}'", anew=True) from error
    fault = _fault(value, stage.schema, "the answer")
    if fault:
        raise QuestionFailed("other_form", f"{fault} in '{shown}'", anew=True)
    cleaned = _clean_value(value)
    return cleaned, any(_is_control(c) for text in _texts(value) for c in text)


def _fault(value: Any, schema: dict[str, Any], name: str) -> str | None:
    """Returns what keeps a value from being of a schema, or None."""
    kind = schema["type"]
    right: bool = isinstance(value, _KINDS[kind])
    if not right:
        return f"{name} is no {kind}"
    if kind == "object":
        for key, inner in schema["properties"].items():
            fault = _fault(value[key], inner, key) if key in value else f"{name} has no {key}"
            if fault:
                return fault
    elif kind == "array":
        if len(value) > schema["maxItems"]:
            return f"{name} has {len(value):,} items"
        return next(filter(None, (_fault(v, schema["items"], f"{name}[]") for v in value)), None)
    elif value not in schema.get("enum", (value,)):
        return f"{name} is '{value[:_SHOWN]}'"
    elif len(value) > schema.get("maxLength", len(value)):
        return f"{name} has {len(value):,} characters"
    return None


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [text for v in inner for text in _texts(v)]
    return [value] if isinstance(value, str) else []


def _clean_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _clean_value(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_clean_value(v) for v in value]
    if isinstance(value, str):
        return " ".join("".join(" " if _is_control(c) else c for c in value).split())
    return value


def _is_control(character: str) -> bool:
    """Whether it is a control character, or half of a pair that no file can hold."""
    return unicodedata.category(character) in ("Cc", "Cs")
