"""From a function's signature to a JSON Schema, and to the validator that makes its arguments.

The types are pydantic's business: the parameters become one `TypedDict`, so that every legal Python name works and a missing
key leaves the function its own default. Source: https://json-schema.org/draft/2020-12.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import typing_extensions
from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic.json_schema import GenerateJsonSchema

from toolhand.core.errors import ToolDefinitionError
from toolhand.core.jsonable import jsonable
from toolhand.core.language import say
from toolhand.tools.docstring import Docstring, read_docstring
from toolhand.tools.inline import inlined
from toolhand.tools.signature import (
    Parameter,
    hints_of,
    injected_key,
    pydantic_type,
    read_parameter,
    typed_dict,
    unwrapped,
    warn,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What was read off a function.

    Args:
        description: what the model reads.
        parameters: the arguments' JSON Schema.
        validate: JSON values → the function's keyword arguments.
        injected: hidden parameters, parameter → key.
        function: the function, wrapped where it takes positional-only or variadic parameters.
    """

    description: str
    parameters: dict[str, Any]
    validate: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    injected: dict[str, str]
    function: Callable[..., Any]


def describe(
    function: Callable[..., Any], *, namespace: Callable[[], Mapping[str, Any]] | None = None
) -> Described:
    """Reads name, types, defaults and descriptions off a function.

    Args:
        function: a function, method, partial or callable object.
        namespace: gives further names to resolve annotations with, asked only when the function's own globals and
            closure do not hold one.

    Raises:
        ToolDefinitionError: when a parameter cannot be described; the message names it and the cure.
    """
    source = unwrapped(function)
    label = getattr(source, "__name__", type(source).__name__)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(
            say(
                f"'{label}' has no signature to read: wrap it in a function with typed parameters",
                f"“{label}”没有可读取的签名：请用带类型参数的函数包装它",
            )
        ) from error
    documented = read_docstring(inspect.getdoc(source) if not isinstance(source, type) else source.__doc__)
    hints = hints_of(source, label, namespace)
    bound_by_partial = set(function.keywords) if isinstance(function, functools.partial) else set()
    visible: list[Parameter] = []
    injected: dict[str, str] = {}
    for parameter in signature.parameters.values():
        annotation = hints.get(parameter.name, parameter.annotation)
        key = injected_key(annotation, parameter.default)
        if parameter.name in bound_by_partial:
            continue
        if key is not None:
            injected[parameter.name] = key
        else:
            visible.append(read_parameter(label, parameter, annotation, documented))
    _warn_of_stale_entries(label, documented, signature)
    parameters, validate = _compile(label, visible, documented, signature)
    return Described(
        description=_description(documented),
        parameters=parameters,
        validate=validate,
        injected=injected,
        function=_callable_by_keyword(function, signature),
    )


def _warn_of_stale_entries(label: str, documented: Docstring, signature: inspect.Signature) -> None:
    for name in documented.parameters:
        if name not in signature.parameters:
            warn(
                say(
                    f"the docstring of tool '{label}' describes '{name}', which is not one of its parameters: remove the entry",
                    f"工具“{label}”的文档字符串说明了“{name}”，但它没有这个参数：请删掉这一条",
                )
            )


def _description(documented: Docstring) -> str:
    if not documented.returns:
        return documented.description
    is_chinese = any("\u4e00" <= character <= "\u9fff" for character in documented.returns)
    title = "返回：" if is_chinese else "Returns: "
    return f"{documented.description}\n{title}{documented.returns}".strip()


class _Schema(GenerateJsonSchema):
    """pydantic's schemas without what only costs tokens."""

    def enum_schema(self, schema: Any) -> Any:
        """Also the members' names, which models send for their values; they stay here and are not sent out."""
        result = super().enum_schema(schema)
        names = {member.name: member.value for member in schema["members"] if member.name != member.value}
        return {**result, "x-enum-names": names} if names else result

    def field_title_should_be_set(self, schema: Any) -> bool:
        """No titles: they repeat the names."""
        del schema
        return False


