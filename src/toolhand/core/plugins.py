"""Finds a protocol, a model adapter, a built-in tool … by its name: one file of ours, or others' entry point."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from toolhand.core.errors import SettingsError
from toolhand.core.language import say


def load(group: str, name: str) -> Any:
    """The module `toolhand.<group>.<name>`, or what another package offers under the entry point `toolhand.<group>`.

    Args:
        group: a folder of the package, such as "protocols".
        name: a file in it, without its ending; a hyphen stands for an underscore.

    Raises:
        SettingsError: when nothing has that name; the message lists what there is.
    """
    module = f"toolhand.{group}.{name.replace('-', '_')}"
    if name.replace("-", "_").isidentifier() and not name.startswith("_") and find_spec(module):
        return import_module(module)
    for entry in entry_points(group=f"toolhand.{group}", name=name):
        return entry.load()
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
        SettingsError: when nothing of that name offers it; the message lists what does.
    """
    offer = found(group, name, what)
    if offer is None:
        there = ", ".join(members(group, what))
        raise SettingsError(
            say(
                f"there is no '{name}' among the {group}; there is: {there}",
                f"{group} 里没有“{name}”；可用：{there}",
            )
        )
    return offer


def members(group: str, what: str) -> tuple[str, ...]:
    """Every name with which `member` finds something, sorted. Loads the whole group: for lists and errors."""
    return tuple(name for name in names(group) if found(group, name, what) is not None)


@lru_cache(256)
def found(group: str, name: str, what: str) -> Any:
    """As `member`, but None where nothing of that name offers it."""
    spelt = name.replace("-", "_")
    module = f"toolhand.{group}.{spelt}"
    if spelt.isidentifier() and not spelt.startswith("_") and find_spec(module):
        return getattr(import_module(module), what, None)
    for entry in entry_points(group=f"toolhand.{group}", name=name):
        loaded = entry.load()
        return getattr(loaded, what, loaded)
    return None


def names(group: str) -> tuple[str, ...]:
    """Every name that `load` finds in a group, sorted."""
    folder = import_module(f"toolhand.{group}").__path__
    ours = {
        module.name for module in iter_modules(folder) if not module.ispkg and not module.name.startswith("_")
    }
    others = {entry.name for entry in entry_points(group=f"toolhand.{group}")}
    return tuple(sorted(ours | others))
