"""From a function's signature to a JSON Schema, and to the validator that makes its arguments.

The types are pydantic's business: the parameters become one `TypedDict`, so that every legal Python name works and a missing
key leaves the function its own default. Source: https://json-schema.org/draft/2020-12.
"""

from __future__ import annotations

import datetime as dt
import functools
import inspect
import sys
import types
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

import typing_extensions
from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from toolhand.core.context import RunContext
from toolhand.core.errors import ToolDefinitionError
from toolhand.core.jsonable import jsonable
from toolhand.tools.docstring import Docstring, read_docstring
from toolhand.tools.inline import inlined

_WORDS: Mapping[str, Any] = {
    "str": str, "string": str, "int": int, "integer": int, "float": float, "number": float, "bool": bool,
    "boolean": bool, "list": list, "array": list, "dict": dict, "object": dict, "date": dt.date, "datetime": dt.datetime,
}  # fmt: skip


class ToolWarning(UserWarning):
    """Something in a tool's definition that works, but that a model may stumble over."""


def _warn(sentence: str) -> None:
    """Warns at the place where the user makes the tool, not in here."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - there is no public way to see the callers
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("toolhand."):
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, ToolWarning, stacklevel=level)


@dataclass(frozen=True, slots=True)
class Injected:
    """Marks a parameter that is filled at run time and hidden from the model.

    Both `user: Injected("user_id")` and `user: Annotated[str, Injected("user_id")]` work. What a model sends under that name
    is ignored.

    Args:
        key: what fills it: "user_id", "session_id", "trace_id", or a key of the run's facts.
    """

    key: str

    def __call__(self) -> None:
        """Lets `typing` take an instance for an annotation."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parameter:
    name: str
    annotation: Any
    default: Any
    is_required: bool


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
    source = _unwrapped(function)
    label = getattr(source, "__name__", type(source).__name__)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(
            f"'{label}' has no signature to read: wrap it in a function with typed parameters"
        ) from error
    documented = read_docstring(inspect.getdoc(source) if not isinstance(source, type) else source.__doc__)
    hints = _hints(source, label, namespace)
    bound_by_partial = set(function.keywords) if isinstance(function, functools.partial) else set()
    visible: list[_Parameter] = []
    injected: dict[str, str] = {}
    for parameter in signature.parameters.values():
        annotation = hints.get(parameter.name, parameter.annotation)
        key = _injected_key(annotation)
        if parameter.name in bound_by_partial:
            continue
        if key is not None:
            injected[parameter.name] = key
        else:
            visible.append(_parameter(label, parameter, annotation, documented))
    _warn_of_stale_entries(label, documented, signature)
    parameters, validate = _compile(label, visible, documented, signature)
    return Described(
        description=_description(documented),
        parameters=parameters,
        validate=validate,
        injected=injected,
        function=_callable_by_keyword(function, signature),
    )


def _unwrapped(function: Callable[..., Any]) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return getattr(function, "__call__", function)  # noqa: B004 - the method itself is wanted: it holds the annotations


def _hints(source: Any, label: str, namespace: Callable[[], Mapping[str, Any]] | None) -> dict[str, Any]:
    target = getattr(source, "__init__") if isinstance(source, type) else source  # noqa: B009 - mypy calls it unsound
    function = inspect.unwrap(getattr(target, "__func__", target))
    try:
        try:
            return _resolved(function, _closure(function))
        except NameError:
            if namespace is None:
                raise
            return _resolved(function, {**namespace(), **_closure(function)})
    except NameError as error:
        raise ToolDefinitionError(
            f"'{label}' names the type '{error.name}', which is not defined where the tool is made: "
            "define or import it before the decorator (outside `if TYPE_CHECKING`)"
        ) from error
    except (TypeError, SyntaxError) as error:
        if not getattr(function, "__annotations__", None):
            return {}
        raise ToolDefinitionError(
            f"'{label}' has an annotation that is not a type ({error}): write a type"
        ) from error