def _compile(
    label: str, visible: Sequence[Parameter], documented: Docstring, signature: inspect.Signature
) -> tuple[dict[str, Any], Callable[[Mapping[str, Any]], Mapping[str, Any]]]:
    rest = next(
        (p for p in visible if signature.parameters[p.name].kind is inspect.Parameter.VAR_KEYWORD), None
    )
    named = [parameter for parameter in visible if parameter is not rest]
    adapters = {parameter.name: _adapter(label, parameter) for parameter in visible}
    properties: dict[str, Any] = {}
    for parameter in named:
        schema = _json_schema(label, parameter.name, adapters[parameter.name])
        text = documented.parameters.get(parameter.name)
        if text and "description" not in schema:
            schema = {**schema, "description": text}
        if parameter.default is None:
            schema = _without_null(schema)  # left out means None: the model need not be told of a null
        elif parameter.default is not inspect.Parameter.empty:
            schema = {**schema, "default": jsonable(parameter.default)}
        properties[parameter.name] = schema
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [parameter.name for parameter in named if parameter.is_required],
    }
    if rest is not None:
        more = _json_schema(label, rest.name, adapters[rest.name])
        parameters["additionalProperties"] = more or True
    fields = {
        p.name: p.annotation if p.is_required else typing_extensions.NotRequired[p.annotation] for p in named
    }
    extra: Literal["allow", "ignore"] = "allow" if rest is not None else "ignore"
    whole = typed_dict(label, fields)
    whole.__pydantic_config__ = ConfigDict(
        extra=extra, arbitrary_types_allowed=True, coerce_numbers_to_str=True
    )
    adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(whole)

    def validate(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            made = adapter.validate_python(dict(arguments))
        except ValidationError as error:
            raise ValueError(sentence_of(error)) from None
        if rest is not None:
            for name in made.keys() - properties.keys():
                made[name] = adapters[rest.name].validate_python(made[name])
        return made

    return inlined(parameters), validate


def describe_type(annotation: Any, label: str) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    """What a type is made with, and its JSON Schema, references replaced.

    Args:
        annotation: any type that JSON can hold.
        label: what it is for, for the error.

    Raises:
        ToolDefinitionError: when JSON cannot hold it.
    """
    parameter = Parameter(name="answer", annotation=pydantic_type(annotation), default=None, is_required=True)
    adapter = _adapter(label, parameter)
    return adapter, inlined(_json_schema(label, "answer", adapter))


def sentence_of(error: ValidationError) -> str:
    """Pydantic's complaints as one line for a model: where and what, from the schema, never an exception's own text."""
    found = []
    for item in error.errors(include_url=False, include_context=False):
        where = ".".join(str(step) for step in item["loc"]) or "$"
        found.append(f"{where}: {item['msg']} (got {_short(item.get('input'))})")
    return "; ".join(found)


def _short(value: Any) -> str:
    text = repr(jsonable(value))
    return text if len(text) <= 80 else text[:77] + "…"


def _adapter(label: str, parameter: Parameter) -> TypeAdapter[Any]:
    problem: Exception
    try:
        return TypeAdapter(parameter.annotation)
    except PydanticSchemaGenerationError as error:
        problem = error
    except (PydanticUserError, TypeError, AttributeError) as error:
        problem = error
    kind = getattr(parameter.annotation, "__name__", str(parameter.annotation))
    if parameter.annotation is any:
        raise ToolDefinitionError(
            say(
                f"parameter '{parameter.name}' of tool '{label}' has the function 'any' for a type: write typing.Any, or better "
                "the type that is meant",
                f"工具“{label}”的参数“{parameter.name}”把函数 any 当成了类型：请写 typing.Any，最好写出真正的类型",
            )
        ) from problem
    raise ToolDefinitionError(
        say(
            f"parameter '{parameter.name}' of tool '{label}' has the type '{kind}', which a model cannot write as JSON: "
            "use a basic type, a dataclass, a TypedDict or a pydantic model, or mark it with Injected(…) if the program fills it",
            f"工具“{label}”的参数“{parameter.name}”的类型是“{kind}”，模型无法用 JSON 写出："
            "请用基本类型、dataclass、TypedDict 或 pydantic 模型；如果由程序填写，请标记为 Injected(…)",
        )
    ) from problem


def _json_schema(label: str, name: str, adapter: TypeAdapter[Any]) -> dict[str, Any]:
    try:
        schema = adapter.json_schema(schema_generator=_Schema)
    except PydanticInvalidForJsonSchema as error:
        raise ToolDefinitionError(
            say(
                f"parameter '{name}' of tool '{label}' has a type that JSON cannot describe: "
                "use a basic type, a dataclass, a TypedDict or a pydantic model, or mark it with Injected(…)",
                f"工具“{label}”的参数“{name}”的类型无法用 JSON 描述："
                "请用基本类型、dataclass、TypedDict 或 pydantic 模型，或标记为 Injected(…)",
            )
        ) from error
    return schema


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if not options:
        return schema
    beside = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**options[0], **beside} if len(options) == 1 else {**beside, "anyOf": options}


def _callable_by_keyword(function: Callable[..., Any], signature: inspect.Signature) -> Callable[..., Any]:
    """The function itself, or a wrapper where some of its parameters cannot be passed by keyword."""
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if not kinds & {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}:
        return function

    def positional(kwargs: dict[str, Any]) -> list[Any]:
        given: list[Any] = []
        has_variadic = any(
            p.kind is inspect.Parameter.VAR_POSITIONAL and kwargs.get(p.name)
            for p in signature.parameters.values()
        )
        for parameter in signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                given += kwargs.pop(parameter.name, ())
            elif parameter.kind is inspect.Parameter.POSITIONAL_ONLY or (
                has_variadic and parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            ):
                if parameter.name not in kwargs and parameter.default is inspect.Parameter.empty:
                    break
                given.append(kwargs.pop(parameter.name, parameter.default))
        return given

    @functools.wraps(function)
    def by_keyword(**kwargs: Any) -> Any:
        return function(*positional(kwargs), **kwargs)

    if inspect.iscoroutinefunction(function):
        inspect.markcoroutinefunction(by_keyword) if hasattr(inspect, "markcoroutinefunction") else None
    return by_keyword
