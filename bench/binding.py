"""What binding costs: right arguments, arguments that need a liberty, arguments that are refused, a tool seen first.

    python bench/binding.py [--check]

Prints microseconds a call, the best of five runs. With `--check` it fails when right arguments cost more than 10 µs,
which leaves room for a machine half as fast as the one on which 5 µs is the mark.
"""

from __future__ import annotations

import sys
import timeit
from datetime import UTC, datetime

from toolhand.arguments import BindSettings, bind
from toolhand.core.messages import ToolCall
from toolhand.core.tools import Tool
from toolhand.tools.collection import ToolCollection

FORECAST = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "on": {"type": "string", "format": "date"},
    },
    "required": ["city"],
}
ORDER = {
    "type": "object",
    "properties": {
        "customer": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "phone": {"type": "string"}},
            "required": ["name"],
        },
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["sku", "count"],
            },
        },
    },
    "required": ["customer", "lines"],
}
LINES = [{"sku": f"A-{number}", "count": number} for number in range(10)]
SETTINGS = BindSettings(clock=lambda: datetime(2026, 3, 4, 10, 20, tzinfo=UTC))
MARK_MICROSECONDS = 10.0

ROWS = (
    ("right, small", FORECAST, {"city": "Bern", "days": 3, "unit": "celsius"}),
    ("right, nested, ten lines", ORDER, {"customer": {"name": "钱多"}, "lines": LINES}),
    ("number in a string", FORECAST, {"city": "Bern", "days": "3"}),
    ("spoken number", FORECAST, {"city": "Bern", "days": "三"}),
    ("spoken date", FORECAST, {"city": "Bern", "on": "下周三"}),
    ("key and option by spelling", FORECAST, {"City": "Bern", "unit": "Celsius"}),
    ("nested in a string", ORDER, {"customer": '{"name": "钱多"}', "lines": LINES}),
    ("one missing", FORECAST, {"days": 3}),
    ("one wrong", FORECAST, {"city": "Bern", "days": "many"}),
)


def microseconds(parameters: dict, arguments: dict) -> float:
    tools = ToolCollection([Tool(name="errand", parameters=parameters)])
    call = ToolCall(id="1", name="errand", arguments=arguments)
    bind(call, tools, settings=SETTINGS)
    times = timeit.repeat(lambda: bind(call, tools, settings=SETTINGS), number=1000, repeat=5)
    return min(times) * 1000


def first_time_microseconds(parameters: dict, arguments: dict) -> float:
    def once() -> None:
        tools = ToolCollection([Tool(name="errand", parameters=dict(parameters))])
        bind(ToolCall(id="1", name="errand", arguments=arguments), tools)

    return min(timeit.repeat(once, number=200, repeat=5)) * 5000


def main() -> int:
    found = {label: microseconds(parameters, arguments) for label, parameters, arguments in ROWS}
    for label, cost in found.items():
        print(f"{label:30} {cost:8.1f} µs")
    print(f"{'a tool seen first':30} {first_time_microseconds(FORECAST, ROWS[0][2]):8.1f} µs")
    is_slow = found["right, small"] > MARK_MICROSECONDS
    return 1 if "--check" in sys.argv and is_slow else 0


if __name__ == "__main__":
    sys.exit(main())
