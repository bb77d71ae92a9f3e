"""Finds a protocol, a model adapter, a built-in tool … by its name: one file of ours, or others' entry point."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from toolhand.core.errors import SettingsError
from toolhand.core.language import say


def load(group: str, name: str) -> Any:
    """The module `toolhand.<group>.<name>`, or what another package offers under the entry point `toolhand.<group>`.

    Args:
        group: a folder of the package, such as "protocols".
        name: a file in it, without its ending; a hyphen stands for an underscore.

    Raises:
        SettingsError: when nothing has that name (the message lists what there is), or its entry point cannot be loaded.
    """
    module = f"toolhand.{group}.{name.replace('-', '_')}"
    if name.replace("-", "_").isidentifier() and not name.startswith("_") and find_spec(module):
        return import_module(module)
    for entry in entry_points(group=f"toolhand.{group}", name=name):
        return _loaded(entry)
    raise SettingsError(
        say(
            f"there is no '{name}' among the {group}; there is: {', '.join(names(group))}",
            f"{group} 里没有“{name}”；可用：{', '.join(names(group))}",
        )
    )


def member(group: str, name: str, what: str) -> Any:
    """What a file of a group offers under a name, such as a protocol's `PROTOCOL`. Files without it do not count.

    Args:
        group: a folder of the package.
        name: a file in it, or the name of another package's entry point, which may be the thing itself.
        what: the name in the module.

    Raises:
        SettingsError: when nothing of that name offers it (the message lists what does), or its entry point cannot be loaded.
    """
    offer = found(group, name, what)
    if offer is None:
        there = listed(group, what)
        raise SettingsError(
            say(
                f"there is no '{name}' among the {group}; there is: {there}",
                f"{group} 里没有“{name}”；可用：{there}",
            )
        )
    return offer


def members(group: str, what: str) -> tuple[str, ...]:
    """Every name with which `member` finds something, sorted. Loads the whole group: for lists and errors.

    Another package's entry point that cannot be loaded is left out: `unloadable` names it.
    """
    return _looked_through(group, what)[0]


def listed(group: str, what: str, *more: str) -> str:
    """The same for a sentence, with names that stand beside the group first, and `unloadable` at its end."""
    return ", ".join((*more, *members(group, what))) + unloadable(group, what)


def unloadable(group: str, what: str) -> str:
    """Names the entry points that cannot be loaded, in brackets for the end of a sentence; "" where there are none."""
    broken = ", ".join(_looked_through(group, what)[1])
    return say(f" (not loadable: {broken})", f"（无法加载：{broken}）") if broken else ""


def _looked_through(group: str, what: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    there, broken = [], []
    for name in names(group):
        try:
            if found(group, name, what) is not None:
                there.append(name)
        except SettingsError:
            broken.append(name)
    return tuple(there), tuple(broken)


@lru_cache(256)
def found(group: str, name: str, what: str) -> Any:
    """As `member`, but None where nothing of that name offers it.

    Raises:
        SettingsError: when another package's entry point of that name cannot be loaded, or is a module that lacks it.
    """
    spelt = name.replace("-", "_")
    module = f"toolhand.{group}.{spelt}"
    if spelt.isidentifier() and not spelt.startswith("_") and find_spec(module):
        return getattr(import_module(module), what, None)
    for entry in entry_points(group=f"toolhand.{group}", name=name):
        loaded = _loaded(entry)
        if isinstance(loaded, ModuleType) and not hasattr(loaded, what):
            raise _broken(entry, say(f"that module has no '{what}'", f"该模块没有“{what}”"))
        return getattr(loaded, what, loaded)
    return None


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:  # whatever another package does while it is imported
        raise _broken(entry, f"{type(error).__name__}: {error}") from error


def _broken(entry: EntryPoint, why: str) -> SettingsError:
    package = entry.dist.name if entry.dist is not None else "?"
    return SettingsError(
        say(
            f"the entry point '{entry.name}' in {entry.group} of the package {package} ({entry.value}) cannot be loaded ({why}): "
            f"mend that package or uninstall it",
            f"软件包 {package} 在 {entry.group} 中的入口点“{entry.name}”（{entry.value}）无法加载（{why}）：请修复或卸载该软件包",
        )
    )


def others(group: str) -> tuple[str, ...]:
    """The names that other packages add to a group, sorted."""
    return tuple(sorted({entry.name for entry in entry_points(group=f"toolhand.{group}")}))


def names(group: str) -> tuple[str, ...]:
    """Every name that `load` finds in a group, sorted."""
    folder = import_module(f"toolhand.{group}").__path__
    ours = {
        module.name for module in iter_modules(folder) if not module.ispkg and not module.name.startswith("_")
    }
    return tuple(sorted({*ours, *others(group)}))
