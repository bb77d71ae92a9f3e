"""The reports' words in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolhand.core.language import Language

WORDS: Final[Mapping[str, Mapping[Language, str]]] = {
    "title": {"en": "Evaluation", "zh": "评测"},
    "subject": {"en": "model · protocol", "zh": "模型 · 协议"},
    "passed": {"en": "passed", "zh": "通过率"},
    "calls": {"en": "right calls", "zh": "调用正确"},
    "silence": {"en": "right silence", "zh": "正确不调用"},
    "wrong_calls": {"en": "wrong calls / 100", "zh": "错误调用 / 100"},
    "tokens": {"en": "tokens", "zh": "token"},
    "seconds": {"en": "seconds (p95)", "zh": "秒（p95）"},
    "median_seconds": {"en": "seconds", "zh": "秒"},
    "cost": {"en": "cost", "zh": "费用"},
    "errors": {"en": "errors", "zh": "错误"},
    "no_record": {"en": "no record", "zh": "无录制"},
    "cases": {"en": "cases", "zh": "用例"},
    "attempts": {"en": "attempts", "zh": "次数"},
    "by_tag": {"en": "By tag", "zh": "按标签"},
    "tag": {"en": "tag", "zh": "标签"},
    "every_case": {"en": "Case by case", "zh": "逐个用例"},
    "case": {"en": "case", "zh": "用例"},
    "compared": {"en": "Compared", "zh": "比较"},
    "old": {"en": "old", "zh": "旧"},
    "new": {"en": "new", "zh": "新"},
    "difference": {"en": "difference (95 %)", "zh": "差异（95 %）"},
    "won": {"en": "won", "zh": "变好"},
    "lost": {"en": "lost", "zh": "变差"},
    "p": {"en": "p (McNemar)", "zh": "p（McNemar）"},
    "ratio_tokens": {"en": "tokens ×", "zh": "token ×"},
    "ratio_seconds": {"en": "time ×", "zh": "时间 ×"},
    "mended": {"en": "What was mended in reading", "zh": "解析时修正了什么"},
    "problems": {"en": "Problems", "zh": "问题"},
    "failures": {"en": "What went wrong", "zh": "失败详情"},
    "nothing_failed": {"en": "Every attempt passed.", "zh": "全部通过。"},
    "question": {"en": "question", "zh": "问题"},
    "expected": {"en": "expected", "zh": "期望"},
    "made": {"en": "calls", "zh": "调用"},
    "answer": {"en": "answer", "zh": "回答"},
    "written": {"en": "what the model wrote", "zh": "模型原文"},
    "none": {"en": "none", "zh": "无"},
    "outcome_passed": {"en": "passed", "zh": "通过"},
    "outcome_failed": {"en": "failed", "zh": "失败"},
    "outcome_error": {"en": "error", "zh": "错误"},
    "outcome_no_record": {"en": "no record", "zh": "无录制"},
    "not_tried": {"en": "not tried", "zh": "未运行"},
    "state_running": {"en": "still running, or killed", "zh": "仍在运行或被强行终止"},
    "state_stopped": {"en": "stopped before its end", "zh": "提前停止"},
    "state_finished": {"en": "finished", "zh": "已完成"},
    "interval": {
        "en": "The lines are 95 % intervals: bootstrap over the cases, seeded.",
        "zh": "误差线为 95 % 区间：对用例做自助法重抽样，种子固定。",
    },
    "time_note": {
        "en": "Seconds are the model's time, without the tools'.",
        "zh": "秒数只计模型用时，不含工具用时。",
    },
    "repeat": {"en": "try", "zh": "第几次"},
    "and_more": {"en": "and {count} more", "zh": "另有 {count} 个"},
}


def word(key: str, language: Language) -> str:
    """One of the words."""
    return WORDS[key][language]


def percent(value: float) -> str:
    """A share as whole per cent; one decimal where that says more."""
    return f"{100 * value:.0f} %"


def points(value: float) -> str:
    """A difference of shares in points, with its sign."""
    return f"{100 * value:+.1f}"


def money(cost: float | None, currency: str) -> str:
    """A cost with its currency, or "" where none is known."""
    if cost is None:
        return "–"
    return f"{cost:.4f} {currency}".strip() if 0 < cost < 1 else f"{cost:.2f} {currency}".strip()


def number(value: float | None, digits: int = 0) -> str:
    """A number, or a dash where there is none."""
    return "–" if value is None else f"{value:,.{digits}f}"
