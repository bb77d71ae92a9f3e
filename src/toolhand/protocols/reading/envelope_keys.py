"""The keys by which an object says that it is a call. Data, compared without case and joints."""

from __future__ import annotations

import re
from functools import lru_cache

from toolhand.tools.collection import folded as _folded

folded = lru_cache(maxsize=4096)(_folded)
# Keys are compared folded: no case, no joints.
NAME_KEYS = {
    key: sureness
    for sureness, keys in {
        2: "tool toolname function functionname toolcall recipientname action actionname apiname func callname "
        "工具 工具名 工具名称 函数 函数名 函数名称 行动 动作 调用",
        1: "name api command method 名称",
    }.items()
    for key in keys.split()
}
ARGUMENT_KEYS = frozenset(
    [
        "arguments",
        "args",
        "parameters",
        "params",
        "input",
        "toolinput",
        "actioninput",
        "toolargs",
        "toolarguments",
        "toolparameters",
        "kwargs",
        "inputs",
        "functionarguments",
        "functionargs",
        "argumentsjson",
        "argsjson",
        "actionargs",
        "arg",
        "argument",
        "parameter",
        "payload",
        "参数",
        "输入",
        "动作输入",
        "行动输入",
        "工具输入",
        "工具参数",
        "入参",
    ]
)
LIST_KEYS = frozenset(
    [
        "toolcalls",
        "calls",
        "functioncalls",
        "tooluses",
        "actions",
        "toolcall",
        "functioncall",
        "tooluse",
        "工具调用",
        "调用列表",
    ]
)
WRAP_KEYS = frozenset(
    [
        "command",
        "functioncall",
        "toolcall",
        "tooluse",
        "call",
        "function",
        "message",
        "delta",
        "toolrequest",
        "functions",
        "工具调用",
        "函数调用",
        "action",
        "tool",
    ]
)
DEEP_KEYS = frozenset(["content", "choices", "output", "outputs", "parts", "messages", "message"])
ASIDE_KEYS = frozenset(
    [
        "id",
        "type",
        "index",
        "callid",
        "toolcallid",
        "tooluseid",
        "thought",
        "thoughts",
        "thinking",
        "reasoning",
        "reason",
        "rationale",
        "explanation",
        "comment",
        "status",
        "role",
        "content",
        "思考",
        "想法",
        "理由",
        "原因",
        "plan",
        "step",
        "nextstep",
    ]
)
IDENTIFIER = re.compile(r"^[^\W\d][\w.\-:/]{0,79}(?:\(\))?$")
NO_TOOL = frozenset(
    ["none", "null", "notool", "nothing", "na", "no", "noop", "无", "不需要", "无需工具", "没有"]
)
ANSWERING = frozenset(
    [
        "finalanswer",
        "finish",
        "final",
        "answer",
        "directlyanswer",
        "directanswer",
        "respond",
        "reply",
        "response",
        "finalresponse",
        "respondtouser",
        "最终答案",
        "最终回答",
        "回答",
        "完成",
        "结束",
    ]
)
