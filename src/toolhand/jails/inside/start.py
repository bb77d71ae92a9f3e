"""The door: `python -I start.py PART …` runs a part of this folder without loading Toolhand around it."""

import importlib
import os
import sys
import types

if __name__ == "__main__":
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is slow to load
    for name, path in (("toolhand", os.path.dirname(here)), ("toolhand.jails", here)):  # noqa: PTH120
        sys.modules[name] = module = types.ModuleType(name)
        module.__path__ = [path]
    importlib.import_module(f"toolhand.jails.inside.{sys.argv[1]}").main(*sys.argv[2:])
