"""Parses a model's replies as JSON that follows a stage's schema."""

import json
import unicodedata
from typing import Any

from zoo.units.llm.backend import QuestionFailed, Reply
from zoo.units.llm.stages import Stage

_TYPES: dict[str, type] = {"object": dict, "array": list, "string": str}
_EXCERPT_LENGTH = 80


def parse_answer(reply: Reply, stage: Stage) -> tuple[Any, bool]:
    """Parses a reply.

    Args:
        reply: The model's reply.
        stage: The stage of the question.

    Returns:
        The answer, which follows the stage's schema, and whether control characters were removed
        from it. Whitespace in its texts is collapsed.

    Raises:
        Failed: The reply was truncated, is not valid JSON or does not follow the schema.
    """
    excerpt = " ".join(reply.text.split())[:_EXCERPT_LENGTH]
    if reply.cut_short:
        raise QuestionFailed(
            "cut_short", f"after {reply.tokens_out:,} tokens, at '{excerpt}'", needs_new_seed=True
        )
    try:
        value = json.loads(
            reply.text, strict=False
        )  # inference engines may emit control characters
    except (ValueError, RecursionError) as error:
        raise QuestionFailed("malformed", f"'{excerpt}'", needs_new_seed=True) from error
    fault = _schema_violation(value, stage.schema, "the answer")
    if fault:
        raise QuestionFailed("other_form", f"{fault} in '{excerpt}'", needs_new_seed=True)
    cleaned = _clean_value(value)
    return cleaned, any(_is_control(c) for text in _all_texts(value) for c in text)


def _schema_violation(value: Any, schema: dict[str, Any], name: str) -> str | None:
    """Returns why a value violates a schema, or None if it does not."""
    kind = schema["type"]
    has_type: bool = isinstance(value, _TYPES[kind])  # a bool, so that value stays Any
    if not has_type:
        return f"{name} is not of type {kind}"
    if kind == "object":
        for key, inner in schema["properties"].items():
            fault = (
                _schema_violation(value[key], inner, key)
                if key in value
                else f"{name} has no {key}"
            )
            if fault:
                return fault
    elif kind == "array":
        if len(value) > schema["maxItems"]:
            return f"{name} has {len(value):,} items"
        return next(
            filter(None, (_schema_violation(v, schema["items"], f"{name}[]") for v in value)), None
        )
    elif value not in schema.get("enum", (value,)):
        return f"{name} is '{value[:_EXCERPT_LENGTH]}'"
    elif len(value) > schema.get("maxLength", len(value)):
        return f"{name} has {len(value):,} characters"
    return None


def _all_texts(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [text for v in inner for text in _all_texts(v)]
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
    """Returns whether a character is a control character or an unpaired surrogate."""
    return unicodedata.category(character) in ("Cc", "Cs")
