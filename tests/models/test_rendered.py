"""A growing history is rendered once, and gives the same bytes as one that is rendered anew."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolhand.core.language import Language
from toolhand.core.messages import Message, Text, system, user
from toolhand.models.rendered import Glue, RenderedHistories

STARTS = [user("question one"), user("question two")]
POOL = [*STARTS, *[Message(role="assistant", parts=(Text(f"answer {i}"),)) for i in range(5)], user("next")]


def plain(message: Message, language: str) -> bytes:
    return f"{message.role}:{message.text}:{language}".encode()


histories = st.tuples(
    st.sampled_from(["", "be brief", "be long"]),
    st.sampled_from(STARTS),
    st.lists(st.sampled_from(POOL), max_size=8),
)


@given(
    st.lists(st.tuples(histories, st.sampled_from(["en", "zh"])), max_size=12), st.sampled_from([10**9, 60])
)
def test_the_bytes_are_those_of_a_fresh_rendering(requests: list[Any], most_bytes: int) -> None:
    kept = RenderedHistories(plain, most_bytes=most_bytes)
    for (instructions, start, rest), language in requests:
        messages = [*([system(instructions)] if instructions else []), start, *rest]
        assert kept.joined(messages, language) == b",".join(plain(m, language) for m in messages)


def test_a_turn_renders_only_what_is_new() -> None:
    rendered: list[Message] = []

    def counting(message: Message, language: str) -> bytes:
        rendered.append(message)
        return b"x"

    kept = RenderedHistories(counting)
    messages = [user("q")]
    for turn in range(100):
        kept.joined([system("be brief"), *messages], "en")  # the system's message is a new object every time
        messages.append(Message(role="assistant", parts=(Text(str(turn)),)))
    assert len(rendered) == 101  # the system's, the question, and 99 answers


def test_conversations_with_equal_words_do_not_displace_one_another() -> None:
    rendered: list[Message] = []

    def counting(message: Message, language: str) -> bytes:
        rendered.append(message)
        return b"x"

    kept = RenderedHistories(counting)
    first, second = user("hi"), user("hi")
    for _ in range(5):
        kept.joined([first], "en")
        kept.joined([second], "en")
    assert len(rendered) == 2


def test_memory_is_bounded() -> None:
    kept = RenderedHistories(lambda message, _: b"x" * 1000, most_bytes=10_000)
    starts = [user(str(i)) for i in range(100)]
    for start in starts:
        kept.joined([start], "en")
    assert kept.kept_bytes <= 10_000


def test_a_conversation_that_nobody_has_any_more_is_not_kept() -> None:
    kept = RenderedHistories(lambda message, _: b"x" * 1000)
    start = user("here")
    for number in range(100):  # as a gateway's requests: each its own history
        kept.joined([system("be brief"), user(str(number)), user("more")], "en")
    kept.joined([start], "en")
    assert kept.kept_bytes == 1000


def test_no_messages() -> None:
    assert RenderedHistories(plain).joined([], "en") == b""


def test_glued_messages_are_one_text_whatever_is_cut_off_and_added() -> None:
    """Against writing everything anew, for histories that grow, shrink and fork at any place."""

    def render(message: Message, language: Language) -> bytes:
        del language
        return b"[" + message.text.encode() + b"]"

    glue = Glue(lambda before, message: before.role == message.role == "tool", head=b"[", tail=b"]")
    kept = RenderedHistories(render, glue=glue)
    chance = random.Random(7)
    first = user("u")
    history = [first]
    for number in range(400):
        del history[chance.randint(1, len(history)) :]
        for _ in range(chance.randint(1, 3)):
            role = chance.choice(["tool", "tool", "assistant"])
            history.append(Message(role=role, parts=(Text(str(number)),)))
        fresh = RenderedHistories(render, glue=glue)
        assert kept.joined(history, "en") == fresh.joined(history, "en")
    assert (
        RenderedHistories(render, glue=glue).joined(
            [Message(role="tool", parts=(Text(t),)) for t in "ab"] + [user("c")], "en"
        )
        == b"[a,b],[c]"
    )
