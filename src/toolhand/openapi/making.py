"""Makes the tools of a document."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Unpack
from urllib.parse import urljoin, urlsplit

from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError, ToolDefinitionError
from toolhand.core.language import language_of, say
from toolhand.core.tools import Effect, Rules, Tool
from toolhand.openapi.calling import Route, Service, request_of
from toolhand.openapi.document import Document, read_document
from toolhand.openapi.failures import refused
from toolhand.openapi.inputs import Inputs, inputs_of
from toolhand.openapi.operations import Operation, Wanted, named_operations
from toolhand.openapi.options import OpenAPIOptions
from toolhand.openapi.schemas import cut
from toolhand.openapi.security import Security
from toolhand.tools.signature import Injected

_LOG: Final = logging.getLogger("toolhand.openapi")

_EFFECTS: Final[Mapping[str, Effect]] = {
    "GET": "reads", "HEAD": "reads", "OPTIONS": "reads", "TRACE": "reads", "DELETE": "destroys",
}  # fmt: skip
"""What a method does. Source: RFC 9110, 9.2: safe methods read; PUT and DELETE may be repeated."""

_REPEATABLE: Final = frozenset({"PUT", "DELETE"})

_TIMEOUT: Final = 60.0

_LONGEST_DESCRIPTION: Final = 1000

_CONTEXT: Final = "run context"
"""The hidden parameter for the run's facts; no operation can have one of this name, as it holds a blank."""


def openapi_tools(
    document: str | os.PathLike[str] | Mapping[str, Any] | Document, **options: Unpack[OpenAPIOptions]
) -> list[Tool]:
    """A tool for each operation of an OpenAPI document; what each option means is on `OpenAPIOptions`.

    Args:
        document: a dict, a file's path, an address, or what `fetch_document` gave.
        options: see `OpenAPIOptions`.

    Raises:
        SettingsError: when the document cannot be used, or something is named that it does not have.
        ToolDefinitionError: when no operation is left.
    """
    if unknown := options.keys() - OpenAPIOptions.__annotations__.keys():
        known = ", ".join(OpenAPIOptions.__annotations__)
        raise SettingsError(
            say(
                f"from_openapi has no option '{min(unknown)}'; there is: {known}",
                f"from_openapi 没有选项“{min(unknown)}”；可用的有：{known}",
            )
        )
    found = document if isinstance(document, Document) else read_document(document)
    making = _Making(found, options)
    wanted = Wanted(
        tags=_names(options.get("tags", ())),
        methods=_names(options.get("methods", ())),
        operations=_names(options.get("operations", ())),
        keep=options.get("keep"),
        deprecated=options.get("deprecated", False),
    )
    made: list[Tool] = []
    unusable: list[SettingsError] = []
    for name, operation in named_operations(found, wanted):
        try:
            made.append(making.tool(name, operation))
        except SettingsError as error:
            unusable.append(error)
            _LOG.warning("the operation '%s' is left out: %s", operation.place, error)
    if not made:
        raise (
            unusable[0]
            if unusable
            else ToolDefinitionError(
                say(
                    "no operation of the OpenAPI document is left to make a tool of: widen the filter",
                    "OpenAPI 文档里没有剩下可以做成工具的操作：请放宽筛选条件",
                )
            )
        )
    return made


class _Making:
    """What the tools of one document have in common."""

    def __init__(self, document: Document, options: OpenAPIOptions) -> None:
        self.document, self.options = document, options
        self.security = Security(document, options.get("secrets") or {}, options.get("headers") or {})
        self.fixed: Mapping[str, Any] = options.get("fixed") or {}
        self.timeout = options.get("timeout", _TIMEOUT)
        self._services: dict[str, Service] = {}

    def tool(self, name: str, operation: Operation) -> Tool:
        """The tool of one operation.

        Raises:
            SettingsError: when it has no server.
        """
        server = _server(
            operation, self.document, self.options.get("base_url", ""), self.options.get("variables") or {}
        )
        if server not in self._services:
            self._services[server] = Service(server, timeout=self.timeout)
        inputs = inputs_of(self.document, operation, self.security, self.fixed)
        route = Route(
            method=operation.method,
            server=server,
            path=operation.path,
            places=inputs.places,
            body=inputs.body,
            headers=dict(self.options.get("headers") or {}),
        )
        rules = replace(
            _rules(operation, server),
            timeout=self.timeout,
            retries=self.options.get("retries", 0),
            untrusted=self.options.get("untrusted", True),
        )
        call = _Call(route, self._services[server], self.security, operation, self.fixed)
        return _tool(name, operation, inputs, call, rules)


