"""`OutputType`: a Python type as the tool by which a model answers, and what it wrote as a value of it."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter, ValidationError

from toolhand.arguments.bind import bind_arguments
from toolhand.arguments.settings import BindSettings
from toolhand.core.errors import ErrorCode, SettingsError, ToolDefinitionError, ToolError, ToolFailure
from toolhand.core.language import Language, say
from toolhand.core.tools import Tool
from toolhand.output.candidates import candidates
from toolhand.tools.schema import describe_type, sentence_of

FINAL_ANSWER: Final = "final_answer"
"""The name of the tool by which a model answers."""

ANSWER: Final = "answer"
"""The key of an answer that is no object."""

Validator: TypeAlias = Callable[[Any], "str | bool | Awaitable[str | bool | None] | None"]
"""A function over an answer: None or True when it is right, else False or a sentence for the model. It may be async."""

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "tool": "Gives the final answer and ends the work. Call it once, alone, when you know everything that it asks for.",
        "wrong": "The answer is not right: check it and give it again.",
        "no_value": "There is no JSON value in the reply that could be the answer.",
    },
    "zh": {
        "tool": "给出最终答案并结束工作。知道所需的全部内容后单独调用一次。",
        "wrong": "答案不正确：请检查后重新给出。",
        "no_value": "回复中没有可以作为答案的 JSON 值。",
    },
}


@dataclass(frozen=True, slots=True)
class Made:
    """An answer of the right type. The value may be None, which is why it stands in here."""

    value: Any


class OutputType:
    """What an answer has to be.

    Args:
        annotation: a pydantic model, dataclass, TypedDict, `list[…]`, `Literal`, union, or a plain type.
        validators: functions that look at an answer of the right type.

    Raises:
        SettingsError: when it is no type that JSON can hold.
    """

    def __init__(self, annotation: Any, validators: Sequence[Validator] = ()) -> None:
        self.annotation = annotation
        self.validators = tuple(validators)
        self.label = _label(annotation)
        self._adapter, self.schema = self._described()
        self.is_object = self.schema.get("type") == "object"
        """Whether the answer is an object by itself; else it stands under the key "answer"."""

    def _described(self) -> tuple[TypeAdapter[Any], dict[str, Any]]:
        reason: Exception | None = None
        if not inspect.isroutine(self.annotation):
            try:
                return describe_type(self.annotation, self.label)
            except ToolDefinitionError as error:
                reason = error
        raise SettingsError(
            say(
                f"output={self.label} is no type that a model can write as JSON: "
                "use a basic type, a dataclass, a TypedDict or a pydantic model",
                f"output={self.label} 不是模型能用 JSON 写出的类型：请用基本类型、dataclass、TypedDict 或 pydantic 模型",
            )
        ) from reason

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The answer's schema as an object."""
        if self.is_object:
            return self.schema
        inner = {key: value for key, value in self.schema.items() if key != "$defs"}
        shared = {"$defs": self.schema["$defs"]} if "$defs" in self.schema else {}
        return {
            "type": "object",
            "properties": {ANSWER: inner},
            "required": [ANSWER],
            "additionalProperties": False,
            **shared,
        }

    @cached_property
    def _tools(self) -> dict[Language, Tool]:
        about = inspect.getdoc(self.annotation) if inspect.isclass(self.annotation) else None
        own = (self.schema.get("description") or about or "").split("\n\n")[0] if self.is_object else ""
        parameters = {key: value for key, value in self.parameters.items() if key != "description"}
        return {
            language: Tool(
                name=FINAL_ANSWER,
                description=f"{words['tool']} {own}".strip(),
                parameters=parameters,
            )
            for language, words in _WORDS.items()
        }

    def tool(self, language: Language) -> Tool:
        """The tool by which a model answers. It is only declared: the loop takes its arguments and ends."""
        return self._tools[language]

    @property
    def takes_any_text(self) -> bool:
        """Whether whatever a model says is an answer."""
        return self.annotation is str

    def read(self, text: str, settings: BindSettings) -> Made | ToolError:
        """A model's words as an answer: the JSON in them that fits, or all of them where no JSON is wanted.

        Args:
            text: what it wrote.
            settings: how values are read.
        """
        if self.takes_any_text:
            return Made(text)
        first: ToolError | None = None
        for value in candidates(text):
            made = self.take(value, settings)
            if isinstance(made, Made):
                return made
            first = first or made
        if any(kind == {"type": "null"} for kind in self.schema.get("anyOf", ())) and _says_none(text):
            return Made(None)
        if _is_scalar(self.schema):
            made = self.take(text.strip().strip("`").strip(), settings)
            if isinstance(made, Made):
                return made
            first = first or made
        return first or ToolError(
            code=ErrorCode.UNPARSEABLE, message=_WORDS[settings.language]["no_value"], retryable=True
        )

    def take(self, sent: Any, settings: BindSettings) -> Made | ToolError:
        """Any JSON value as an answer: typed, mended where it can be, or what is wrong with it.

        Args:
            sent: an object, the arguments of a call, or the answer itself.
            settings: how values are read.
        """
        tool = self.tool(settings.language)
        if not self.is_object and not (isinstance(sent, Mapping) and ANSWER in sent):
            sent = {ANSWER: sent}
        bound, _ = bind_arguments(sent, tool, settings=settings)
        if isinstance(bound, ToolError):
            return bound
        try:
            return Made(self._adapter.validate_python(bound if self.is_object else bound.get(ANSWER)))
        except ValidationError as error:
            return ToolError(code=ErrorCode.INVALID_ARGUMENT, message=sentence_of(error), retryable=True)

    async def objection(self, value: Any, language: Language) -> ToolError | None:
        """What the validators say against an answer of the right type, or None."""
        for validator in self.validators:
            try:
                said = validator(value)
                if inspect.isawaitable(said):
                    said = await said
            except ToolFailure as failure:
                said = failure.told(language).sentence
            except ValidationError as error:
                said = sentence_of(error)
            except ValueError as error:  # as pydantic's own validators say it
                said = str(error)
            if said is None or said is True:
                continue
            message = said if isinstance(said, str) and said else _WORDS[language]["wrong"]
            return ToolError(code=ErrorCode.INVALID_ARGUMENT, message=message, retryable=True)
        return None

    def shown(self) -> str:
        """The schema as a model reads it in a prompt."""
        return json.dumps(self.parameters, ensure_ascii=False)