def _resolved(function: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    return typing_extensions.get_type_hints(function, localns=dict(names) or None, include_extras=True)


def _closure(function: Any) -> dict[str, Any]:
    found = {}
    for name, cell in zip(
        getattr(getattr(function, "__code__", None), "co_freevars", ()),
        getattr(function, "__closure__", None) or (),
        strict=False,
    ):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _injected_key(annotation: Any) -> str | None:
    if isinstance(annotation, Injected):
        return annotation.key
    if annotation is RunContext:
        return "context"
    if get_origin(annotation) is Annotated:
        return next((extra.key for extra in annotation.__metadata__ if isinstance(extra, Injected)), None)
    return None


def _parameter(
    label: str, parameter: inspect.Parameter, annotation: Any, documented: Docstring
) -> _Parameter:
    default = parameter.default
    is_required = default is inspect.Parameter.empty and parameter.kind not in (
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    )
    if annotation is inspect.Parameter.empty:
        annotation = _guessed_type(label, parameter, documented)
    if isinstance(default, FieldInfo):  # def f(x: int = Field(5, ge=1))
        annotation = Annotated[annotation, default]
        is_required = default.is_required()
        default = (
            inspect.Parameter.empty
            if is_required
            else default.get_default(call_default_factory=True, validated_data={})
        )
    elif default is None and not _takes_none(annotation):
        annotation = annotation | None if not isinstance(annotation, str) else annotation
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        annotation, default = list[annotation], inspect.Parameter.empty
    return _Parameter(
        name=parameter.name, annotation=_pydantic_type(annotation), default=default, is_required=is_required
    )


def _guessed_type(label: str, parameter: inspect.Parameter, documented: Docstring) -> Any:
    word = documented.types.get(parameter.name, "").split(",")[0].strip().lower()
    if word.split("[")[0] in _WORDS:
        return _WORDS[word.split("[")[0]]
    default = parameter.default
    if isinstance(default, FieldInfo):
        default = default.default
    if default is not inspect.Parameter.empty and default is not None:
        if isinstance(default, tuple | list | set | frozenset):
            return list[type(next(iter(default)))] if default else list  # type: ignore[misc]
        if isinstance(default, bool | int | float | str | dict | dt.date):
            return type(default)
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
        _warn(
            f"parameter '{parameter.name}' of tool '{label}' has no type and no default: any value is accepted; annotate it"
        )
    return Any


def _takes_none(annotation: Any) -> bool:
    if annotation in (Any, None, type(None), object):
        return True
    if get_origin(annotation) is Annotated:
        return _takes_none(get_args(annotation)[0])
    if get_origin(annotation) in (typing.Union, types.UnionType):
        return any(_takes_none(option) for option in get_args(annotation))
    return None in get_args(annotation) if get_origin(annotation) is typing.Literal else False


def _pydantic_type(annotation: Any) -> Any:
    """The same type in a form that pydantic takes: it refuses `typing.TypedDict` before Python 3.12."""
    if typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        hints = typing_extensions.get_type_hints(annotation, include_extras=True)
        required = annotation.__required_keys__
        fields = {name: _pydantic_type(hint) for name, hint in hints.items()}
        fields = {
            name: hint
            if name in required or get_origin(hint) is typing_extensions.NotRequired
            else typing_extensions.NotRequired[hint]
            for name, hint in fields.items()
        }
        return _typed_dict(annotation.__name__, fields)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not arguments or origin is typing.Literal:
        return annotation
    if origin is Annotated:
        return Annotated[_pydantic_type(arguments[0]), *annotation.__metadata__]
    changed = tuple(_pydantic_type(item) if not isinstance(item, list) else item for item in arguments)
    if changed == arguments:
        return annotation
    if origin is types.UnionType:
        return typing.Union[changed]  # noqa: UP007 - made of a tuple
    return origin[changed if len(changed) > 1 else changed[0]] if origin is not None else annotation


def _warn_of_stale_entries(label: str, documented: Docstring, signature: inspect.Signature) -> None:
    for name in documented.parameters:
        if name not in signature.parameters:
            _warn(
                f"the docstring of tool '{label}' describes '{name}', which is not one of its parameters: remove the entry"
            )


def _description(documented: Docstring) -> str:
    if not documented.returns:
        return documented.description
    is_chinese = any(
        "\u4e00" <= character <= "\u9fff" for character in documented.description + documented.returns
    )
    title = "返回：" if is_chinese else "Returns: "
    return f"{documented.description}\n{title}{documented.returns}".strip()


class _Schema(GenerateJsonSchema):
    """pydantic's schemas without what only costs tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """No titles: they repeat the names."""
        del schema
        return False


def _compile(
    label: str, visible: Sequence[_Parameter], documented: Docstring, signature: inspect.Signature
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
    whole = _typed_dict(label, fields)
    whole.__pydantic_config__ = ConfigDict(
        extra=extra, arbitrary_types_allowed=True, coerce_numbers_to_str=True
    )
    adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(whole)

    def validate(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            made = adapter.validate_python(dict(arguments))
        except ValidationError as error:
            raise ValueError(_sentence(error)) from None
        if rest is not None:
            for name in made.keys() - properties.keys():
                made[name] = adapters[rest.name].validate_python(made[name])
        return made

    return inlined(parameters), validate


def _typed_dict(name: str, fields: dict[str, Any]) -> Any:
    return typing_extensions.TypedDict(name, fields)  # type: ignore[operator]


def _sentence(error: ValidationError) -> str:
    """Pydantic's complaints as one line for a model: where and what, from the schema, never an exception's own text."""
    found = []
    for item in error.errors(include_url=False, include_context=False):
        where = ".".join(str(step) for step in item["loc"]) or "$"
        found.append(f"{where}: {item['msg']} (got {_short(item.get('input'))})")
    return "; ".join(found)


def _short(value: Any) -> str:
    text = repr(jsonable(value))
    return text if len(text) <= 80 else text[:77] + "…"


def _adapter(label: str, parameter: _Parameter) -> TypeAdapter[Any]:
    problem: Exception
    try:
        return TypeAdapter(parameter.annotation)
    except PydanticSchemaGenerationError as error:
        problem = error
    except (PydanticUserError, TypeError, AttributeError) as error:
        problem = error
    kind = getattr(parameter.annotation, "__name__", str(parameter.annotation))
    raise ToolDefinitionError(
        f"parameter '{parameter.name}' of tool '{label}' has the type '{kind}', which a model cannot write as JSON: "
        "use a basic type, a dataclass, a TypedDict or a pydantic model, or mark it with Injected(…) if the program fills it"
    ) from problem


def _json_schema(label: str, name: str, adapter: TypeAdapter[Any]) -> dict[str, Any]:
    try:
        schema = adapter.json_schema(schema_generator=_Schema)
    except PydanticInvalidForJsonSchema as error:
        raise ToolDefinitionError(
            f"parameter '{name}' of tool '{label}' has a type that JSON cannot describe: "
            "use a basic type, a dataclass, a TypedDict or a pydantic model, or mark it with Injected(…)"
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
