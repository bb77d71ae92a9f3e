"""What was written out before is used again, and is the same as if it were written anew."""

from __future__ import annotations

import itertools
import random

from toolhand.core.messages import Message, Note, Text, user
from toolhand.protocols.turns import WrittenTurns

ONE, TWO = object(), object()


def anew(messages: list[Message], write) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in WrittenTurns().turns(messages, write, ONE, "en")]


def grown(rng: random.Random, count: int) -> list[Message]:
    roles = ["user", "assistant", "tool", "user"]
    return [Message(role=rng.choice(roles), parts=(Text(f"m{number}"),)) for number in range(count)]


def test_only_what_is_new_is_written_and_the_rest_are_the_same_objects():
    written: list[str] = []

    def write(message: Message) -> str:
        written.append(message.text)
        return message.text

    turns = WrittenTurns()
    history = [user("a"), Message(role="assistant", parts=(Text("b"),)), user("c")]
    first = turns.turns(history, write, ONE, "en")
    history += [Message(role="assistant", parts=(Text("d"),)), Message(role="user", parts=(Note("n"),))]
    second = turns.turns(history, write, ONE, "en")
    assert written == ["a", "b", "c", "d", ""]
    assert all(one is other for one, other in zip(first, second, strict=False))
    assert turns.turns(history, write, ONE, "en") == second
    assert len(written) == 5


def test_any_growth_fork_and_cut_gives_what_writing_anew_gives():
    rng = random.Random(7)
    for _ in range(60):
        turns, history = WrittenTurns(most_sources=40), grown(rng, rng.randint(1, 6))
        for _ in range(25):
            kind = rng.random()
            if kind < 0.6:
                history = [*history, *grown(rng, rng.randint(1, 3))]
            elif kind < 0.8:
                history = history[: rng.randint(1, len(history))]
            else:
                place = rng.randrange(len(history))
                history = [*history[:place], *grown(rng, 2), *history[place + 1 :]]
            found = turns.turns(history, lambda message: f"<{message.text}>", ONE, "en")
            assert [(m.role, m.text) for m in found] == anew(history, lambda message: f"<{message.text}>")
            assert all(one.role != other.role for one, other in itertools.pairwise(found))


def test_manners_and_languages_are_kept_apart():
    turns, history = WrittenTurns(), [user("a")]
    assert turns.turns(history, lambda m: "one", ONE, "en")[0].text == "one"
    assert turns.turns(history, lambda m: "two", TWO, "en")[0].text == "two"
    assert turns.turns(history, lambda m: "三", ONE, "zh")[0].text == "三"
    assert turns.turns([], str, ONE, "en") == []
