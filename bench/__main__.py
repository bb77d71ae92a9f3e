"""Runs the figures one after another, each in a process of its own: `python -m bench [NAME …]`.

Those that need the embedded model at length (questions, dialogues, quality, own_things) run only when they are named.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LONG = {"dialogues", "questions", "quality", "own_things"}
PARTS = {"model_cache", "__init__", "__main__"}


def main(names: list[str]) -> int:
    """Runs them; 1 where one failed."""
    there = sorted({path.stem for path in Path(__file__).parent.glob("*.py")} - PARTS)
    if unknown := [name for name in names if name not in there]:
        print(f"there is no bench '{unknown[0]}'; there is: {', '.join(there)}")
        return 2
    chosen = names or [name for name in there if name not in LONG]
    failed: list[str] = []
    for number, name in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False).returncode:
            failed.append(name)
    print(f"bench {'failed: ' + ', '.join(failed) if failed else 'is done'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
