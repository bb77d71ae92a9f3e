"""How the Berkeley Function Calling Leaderboard compares a call's arguments with what it accepts: the matcher `bfcl`.

Source: the rules that the leaderboard publishes for its single-turn categories ("AST evaluation") and ships as
`bfcl_eval.eval_checker.ast_eval` (Apache-2.0); these are our own words for them, and the tests compare the two.
A text is compared without case, blanks and `,./-_*^`; a number must be equal, and a whole one may stand for a decimal one; an
argument may be left out where "" is among what is accepted; a nested object's fields each have their accepted values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolhand.evals.findings import Finding
from toolhand.evals.matchers import Look, Matcher
from toolhand.evals.matching import MATCHERS
from toolhand.evals.spots import Spot, shown

_IGNORED: Final = re.compile(r"[ ,./\-_*^]")

_TYPES: Final[Mapping[str, type]] = {
    "string": str,
    "any": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
}
"""The leaderboard's names of types."""


@dataclass(frozen=True, slots=True)
class Bfcl(Matcher):
    """All arguments of a call.

    Args:
        accepted: for each parameter the values that are accepted; "" for leaving it out.
        types: for each declared parameter its type, or [type, type of the items].
        required: the parameters that must be sent.
    """

    accepted: Mapping[str, Sequence[Any]]
    types: Mapping[str, Any]
    required: Sequence[str] = ()

    def __str__(self) -> str:
        return ", ".join(
            f"{name}={' | '.join(shown(value, 40) for value in values)}"
            for name, values in self.accepted.items()
        )

    def _fits(self, value: Any, look: Look) -> bool | Finding:
        for name in (*self.required, *self.accepted):
            may_lack = name not in self.required and "" in self.accepted.get(name, ("",))
            if name not in value and not may_lack:
                return Finding(
                    code="missing_argument",
                    path=look.at(name).path,
                    expected=_shown(self.accepted.get(name, ())),
                )
        for name, sent in value.items():
            at = look.at(name)
            if name not in self.accepted or name not in self.types:
                return Finding(code="unexpected_argument", path=at.path, actual=shown(sent))
            declared = self.types[name]
            outer, inner = declared if isinstance(declared, list) else (declared, None)
            finding = _value(sent, outer, inner, self.accepted[name], at)
            if finding is not None:
                return finding
        return True


def _shown(accepted: Sequence[Any]) -> str:
    return " | ".join(shown(value, 40) for value in accepted)


def plain(text: str) -> str:
    """A text as the leaderboard compares it."""
    return _IGNORED.sub("", text).lower().replace("'", '"')


def _value(sent: Any, outer: str, inner: str | None, accepted: Sequence[Any], at: Look) -> Finding | None:
    kind = _TYPES.get(outer, str)
    if kind is float and type(sent) is int:
        sent = float(sent)
    type_of_accepted = next((type(value) for value in accepted if value != ""), None)
    is_variable = type_of_accepted is not None and type_of_accepted is not kind
    if type(sent) is not kind:
        # The name of a variable may be given where the accepted value is one.
        if type(sent) is not type_of_accepted:
            return Finding(code="type", path=at.path, expected=outer, actual=shown(sent))
        is_variable = True
    elif not _items_fit(sent, inner, accepted):
        return Finding(code="type", path=at.path, expected=f"{outer} of {inner}", actual=shown(sent))
    if _is_accepted(sent, kind, inner, accepted, is_variable=is_variable):
        return None
    return Finding(code="value", path=at.path, expected=_shown(accepted), actual=shown(sent))


def _items_fit(sent: Any, inner: str | None, accepted: Sequence[Any]) -> bool:
    """Whether the items of a list are of their declared type, or of the type of what is accepted."""
    if inner is None or not isinstance(sent, list):
        return True
    kind = _TYPES.get(inner, str)

    def fits(item: Any, choices: Sequence[Any]) -> bool:
        other = next((type(choice) for choice in choices if choice != ""), None)
        return type(item) is kind or (other is not None and type(item) is other)

    return any(
        not isinstance(choice, list) or all(fits(item, choice) for item in sent) for choice in accepted
    )


def _is_accepted(
    sent: Any, kind: type, inner: str | None, accepted: Sequence[Any], *, is_variable: bool
) -> bool:
    if is_variable:
        return sent in accepted
    if kind is dict:
        return any(choice != "" and _object_fits(sent, choice) for choice in accepted)
    if kind is list and inner == "dict":
        return any(
            isinstance(choice, list)
            and len(choice) == len(sent)
            and all(_object_fits(item, wanted) for item, wanted in zip(sent, choice, strict=True))
            for choice in accepted
        )
    if kind is str:
        return plain(sent) in {plain(choice) for choice in accepted if isinstance(choice, str)}
    if kind is list:
        return _plain_items(sent) in [_plain_items(choice) for choice in accepted if choice != ""]
    return sent in accepted


def _plain_items(items: Any) -> list[Any]:
    return [plain(item) if isinstance(item, str) else item for item in items]


def _object_fits(sent: Any, wanted: Any) -> bool:
    if not isinstance(sent, Mapping) or not isinstance(wanted, Mapping):
        return False
    for key, value in sent.items():
        if key not in wanted:
            return False
        choices = _plain_items(wanted[key])
        if (plain(value) if isinstance(value, str) else value) not in choices:
            return False
    return all(key in sent or "" in choices for key, choices in wanted.items())


def _bfcl(spot: Spot) -> Matcher:
    spot.keys(("accepted", "types", "required"), "bfcl", "bfcl ")
    for key in ("accepted", "types"):
        if key not in spot.value:
            spot.fail(f"bfcl needs '{key}'", f"bfcl 需要“{key}”")
    accepted = {name: item.list() and list(item.value) for name, item in spot.child("accepted").items()}
    required = spot.child("required").texts() if "required" in spot.value else ()
    return Bfcl(accepted=accepted, types=spot.child("types").mapping(), required=required)


MATCHERS["bfcl"] = _bfcl
