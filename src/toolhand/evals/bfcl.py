"""The Berkeley Function Calling Leaderboard, version 4: its single-turn categories as a suite.

The data is not shipped. It lies in the wheel `bfcl-eval` (Apache-2.0), whose own dependencies are heavy and not needed:
`pip download --no-deps bfcl-eval`, and the downloaded file is read as it is. An installed package or an unpacked folder do too.
Source: https://gorilla.cs.berkeley.edu/leaderboard.html.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.evals.case import Suite
from toolhand.evals.reading import read_case

VARIABLE: Final = "TOOLHAND_BFCL"
"""The environment variable that names the wheel or folder."""

CATEGORIES: Final = (
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)
"""Those whose values are Python's. The Java and JavaScript ones compare source text in these languages and are left out."""

_TYPES: Final[Mapping[str, str]] = {
    "dict": "object",
    "float": "number",
    "double": "number",
    "tuple": "array",
    "list": "array",
    "any": "string",
    "str": "string",
    "int": "integer",
    "bool": "boolean",
}
"""The leaderboard's words for types, where they are not JSON Schema's."""

_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")


def read_bfcl(categories: Iterable[str] = (), source: str | Path | None = None) -> Suite:
    """The cases of some categories, each tagged with its category.

    Args:
        categories: names from `CATEGORIES`; all of them by default.
        source: the wheel, or a folder with the data; by default what `TOOLHAND_BFCL` names, or the installed package.

    Raises:
        SettingsError: when a category or the data is not there.
    """
    chosen = tuple(categories) or CATEGORIES
    for name in chosen:
        if name not in CATEGORIES:
            raise SettingsError(
                say(
                    f"there is no BFCL category '{name}'; there is: {', '.join(CATEGORIES)}",
                    f"没有 BFCL 类别“{name}”；可用：{'、'.join(CATEGORIES)}",
                )
            )
    data = BfclData(source)
    cases = [read_case(written) for name in chosen for written in written_cases(name, data)]
    return Suite(name=f"bfcl:{','.join(chosen) if categories else 'all'}", cases=tuple(cases))


class BfclData:
    """The data's files, in a wheel or a folder.

    Args:
        source: the wheel, or a folder with the data; None for what `TOOLHAND_BFCL` names, or the installed package.

    Raises:
        SettingsError: when it is not there.
    """

    def __init__(self, source: str | Path | None) -> None:
        named = str(source) if source is not None else os.environ.get(VARIABLE, "").strip()
        self.path = Path(named).expanduser() if named else _installed()
        if self.path is None or not self.path.exists():
            raise SettingsError(
                say(
                    "the BFCL data is not here: `pip download --no-deps bfcl-eval`, "
                    f"then set {VARIABLE} to the downloaded wheel",
                    f"没有 BFCL 数据：请运行 `pip download --no-deps bfcl-eval`，再把 {VARIABLE} 设为下载的 wheel 文件",
                )
            )

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The JSON lines of a file, such as "BFCL_v4_multiple.json"; none where there is no such file."""
        text = self._text(name)
        return [json.loads(line) for line in text.splitlines() if line.strip()]

    def _text(self, name: str) -> str:
        path = self.path
        if path is not None and path.is_file():
            try:
                with zipfile.ZipFile(path) as wheel:
                    return wheel.read(f"bfcl_eval/data/{name}").decode("utf-8")
            except KeyError:
                return ""
            except (zipfile.BadZipFile, OSError):
                raise SettingsError(
                    say(f"'{path}' is not a wheel: download it again", f"“{path}”不是 wheel 文件：请重新下载")
                ) from None
        for folder in () if path is None else (path, path / "data", path / "bfcl_eval" / "data"):
            if (folder / name).is_file():
                return (folder / name).read_text("utf-8")
        return ""


def _installed() -> Path | None:
    found = find_spec("bfcl_eval")
    return Path(found.origin).parent if found is not None and found.origin else None


def written_cases(category: str, data: BfclData) -> Iterator[dict[str, Any]]:
    """A category's cases, each with a case's keys.

    Raises:
        SettingsError: when the data has no such category.
    """
    questions = data.rows(f"BFCL_v4_{category}.json")
    if not questions:
        raise SettingsError(
            say(
                f"the BFCL data in '{data.path}' has no {category}",
                f"“{data.path}”中没有 BFCL 类别 {category}",
            )
        )
    answers = {
        row["id"]: row["ground_truth"] for row in data.rows(f"possible_answer/BFCL_v4_{category}.json")
    }
    for row in questions:
        truth = answers.get(row["id"])
        if truth is not None or "relevance" in category:
            yield written_case(row, category, truth)


def written_case(
    row: Mapping[str, Any], category: str, truth: list[Mapping[str, Any]] | None
) -> dict[str, Any]:
    """One of the leaderboard's entries with a case's keys. Only the model's first reply counts, as there.

    Args:
        row: an entry of a category's file.
        category: its name.
        truth: what is accepted; None in the categories that only ask whether something is called.
    """
    messages = row["question"][0]
    *before, last = (
        messages if messages[-1]["role"] == "user" else [*messages, {"role": "user", "content": "…"}]
    )
    case: dict[str, Any] = {"id": row["id"], "question": last["content"] or "…", "tags": [category]}
    history = [{m["role"]: m["content"]} for m in before if m.get("content")]
    if history:
        case["history"] = history
    functions = row["function"] if isinstance(row["function"], list) else [row["function"]]
    case["tools"] = [_tool(function) for function in functions]
    case["turns"] = 1
    if "irrelevance" in category:
        return {**case, "calls": "none"}
    if truth is None:
        # Something relevant has to be called; what exactly does not matter there.
        return {**case, "any_of": [{"calls": [_name(f["name"])], "extra_calls": True} for f in functions]}
    by_name = {function["name"]: function for function in functions}
    calls = [_call(expected, by_name) for expected in truth]
    return {**case, "calls": calls, "repeats": False}


def _name(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name)


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": _name(function["name"]),
        "description": function.get("description", ""),
        "parameters": _schema(function.get("parameters") or {"type": "dict", "properties": {}}),
    }


def _schema(node: Any, *, is_schema: bool = True) -> Any:
    """The same schema in JSON Schema's words."""
    if isinstance(node, list):
        return [_schema(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    found: dict[str, Any] = {}
    for key, value in node.items():
        if is_schema and key == "type" and isinstance(value, str):
            found[key] = _TYPES.get(value.lower(), value.lower())
        elif is_schema and key in ("default", "enum", "const"):
            found[key] = value
        elif is_schema and key == "optional":
            continue  # says the same as `required`
        else:
            # Under "properties" the keys are parameters' names.
            found[key] = _schema(value, is_schema=not (is_schema and key == "properties"))
    return found


def _call(expected: Mapping[str, Any], functions: Mapping[str, Any]) -> dict[str, Any]:
    name, accepted = next(iter(expected.items()))
    parameters = functions[name].get("parameters") or {}
    types: dict[str, Any] = {}
    for parameter, schema in (parameters.get("properties") or {}).items():
        outer = schema.get("type", "any")
        inner = (schema.get("items") or {}).get("type") if outer in ("array", "tuple") else None
        types[parameter] = [outer, inner] if inner else outer
    rules = {"accepted": dict(accepted), "types": types, "required": list(parameters.get("required") or ())}
    return {_name(name): {"bfcl": {key: value for key, value in rules.items() if value or key != "required"}}}
