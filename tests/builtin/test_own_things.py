"""The data of `bench/own_things.py`: what is asked can be answered with the tools, whatever a model makes of them."""

from __future__ import annotations

from collections import Counter

import pytest
from bench.own_things import is_right, prepared, questions, right_values, toolset


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    pytest.importorskip("pypdfium2")
    folder = tmp_path_factory.mktemp("own")
    return *prepared(folder), folder / "index.db"


def test_there_are_as_many_in_chinese_as_in_english():
    assert Counter(one["language"] for one in questions()) == {"en": 10, "zh": 10}
    assert set(Counter(one["source"] for one in questions())) == {"documents", "database", "csv"}


@pytest.mark.parametrize("question", questions(), ids=lambda one: one["question"])
def test_the_tools_hold_the_answer(place, question):
    database, tables, documents, index = place
    tools = toolset(database, tables, documents, index)
    values = right_values(question, database)
    assert all(values)
    if question["source"] == "documents":
        found = tools["search_documents"](question["question"], most=2)["passages"]
        assert any(is_right(passage["text"], values) for passage in found)
    elif question["source"] == "csv":
        assert is_right(tools["read_file"]("stock.csv")["text"], values[:1])
    else:
        assert is_right(str(tools["query_database"](question["sql"])["rows"]), values)
