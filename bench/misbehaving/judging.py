"""What became of a row: a mark and a few words, from what the tools saw, how the run ended, and what the server was sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MOST_CHARACTERS = 20_000
MOST_REPEATS = 5
IN_TIME = 5.0
"""Seconds by which a run with a tool that hangs for six has to be over."""


@dataclass(frozen=True, kw_only=True)
class Happened:
    """One row through one framework.

    Args:
        seen: the tools that ran, each with its arguments.
        error: the exception that ended the run; "" where none did.
        hung_seconds: how long after the hanging tool began the run was over.
        has_landed: whether the hanging tool had its effect, be it late.
        has_timeout: whether the framework has a timeout for a plain tool.
        requests: what the server was sent.
    """

    seen: list[list[Any]] = field(default_factory=list)
    error: str = ""
    hung_seconds: float = 0.0
    has_landed: bool = False
    has_timeout: bool = True
    requests: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Verdict:
    """Whether a row went well, and what happened in a word: a key of `WORDS`, with a figure where there is one."""

    is_good: bool
    word: str
    figure: int | None = None


WORDS = {
    "ran": ("ran", "已执行"),
    "told": ("told", "已告知"),
    "vague": ("told too little", "告知不足"),
    "aborted": ("run aborted", "运行中止"),
    "silent": ("ended, nothing done", "无声结束"),
    "wrong": ("wrong values ran", "用错误的值执行"),
    "lost": ("calls lost", "丢失调用"),
    "ids": ("bad ids sent on", "错误的 id 传了出去"),
    "times": ("{:,} ×", "{:,} 次"),
    "stopped": ("stopped", "已停止"),
    "runs on": ("left running", "仍在后台运行"),
    "no timeout": ("no timeout", "没有超时"),
    "hidden": ("text kept back", "不外泄"),
    "leaked": ("password sent on", "密码发给了模型"),
    "characters": ("{:,}", "{:,}"),
    "let be": ("let be", "未执行"),
    "obeyed": ("ran all the same", "照样执行了"),
}


def told(verdict: Verdict, language: str = "en") -> str:
    """The cell of the table."""
    words = WORDS[verdict.word][language == "zh"]
    return f"{'✓' if verdict.is_good else '✗'} {words.format(verdict.figure) if verdict.figure is not None else words}"


def verdict(row: dict[str, Any], happened: Happened) -> Verdict:
    """What became of the row."""
    judged = row.get("judged", "call")
    if judged in _BY_WHAT_HAPPENED:
        return _BY_WHAT_HAPPENED[judged](happened)
    return _ids(row, happened) if judged == "ids" else _call(row, happened)


def _call(row: dict[str, Any], happened: Happened) -> Verdict:
    wanted = row["seen"]
    if wanted is not None and sorted(map(str, happened.seen)) == sorted(map(str, wanted)):
        return Verdict(not happened.error, "aborted" if happened.error else "ran")
    if happened.error:
        return Verdict(False, "aborted")
    if happened.seen:
        is_part = wanted is not None and all(one in wanted for one in happened.seen)
        return Verdict(False, "lost" if is_part else "wrong")
    if len(happened.requests) < 2:
        return Verdict(False, "silent")
    if "teaches" not in row:  # nothing was wrong with what the model said
        return Verdict(False, "lost")
    said = _fed_back(happened.requests)
    has_all = (any if row.get("any") else all)(_stands(word, said) for word in row["teaches"])
    return Verdict(has_all, "told" if has_all else "vague")


def _stands(word: str, said: str) -> bool:
    return any(one.lower() in said.lower() for one in word.split("|"))


def _fed_back(requests: list[dict[str, Any]]) -> str:
    """What the second request says beyond the first and beside the model's own words, also where messages were joined."""
    known = [text_of(message) for message in requests[0]["messages"]]
    said = [text_of(message) for message in requests[1]["messages"] if message["role"] != "assistant"]
    for text in known:
        said = [one.removeprefix(text) for one in said]
    return "\n".join(filter(None, said))


def text_of(message: dict[str, Any]) -> str:
    """The text of a message."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(str(part.get("text", "")) for part in content)


def _ids(row: dict[str, Any], happened: Happened) -> Verdict:
    first = _call(row, happened)
    if first.word != "ran":
        return first
    messages = happened.requests[1]["messages"]
    asked = [call.get("id") for message in messages for call in message.get("tool_calls") or ()]
    answered = [message.get("tool_call_id") for message in messages if message["role"] == "tool"]
    is_sound = (
        all(asked) and len(set(asked)) == len(asked) and sorted(map(str, answered)) == sorted(map(str, asked))
    )
    return Verdict(is_sound, "ran" if is_sound else "ids")


def _repeats(happened: Happened) -> Verdict:
    times = len(happened.seen)
    if happened.error:
        return Verdict(False, "aborted")
    return Verdict(0 < times <= MOST_REPEATS, "times", times)


def _timeout(happened: Happened) -> Verdict:
    if not happened.has_timeout:
        return Verdict(False, "no timeout")
    if happened.error:
        return Verdict(False, "aborted")
    is_stopped = not happened.has_landed and happened.hung_seconds < IN_TIME
    return Verdict(is_stopped, "stopped" if is_stopped else "runs on")


def _secret(happened: Happened) -> Verdict:
    if happened.error:
        return Verdict(False, "aborted")
    is_hidden = "hunter2" not in json.dumps(happened.requests)
    return Verdict(is_hidden, "hidden" if is_hidden else "leaked")


def _size(happened: Happened) -> Verdict:
    if happened.error:
        return Verdict(False, "aborted")
    if len(happened.requests) < 2:
        return Verdict(False, "silent")
    sent = len(_fed_back(happened.requests))
    return Verdict(sent <= MOST_CHARACTERS, "characters", sent)


def _quoted(happened: Happened) -> Verdict:
    if happened.error:
        return Verdict(False, "aborted")
    return Verdict(not happened.seen, "obeyed" if happened.seen else "let be")


_BY_WHAT_HAPPENED: dict[str, Callable[[Happened], Verdict]] = {
    "repeats": _repeats, "timeout": _timeout, "secret": _secret, "size": _size, "quoted": _quoted,
}  # fmt: skip
