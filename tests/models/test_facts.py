"""What is known about models, and a user's own file over it."""

from __future__ import annotations

import math
from importlib.resources import files
from pathlib import Path

import pytest

from toolhand.core.errors import SettingsError
from toolhand.core.messages import Usage
from toolhand.models.facts import Price, _package, _read, facts
from toolhand.testing import ScriptedModel


@pytest.fixture
def own_file(tmp_path, monkeypatch):
    def write(text):
        file = tmp_path / f"facts{len(list(tmp_path.iterdir()))}.toml"
        file.write_text(text, encoding="utf-8")
        monkeypatch.setenv("TOOLHAND_FACTS", str(file))

    return write


def test_a_dated_name_is_its_family():
    assert facts("openai:gpt-4o-mini-2024-07-18") == facts("openai:gpt-4o-mini") != facts("openai:gpt-4o")
    assert facts("anthropic:claude-sonnet-4-5-20250929").price == facts("anthropic:claude-sonnet-4-5").price
    assert facts("openai:gpt-4o-2024-05-13").price.input == 5  # a revision with a row of its own


def test_a_longer_name_may_be_another_model_so_its_price_is_not_guessed():
    assert facts("openai:gpt-5-gigantic").price is None
    assert facts("openai:gpt-5-gigantic").context_tokens == facts("openai:gpt-5").context_tokens
    assert facts("openai:gpt-40").context_tokens is None  # not the family "gpt-4"


def test_a_price_belongs_to_its_provider_and_a_size_to_the_model():
    assert facts("azure:gpt-4o").price == facts("openai:gpt-4o").price is not None
    elsewhere = facts("openrouter:openai/gpt-4o")
    assert (elsewhere.price, elsewhere.context_tokens) == (None, 128_000)
    assert facts("zhipu:glm-5.1").price.currency == "CNY"


def test_what_runs_on_ones_own_machine_costs_nothing_and_its_server_decides_the_size():
    assert facts("local").cost(Usage(input_tokens=10**6)) == 0.0
    assert facts("llamacpp:qwen3").context_tokens is None
    assert facts("ollama:llama3.1").context_tokens == 4096
    assert facts("http://127.0.0.1:8000/v1#gpt-4o").price is None


def test_nothing_is_known_of_an_unknown_model():
    found = facts("nobody:nothing")
    assert (found.context_tokens, found.max_output, found.price, found.cost(Usage(input_tokens=1))) == (
        None,
    ) * 4


def test_a_models_own_size_counts_more_than_the_table():
    class Sized(ScriptedModel):
        context_tokens = 777

    sized = Sized(["x"])
    sized.name = "openai:gpt-4o"
    assert (facts(sized).context_tokens, facts(sized).max_output) == (777, 16_384)


def test_cost():
    price = Price(input=2, output=10, cached=0.5, cache_write=3, long_prompt=(1000, 2, 1.5))
    usage = Usage(input_tokens=1000, cached_tokens=400, cache_write_tokens=100, output_tokens=50)
    assert math.isclose(price.cost(usage), (500 * 2 + 400 * 0.5 + 100 * 3 + 50 * 10) / 1e6)
    longer = Usage(input_tokens=1001, output_tokens=50)
    assert math.isclose(price.cost(longer), (1001 * 2 * 2 + 50 * 10 * 1.5) / 1e6)
    assert Price(input=1).cost(Usage(input_tokens=10, cached_tokens=99)) == 10 / 1e6  # a server's odd count


def test_a_users_file_wins_row_by_row(own_file):
    own_file(
        '[openai]\n"GPT-4o" = { input = 1, output = 2, currency = "EUR" }\n"my-model" = { context_tokens = 9000 }\n'
        '[any]\n"qwen3" = { context_tokens = 60000, input = 7 }\n[ollama]\ncontext_tokens = 32768\n'
    )
    found = facts("openai:gpt-4o")
    assert found.price == Price(currency="EUR", input=1, output=2)  # none of the old price is left
    assert found.context_tokens == 128_000
    assert facts("openai:my-model-2").context_tokens == 9000
    assert facts("http://h/v1#qwen3").context_tokens == 60_000
    assert facts("ollama:phi4").context_tokens == 32_768
    assert facts("openai:gpt-4o-mini").price.input == 0.15


def test_the_file_in_the_configuration_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("TOOLHAND_FACTS", raising=False)
    monkeypatch.setenv("TOOLHAND_CONFIG", str(tmp_path))
    (tmp_path / "facts.toml").write_text('[any]\n"odd" = { max_output = 5 }\n', encoding="utf-8")
    assert facts("x:odd").max_output == 5


def test_arguments_win_over_everything():
    found = facts("openai:gpt-4o", context_tokens=5, input=9.0)
    assert (found.context_tokens, found.price.input, found.price.output) == (5, 9.0, 10)
    assert facts("nobody:nothing", input=1, output=2, currency="CNY").price == Price(
        currency="CNY", input=1, output=2
    )
    with pytest.raises(SettingsError, match="called speed; there is: context_tokens"):
        facts("openai:gpt-4o", speed=1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[openai", "not TOML"),
        ("x = 1", "'x' stands outside a provider's section"),
        ('[openai]\n"m" = 3', "'m' is not a row"),
        ('[openai]\n"m" = { inputs = 3 }', "has 'inputs'; there is: context_tokens"),
        ('[openai]\n"m" = { input = "3" }', "input cannot be '3'"),
        ('[openai]\n"m" = { input = -1 }', "input cannot be -1"),
        ('[openai]\n"m" = { context_tokens = 1.5 }', "context_tokens cannot be 1.5"),
    ],
)
def test_a_mistake_in_a_file_is_named(own_file, text, said):
    own_file(text)
    with pytest.raises(SettingsError, match=said):
        facts("openai:gpt-4o")


def test_a_file_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("TOOLHAND_FACTS", str(tmp_path / "none.toml"))
    with pytest.raises(SettingsError, match=r"none\.toml cannot be read"):
        facts("openai:gpt-4o")


def test_the_packages_own_rows_have_the_form_that_a_users_file_must_have(tmp_path):
    rows = _read(Path(str(files("toolhand.models") / "facts.toml")))
    assert rows == _package()
    assert all(name == name.lower() for section in rows.values() for name in section)
