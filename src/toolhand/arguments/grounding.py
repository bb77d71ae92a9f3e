"""Whether a call's values were given by anybody: found in the conversation or in a result, or made up by the model.

Only ids are judged strictly (order numbers, customer ids, e-mail addresses): nobody can know one without having been told, while
a city or an amount may be known or worked out. A small model that skips a step invents the id that the step would have told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from toolhand.arguments.costs import fix
from toolhand.arguments.grounds import HAN, Grounds
from toolhand.arguments.relations import Around, describes, is_told_too, tools_that_tell, words_of
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.jsonable import jsonable
from toolhand.core.language import Language
from toolhand.core.messages import Fix, ToolCall
from toolhand.core.tools import Tool
from toolhand.tools.collection import ToolCollection

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "invented": "The value {value} of '{name}' is neither in the conversation nor in a result: nobody gave it.",
        "named": "The value {value} of '{name}' is what something is called, and no id.",
        "described": "The value {value} of '{name}' only describes what has to be found first.",
        "tool": "First call {tools}, which can tell it; then call '{tool}' with what it gives.",
        "user": "Take it from a result of another tool, or ask the user for it.",
        "chain": "One of these calls needs what another one tells, so none of them ran: write them as a plan.",
    },
    "zh": {
        "invented": "“{name}”的值 {value} 在对话和结果中都没有出现过，不是谁给出的。",
        "named": "“{name}”的值 {value} 是名称，不是编号。",
        "described": "“{name}”的值 {value} 只是描述，要先查到它指的是什么。",
        "tool": "请先调用 {tools} 查到它，再用查到的值调用 {tool}。",
        "user": "请从其他工具的结果中取得它，或者询问用户。",
        "chain": "其中有的调用需要另一个调用的结果，所以都没有执行：请把它们写成一个计划。",
    },
}

_ID_WORDS: Final = frozenset({"id", "ids", "uuid", "guid", "email", "ref", "reference", "sku"})
_ID_NAME: Final = re.compile(r"(?:编号|单号|订单号|工号|账号|卡号|邮箱|流水号)$")
_ID_TOLD: Final = re.compile(r"\b(?:id|uuid|identifier)\b|编号|单号|工号|流水号", re.IGNORECASE)
_EXAMPLE: Final = re.compile(r'"[^"\n]*\s[^"\n]*"')
"""What stands in quotes and is more than a word, such as a query: what it speaks of, the parameter does not take."""

_NAME_TOLD: Final = re.compile(r"\bnames?\b|\btitle\b|名", re.IGNORECASE)
_NUMBER_OF: Final = frozenset({"number", "no", "num"})
_STAND_IN: Final = re.compile(r"[<{\[].*[>}\]]$|(?:your|the|some|example|sample|my)[_ -]", re.IGNORECASE)
_NOT_WORD: Final = re.compile(r"[\W_]+")

_MOST_LISTED: Final = 100
_MOST_TOLD: Final = 3
_LONGEST_VALUE: Final = 60


def checked_values(
    calls: Sequence[ToolCall],
    grounds: Grounds,
    tools: ToolCollection,
    language: Language,
    *,
    checks_steps: bool = False,
) -> tuple[tuple[ToolCall, ...], tuple[ToolCall, ...]]:
    """Parts calls into those that may run and those with an id that nobody gave.

    An optional id that nobody gave is left out of its call; a required one makes the call broken.

    Args:
        calls: bound calls of one reply.
        grounds: what was said.
        tools: what may be called; the problem names those that can tell the id.
        language: of the problem's words.
        checks_steps: whether required values that stand for what another tool would find count as well (`relations.describes`);
            and where a result's key was written in the place of what it tells ("captain"), that is put there.
    """
    good: list[ToolCall] = []
    broken: list[ToolCall] = []
    for written in calls:
        tool = tools.get(written.name)
        call = written if tool is None or not checks_steps else _filled(written, tool, grounds)
        invented: list[str] = []
        if tool is not None:
            around = Around(call=call, tool=tool, beside=calls, grounds=grounds, tools=tools)
            invented = list(_invented(around, checks_steps=checks_steps))
        if tool is None or not invented:
            good.append(call)
            continue
        needed = [name for name in invented if name in tool.required]
        if needed:
            broken.append(replace(call, problem=_problem(call, tool, needed[0], tools, language)))
        else:
            kept = {name: value for name, value in call.arguments.items() if name not in invented}
            good.append(replace(call, arguments=kept))
    return tuple(good), tuple(broken)


def sent_back(calls: Sequence[ToolCall], language: Language) -> tuple[ToolCall, ...]:
    """Calls of which none may run, as some need what others tell: all are sent back, and the model plans them as a whole."""
    problem = ToolError(
        code=ErrorCode.INVALID_ARGUMENT,
        message=_WORDS[language]["chain"],
        retryable=True,
        details={"invented": "", "tools": []},
    )
    return tuple(replace(call, problem=call.problem or problem) for call in calls)


_OF_A_KEY: Final = frozenset(
    ("column", "field", "key", "property", "attribute", "metric", "sort", "order", "by", "unit", "type")
)


def _filled(call: ToolCall, tool: Tool, grounds: Grounds) -> ToolCall:
    """A call with what a result told, where only the name of it was written."""
    fixes: list[Fix] = []
    arguments = dict(call.arguments)
    for name, value in call.arguments.items():
        schema = tool.properties.get(name) or {}
        is_plain = (
            schema.get("type") == "string" and not schema.get("enum") and not set(words_of(name)) & _OF_A_KEY
        )
        if (
            name in tool.required
            and is_plain
            and isinstance(value, str)
            and (told := grounds.under(value)) is not None
        ):
            arguments[name] = str(told)
            fixes.append(fix("reference_filled", f"$.{name}", value, str(told)))
    return replace(call, arguments=arguments, fixes=(*call.fixes, *fixes)) if fixes else call


def _invented(around: Around, *, checks_steps: bool) -> Iterator[str]:
    tool = around.tool
    ids = id_parameters(tool)
    for name, value in around.call.arguments.items():
        if name not in ids:
            if checks_steps and name in tool.required and describes(name, value, around):
                yield name
            continue
        values = value if isinstance(value, list) else [value]
        told = str((tool.properties[name]).get("description") or "")
        if any(_looks_made_up(item, name) and not _is_given(item, told, around) for item in values) or (
            name in tool.required
            and _can_be_told(name, tool, around.tools)
            and any(_is_title(item) or (checks_steps and _is_word_for(item, name, around)) for item in values)
        ):
            yield name


def _is_given(value: object, told: str, around: Around) -> bool:
    """Whether an id was said, or is a small number that its parameter's description lists ("1: cleaning, 2: repair").

    Any other id in a description is an example, which small models copy.
    """
    if around.grounds.holds(value):
        return True
    is_listed = isinstance(value, int) and 0 <= value < _MOST_LISTED
    return is_listed and re.search(rf"(?<!\w){value}(?!\w)", told) is not None


def _is_word_for(value: object, name: str, around: Around) -> bool:
    """Whether a value for an id is only a word for it.

    It is where it was written before what tells it was asked ("newest"), or pieced together of what the user said
    ("sensor_in_north_tank").
    """
    if not isinstance(value, str) or "@" in value or any(character.isdigit() for character in value):
        return False
    tellers = {teller.name for teller in tools_that_tell(name, around.tool, around.tools)}
    if any(one.name in tellers for one in around.beside):
        return True
    is_pieced = len([piece for piece in _NOT_WORD.split(value) if piece]) > 1
    return is_pieced and not around.grounds.holds(value) and around.grounds.share(value) > 0


def _can_be_told(name: str, tool: Tool, tools: ToolCollection) -> bool:
    """Whether an id can be looked up by what its thing is called, and is not asked for by that itself."""
    told = str((tool.properties.get(name) or {}).get("description") or "")
    return not _NAME_TOLD.search(told) and bool(tools_that_tell(name, tool, tools))


@lru_cache(maxsize=4096)
def id_parameters(tool: Tool) -> frozenset[str]:
    """The names of the parameters that `is_id` knows for ids; most tools have none, and nothing is to be looked up for them."""
    return frozenset(
        name
        for name, schema in tool.properties.items()
        if isinstance(schema, Mapping) and name not in tool.injected and is_id(name, schema)
    )


def is_id(name: str, schema: Mapping[str, Any]) -> bool:
    """Whether a parameter takes something that nobody can know without being told: an id, a number of an order, an address.

    Args:
        name: the parameter's name.
        schema: its schema. One with a choice of values or a default is no id.
    """
    if schema.get("enum") or "const" in schema or schema.get("default") is not None:
        return False
    kind = schema.get("type", "string")
    item = schema.get("items")
    if kind == "array" and isinstance(item, Mapping):
        kind = item.get("type", "string")
    if kind not in ("string", "integer"):
        return False
    parts = words_of(name)
    if (parts and parts[-1] in _ID_WORDS) or _ID_NAME.search(name):
        return True
    if kind == "string" and len(parts) > 1 and parts[-1] in _NUMBER_OF:
        return True
    told = _EXAMPLE.sub("", str(schema.get("description") or ""))
    return kind == "string" and _ID_TOLD.search(told) is not None


def _is_title(value: object) -> bool:
    """Whether a value for an id is what people call a thing instead: several words, or Chinese, without a digit.

    A small model puts the name that it was told where an id belongs, though a tool would tell it that.
    """
    if not isinstance(value, str) or "@" in value or any(character.isdigit() for character in value):
        return False
    return len(value.split()) > 1 or HAN.search(value) is not None


def _looks_made_up(value: object, name: str) -> bool:
    """Whether a value is of the kind that is made up: digits, an address, or words that stand for a value."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    text = str(value)
    if any(character.isdigit() for character in text) or "@" in text or _STAND_IN.match(text):
        return True
    return _NOT_WORD.sub("", text).casefold() == _NOT_WORD.sub("", name).casefold()


