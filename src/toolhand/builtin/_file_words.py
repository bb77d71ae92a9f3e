"""What the tools over files tell a model when something does not work, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.language import Language

_INVALID: Final = ErrorCode.INVALID_ARGUMENT
_DENIED: Final = ErrorCode.NOT_PERMITTED

_WORDS: Final[Mapping[str, tuple[ErrorCode, bool, tuple[str, str], tuple[str, str]]]] = {
    "no_path": (_INVALID, True, ("That is not a path.", ""), ("这不是路径。", "")),
    "deep": (_INVALID, True, ("The path is too deep.", ""), ("路径的层级过深。", "")),
    "outside": (
        _DENIED,
        False,
        (
            "'{shown}' leads out of the folder, which is not allowed.",
            "Paths are relative to the folder, such as 'notes/plan.txt', without '..' and without '/' at the beginning.",
        ),
        (
            "“{shown}”超出了文件夹的范围，不允许访问。",
            "路径相对于该文件夹，例如 'notes/plan.txt'，不含“..”，也不以“/”开头。",
        ),
    ),
    "link": (
        _DENIED,
        False,
        ("'{shown}' is a link, and links are not followed.", "Use the path of the file itself."),
        ("“{shown}”是链接，不会跟随链接。", "请使用文件本身的路径。"),
    ),
    "odd": (
        _DENIED,
        False,
        ("'{shown}' is neither a file nor a folder.", ""),
        ("“{shown}”既不是文件也不是文件夹。", ""),
    ),
    "system": (
        _DENIED,
        False,
        ("'{shown}' belongs to the system and is not read.", ""),
        ("“{shown}”属于系统，不能读取。", ""),
    ),
    "is_folder": (
        _INVALID,
        True,
        ("'{shown}' is a folder.", "Use list_files to see what is in it."),
        ("“{shown}”是文件夹。", "请用 list_files 查看其中的内容。"),
    ),
    "no_folder": (
        _INVALID,
        True,
        ("'{shown}' is a file, not a folder.", ""),
        ("“{shown}”是文件，不是文件夹。", ""),
    ),
    "unreadable": (_DENIED, False, ("'{shown}' may not be read.", ""), ("没有读取“{shown}”的权限。", "")),
    "not_now": (
        ErrorCode.UPSTREAM,
        True,
        ("'{shown}' cannot be read at the moment.", ""),
        ("目前无法读取“{shown}”。", ""),
    ),
    "missing": (
        _INVALID,
        True,
        ("There is no '{shown}'.", "Use list_files to see what there is."),
        ("没有“{shown}”。", "请用 list_files 查看有哪些文件。"),
    ),
    "binary": (
        _INVALID,
        False,
        ("'{shown}' is not text in a known encoding.", "Only text files can be read."),
        ("“{shown}”不是已知编码的文本。", "只能读取文本文件。"),
    ),
    "far": (
        ErrorCode.RESULT_TOO_LARGE,
        False,
        ("The line lies too far in '{shown}' to be reached.", "Lines up to about {last:,} can be read."),
        ("这一行在“{shown}”中过于靠后，无法读到。", "大约可以读到第 {last:,} 行。"),
    ),
    "beyond": (
        _INVALID,
        True,
        ("'{shown}' has only {last:,} lines.", ""),
        ("“{shown}”只有 {last:,} 行。", ""),
    ),
    "no_name": (_INVALID, True, ("That is a folder.", ""), ("这是文件夹。", "")),
    "dot": (
        _DENIED,
        False,
        (
            "'{shown}' has a name that begins with a dot, and such files are not written.",
            "Use another name.",
        ),
        ("“{shown}”的名称以点开头，这类文件不能写入。", "请使用其他名称。"),
    ),
    "control": (
        _INVALID,
        True,
        ("A name must not hold control characters.", ""),
        ("名称中不能有控制字符。", ""),
    ),
    "exists": (
        ErrorCode.PRECONDITION_FAILED,
        True,
        (
            "'{shown}' is there already and was not changed.",
            "Use another name, or if_exists='replace' or 'append' where that is meant.",
        ),
        (
            "“{shown}”已经存在，没有改动。",
            "请使用其他名称；确实需要时使用 if_exists='replace' 或 'append'。",
        ),
    ),
    "behind": (
        _DENIED,
        False,
        ("'{shown}' lies behind a link or a file, which is not followed.", ""),
        ("“{shown}”在链接或文件之后，不会跟随。", ""),
    ),
    "unwritable": (_DENIED, False, ("'{shown}' may not be written.", ""), ("没有写入“{shown}”的权限。", "")),
    "long_name": (_INVALID, True, ("The name is too long.", ""), ("名称过长。", "")),
    "full": (
        ErrorCode.UPSTREAM,
        False,
        ("There is no room on the disk for '{shown}'.", ""),
        ("磁盘空间不足，无法写入“{shown}”。", ""),
    ),
    "not_written": (
        ErrorCode.UPSTREAM,
        True,
        ("'{shown}' cannot be written at the moment.", ""),
        ("目前无法写入“{shown}”。", ""),
    ),
    "kept": (
        _DENIED,
        False,
        ("'{shown}' is not text in a known encoding and was not changed.", "Use another name."),
        ("“{shown}”不是已知编码的文本，没有改动。", "请使用其他名称。"),
    ),
    "large": (
        ErrorCode.RESULT_TOO_LARGE,
        False,
        ("'{shown}' is too large to be added to.", "Write another file."),
        ("“{shown}”过大，无法追加。", "请写入另一个文件。"),
    ),
    "not_unicode": (
        _INVALID,
        True,
        ("The text for '{shown}' holds characters that are not valid Unicode.", ""),
        ("“{shown}”的文本中有无效的 Unicode 字符。", ""),
    ),
}


def refusal(word: str, shown: str = "", **facts: Any) -> ToolFailure:
    """What to raise, in both languages.

    Args:
        word: which sentence.
        shown: the path that it names.
        facts: what else stands in the sentence.
    """
    code, retryable, english, chinese = _WORDS[word]
    message, hint = (text.format(shown=shown[:200], **facts) for text in english)
    its_message, its_hint = (text.format(shown=shown[:200], **facts) for text in chinese)
    return ToolFailure(
        message,
        code=code,
        retryable=retryable,
        hint=hint,
        details={"missing": True} if word == "missing" else None,
        chinese=(its_message, its_hint),
    )


def with_hint(failure: ToolFailure, english: str, chinese: str) -> ToolFailure:
    """The same failure with another hint."""
    error, told = failure.error, failure.told("zh")
    return ToolFailure(
        error.message,
        code=error.code,
        retryable=error.retryable,
        hint=english,
        chinese=(told.message, chinese),
    )


def is_missing(failure: ToolFailure) -> bool:
    """Whether it says that there is nothing of that name."""
    return failure.error.details.get("missing") is True


_NOTES: Final[Mapping[str, Mapping[Language, str]]] = {
    "some": {
        "en": "Only {count} of them are here. Use a pattern such as '*.txt', or a folder's path.",
        "zh": "这里只列出了 {count} 个。请使用 '*.txt' 这样的模式，或给出文件夹的路径。",
    },
    "no_match": {"en": "No file matches the pattern.", "zh": "没有符合该模式的文件。"},
    "empty": {"en": "The folder is empty.", "zh": "文件夹是空的。"},
    "cut_line": {
        "en": "Line {line} is longer than one answer and was cut.",
        "zh": "第 {line} 行过长，已截断。",
    },
    "more": {
        "en": "More follows: read on with start_line={line}.",
        "zh": "后面还有内容：请用 start_line={line} 继续读取。",
    },
    "too_large": {
        "en": "The file is too large to be read further.",
        "zh": "文件过大，无法继续读取。",
    },
    "bytes": {
        "en": "Bytes that fit no character are shown as \ufffd.",
        "zh": "无法解码的字节显示为 \ufffd。",
    },
    "stopped": {
        "en": "The search stopped before the end. Use a longer text, a pattern such as '*.txt', or a folder's path.",
        "zh": "搜索没有进行到底。请使用更长的文字、'*.txt' 这样的模式，或给出文件夹的路径。",
    },
    "not_found": {
        "en": "No text file of {count} holds it. Try a shorter or another word.",
        "zh": "{count} 个文本文件中都没有找到。请换用更短的或其他词语。",
    },
    "meant": {"en": "Did you mean {names}?", "zh": "是不是 {names}？"},
    "holds": {"en": "The folder '{folder}' holds {names}.", "zh": "文件夹“{folder}”里有 {names}。"},
    "holds_more": {
        "en": "The folder '{folder}' holds {names} and more.",
        "zh": "文件夹“{folder}”里有 {names} 等。",
    },
    "utf8_now": {
        "en": "The file is in UTF-8 now: its encoding before has not all of these characters.",
        "zh": "文件现在是 UTF-8 编码：原来的编码没有其中某些字符。",
    },
}


def note(word: str, language: Language, **facts: Any) -> str:
    """A word on a result, in the language of the run."""
    return _NOTES[word][language].format(**facts)
