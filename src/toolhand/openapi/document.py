"""An OpenAPI document, read from a dict, a file or an address, with references between files made local.

Source: https://spec.openapis.org/oas/v3.1.1 and https://spec.openapis.org/oas/v3.0.4.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from toolhand.core.errors import MissingExtraError, SettingsError
from toolhand.core.language import say
from toolhand.execution.running import run_blocking
from toolhand.openapi.shape import check_shape

FILES: Final = "x-toolhand-files"
"""Where the contents of other files stand in a document that refers to them."""

_MOST_FILES: Final = 5000
_MOST_HOPS: Final = 50


class Document:
    """A document of OpenAPI 3.0 or 3.1 whose references all lead to places within it.

    Args:
        root: the document.
        url: where it came from, against which relative server addresses count; "" where it has none.

    Raises:
        SettingsError: when it is no such document.
    """

    def __init__(self, root: Mapping[str, Any], *, url: str = "") -> None:
        self.root, self.url = root, url
        self.version = _version(root, url or "the document")

    def at(self, reference: str) -> Any:
        """What a reference such as "#/components/schemas/Pet" names.

        Raises:
            LookupError: when there is nothing at that place.
        """
        if not reference.startswith("#"):
            raise LookupError(reference)
        found: Any = self.root
        for step in steps_of(reference):
            if isinstance(found, list) and step.isdigit() and int(step) < len(found):
                found = found[int(step)]
            elif isinstance(found, Mapping) and step in found:
                found = found[step]
            else:
                raise LookupError(reference)
        return found

    def resolved(self, node: Any) -> Mapping[str, Any]:
        """A node with its reference followed; an empty one where there is nothing, or nothing of that kind.

        Raises:
            LookupError: when a reference leads nowhere, or back to itself.
        """
        reference: Any = None
        for _ in range(_MOST_HOPS):
            if not isinstance(node, Mapping):
                return {}
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return node
            beside = {key: value for key, value in node.items() if key in ("summary", "description")}
            node = self.at(reference)
            if beside and isinstance(node, Mapping):
                node = {**node, **beside}
        raise LookupError(str(reference))


def steps_of(reference: str) -> list[str]:
    """The steps of a JSON pointer in a URI's fragment. Source: RFC 6901."""
    pointer = unquote(reference.partition("#")[2])
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def read_document(source: str | os.PathLike[str] | Mapping[str, Any]) -> Document:
    """A document from a dict, a file (JSON or YAML), or an address. It waits for the network where that is asked.

    Args:
        source: the document, its path, or its "http(s)://" address.

    Raises:
        SettingsError: when it cannot be read, or is no document of OpenAPI 3.
        MissingExtraError: when it is YAML and the extra `openapi` is not installed.
    """
    if isinstance(source, Mapping):
        check_shape(source, say("the document", "文档"))
        return Document(_bundled(source, "", _no_files))
    text = os.fspath(source)
    if urlsplit(text).scheme in ("http", "https"):
        return run_blocking(fetch_document(text))
    path = Path(text)
    return Document(_bundled(_parsed(_read(path), text), path.resolve().as_uri(), _files_under(path)))


async def fetch_document(url: str, *, headers: Mapping[str, str] | None = None) -> Document:
    """A document from an address; files that it refers to are fetched too, from the same server only.

    Args:
        url: its "http(s)://" address.
        headers: to be sent along, such as an authorization.

    Raises:
        SettingsError: when it cannot be had, or is no document of OpenAPI 3.
        MissingExtraError: when it is YAML and the extra `openapi` is not installed.
    """
    from toolhand.openapi.fetching import fetched  # noqa: PLC0415 - loads the HTTP client

    texts = {url: _parsed(await fetched(url, headers or {}), url)}
    waiting = [url]
    while waiting:
        for target in _foreign(texts[current := waiting.pop()], current):
            if target in texts:
                continue
            if urlsplit(target)[:2] != urlsplit(url)[:2]:
                raise _elsewhere(url, target)
            if len(texts) >= _MOST_FILES:
                raise _too_many(url)
            texts[target] = _parsed(await fetched(target, headers or {}), target)
            waiting.append(target)
    return Document(_bundled(texts[url], url, texts.__getitem__), url=url)


Load = Callable[[str], Any]


