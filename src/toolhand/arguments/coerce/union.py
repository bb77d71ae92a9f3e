"""Unions: the branch that takes the fewest liberties. Two equally cheap readings with different values are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolhand.arguments.checks import same, type_name
from toolhand.arguments.coerce.walk import Coercer, Walk, refuse
from toolhand.arguments.faults import Refused, Trouble
from toolhand.arguments.paths import member
from toolhand.arguments.shape import Shape


def coerce_union(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """The value as the branch that was meant declares it."""
    chosen = _discriminated(sent, shape, path)
    if isinstance(chosen, Refused):
        return chosen
    if chosen is not None:
        return walk.read(sent, chosen, path)
    branches = shape.branches
    outcomes: list[tuple[int, Any, Walk]] = []
    refusals: list[tuple[Shape, Refused]] = []
    for branch in branches:
        trial = walk.apart()
        outcome = trial.read(sent, branch, path)
        if type(outcome) is Refused:
            refusals.append((branch, outcome))
        else:
            outcomes.append((trial.cost, outcome, trial))
    if outcomes:
        return _settled(sent, shape, path, walk, outcomes)
    # One branch of the right type says more exactly what is wrong than "fits none of them".
    near = [refused for branch, refused in refusals if _is_of_type(sent, branch)]
    if len(near) == 1:
        return near[0]
    real = [refused for branch, refused in refusals if branch.types != ("null",)]
    if len(real) == 1:
        return real[0]
    return refuse(Trouble.TYPE, shape, path, sent)


def cheapest(sent: Any, shape: Shape, path: str, walk: Walk, readers: Sequence[Coercer]) -> Any:
    """The same for a list of types: each reader's outcome that fits, the cheapest of them."""
    outcomes: list[tuple[int, Any, Walk]] = []
    refusals: list[Refused] = []
    for reader in readers:
        trial = walk.apart()
        outcome = reader(sent, shape, path, trial)
        if type(outcome) is Refused:
            refusals.append(outcome)
        elif shape.fits(outcome):
            outcomes.append((trial.cost, outcome, trial))
    if outcomes:
        return _settled(sent, shape, path, walk, outcomes)
    deep = [
        refused for refused in refusals if any(fault.path != path or fault.note for fault in refused.faults)
    ]
    return deep[0] if len(deep) == 1 else refuse(Trouble.TYPE, shape, path, sent)


def _settled(sent: Any, shape: Shape, path: str, walk: Walk, outcomes: list[tuple[int, Any, Walk]]) -> Any:
    least = min(cost for cost, _, _ in outcomes)
    best = [(value, trial) for cost, value, trial in outcomes if cost == least]
    value, trial = best[0]
    if not all(same(value, other) for other, _ in best):
        return refuse(Trouble.AMBIGUOUS, shape, path, sent)
    walk.fixes += trial.fixes
    return value


def _is_of_type(sent: Any, branch: Shape) -> bool:
    kind = type_name(sent)
    return kind in branch.types or (kind == "number" and "integer" in branch.types)


def _discriminated(sent: Any, shape: Shape, path: str) -> Shape | Refused | None:
    """The branch that the value of a discriminating property names.

    Returns:
        the branch; `Refused` where the property is there and names none, so that the error says what it may be; None
        where the union has no such property or it was not sent.
    """
    if not isinstance(sent, dict):
        return None
    takers = [branch for branch in shape.alternatives() if not branch.types or "object" in branch.types]
    branches = [branch for branch in takers if branch.properties]
    if len(branches) < 2:
        return None
    declared = shape.raw.get("discriminator")
    key = declared.get("propertyName") if isinstance(declared, dict) else None
    shared = set(branches[0].properties).intersection(*(branch.properties for branch in branches[1:]))
    for name in [key] if key in shared else sorted(shared):
        parts = [branch.properties[name] for branch in branches]
        if name not in sent or any(part.options is None for part in parts):
            continue
        found = [branch for branch, part in zip(branches, parts, strict=True) if part.fits(sent[name])]
        found = found or [
            branch for branch, part in zip(branches, parts, strict=True) if _is_like(sent[name], part)
        ]
        if len(found) == 1:
            return found[0]
        if not found and len(takers) == len(branches) and all(name in branch.required for branch in branches):
            return _no_branch(sent[name], name, parts, path)
    return None


def _is_like(sent: Any, part: Shape) -> bool:
    word = sent.strip().casefold() if isinstance(sent, str) else None
    return word is not None and any(str(option).casefold() == word for option in part.options or ())


def _no_branch(sent: Any, name: str, parts: Sequence[Shape], path: str) -> Refused:
    options = Shape({}, name)
    options.options = tuple(option for part in parts for option in part.options or ())
    options.fits = lambda value: any(same(value, option) for option in options.options or ())
    return refuse(Trouble.VALUE, options, member(path, name), sent)