def _names(given: str | Iterable[str]) -> frozenset[str]:
    return frozenset([given]) if isinstance(given, str) else frozenset(given)


def _rules(operation: Operation, server: str) -> Rules:
    return Rules(
        effect=_EFFECTS.get(operation.method, "writes"),
        idempotent=operation.method in _REPEATABLE,
        category=operation.tags[0] if operation.tags else "",
        tags=frozenset(operation.tags),
        upstream=urlsplit(server).netloc,
    )


class _Call:
    """What runs when an operation's tool is called."""

    def __init__(
        self,
        route: Route,
        service: Service,
        security: Security,
        operation: Operation,
        fixed: Mapping[str, Any],
    ) -> None:
        self.route, self.service, self.security = route, service, security
        self.alternatives = operation.security
        self.constants = {place.name: fixed[place.wire] for place in route.places if place.wire in fixed}
        self.injected = {
            name: value.key for name, value in self.constants.items() if isinstance(value, Injected)
        }
        self.tool: Tool | None = None

    def function(self) -> Callable[..., Any]:
        async def call(**sent: Any) -> Any:
            context: RunContext = sent.pop(_CONTEXT)
            credentials = await self.security.credentials(self.alternatives)
            if credentials.missing:
                names = ", ".join(credentials.missing)
                raise refused("secret", context.language, ErrorCode.NOT_PERMITTED, name=names)
            constants = {
                name: value() if callable(value) else value
                for name, value in self.constants.items()
                if name not in self.injected
            }
            request = request_of(self.route, {**sent, **constants}, credentials, context.language)
            assert self.tool is not None  # noqa: S101 - it is set before anybody has the function
            return await self.service.answer(request, credentials.secrets, context.language, self.tool)

        return call


def _tool(name: str, operation: Operation, inputs: Inputs, call: _Call, rules: Rules) -> Tool:
    tool = Tool(
        name=name,
        description=_description(operation),
        parameters=inputs.parameters,
        function=call.function(),
        validate=dict,  # the service has its own defaults: only what was sent goes out
        rules=rules,
        injected={_CONTEXT: "context", **call.injected},
    )
    call.tool = tool
    return tool


def _description(operation: Operation) -> str:
    said = [operation.summary.strip(), operation.description.strip()]
    if said[1].startswith(said[0]):
        said = said[1:]
    text = "\n".join(part for part in said if part) or operation.place
    for status in ("200", "201", "202", "2XX", "default"):
        response = operation.responses.get(status)
        given = response.get("description") if isinstance(response, Mapping) else None
        if isinstance(given, str) and len(given.split()) > 2 and given.strip() != "Successful Response":
            text = f"{text}\n{'返回' if language_of(text) == 'zh' else 'Returns'}: {given.strip()}"
            break
    return cut(text, _LONGEST_DESCRIPTION)


_BRACED: Final = re.compile(r"\{([^{}]*)\}")


def _server(operation: Operation, document: Document, base_url: str, variables: Mapping[str, str]) -> str:
    """The address of an operation's server, its variables filled in.

    Raises:
        SettingsError: when there is none that is whole, or a variable has no such value.
    """
    entry = operation.servers[0] if operation.servers else {}
    entry = entry if isinstance(entry, Mapping) else {}
    declared = entry.get("variables")
    declared = declared if isinstance(declared, Mapping) else {}

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        rule = declared.get(name)
        rule = rule if isinstance(rule, Mapping) else {}
        value = variables.get(name, rule.get("default"))
        allowed = rule.get("enum")
        if value is None or (isinstance(allowed, list) and str(value) not in map(str, allowed)):
            raise SettingsError(
                say(
                    f"the server's variable '{name}' cannot be {value!r}; give variables={{'{name}': …}}"
                    + (f" with one of {', '.join(map(str, allowed))}" if isinstance(allowed, list) else ""),
                    f"服务器变量“{name}”不能是 {value!r}；请提供 variables={{'{name}': …}}"
                    + (f"，可选值为 {'、'.join(map(str, allowed))}" if isinstance(allowed, list) else ""),
                )
            )
        return str(value)

    address = base_url or urljoin(document.url, _BRACED.sub(filled, str(entry.get("url") or "/")))
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SettingsError(
            say(
                f"'{address}' is no whole address of the service: give base_url='https://…'",
                f"“{address}”不是完整的服务地址：请提供 base_url='https://…'",
            )
        )
    return address.rstrip("/")
