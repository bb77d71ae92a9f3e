"""What a server's answer is to a caller: a value, or a failure that teaches."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import mcp_types as types

from toolhand.arguments.masking import masked
from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.language import Language

ERROR_NOTE: Final = "toolhand/error"
"""Under this key of a result's `_meta` a server of ours says which code its error has, and whether it may be tried again."""

MOST_SAID: Final = 2000

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {"failed": "The tool reported an error."},
    "zh": {"failed": "工具报告了一个错误。"},
}


def value_of(
    result: types.CallToolResult, schema: Mapping[str, Any] | None, secrets: Iterable[str], language: Language
) -> Any:
    """The value in a result: its structured content where it has some, else its text; pictures and sound as bytes beside it.

    Args:
        result: the server's answer.
        schema: the tool's output schema, or None.
        secrets: what the server knows and may not repeat.
        language: of the words where the server has none.

    Raises:
        ToolFailure: when it is an error. Structured content beside it does not make it a success.
    """
    if result.is_error:
        raise _failure(result, secrets, language)
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    text = "\n".join(texts) if texts else None
    others = [part for block in result.content if (part := _other(block)) is not None]
    if "structured_content" in result.model_fields_set and result.structured_content is not None:
        main = _unwrapped(result.structured_content, schema, text)
    else:
        main = text
    main = masked(main, secrets)
    if not others:
        return main
    others = [masked(part, secrets) for part in others]
    if main is None:
        return others[0] if len(others) == 1 else others
    return {"content": main, "also": others}


def _failure(result: types.CallToolResult, secrets: Iterable[str], language: Language) -> ToolFailure:
    text = "\n".join(block.text for block in result.content if isinstance(block, types.TextContent)).strip()
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    text = str(masked(text, secrets))[:MOST_SAID]
    noted = (result.meta or {}).get(ERROR_NOTE)
    noted = noted if isinstance(noted, Mapping) else {}
    try:
        code = ErrorCode(str(noted.get("code") or ErrorCode.EXECUTION))
    except ValueError:
        code = ErrorCode.EXECUTION
    wait = noted.get("retry_after")
    details = {"retry_after": float(wait)} if isinstance(wait, int | float) and 0 <= wait < 1e6 else {}
    return ToolFailure(
        text or _WORDS[language]["failed"],
        code=code,
        retryable=noted.get("retryable") is True,
        details=details,
    )


def _unwrapped(structured: Any, schema: Mapping[str, Any] | None, text: str | None) -> Any:
    """The value itself where a server has put it into an object because the protocol wanted one."""
    if isinstance(structured, Mapping) and text is not None and list(structured.values()) == [text]:
        return text
    if isinstance(structured, Mapping) and structured.keys() == {"result"}:
        properties = (schema or {}).get("properties")
        if schema is None or (isinstance(properties, Mapping) and properties.keys() == {"result"}):
            return structured["result"]
    return structured


def _other(block: Any) -> Any:
    """What a block holds that is not plain text: bytes, a resource's text, or where a resource is."""
    if isinstance(block, types.ImageContent | types.AudioContent):
        return _bytes(block.data)
    if isinstance(block, types.EmbeddedResource):
        return resource_value(block.resource)
    if isinstance(block, types.ResourceLink):
        said = {
            "uri": str(block.uri),
            "name": block.name,
            "description": block.description,
            "mime_type": block.mime_type,
        }
        return {key: value for key, value in said.items() if value}
    return None


def resource_value(resource: Any) -> Any:
    """A resource's content with its address."""
    content = resource.text if isinstance(resource, types.TextResourceContents) else _bytes(resource.blob)
    return {"uri": str(resource.uri), "content": content}


def _bytes(data: str) -> bytes | str:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return data
