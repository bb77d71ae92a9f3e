"""What a model is told where a person has to agree to a call."""

from __future__ import annotations

from typing import Final

APPROVAL_WORDS: Final = {
    "en": {
        "required": "A person has to agree to '{name}' first. It did not run.",
        "required_hint": "Do not call it again: it runs as soon as the person agrees.",
        "denied": "A person declined this call of '{name}'. It did not run.",
        "reason": "The reason: {reason}",
        "denied_hint": "Do not call it again like this: follow the reason, or ask the user.",
        "edited": "A person changed the arguments before it ran: {arguments}",
        "invalid": "The arguments that a person gave for '{name}' are not valid. It did not run.",
    },
    "zh": {
        "required": "调用“{name}”需要先由人同意，没有运行。",
        "required_hint": "不要再次调用：对方同意后会立即运行。",
        "denied": "有人拒绝了“{name}”的这次调用，没有运行。",
        "reason": "理由：{reason}",
        "denied_hint": "不要照原样再次调用：请按理由处理，或询问用户。",
        "edited": "运行之前有人修改了参数：{arguments}",
        "invalid": "有人为“{name}”填写的参数无效，没有运行。",
    },
}
