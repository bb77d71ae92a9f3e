from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolhand.core.errors import ToolError, ToolFailure
from toolhand.core.tools import Tool

Ask = Callable[..., Any]


def asking(tool: Tool) -> Ask:
    """Calls a tool as a model does: through its validator; a failure comes back as the `ToolError`."""

    def ask(**arguments: Any) -> Any:
        assert tool.validate is not None
        try:
            return tool(**tool.validate(arguments))
        except ToolFailure as failure:
            return failure.error

    return ask


def refused(answer: Any) -> ToolError:
    assert isinstance(answer, ToolError), f"expected a refusal, got {answer!r}"
    return answer


@pytest.fixture
def named() -> Callable[[list[Tool]], dict[str, Ask]]:
    return lambda tools: {tool.name: asking(tool) for tool in tools}