def _bundled(root: Any, uri: str, load: Load) -> dict[str, Any]:
    """The document with the files that it refers to under `FILES`, and all references into them rewritten."""
    if not isinstance(root, Mapping):
        raise SettingsError(
            say(f"'{uri}' holds no OpenAPI document", f"“{uri}”里没有 OpenAPI 文档")  # an array, a bare text
        )
    if next(_foreign(root, uri), None) is None:
        return dict(root)
    places = {uri: ""}
    contents: dict[str, Any] = {}
    waiting = [(uri, root)]
    rewritten: dict[str, Any] = {}
    while waiting:
        current, content = waiting.pop()
        for target in _foreign(content, current):
            if target not in places:
                if len(places) >= _MOST_FILES:
                    raise _too_many(uri)
                places[target] = f"/{FILES}/{len(places)}"
                contents[target] = load(target)
                waiting.append((target, contents[target]))
    for target, content in [(uri, root), *contents.items()]:
        rewritten[places[target].rpartition("/")[2]] = _rewritten(content, target, places)
    bundle: dict[str, Any] = rewritten.pop("")
    return {**bundle, FILES: rewritten}


def _rewritten(node: Any, current: str, places: Mapping[str, str]) -> Any:
    if isinstance(node, list):
        return [_rewritten(item, current, places) for item in node]
    if not isinstance(node, Mapping):
        return node
    found = {key: _rewritten(value, current, places) for key, value in node.items()}
    if isinstance(found.get("$ref"), str):
        target, fragment = urldefrag(urljoin(current, found["$ref"]))
        found["$ref"] = f"#{places[target or current]}{fragment}"
    return found


def _foreign(node: Any, current: str) -> Iterator[str]:
    """The addresses of other files that a node refers to."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            reference = node.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                target = urldefrag(urljoin(current, reference))[0] if current else reference
                if target != current:
                    yield target
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _no_files(target: str) -> Any:
    raise SettingsError(
        say(
            f"the document refers to another file, '{target[:200]}': give its path or address instead of a dict",
            f"文档引用了另一个文件“{target[:200]}”：请给出文档的路径或地址，而不是字典",
        )
    )


def _files_under(path: Path) -> Load:
    folder = path.resolve().parent

    def load(target: str) -> Any:
        parts = urlsplit(target)
        wanted = Path(unquote(parts.path)).resolve()
        if parts.scheme != "file" or not wanted.is_relative_to(folder):
            raise _elsewhere(str(path), target)
        return _parsed(_read(wanted), str(wanted))

    return load


def _elsewhere(source: str, target: str) -> SettingsError:
    return SettingsError(
        say(
            f"'{source}' refers to '{target[:200]}', which is outside its own place: bundle the document first",
            f"“{source}”引用了其所在位置之外的“{target[:200]}”：请先把文档合并成一个文件",
        )
    )


def _too_many(source: str) -> SettingsError:
    return SettingsError(
        say(
            f"'{source}' refers to more than {_MOST_FILES} files: bundle the document first",
            f"“{source}”引用的文件超过 {_MOST_FILES} 个：请先把文档合并成一个文件",
        )
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            say(
                f"the OpenAPI document '{path}' cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}",
                f"无法读取 OpenAPI 文档“{path}”：{getattr(error, 'strerror', None) or '不是 UTF-8 编码'}",
            )
        ) from None


def _parsed(text: str, name: str) -> Any:
    found = _loaded(text, name)
    check_shape(found, f"'{name}'")
    return found


def _loaded(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if text.lstrip()[:1] in ("{", "["):
            raise _unreadable(name, "JSON") from None
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError(
            "openapi", say("an OpenAPI document in YAML", "YAML 格式的 OpenAPI 文档")
        ) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=_without_dates(loader))  # noqa: S506 - a safe loader with fewer types
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _unreadable(name, "YAML") from None


def _without_dates(loader: Any) -> Any:
    """A loader that leaves dates as text: JSON has none, and an example's or a version's must not become one."""
    resolvers = {
        first: [(tag, expression) for tag, expression in entries if tag != "tag:yaml.org,2002:timestamp"]
        for first, entries in loader.yaml_implicit_resolvers.items()
    }
    return type("Loader", (loader,), {"yaml_implicit_resolvers": resolvers})


def _unreadable(name: str, kind: str) -> SettingsError:
    return SettingsError(
        say(f"the OpenAPI document '{name}' is not valid {kind}", f"OpenAPI 文档“{name}”不是有效的 {kind}")
    )


def _version(root: Mapping[str, Any], name: str) -> tuple[int, int]:
    found = str(root.get("openapi") or "")
    parts = found.split(".")
    if parts[0] == "3" and len(parts) > 1 and parts[1].isdigit():
        return 3, int(parts[1])
    if "swagger" in root:
        raise SettingsError(
            say(
                f"{name} is of Swagger {root['swagger']}: convert it to OpenAPI 3 first, as with `npx swagger2openapi`",
                f"{name} 是 Swagger {root['swagger']} 文档：请先转换为 OpenAPI 3，例如使用 `npx swagger2openapi`",
            )
        )
    raise SettingsError(
        say(
            f"{name} is no OpenAPI 3 document: its field 'openapi' is {found!r:.40}",
            f"{name} 不是 OpenAPI 3 文档：其“openapi”字段为 {found!r:.40}",
        )
    )