def _says_none(text: str) -> bool:
    return text.strip(" `\n\t.").removeprefix("json\n").lower() in ("null", "none")


def _is_scalar(schema: Mapping[str, Any]) -> bool:
    """Whether one word can be a value, so that plain words may be one; they are no list of one word."""
    if (
        "enum" in schema
        or "const" in schema
        or schema.get("type") in ("string", "integer", "number", "boolean")
    ):
        return True
    return any(map(_is_scalar, schema.get("anyOf", ())))


def _label(annotation: Any) -> str:
    if inspect.isclass(annotation) and not typing.get_args(annotation):
        return annotation.__name__
    return str(annotation).removeprefix("typing.")


def output_type(annotation: Any, validators: Validator | Sequence[Validator] = ()) -> OutputType | None:
    """The `OutputType` of what a user gives; None for None.

    Args:
        annotation: a type, an `OutputType`, or None.
        validators: one function or several.

    Raises:
        SettingsError: when it is no type that JSON can hold, or a validator is no function.
    """
    given = (validators,) if callable(validators) else tuple(validators)
    if not all(map(callable, given)):
        raise SettingsError(
            say(
                "output_validator is a function that takes the answer, or several",
                "output_validator 应是接收答案的函数，或几个这样的函数",
            )
        )
    if annotation is None:
        if given:
            raise SettingsError(
                say(
                    "output_validator looks at values of output=…, and there is none: give output=… a type",
                    "output_validator 检查 output=… 的值，但没有 output：请给 output=… 一个类型",
                )
            )
        return None
    return annotation if isinstance(annotation, OutputType) else OutputType(annotation, given)