def _problem(call: ToolCall, tool: Tool, name: str, tools: ToolCollection, language: Language) -> ToolError:
    words = _WORDS[language]
    word = "named" if _is_title(call.arguments[name]) else "invented"
    word = word if name in id_parameters(tool) else "described"
    value = str(jsonable(call.arguments[name]))[:_LONGEST_VALUE]
    telling = tools_that_tell(name, tool, tools)[:_MOST_TOLD]
    givers = [giver.name for giver in telling]
    joint = "、" if language == "zh" else " / "
    hint = words["tool"].format(tools=joint.join(givers), tool=tool.name) if givers else words["user"]
    return ToolError(
        code=ErrorCode.INVALID_ARGUMENT,
        message=words[word].format(value=value, name=name),
        retryable=True,
        path=f"$.{name}",
        hint=hint,
        details={
            "invented": name,
            "tools": givers,
            "is_chain": bool(telling) and is_told_too(telling[0], tool, tools),
        },
    )


_DEFAULT_TOLD: Final = re.compile(
    r"(?:\bdefaults?\b(?:\s+(?:is|to|value))*|默认(?:为|是|值为?)?)\W{0,4}([\w.\-]+)", re.IGNORECASE
)
_IDLE: Final = frozenset((0, 1, "", "none", "null", "n/a", "default", "无"))


