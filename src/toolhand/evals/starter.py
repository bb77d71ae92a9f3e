"""A starter suite for a user's own tools: a normal call, a missing argument, an unknown tool, chatter.

The questions are made from the tools' names, descriptions, examples and schemas, so they sound like them; a person replaces
them by what users really say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolhand.core.language import Language
from toolhand.core.tools import Tool
from toolhand.evals.reading import runs
from toolhand.evals.writing import case_text

_HEAD: Final[Mapping[Language, str]] = {
    "en": "# A starter suite. Replace the questions by what your users really say, and add fixtures for what cannot run here.\n"
    "# Run it: toolhand eval {name} --model local\n",
    "zh": "# 起步用例集。请把问题换成用户真实的说法，并为无法在此执行的工具补充 fixtures。\n"
    "# 运行：toolhand eval {name} --model local\n",
}
_SECTIONS: Final[Mapping[str, Mapping[Language, str]]] = {
    "normal": {"en": "A normal call: all that the tool needs is said.", "zh": "正常调用：信息齐全。"},
    "missing_argument": {
        "en": "A missing argument: the model has to ask for it, and not to invent it.",
        "zh": "缺少参数：模型应当追问，而不是编造。",
    },
    "unknown_tool": {
        "en": "An unknown tool: nothing here can do it, and the model has to say so.",
        "zh": "未知工具：没有工具能完成，模型应当如实说明。",
    },
    "chatter": {"en": "Chatter: no tool is needed.", "zh": "闲聊：不需要任何工具。"},
}
_ERRANDS: Final[Mapping[Language, Sequence[tuple[str, str]]]] = {
    "en": (
        ("play music song", "Play some jazz in the living room."),
        ("taxi ride car", "Call me a taxi to the station."),
        ("alarm clock remind", "Wake me up at half past six tomorrow."),
        ("pizza food order restaurant", "Order a large pizza to my home."),
        ("light lamp home", "Turn off the lights in the kitchen."),
        ("fax print document", "Send this page by fax to the lawyer."),
        ("translate language", "Translate this letter into Finnish and post it."),
        ("flight ticket travel", "Book me the cheapest flight to Lisbon."),
    ),
    "zh": (
        ("music song play 音乐 歌", "在客厅放一首爵士乐。"),
        ("taxi ride car 打车 车", "帮我叫一辆去火车站的出租车。"),
        ("alarm clock remind 闹钟 提醒", "明天早上六点半叫我起床。"),
        ("pizza food order restaurant 外卖 餐", "给我家点一个大号披萨。"),
        ("light lamp home 灯", "把厨房的灯关掉。"),
        ("fax print document 传真 打印", "把这一页传真给律师。"),
        ("translate language 翻译", "把这封信翻译成芬兰语并寄出去。"),
        ("flight ticket travel 机票 航班", "帮我订一张去里斯本的最便宜的机票。"),
    ),
}
_CHATTER: Final[Mapping[Language, Sequence[tuple[str, str]]]] = {
    "en": (
        ("hello", "Hello, how are you?"),
        ("thanks", "Thanks, that was all for today."),
        ("joke", "Tell me a short joke."),
    ),
    "zh": (
        ("hello", "你好，最近怎么样？"),
        ("thanks", "谢谢，今天就到这里。"),
        ("joke", "给我讲个简短的笑话。"),
    ),
}
_INVENTED: Final[Mapping[Language, str]] = {
    "en": "Use the tool {name} to {what}.",
    "zh": "请用工具 {name} 来{what}。",
}
_VALUES: Final[Mapping[str, Any]] = {
    "string": "example",
    "integer": 3,
    "number": 2.5,
    "boolean": True,
}
_BY_FORMAT: Final[Mapping[str, str]] = {
    "date": "2025-03-01",
    "date-time": "2025-03-01T15:00:00",
    "time": "15:00:00",
    "email": "ann@example.com",
    "uri": "https://example.com",
}
_BY_NAME: Final[Sequence[tuple[str, Mapping[Language, str]]]] = (
    ("city", {"en": "Paris", "zh": "杭州"}),
    ("location", {"en": "Paris", "zh": "杭州"}),
    ("country", {"en": "France", "zh": "法国"}),
    ("name", {"en": "Ann Lee", "zh": "李安"}),
    ("query", {"en": "green tea", "zh": "绿茶"}),
    ("id", {"en": "A-1042", "zh": "A-1042"}),
    ("text", {"en": "See you on Monday", "zh": "周一见"}),
    ("message", {"en": "See you on Monday", "zh": "周一见"}),
    ("body", {"en": "See you on Monday", "zh": "周一见"}),
    ("content", {"en": "See you on Monday", "zh": "周一见"}),
    ("subject", {"en": "Lunch on Monday", "zh": "周一午餐"}),
    ("title", {"en": "Lunch on Monday", "zh": "周一午餐"}),
    ("to", {"en": "ann@example.com", "zh": "ann@example.com"}),
    ("email", {"en": "ann@example.com", "zh": "ann@example.com"}),
    ("recipient", {"en": "ann@example.com", "zh": "ann@example.com"}),
    ("date", {"en": "2025-03-01", "zh": "2025-03-01"}),
    ("expression", {"en": "12 * 7", "zh": "12 * 7"}),
    ("path", {"en": "notes.txt", "zh": "notes.txt"}),
    ("url", {"en": "https://example.com", "zh": "https://example.com"}),
)
_MOST_PER_CLASS: Final = 12

_MOST_ERRANDS: Final = 4

_TELLING_NAME: Final = 4
"""A shorter parameter name may stand in any sentence."""


def starter_suite(tools: Sequence[Tool], source: str, file: Path, language: Language) -> str:
    """The text of a case file.

    Args:
        tools: the tools.
        source: where they come from, as `tools:` names it.
        file: where the text will stand.
        language: of the questions and comments.
    """
    groups = {
        "normal": [_normal(tool, language) for tool in tools],
        "missing_argument": [_missing(tool, language) for tool in tools if _askable(tool)],
        "unknown_tool": _unknown(tools, language),
        "chatter": [_chatter(name, text) for name, text in _CHATTER[language]],
    }
    parts = [_HEAD[language].format(name=file.name), f"tools: {source}\n", "cases:\n"]
    for tag, cases in groups.items():
        if cases:
            parts.append(f"  # {_SECTIONS[tag][language]}\n")
        parts += [
            case_text(
                {"id": f"{tag}-{case['id']}", "tags": [tag], **_without_id(case)}, file.resolve().parent
            )
            for case in cases[:_MOST_PER_CLASS]
        ]
    return "".join(parts)


def _without_id(case: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in case.items() if key != "id"}


def _normal(tool: Tool, language: Language) -> dict[str, Any]:
    values = {
        name: example(name, schema, language)
        for name, schema in tool.properties.items()
        if name in tool.required or _has_example(schema)
    }
    return {
        "id": tool.name,
        "question": _asked(tool, values, language),
        "calls": [{tool.name: {name: _expected(value) for name, value in values.items()}}],
    }


def _expected(value: Any) -> Any:
    """Texts are compared loosely: a model may well write "paris"."""
    return {"like": value} if isinstance(value, str) and re.search(r"\w", value) else value


def _asked(tool: Tool, values: Mapping[str, Any], language: Language) -> str:
    """The tool's description as a request, with the values behind it."""
    request = _request(tool)
    if not values:
        return request
    joint, colon, end = ("，", "：", "。") if language == "zh" else (", ", ": ", ".")
    told = joint.join(f"{_words(name)} {_said(value)}" for name, value in values.items())
    return f"{request.rstrip('.。!！ ')}{colon}{told}{end}"


