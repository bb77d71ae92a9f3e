"""What was found wrong with an attempt, as values that are put into words, in either language, only when they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolhand.core.language import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as the case expects it.

    Args:
        code: one of the keys of `WORDS`.
        path: where: a tool's name with the path of an argument, such as "get_weather.city"; "" for the whole.
        expected: what the case expects, in short.
        actual: what there was, in short.
        question: to which of a case's questions it belongs, from 1.
    """

    code: str
    path: str = ""
    expected: str = ""
    actual: str = ""
    question: int = 1

    def sentence(self, language: Language) -> str:
        """The finding for people."""
        return WORDS[self.code][language].format(path=self.path, expected=self.expected, actual=self.actual)

    def as_json(self) -> dict[str, Any]:
        """For the store."""
        return {
            "code": self.code,
            "path": self.path,
            "expected": self.expected,
            "actual": self.actual,
            "question": self.question,
        }


WORDS: Final[Mapping[str, Mapping[Language, str]]] = {
    "missing_call": {
        "en": "{path} was not called (expected: {expected})",
        "zh": "没有调用 {path}（期望：{expected}）",
    },
    "unexpected_call": {
        "en": "an unexpected call: {path}({actual})",
        "zh": "多余的调用：{path}（{actual}）",
    },
    "forbidden_call": {
        "en": "a forbidden call: {path}({actual})",
        "zh": "禁止的调用：{path}（{actual}）",
    },
    "order": {
        "en": "the calls came in another order: {actual} instead of {expected}",
        "zh": "调用顺序不符：实际为 {actual}，期望 {expected}",
    },
    "missing_argument": {
        "en": "{path} was not sent (expected: {expected})",
        "zh": "缺少参数 {path}（期望：{expected}）",
    },
    "unexpected_argument": {
        "en": "{path} is not expected, but was sent as {actual}",
        "zh": "多余的参数 {path} = {actual}",
    },
    "value": {
        "en": "{path} is {actual} instead of {expected}",
        "zh": "{path} 为 {actual}，期望 {expected}",
    },
    "type": {
        "en": "{path} is {actual}, which is not of the type {expected}",
        "zh": "{path} 为 {actual}，类型不是 {expected}",
    },
    "text": {
        "en": "the answer does not hold {expected}: {actual}",
        "zh": "回答中没有 {expected}：{actual}",
    },
    "no_text": {
        "en": "the answer holds {expected}, which it may not: {actual}",
        "zh": "回答中出现了不应有的 {expected}：{actual}",
    },
    "no_answer": {
        "en": "there was no answer ({actual})",
        "zh": "没有得到回答（{actual}）",
    },
}
"""Every code with its sentence. {path}, {expected} and {actual} come from the finding."""


def finding_of(value: Mapping[str, Any]) -> Finding:
    """From the store's form."""
    return Finding(
        **{name: value[name] for name in ("code", "path", "expected", "actual", "question") if name in value}
    )
