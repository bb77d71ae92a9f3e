"""The operations that a document offers, their names, and which of them are wanted."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.openapi.document import Document
from toolhand.tools.names import wire_name

_LOG: Final = logging.getLogger("toolhand.openapi")

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")

_NOT_IN_NAMES: Final = re.compile(r"[^\w-]+")
_LONGEST_NAME: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a document, references followed.

    Args:
        id: its `operationId`, or "".
        method: in capitals, such as "GET".
        path: as the document has it, such as "/pets/{id}".
        tags: its tags.
        summary: one line.
        description: more.
        parameters: those of the path and its own.
        body: the request body, or empty where there is none.
        responses: by status.
        security: the alternatives, each a mapping from scheme to scopes; None where nothing is said.
        servers: the servers that count for it.
        is_deprecated: whether it should not be used any more.
    """

    id: str
    method: str
    path: str
    tags: tuple[str, ...]
    summary: str
    description: str
    parameters: tuple[Mapping[str, Any], ...]
    body: Mapping[str, Any]
    responses: Mapping[str, Any]
    security: Sequence[Mapping[str, Any]]
    servers: Sequence[Any]
    is_deprecated: bool

    @property
    def place(self) -> str:
        """Method and path, such as "GET /pets/{id}"."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which operations become tools; each condition that is given must hold.

    Args:
        tags: with one of these tags.
        methods: of these methods, in any case.
        operations: of these ids, tool names, or "GET /path" places.
        keep: for which this is true.
        deprecated: also those that are deprecated.
    """

    tags: Collection[str] = ()
    methods: Collection[str] = ()
    operations: Collection[str] = ()
    keep: Callable[[Operation], bool] | None = None
    deprecated: bool = False

    def takes(self, operation: Operation, name: str) -> bool:
        """Whether an operation is wanted under this name."""
        named = {operation.id, operation.place, name}
        if operation.is_deprecated and not self.deprecated and not named & set(self.operations):
            return False
        return (
            (not self.tags or not set(operation.tags).isdisjoint(self.tags))
            and (not self.methods or operation.method in {method.upper() for method in self.methods})
            and (not self.operations or not named.isdisjoint(self.operations))
            and (self.keep is None or self.keep(operation))
        )


def named_operations(document: Document, wanted: Wanted) -> list[tuple[str, Operation]]:
    """The wanted operations with a valid name each, in the document's order. Names do not depend on what is wanted.

    Raises:
        SettingsError: when an operation, tag or method is named that no operation has.
    """
    named = _named(list(operations(document)))
    _check(wanted, named)
    return [(name, operation) for name, operation in named if wanted.takes(operation, name)]


def operations(document: Document) -> Iterator[Operation]:
    """Every operation; one that cannot be read is left out with a warning."""
    paths = document.root.get("paths")
    for path, item in (paths if isinstance(paths, Mapping) else {}).items():
        try:
            item = document.resolved(item)  # noqa: PLW2901 - the same item behind its reference
        except LookupError as error:
            _LOG.warning("the path '%s' is left out: '%s' is not in the document", path, error)
            continue
        for method in METHODS:
            if isinstance(item.get(method), Mapping):
                try:
                    yield _operation(document, str(path), method, item)
                except LookupError as error:
                    _LOG.warning(
                        "the operation '%s %s' is left out: '%s' is not in the document",
                        method.upper(),
                        path,
                        error,
                    )


def _operation(document: Document, path: str, method: str, item: Mapping[str, Any]) -> Operation:
    own = document.resolved(
        item[method]
    )  # no reference may stand there, but documents of several files have them
    parameters: dict[tuple[Any, Any], Mapping[str, Any]] = {}
    for parameter in (*_listed(item.get("parameters")), *_listed(own.get("parameters"))):
        resolved = document.resolved(parameter)
        parameters[resolved.get("in"), resolved.get("name")] = resolved
    security = own.get("security", document.root.get("security"))
    return Operation(
        id=str(own.get("operationId") or ""),
        method=method.upper(),
        path=path,
        tags=tuple(str(tag) for tag in _listed(own.get("tags"))),
        summary=str(own.get("summary") or item.get("summary") or ""),
        description=str(own.get("description") or item.get("description") or ""),
        parameters=tuple(p for p in parameters.values() if isinstance(p.get("name"), str)),
        body=document.resolved(own.get("requestBody")),
        responses=own["responses"] if isinstance(own.get("responses"), Mapping) else {},
        security=[one for one in _listed(security) if isinstance(one, Mapping)],
        servers=_listed(own.get("servers"))
        or _listed(item.get("servers"))
        or _listed(document.root.get("servers")),
        is_deprecated=own.get("deprecated") is True,
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _named(found: list[Operation]) -> list[tuple[str, Operation]]:
    """Each operation's name: its id, else method and path; made valid, and told apart by method and path, then by number."""
    names = [_name(_spoken(operation)) for operation in found]
    count = Counter(names)
    taken: set[str] = set()
    result = []
    for name, operation in zip(names, found, strict=True):
        unique = name
        if unique in taken or count[name] > 1:
            unique = _name(
                operation.id if _name(operation.id) != name else f"{name}_{operation.place.lower()}"
            )
        number = 2
        while unique in taken:
            unique, number = _name(f"{name}_{number}"), number + 1
        taken.add(unique)
        result.append((unique, operation))
    return result


def _spoken(operation: Operation) -> str:
    """The id without the path and method that FastAPI writes behind it, or else method and path."""
    written = re.sub(r"\W", "_", operation.path) + f"_{operation.method.lower()}"
    return operation.id.removesuffix(written).strip("_") or operation.place.lower()


def _name(text: str) -> str:
    name = re.sub(r"__+", "_", _NOT_IN_NAMES.sub("_", text)).strip("_-") or "operation"
    if not (name[0].isalpha()):
        name = f"operation_{name}"
    return name if len(name) <= _LONGEST_NAME else wire_name(name)


def _check(wanted: Wanted, named: list[tuple[str, Operation]]) -> None:
    """A name that no operation has is a misspelling, and would leave tools out in silence."""
    known = {text for name, operation in named for text in (name, operation.id, operation.place)}
    tags = {tag for _, operation in named for tag in operation.tags}
    for what, given, there in (
        ((say("operation", "操作")), wanted.operations, known),
        (say("tag", "标签"), wanted.tags, tags),
        (say("method", "方法"), [method.upper() for method in wanted.methods], {m.upper() for m in METHODS}),
    ):
        for text in [given] if isinstance(given, str) else given:
            if text not in there:
                shown = ", ".join(sorted(filter(None, there))[:20])
                raise SettingsError(
                    say(
                        f"the document has no {what} '{text}'; it has: {shown}",
                        f"文档里没有{what}“{text}”；有：{shown}",
                    )
                )
