"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module

import pytest

import toolhand
from toolhand.core.lazily import _Lazy, lazy_pattern


def test_it_is_used_like_any_other():
    pattern = lazy_pattern(r"(\w)-(\d)", re.IGNORECASE)
    assert pattern.pattern == r"(\w)-(\d)"
    assert pattern.flags & re.IGNORECASE
    assert pattern.groups == 2
    match = pattern.search("x a-1")
    assert match is not None
    assert match.groups() == ("a", "1")
    assert pattern.sub("_", "a-1 b-2") == "_ _"
    assert [found[0] for found in pattern.finditer("a-1 b-2")] == ["a-1", "b-2"]
    with pytest.raises(AttributeError):
        _ = pattern.no_such_method


def test_every_pattern_of_the_package_compiles():
    count = 0
    for module in pkgutil.walk_packages(toolhand.__path__, "toolhand."):
        if module.name.split(".")[1] not in ("arguments", "core", "observability", "policies", "protocols"):
            continue
        for value in vars(import_module(module.name)).values():
            if isinstance(value, _Lazy):
                re.compile(value.pattern, value._flags)
                count += 1
    assert count > 60