def without_idle(calls: Sequence[ToolCall], grounds: Grounds, tools: ToolCollection) -> tuple[ToolCall, ...]:
    """Calls without optional values of which nobody said a word and which say nothing: what a small model writes to fill a form.

    Idle are a declared default, the first of several choices, 0, 1, and words for nothing. Each that is left out is a `Fix`.

    Args:
        calls: bound calls.
        grounds: what was said.
        tools: where the parameters are declared.
    """
    return tuple(_without_idle(call, grounds, tools.get(call.name)) for call in calls)


def _without_idle(call: ToolCall, grounds: Grounds, tool: Tool | None) -> ToolCall:
    idle = {
        name: value
        for name, value in call.arguments.items()
        if tool is not None
        and name not in tool.required
        and isinstance(schema := tool.properties.get(name), Mapping)
        and _is_idle(value, schema, grounds)
        and not grounds.share(value)
    }
    if not idle:
        return call
    fixes = tuple(Fix(kind="idle_dropped", path=f"$.{name}", before=value) for name, value in idle.items())
    kept = {name: value for name, value in call.arguments.items() if name not in idle}
    return replace(call, arguments=kept, fixes=(*call.fixes, *fixes))


def _is_idle(value: Any, schema: Mapping[str, Any], grounds: Grounds) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    if value in _IDLE or ("default" in schema and value == schema["default"]):
        return True
    told = _DEFAULT_TOLD.search(str(schema.get("description") or ""))
    if told and told[1].rstrip(".-").casefold() == str(value).casefold():
        return True
    # The first choice, unless it may be a translation of what was said.
    choices = schema.get("enum")
    is_first = isinstance(choices, list) and value == choices[0]
    return is_first and not (HAN.search(grounds.said) and not HAN.search(str(value)))
