"""How sure it is that a call is meant: from the model's own odds, from a short second question, and from what was said.

A small model calls a tool for almost any question where there is one. Four signs tell the false calls from the right ones better
than any of them alone: what it says when it is asked only whether a tool fits, how much of the calls' values anybody gave, how
much of the user's words they take up, and whether there was a tool to choose. What counts as sure is the model's profile's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolhand.core.messages import Message, Odds
from toolhand.protocols.prompting import filled
from toolhand.protocols.signatures import signatures
from toolhand.tools.collection import ToolCollection

ODDS: Final = 20
"""For how many of the likeliest tokens the odds are asked: the most that OpenAI's wire allows."""

BIAS: Final = -5.1
QUESTION_WEIGHT: Final = 1.9
SHARE_WEIGHT: Final = 1.7
TAKEN_WEIGHT: Final = 0.9
CHOICE_WEIGHT: Final = 2.2
"""Fitted on first replies of the 1.5B model to tasks of BFCL v4 and to questions of two and more steps: docs/adr/0015."""

UNJUDGED: Final = 0.7
"""The share that is assumed where a call has no values to judge by."""

NOTHING_SAID: Final = 0.05
"""How sure a call is of whose values nobody said one word, however sure the model was. Of 2,351 right answers of BFCL v4 it
strikes 73; of 22 calls that the 1.5B model made where no tool fits, 9."""

PLAIN_FIT: Final = 0.9
PLAIN_SHARE: Final = 0.5
"""A decision that was so likely, with so much of its calls said, needs no second question."""

PLAIN_UNFIT: Final = 0.02
"""A decision against all tools that was so likely needs none either."""

_EDGE: Final = " \n\t\"'{:,.。"

# In English for every conversation: small models answer this question far better in it, and only one word comes back.
_QUESTION: Final = """You can call these tools:
{tools}

Say only whether one of these tools does, or finds out, what the user's message asks. A tool that is only about something \
similar does not. Reply with yes or no."""


def question(tools: ToolCollection) -> str:
    """The second question, which is asked in the place of the protocol's rules."""
    return filled(_QUESTION, tools=signatures(tools))


def chance(odds: Odds, yes: Sequence[str], no: Sequence[str]) -> float | None:
    """How likely one of two words was against the other, 0 to 1; None where neither was likely.

    Args:
        odds: of the place. They are weighed before the grammar, so what could not be written counts for nothing.
        yes: spellings of the one, in lower case. A token that begins one counts.
        no: spellings of the other.
    """
    weights = [0.0, 0.0]
    for text, weight in odds.likely.items():
        word = text.strip(_EDGE).casefold()
        for side, spellings in enumerate((no, yes)):
            if word and any(spelling.startswith(word) for spelling in spellings):
                weights[side] += weight
    total = sum(weights)
    return weights[1] / total if total else None


def fit_of(odds: Sequence[Odds]) -> float | None:
    """How sure a model was that a tool fits when it wrote its decision, 0 to 1; None where the server did not tell.

    Args:
        odds: of the reply's tokens.
    """
    for place in odds:
        word = place.text.strip(_EDGE)
        if word and ("true".startswith(word) or "false".startswith(word)):
            return chance(place, ("true",), ("false",))
    return None


def yes_of(odds: Sequence[Odds]) -> float | None:
    """How likely "yes" was as the answer to the second question, 0 to 1; None where the server did not tell."""
    return chance(odds[0], ("yes", "true", "是"), ("no", "false", "否", "不")) if odds else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What tells whether calls are meant.

    Args:
        yes: what the model said to the second question, 0 to 1; where that is not known, how likely its decision was.
        share: how much of the calls' values was said, 0 to 1; None where there are none to judge by.
        taken: how many of the user's words stand in the calls' values.
        has_choice: whether more than one tool was there. A single one is called for anything that is near it.
    """

    yes: float
    share: float | None
    taken: int
    has_choice: bool


def sureness(signs: Signs) -> float:
    """How sure it is that calls are meant, 0 to 1.

    Args:
        signs: what tells it.
    """
    if signs.share == 0:
        return NOTHING_SAID
    weighed = (
        BIAS
        + QUESTION_WEIGHT * _logit(signs.yes)
        + SHARE_WEIGHT * (UNJUDGED if signs.share is None else signs.share)
        + TAKEN_WEIGHT * math.log1p(signs.taken)
        + CHOICE_WEIGHT * signs.has_choice
    )
    return 1 / (1 + math.exp(-weighed))


def _logit(probability: float) -> float:
    clipped = min(max(probability, 0.01), 0.99)
    return math.log(clipped / (1 - clipped))


def is_answering_results(messages: Sequence[Message]) -> bool:
    """Whether results have come since the user last spoke: the task is under way, and nobody doubts that it needs tools."""
    for message in reversed(messages):
        if message.role == "tool":
            return True
        if message.role == "user" and message.text:
            return False
    return False
