"""What an answer has to be where a client asks for JSON: its schema, and the value in a model's words that fits it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolhand.arguments.bind import bind_arguments
from toolhand.arguments.feedback import feedback
from toolhand.arguments.plans import tool_shape
from toolhand.arguments.settings import BindSettings
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.jsonable import jsonable
from toolhand.core.language import Language
from toolhand.core.tools import Tool
from toolhand.gateway.refusals import invalid
from toolhand.output.candidates import candidates

_NAME: Final = "answer"

WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "schema": "Give the answer as one JSON value that fits this JSON Schema, and write nothing else:\n{schema}",
        "object": "Give the answer as one JSON object, and write nothing else.",
        "none": "There is no JSON value in the reply that could be the answer.",
    },
    "zh": {
        "schema": "给出答案时，请只用一个符合下面 JSON Schema 的 JSON 值，不要写其他内容：\n{schema}",
        "object": "给出答案时，请只写一个 JSON 对象，不要写其他内容。",
        "none": "回复中没有可以作为答案的 JSON 值。",
    },
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What an answer has to be.

    Args:
        schema: its JSON Schema; None for any object.
    """

    schema: Mapping[str, Any] | None
    _tool: Tool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        inner = self.schema if self._is_object else {
            "type": "object", "properties": {_NAME: self.schema}, "required": [_NAME],
        }  # fmt: skip
        object.__setattr__(self, "_tool", Tool(name=_NAME, parameters=inner or {"type": "object"}))

    @property
    def _is_object(self) -> bool:
        return self.schema is None or self.schema.get("type") == "object"

    def check(self) -> None:
        """Raises whatever reading its schema raises, before anything is asked."""
        tool_shape(self._tool)

    @property
    def grammar(self) -> Mapping[str, Any]:
        """The schema that a server is given."""
        return {"type": "object"} if self.schema is None else self.schema

    def told(self, language: Language) -> str:
        """The words that tell a model of it."""
        if self.schema is None:
            return WORDS[language]["object"]
        return WORDS[language]["schema"].format(schema=json.dumps(self.schema, ensure_ascii=False))

    def read(self, text: str, settings: BindSettings) -> str | ToolError:
        """The answer in a model's words as JSON text, or what is wrong.

        Args:
            text: what it wrote.
            settings: how values are read.
        """
        first: ToolError | None = None
        for value in self._values(text):
            made = self._taken(value, settings)
            if not isinstance(made, ToolError):
                return _as_it_was(text, made[0])
            first = first or made
        message = WORDS[settings.language]["none"]
        return first or ToolError(code=ErrorCode.UNPARSEABLE, message=message, retryable=True)

    def _values(self, text: str) -> list[Any]:
        try:
            return [json.loads(text)]
        except (ValueError, RecursionError):
            return list(candidates(text))

    def _taken(self, value: Any, settings: BindSettings) -> tuple[Any] | ToolError:
        if self.schema is None:
            wrong = ToolError(
                code=ErrorCode.UNPARSEABLE, message=WORDS[settings.language]["none"], retryable=True
            )
            return (value,) if isinstance(value, dict) else wrong
        sent = value if self._is_object else {_NAME: value}
        bound, _ = bind_arguments(sent, self._tool, settings=settings)
        if isinstance(bound, ToolError):
            return bound
        return (bound if self._is_object else bound[_NAME],)

    def objection(self, error: ToolError, language: Language) -> str:
        """What a model is told whose answer did not fit."""
        return f"{feedback(error, self._tool, language)}\n{self.told(language)}"


def shape_of(schema: Any, param: str) -> Shape:
    """The shape that a client's schema asks for.

    Raises:
        Refusal: when it is no schema.
    """
    if not isinstance(schema, Mapping):
        raise invalid(param, "this must be a JSON Schema", "应为 JSON Schema")
    try:
        made = Shape(schema)
        made.check()
    except Exception:  # noqa: BLE001 - a stranger's schema may be anything
        raise invalid(param, "this is no JSON Schema", "不是有效的 JSON Schema") from None
    return made


def _as_it_was(text: str, value: Any) -> str:
    """The model's own spelling where it says just this, or else the value written anew."""
    try:
        if json.loads(text) == value:
            return text.strip()
    except (ValueError, RecursionError):
        pass
    return json.dumps(jsonable(value), ensure_ascii=False)
