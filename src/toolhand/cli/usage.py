"""Wrong words on the command line, said in the person's language."""

from __future__ import annotations

import re
from typing import Any, Final

import typer

from toolhand.cli.shown import tell
from toolhand.cli.words import say

# The root of what typer raises for wrong words. It comes from click, which typer carries inside since 0.2x: it has no public
# name of its own there.
WRONG_WORDS: Any = typer.BadParameter.__mro__[2]


def wrong_words(error: Any) -> int:
    """Says what is wrong with the command's words; gives the exit code.

    Args:
        error: what typer raised.
    """
    if not error.format_message():  # a group without a command shows its help
        error.show()
        return int(error.exit_code)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "toolhand"
    tell(f"{say('error', '错误')}: {_sentence(error)}", is_err=True)
    tell(say(f"`{command} -h` shows what there is.", f"用 `{command} -h` 查看用法。"), is_err=True)
    return int(error.exit_code)


def _sentence(error: Any) -> str:
    kind, said = type(error).__name__, str(error.format_message()).rstrip(".")
    english: str = said[:1].lower() + said[1:]
    if kind == "BadParameter":
        english = str(error.message).rstrip(".")
    parameter = getattr(error, "param", None)
    if parameter is not None and kind in ("BadParameter", "MissingParameter"):
        name = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.name
        if kind == "MissingParameter":
            return say(f"'{name}' is missing", f"缺少“{name}”")
        return say(f"{name}: {english}", f"{name}：{_in_chinese(english)}")
    if kind == "NoSuchOption":
        possible = "、".join(error.possibilities or ())
        return say(
            english, f"没有选项 {error.option_name}" + (f"，是不是想写 {possible}？" if possible else "")
        )
    return say(english, _in_chinese(english))


_CHINESE: Final = (
    (r"no such command '(.*?)'(?:\. did you mean '(.*?)'\?)?", "没有命令“{0}”", "，是不是想写“{1}”？"),
    (r"input should be greater than or equal to (\S+)", "应不小于 {0}", ""),
    (r"input should be less than or equal to (\S+)", "应不大于 {0}", ""),
    (r"input should be a valid (?:integer|number).*", "应为数字", ""),
    (r"option '?(.*?)'? requires (?:an|\d+) arguments?", "选项 {0} 需要一个值", ""),
    (r"got unexpected extra argument(?:s|\(s\))? \((.*)\)", "多余的参数：{0}", ""),
)
"""typer's own sentences, which come in English only: the sentence, ours, and what follows where its second part is there."""


def _in_chinese(english: str) -> str:
    for pattern, chinese, more in _CHINESE:
        match = re.fullmatch(pattern, english, re.IGNORECASE)
        if match:
            groups = [(group or "").replace("', '", "”、“") for group in match.groups()]
            whole = chinese + (more if len(groups) > 1 and groups[1] else "")
            return whole.format(*groups)
    return english