def _words(name: str) -> str:
    return re.sub(r"[_\-]+", " ", name)


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_said, value))
    if isinstance(value, Mapping):
        return "; ".join(f"{key} {_said(item)}" for key, item in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def _request(tool: Tool) -> str:
    """The description's first sentence, as a request."""
    first = re.split(r"(?<=[.。!！])\s*|\n", tool.description.strip(), maxsplit=1)[0].strip()
    return first or re.sub(r"[_\-]+", " ", tool.name).capitalize() + "."


def _askable(tool: Tool) -> bool:
    """Whether something that nobody could guess has to be said."""
    return any(not _choices(tool.properties.get(name)) for name in tool.required)


def _missing(tool: Tool, language: Language) -> dict[str, Any]:
    left_out = next(name for name in tool.required if not _choices(tool.properties.get(name)))
    said = {
        name: example(name, tool.properties[name], language)
        for name in tool.required
        if name != left_out and name in tool.properties
    }
    asks: list[dict[str, Any]] = [{"regex": "[?？]"}]
    if len(left_out) >= _TELLING_NAME:
        asks.append({"contains": _words(left_out)})
    return {
        "id": tool.name,
        "question": _asked(tool, said, language),
        "calls": "none",
        "text": [{"one_of": asks}] if len(asks) > 1 else asks,
        "note": f"{left_out} is not said" if language == "en" else f"没有说 {left_out}",
    }


def _unknown(tools: Sequence[Tool], language: Language) -> list[dict[str, Any]]:
    """Errands that none of the tools can do, by the words in their names and descriptions."""
    told = " ".join(
        f"{tool.name} {tool.description} {' '.join(tool.properties)}" for tool in tools
    ).casefold()
    fitting = [text for words, text in _ERRANDS[language] if not any(word in told for word in words.split())]
    found: list[dict[str, Any]] = [
        {"id": f"errand-{number}", "question": text, "calls": "none"}
        for number, text in enumerate(fitting[:_MOST_ERRANDS], 1)
    ]
    known = {tool.name for tool in tools}
    for tool in tools[:1]:
        name = next(
            name for name in (f"{tool.name}_v{number}" for number in range(2, 99)) if name not in known
        )
        what = _lower(_request(tool)).rstrip(".。")
        # The tool that is there may well be used in its place; the one that is not there may not be made up.
        question = _INVENTED[language].format(name=name, what=what)
        found.append({"id": name, "question": question, "forbidden": [name], "text": {"regex": r"\S"}})
    return found


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _chatter(name: str, text: str) -> dict[str, Any]:
    return {"id": name, "question": text, "calls": "none", "text": {"regex": r"\S"}}


def _choices(schema: Any) -> Sequence[Any]:
    if not isinstance(schema, Mapping):
        return ()
    return schema.get("enum") or ([schema["const"]] if "const" in schema else ())


def _has_example(schema: Any) -> bool:
    return isinstance(schema, Mapping) and bool(schema.get("examples") or "example" in schema)


def example(name: str, schema: Any, language: Language) -> Any:
    """A plausible value for a parameter: its example, one of its choices, or one that its name and type suggest."""
    if not isinstance(schema, Mapping):
        return "example"
    if schema.get("examples"):
        return next(iter(schema["examples"]))
    if "example" in schema:
        return schema["example"]
    if choices := _choices(schema):
        return choices[0]
    for key in ("anyOf", "oneOf"):
        kinds = [
            kind for kind in schema.get(key, ()) if isinstance(kind, Mapping) and kind.get("type") != "null"
        ]
        if kinds:
            return example(name, kinds[0], language)
    kind = schema.get("type")
    kind = (
        next((one for one in kind if one != "null"), "string") if isinstance(kind, list) else kind or "string"
    )
    if kind == "array":
        return [example(name.rstrip("s"), schema.get("items") or {}, language)]
    if kind == "object":
        inner = schema.get("properties") or {}
        wanted: Iterable[str] = schema.get("required") or inner
        return {key: example(key, inner[key], language) for key in wanted if key in inner}
    return _number(schema, kind) if kind in ("integer", "number") else _text(name, schema, kind, language)


def _number(schema: Mapping[str, Any], kind: str) -> float:
    value = _VALUES[kind]
    step = schema.get("multipleOf")
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is not None and value <= low:
        value = low + 1 if high is None or low + 1 < high else (low + high) / 2
    if high is not None and value >= high:
        value = (
            high - 1 if low is None or high - 1 > low else ((low + high) / 2 if low is not None else high - 1)
        )
    if step:
        value = round(value / step) * step
    return int(value) if kind == "integer" else value


def _text(name: str, schema: Mapping[str, Any], kind: str, language: Language) -> Any:
    if kind != "string":
        return _VALUES.get(kind, "example")
    if schema.get("format") in _BY_FORMAT:
        return _BY_FORMAT[schema["format"]]
    parts = name.casefold().split("_")
    return next((words[language] for part, words in _BY_NAME if part in parts), _VALUES["string"])


def effects(tools: Iterable[Tool]) -> list[str]:
    """The tools that will not run in an evaluation unless a fixture or a switch says so."""
    return [tool.name for tool in tools if not runs(tool, {}, runs_writing_tools=False)]
