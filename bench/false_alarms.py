"""How often a right call is taken for one with an invented value, or for a step too many: over the right answers of BFCL v4.

    pip download --no-deps bfcl-eval && export TOOLHAND_BFCL=$(ls bfcl_eval-*.whl)
    python bench/false_alarms.py [--tell]

No model is asked: each task's own right answer goes through the checks that a small model's calls go through.
"""

from __future__ import annotations

import sys
from typing import Any

from toolhand import Toolset
from toolhand.arguments.grounding import checked_values
from toolhand.arguments.grounds import Grounds
from toolhand.core.errors import ToolDefinitionError
from toolhand.core.messages import Message, Text, ToolCall
from toolhand.evals.bfcl import CATEGORIES, BfclData, written_case


def answer_of(truth: list[dict[str, Any]], names: dict[str, str]) -> list[ToolCall]:
    """The right calls, each value in its first accepted spelling; "" stands for a value that may be left out."""
    calls = []
    for number, wanted in enumerate(truth):
        ((name, accepted),) = wanted.items()
        given = {key: [one for one in values if one != ""] for key, values in accepted.items()}
        arguments = {key: values[0] for key, values in given.items() if values}
        calls.append(ToolCall(id=str(number), name=names.get(name, name), arguments=arguments))
    return calls


def main() -> None:
    data, tells = BfclData(None), "--tell" in sys.argv
    total = alarms = 0
    for category in CATEGORIES:
        if "relevance" in category:
            continue
        answers = {
            row["id"]: row["ground_truth"] for row in data.rows(f"possible_answer/BFCL_v4_{category}.json")
        }
        tasks = struck = 0
        for row in data.rows(f"BFCL_v4_{category}.json"):
            case = written_case(row, category, None)
            functions = [{"type": "function", "function": tool} for tool in case["tools"]]
            try:
                tools = Toolset.from_openai(functions)
            except ToolDefinitionError:
                continue  # two tools of one name
            names = {f["name"]: tool["name"] for f, tool in zip(row["function"], case["tools"], strict=True)}
            said = Grounds([Message(role=m["role"], parts=(Text(m["content"]),)) for m in row["question"][0]])
            calls = answer_of(answers[row["id"]], names)
            _, broken = checked_values(calls, said, tools, "en", checks_steps=True)
            tasks, struck = tasks + 1, struck + bool(broken)
            if broken and tells:
                print(f"  {row['id']}: {broken[0].name} {dict(broken[0].arguments)}: {broken[0].problem}")
        print(f"{category:24} {struck:3} of {tasks}")
        total, alarms = total + tasks, alarms + struck
    print(f"{'all':24} {alarms:3} of {total} ({100 * alarms / total:.2f} %)")


if __name__ == "__main__":
    main()
