"""The values of the reading engine: what was asked for, and where in the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolhand.core.messages import Fix
from toolhand.parsing.loose import Key
from toolhand.protocols.reading.failures import Failure

Introduction = Literal["marked", "label", "block", "bare"]
"""How a candidate is introduced: by a marker that means a call, by a label, as a block of its own, or by nothing."""

State = Literal["whole", "unclosed", "cut"]
"""Whether an asking is all there, lacks only closing marks, or ended inside a value."""


@dataclass(slots=True)
class Asked:
    """One call as it was read: not bound, its arguments not yet typed.

    Args:
        name: the tool's name as the model wrote it.
        arguments: what was sent.
        fixes: the liberties taken so far.
        state: whether it is all there.
        problem: why it cannot be read, or None.
        is_certain: whether it could be nothing but a call (its keys say so), were its name a tool's.
        save_as: the variable that a plan keeps its result in.
        when: the condition that a plan puts before it.
        positional: values that came without names.
    """

    name: str
    arguments: Mapping[str, Any]
    fixes: tuple[Fix, ...] = ()
    state: State = "whole"
    problem: Failure | None = None
    is_certain: bool = True
    save_as: str = ""
    when: str = ""
    positional: tuple[Any, ...] = ()


@dataclass(slots=True)
class Candidate:
    """A stretch of the text that may ask for calls.

    Args:
        start: its first character.
        end: the position after it.
        introduction: how it is introduced.
        asked: the calls in it, in order.
        answer: an answer in the clothes of a call (`Final Answer`), or None.
        is_signature: whether it reads like code rather than a call (bare words where values belong).
        fence: the index of the fence that it stands in, or -1.
        drops_rest: whether what follows it was invented by the model (an observation).
        rest_end: to where that goes, or -1.
        family: the family that read it.
        is_weak: whether its marker is also an ordinary word or tag.
        is_closed: whether its closing marker is there.
    """

    start: int
    end: int
    introduction: Introduction
    asked: list[Asked] = field(default_factory=list)
    answer: str | None = None
    is_signature: bool = False
    fence: int = -1
    drops_rest: bool = False
    rest_end: int = -1
    family: str = ""
    is_weak: bool = False
    is_closed: bool = True


@dataclass(slots=True)
class Fence:
    """A fenced block.

    Args:
        start: where its opening line begins.
        inside: where its contents begin.
        language: the word behind the opening marks.
        mark: the opening marks.
        inside_end: where its contents end.
        end: the position after its closing line.
        is_closed: whether it has one.
    """

    start: int
    inside: int
    language: str
    mark: str
    inside_end: int = 0
    end: int = 0
    is_closed: bool = False


@dataclass(slots=True)
class Scanned:
    """What one walk over the text found.

    Args:
        candidates: in order.
        fences: in order.
        thoughts: the spans of reasoning.
        labelled: the spans of lines that are labelled as a thought.
        noise: the spans of markers that mean nothing to a reader.
    """

    candidates: list[Candidate] = field(default_factory=list)
    fences: list[Fence] = field(default_factory=list)
    thoughts: list[tuple[int, int]] = field(default_factory=list)
    labelled: list[tuple[int, int]] = field(default_factory=list)
    noise: list[tuple[int, int]] = field(default_factory=list)


Path = tuple[Key, ...]

STOPS = re.compile(r"</|<[|｜]|```|\[/?[A-Z_]{3,}\]|<[a-z_]{2,30}>")
"""What ends a value wherever it stands outside a string."""
