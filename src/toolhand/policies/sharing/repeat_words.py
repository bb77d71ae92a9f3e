"""What a model is told about calls that come again, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolhand.core.language import Language

REPEAT_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "recall": "You already called '{name}' with these arguments: this is that result. Use it; do not call it again.",
        "same": "'{name}' was called like this before and gave the same result: calling it again changes nothing.",
        "near": "'{name}' has done nearly the same in this run before. If that was meant to be one, say so to the user.",
        "unchanged": "'{name}' was asked {times} times for the same and its result stays the same: it was not run again.",
        "unchanged_hint": "You have the result above: answer from it, or call with other arguments.",
        "failing": "This call of '{name}' failed {times} times in the same way and was not run again. The error was: {error}",
        "failing_hint": "Change the arguments, use another tool, or tell the user what does not work.",
        "done": "'{name}' has already done exactly this in this run; it was not done a second time.",
        "done_hint": "Go on with the result above. If it really has to happen again, ask the user to confirm it.",
        "unknown": "It is not known whether the last call of '{name}' had its effect: it was not run again.",
        "unknown_hint": "Check first, with a tool that reads, whether it had; if you cannot, tell the user.",
        "inside": "'{name}' is doing exactly this at the moment and asked for it again itself: it was not run inside itself.",
        "inside_hint": "Wait for its result, or call with other arguments.",
        "circle": "You are going in circles: {cycle}.",
    },
    "zh": {
        "recall": "你已经用这些参数调用过“{name}”，这就是那次的结果。请直接使用，不要再次调用。",
        "same": "之前已经这样调用过“{name}”，结果相同：再次调用不会有变化。",
        "near": "“{name}”在本次运行中已经做过几乎相同的事。如果本意只做一次，请告诉用户。",
        "unchanged": "同样的“{name}”已经请求了 {times} 次，结果一直没有变化：没有再次运行。",
        "unchanged_hint": "结果就在上面：请据此回答，或换其他参数调用。",
        "failing": "“{name}”的这个调用已经以同样的方式失败了 {times} 次，没有再次运行。错误是：{error}",
        "failing_hint": "请修改参数、换用其他工具，或告诉用户哪里行不通。",
        "done": "“{name}”在本次运行中已经做过完全相同的事，没有做第二次。",
        "done_hint": "请使用上面的结果继续。如果确实需要再做一次，请先让用户确认。",
        "unknown": "不知道上一次调用“{name}”是否已经生效：没有再次运行。",
        "unknown_hint": "请先用读取类的工具核实；无法核实时，请告诉用户。",
        "inside": "“{name}”正在做完全相同的事，又从内部请求了自己：没有再次运行。",
        "inside_hint": "请等待它的结果，或换其他参数调用。",
        "circle": "你在原地打转：{cycle}。",
    },
}  # fmt: skip
