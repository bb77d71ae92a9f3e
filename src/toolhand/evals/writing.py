"""Cases as YAML text: for reports, for a starter suite, and at the end of a file that people have written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.evals.reading import relative
from toolhand.evals.spots import CaseFileError, plain_value, read_spots, spots_of, yaml_module

_NOT_IN_BLOCKS: Final = re.compile(r"[ \t]\n|^\s|[^\n\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufffd]")
"""What a block of text does not keep as it is: blanks at a line's end or the beginning, control characters."""


def yaml_text(value: Any) -> str:
    """A value as YAML that reads back as the same value, in block form, Chinese as it is."""
    yaml = yaml_module()

    class Dumper(yaml.SafeDumper):  # type: ignore[misc,name-defined]
        """Without aliases, with long texts as blocks, and with all quoted that some reader takes for something else."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's
            return True

    def text(dumper: Any, data: str) -> Any:
        style = "'" if not isinstance(plain_value(data), str) else None
        if "\n" in data and not _NOT_IN_BLOCKS.search(data):
            style = "|"
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    Dumper.add_representer(str, text)
    dumped: str = yaml.dump(
        _plain(value), Dumper=Dumper, allow_unicode=True, sort_keys=False, width=110, default_flow_style=False
    )
    return dumped


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def case_text(written: Mapping[str, Any], folder: Path, *, indent: int = 2) -> str:
    """A case as an item of a list.

    Args:
        written: a case's keys.
        folder: where the file is that it goes to: paths of tools are written from there.
        indent: how far the list is set in.
    """
    here = dict(written)
    if isinstance(here.get("tools"), list):
        here["tools"] = [
            relative(entry, folder) if isinstance(entry, str) else entry for entry in here["tools"]
        ]
    lines = yaml_text([here]).rstrip("\n").split("\n")
    return "".join(f"{' ' * indent}{line}\n" if line else "\n" for line in lines)


def append_cases(path: Path, cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """Adds cases to the end of a case file, or makes one. What stands there, comments included, stays as it is.

    Args:
        path: the file.
        cases: each with a case's keys; an id that is taken gets a number.

    Returns:
        The ids under which they stand there.

    Raises:
        SettingsError: when the file's `cases` is not a block list at its end.
    """
    folder = path.resolve().parent
    before, taken, indent = "cases:\n", set(), 2
    if path.exists():
        spot = read_spots(path)
        before = path.read_text("utf-8-sig")
        listed = (
            spot.child("cases").list() if isinstance(spot.value, Mapping) and spot.value.get("cases") else []
        )
        taken = {str(item.value.get("id")) for item in listed if isinstance(item.value, Mapping)}
        indent = _indent(before)
        before += "" if before.endswith("\n") else "\n"
    names = []
    for case in cases:
        name = base = str(case["id"])
        count = 2
        while name in taken:
            name, count = f"{base}-{count}", count + 1
        taken.add(name)
        names.append(name)
        before += case_text({**case, "id": name}, folder, indent=indent)
    _check(path, before, names)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(before, "utf-8")
    return names


def _indent(text: str) -> int:
    """How far the items of `cases` are set in."""
    body = re.split(r"^cases:[ \t]*(?:#.*)?$", text, maxsplit=1, flags=re.MULTILINE)
    first = re.search(r"^( *)- ", body[1], re.MULTILINE) if len(body) == 2 else None
    return len(first[1]) if first else 2


def _check(path: Path, text: str, names: Sequence[str]) -> None:
    """Reads what is to be written: the new cases have to be the last ones of the list."""
    try:
        spot = spots_of(text, name=str(path))
        last = [item.value.get("id") for item in spot.child("cases").list()[-len(names) :]]
    except (CaseFileError, KeyError, AttributeError, TypeError):
        last = []
    if [str(name) for name in last] != list(names):
        raise SettingsError(
            say(
                f"nothing can be added to '{path}': its last key has to be `cases:` with a list in block form (- id: …)",
                f"无法向“{path}”追加用例：文件最后一个键必须是 `cases:`，并使用块状列表（- id: …）",
            )
        )
