"""Finds the tools that a person names: the built-in ones, a Python file's, a module's."""

from __future__ import annotations

import importlib
import sys
import traceback
import warnings
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from toolhand.builtin import BuiltinSettings, MailSettings, WebSettings, builtin_tools, offered
from toolhand.core.errors import SettingsError, ToolDefinitionError
from toolhand.core.language import say
from toolhand.core.tools import Tool
from toolhand.tools.collection import ToolCollection
from toolhand.tools.signature import ToolWarning, unwrapped
from toolhand.toolset import Toolset

_WEB: Final = ("fetch_page", "weather", "web_search")
_MAIL: Final = ("email",)
_DOCUMENTS: Final = ("documents",)
_PLACES: Final = ("sql", "files")
"""The built-in tools of a source, by their files."""

_SOURCES_EN: Final = "builtin, web, mail, a .py file, a module, docs:FOLDER, openapi:DOCUMENT or mcp:SERVER"
_SOURCES_ZH: Final = "builtin、web、mail、.py 文件、模块名、docs:文件夹、openapi:文档 或 mcp:服务器"


def load_tools(sources: str, *, database: Path | str | None = None, root: Path | None = None) -> Toolset:
    """The tools from a comma-separated list.

    Args:
        sources: "builtin", "web" (weather, search and pages of the internet), "mail" (from the environment's settings), paths of
            Python files, names of modules, "docs:" before a folder whose documents are searched, "openapi:" before a document's
            path or address, or "mcp:" before an MCP server's command, address or `.json` file.
        database: an SQLite file, or a database's URL: its SQL tools are there whatever the sources are.
        root: a folder: its file tools are there too.

    Raises:
        SettingsError: when a source cannot be found or imported, or holds no tool.
    """
    named = [part.strip() for part in sources.split(",") if part.strip()]
    if not named:
        raise SettingsError(
            say(
                f"no tools are named: write {_SOURCES_EN}",
                f"没有指定工具：请写 {_SOURCES_ZH}",
            )
        )
    found: list[Tool] = []
    if "builtin" not in named:
        found += offered(BuiltinSettings(database=database, root=root), _PLACES)
    for source in named:
        if source == "builtin":
            found += builtin_tools(database=database, root=root)
        elif source == "web":
            found += offered(BuiltinSettings(web=WebSettings()), _WEB)
        elif source == "mail":
            found += offered(BuiltinSettings(mail=MailSettings.from_environment()), _MAIL)
        elif source.startswith("docs:"):
            found += offered(BuiltinSettings(documents=Path(source.removeprefix("docs:"))), _DOCUMENTS)
        elif source.startswith("openapi:"):
            found += Toolset.from_openapi(source.removeprefix("openapi:"))
        elif source.startswith("mcp:"):
            found += Toolset.from_mcp(source.removeprefix("mcp:"))
        else:
            found += _tools_of(_module(source), source)
    return Toolset(found)


def load_module(source: str) -> ModuleType:
    """A person's Python file or module, imported.

    Args:
        source: a path or a module's name.

    Raises:
        SettingsError: when it is not there or cannot be imported; the message says where it went wrong.
    """
    return _module(source)


def _module(source: str) -> ModuleType:
    path = Path(source)
    is_folder = is_there = False
    try:
        is_there, is_folder = path.is_file(), path.is_dir()
    except OSError:  # a name that is too long to be one
        source = f"{source[:60]}….py"
    if is_folder and not source.isidentifier():
        raise SettingsError(
            say(
                f"'{source}' is a folder: name a .py file or a module",
                f"“{source}”是文件夹：请给出 .py 文件或模块名",
            )
        )
    is_file = source.endswith(".py") or is_there
    if is_file and not is_there:
        raise SettingsError(say(f"there is no file '{source}' to load", f"没有文件“{source}”，无法加载"))
    try:
        if not is_file:
            return importlib.import_module(source)
        name = f"toolhand_tools_{path.stem}"
        module = sys.modules[name] = ModuleType(name)
        module.__file__ = str(path)
        sys.path.insert(0, str(path.resolve().parent))
        try:
            SourceFileLoader(name, str(path)).exec_module(module)
        finally:
            sys.path.pop(0)
    except (SettingsError, ToolDefinitionError):
        raise
    except ModuleNotFoundError as error:
        if not is_file and error.name and source.startswith(error.name):
            raise _no_module(source) from None
        raise _cannot_import(source, error) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a file raises must not end the program in its place
        raise _cannot_import(source, error) from error
    return module


def _no_module(source: str) -> SettingsError:
    if Path(f"{source}.py").is_file():
        return SettingsError(
            say(
                f"there is no module '{source}', but a file: write {source}.py",
                f"没有模块“{source}”，但有同名文件：请写 {source}.py",
            )
        )
    return SettingsError(
        say(f"there is no module '{source}': write {_SOURCES_EN}", f"没有模块“{source}”：请写 {_SOURCES_ZH}")
    )


def _cannot_import(source: str, error: BaseException) -> SettingsError:
    line = next(
        (
            f.lineno
            for f in reversed(traceback.extract_tb(error.__traceback__))
            if f.filename.endswith(Path(source).name)
        ),
        None,
    )
    line = getattr(error, "lineno", None) or line
    where = say(f", line {line}", f"，第 {line} 行") if line else ""
    said = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    what = f"{type(error).__name__}: {said[:200]}" if said else type(error).__name__
    return SettingsError(
        say(f"'{source}' cannot be imported{where}: {what}", f"无法导入“{source}”{where}：{what}")
    )


def _tools_of(module: ModuleType, source: str) -> list[Tool]:
    found: dict[int, Tool] = {}
    for value in vars(module).values():
        for tool in _tools_in(value):
            found.setdefault(id(tool), tool)
    if not found:
        raise SettingsError(
            say(
                f"'{source}' holds no tool: put @tool above a function",
                f"“{source}”里没有工具：请在函数上方加 @tool",
            )
        )
    for tool in found.values():
        _warn_of_silence(tool)
    return list(found.values())


def _warn_of_silence(tool: Tool) -> None:
    """Warns, where the function stands, of a tool that says nothing of itself."""
    code = None if tool.function is None else getattr(unwrapped(tool.function), "__code__", None)
    if code is None or tool.description.strip():
        return
    sentence = say(
        f"tool '{tool.name}' has no docstring: a model is told nothing but its name; say what it does",
        f"工具“{tool.name}”没有文档字符串，模型只能看到名字：请写明它做什么",
    )
    warnings.warn_explicit(sentence, ToolWarning, code.co_filename, code.co_firstlineno)


def _tools_in(value: Any) -> list[Tool]:
    if isinstance(value, Tool):
        return [value]
    if isinstance(value, ToolCollection):
        return list(value)
    return []
