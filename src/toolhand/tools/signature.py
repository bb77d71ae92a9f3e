"""What a function's signature says: parameters with their types and defaults, and what is hidden from the model."""

from __future__ import annotations

import datetime as dt
import functools
import inspect
import sys
import types
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

import typing_extensions
from pydantic.fields import FieldInfo

from toolhand.core.context import RunContext
from toolhand.core.errors import ToolDefinitionError
from toolhand.core.language import say
from toolhand.tools.docstring import Docstring

_WORDS: Mapping[str, Any] = {
    "str": str, "string": str, "int": int, "integer": int, "float": float, "number": float, "bool": bool,
    "boolean": bool, "list": list, "array": list, "dict": dict, "object": dict, "date": dt.date, "datetime": dt.datetime,
}  # fmt: skip


class ToolWarning(UserWarning):
    """Something in a tool's definition that works, but that a model may stumble over."""


def warn(sentence: str) -> None:
    """Warns at the place where the user makes the tool, not in here."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - there is no public way to see the callers
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("toolhand."):
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, ToolWarning, stacklevel=level)


@dataclass(frozen=True, slots=True)
class Injected:
    """Marks a parameter that is filled at run time and hidden from the model.

    `user: Injected("user_id")`, `user: Annotated[str, Injected("user_id")]` and `user: str = Injected("user_id")` work. What a
    model sends under that name is ignored.

    Args:
        key: what fills it: "user_id", "session_id", "trace_id", or a key of the run's facts.
    """

    key: str

    def __call__(self) -> None:
        """Lets `typing` take an instance for an annotation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter as a model may send it: its type in a form that pydantic takes, and its default where it has one."""

    name: str
    annotation: Any
    default: Any
    is_required: bool


def unwrapped(function: Callable[..., Any]) -> Any:
    """The function that holds the annotations and the docstring, inside partials, wrappers and callable objects."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return getattr(function, "__call__", function)  # noqa: B004 - the method itself is wanted: it holds the annotations


def hints_of(source: Any, label: str, namespace: Callable[[], Mapping[str, Any]] | None) -> dict[str, Any]:
    """The annotations as types; names are looked up in globals and closure, then in `namespace`.

    Raises:
        ToolDefinitionError: when one cannot be resolved.
    """
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
            say(
                f"'{label}' names the type '{error.name}', which is not defined where the tool is made: "
                "define or import it before the decorator (outside `if TYPE_CHECKING`)",
                f"“{label}”用到的类型“{error.name}”在创建工具的地方没有定义："
                "请在装饰器之前定义或导入它（不要放在 `if TYPE_CHECKING` 里）",
            )
        ) from error
    except (TypeError, SyntaxError) as error:
        if not getattr(function, "__annotations__", None):
            return {}
        raise ToolDefinitionError(
            say(
                f"'{label}' has an annotation that is not a type ({error}): write a type",
                f"“{label}”有一个注解不是类型（{error}）：请写类型",
            )
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


def injected_key(annotation: Any, default: Any = None) -> str | None:
    """What fills a parameter that is hidden from the model, or None where the model sends it."""
    for mark in (annotation, default):
        if isinstance(mark, Injected):
            return mark.key
    if annotation is RunContext or RunContext in _members(annotation):
        return "context"
    if get_origin(annotation) is Annotated:
        return next((extra.key for extra in annotation.__metadata__ if isinstance(extra, Injected)), None)
    return None


def _members(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (typing.Union, types.UnionType) else ()


def read_parameter(
    label: str, parameter: inspect.Parameter, annotation: Any, documented: Docstring
) -> Parameter:
    """One parameter, with a type guessed from docstring or default where it has no annotation."""
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
    return Parameter(
        name=parameter.name, annotation=pydantic_type(annotation), default=default, is_required=is_required
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
        warn(
            say(
                f"parameter '{parameter.name}' of tool '{label}' has no type and no default: any value is accepted; annotate it",
                f"工具“{label}”的参数“{parameter.name}”没有类型也没有默认值，任何值都会被接受：请加类型注解",
            )
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


def pydantic_type(annotation: Any) -> Any:
    """The same type in a form that pydantic takes: it refuses `typing.TypedDict` before Python 3.12."""
    if typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        hints = typing_extensions.get_type_hints(annotation, include_extras=True)
        required = annotation.__required_keys__
        fields = {name: pydantic_type(hint) for name, hint in hints.items()}
        fields = {
            name: hint
            if name in required or get_origin(hint) is typing_extensions.NotRequired
            else typing_extensions.NotRequired[hint]
            for name, hint in fields.items()
        }
        return typed_dict(annotation.__name__, fields)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not arguments or origin is typing.Literal:
        return annotation
    if origin is Annotated:
        return Annotated[pydantic_type(arguments[0]), *annotation.__metadata__]
    changed = tuple(pydantic_type(item) if not isinstance(item, list) else item for item in arguments)
    if changed == arguments:
        return annotation
    if origin is types.UnionType:
        return typing.Union[changed]  # noqa: UP007 - made of a tuple
    return origin[changed if len(changed) > 1 else changed[0]] if origin is not None else annotation


def typed_dict(name: str, fields: dict[str, Any]) -> Any:
    """A `TypedDict` with these fields, of the kind that pydantic takes on every Python."""
    return typing_extensions.TypedDict(name, fields)  # type: ignore[operator]
