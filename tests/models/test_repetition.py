"""A model that repeats itself is noticed, a text that only looks regular is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.models.repetition import RepetitionGuard


def notices(text: str, size: int = 5) -> bool:
    guard = RepetitionGuard()
    for start in range(0, len(text), size):
        guard.feed(text[start : start + size])
    return guard.is_repeating


@pytest.mark.parametrize(
    "piece",
    ["一", "轻轻敲击，\n", '{"name": "get_stock", "arguments": {"item": "扳手"}}\n', "x" * 90 + "y" * 90],
)
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_piece_repeated_over_and_over(piece: str, size: int) -> None:
    assert notices("好的。" + piece * 400, size)


@pytest.mark.parametrize(
    "text",
    [
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        "-" * 80 + "\n标题\n" + "-" * 80,
        "".join(f"{i}: 0\n" for i in range(200)),
        "\n".join(f'{{"name": "get_stock", "arguments": {{"item": "{i}"}}}}' for i in range(50)),
        '{"name": "get_stock", "arguments": {"item": "扳手"}}\n' * 3,
        " " * 5000,
    ],
)
def test_regular_texts(text: str) -> None:
    assert not notices(text)


@given(st.text(max_size=300))
def test_short_texts_are_never_stopped(text: str) -> None:
    assert not notices(text)
