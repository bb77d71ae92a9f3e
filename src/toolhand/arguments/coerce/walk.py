"""What the coercers share while they walk down one call's arguments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from toolhand.arguments.checks import MAX_DEPTH
from toolhand.arguments.costs import fix
from toolhand.arguments.faults import ABSENT, Fault, Refused, Trouble
from toolhand.arguments.paths import shown
from toolhand.arguments.settings import BindSettings
from toolhand.arguments.shape import Shape
from toolhand.core.messages import Fix

LEAST_READS: Final = 5_000
"""How many values may be read for a call, however little was sent."""


class Coercer(Protocol):
    """Reads what was sent as one declared type."""

    def __call__(self, sent: Any, shape: Shape, path: str, walk: Walk, /) -> Any:
        """The value, or `Refused`.

        Args:
            sent: a JSON value that does not fit as it is.
            shape: what is declared.
            path: where it stands.
            walk: takes the liberties down.
        """
        ...


@dataclass(slots=True, kw_only=True)
class Walk:
    """One attempt at reading values.

    Args:
        settings: what the caller decided.
        coerce: reads a value by its shape, for the coercers of what has parts.
        changes_things: whether the tool writes or destroys, so that fewer liberties are taken.
        reads_left: how many values may still be read, shared by all attempts at one call. Recursive unions would else
            take a time that doubles with each level.
        depth: how deep the walk is.
        wraps: how many single values were taken for lists on the way here.
        fixes: the liberties taken so far.
    """

    settings: BindSettings
    coerce: Coercer
    changes_things: bool = False
    reads_left: list[int] = field(default_factory=lambda: [LEAST_READS])
    depth: int = 0
    wraps: int = 0
    fixes: list[Fix] = field(default_factory=list)

    def note(self, kind: str, path: str, before: Any, after: Any) -> None:
        """Writes a liberty down."""
        self.fixes.append(fix(kind, path, before, after))

    def read(self, sent: Any, shape: Shape, path: str) -> Any:
        """A part's value, or `Refused`; also where what was sent is nested too deep or takes too many attempts."""
        self.reads_left[0] -= 1
        if self.depth >= MAX_DEPTH or self.reads_left[0] < 0:
            return refuse(Trouble.VALUE, shape, path, note="too_deep")
        self.depth += 1
        outcome = self.coerce(sent, shape, path, self)
        self.depth -= 1
        return outcome

    def apart(self) -> Walk:
        """An attempt of its own, to be kept only if it is the cheapest."""
        return replace(self, fixes=[])

    @property
    def cost(self) -> int:
        """The sum of what the liberties cost."""
        return sum(one.cost for one in self.fixes)


def refuse(
    trouble: Trouble,
    shape: Shape,
    path: str,
    sent: Any = ABSENT,
    *,
    closest: str = "",
    note: str = "",
    others: tuple[str, ...] = (),
) -> Refused:
    """A refusal with one fault."""
    return Refused(
        (
            Fault(
                trouble=trouble,
                path=path,
                name=shown(path),
                shape=shape,
                sent=sent,
                closest=closest,
                note=note,
                others=others,
            ),
        )
    )
