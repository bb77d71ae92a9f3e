"""A model that a test knows: it does most of the shop's cases well, and one badly."""

from __future__ import annotations

from toolhand.core.messages import ModelOutput, ModelRequest, RawCall, Usage

TALK = {"Hello!": "Hello, how can I help?", "Order some tea.": "How many packets?"}


def calls(name: str, arguments: str) -> ModelOutput:
    call = RawCall(id="call", name=name, arguments=arguments)
    return ModelOutput(
        calls=(call,), finish_reason="tool_calls", usage=Usage(requests=1, input_tokens=50, output_tokens=9)
    )


def says(text: str) -> ModelOutput:
    return ModelOutput(text=text, usage=Usage(requests=1, input_tokens=60, output_tokens=7))


def clerk(request: ModelRequest) -> ModelOutput:
    """Answers as a good model would, by what was asked last and what came back since."""
    asked = next(m.text for m in reversed(request.messages) if m.role == "user" and m.text)
    place = max(n for n, m in enumerate(request.messages) if m.role == "user")
    results = [str(r.data) for m in request.messages[place:] for r in m.results]
    if asked in TALK:
        return says(TALK[asked])
    if asked.startswith("Find"):
        steps = [calls("find_item", '{"words": ["cup"]}'), calls("get_price", '{"item": "cups"}')]
        return steps[len(results)] if len(results) < 2 else says("They cost 1,200 EUR.")
    if results:
        return says(f"It is {results[-1]}")
    if asked == "And in dollars?":
        return calls("get_price", '{"item": "tea", "currency": "usd"}')
    if asked == "买三个杯子":
        return calls("order", '{"item": "杯子", "count": "3"}')
    return calls("get_price", '{"item": "Tea"}')


def forgetful(request: ModelRequest) -> ModelOutput:
    """As `clerk`, but it invents what it should ask for."""
    asked = next(m.text for m in reversed(request.messages) if m.role == "user" and m.text)
    return calls("order", '{"item": "tea", "count": 7}') if asked == "Order some tea." else clerk(request)
