"""The grammar's trees become statements, and every liberty on the way a `Fix`."""

from __future__ import annotations

from typing import Any, Final

from toolhand.core.messages import Fix
from toolhand.parsing.costs import fix
from toolhand.parsing.plans import texts
from toolhand.parsing.plans.blocks import Head
from toolhand.parsing.plans.lines import Line
from toolhand.parsing.plans.nodes import (
    Expression,
    If,
    ListOf,
    Literal,
    ObjectOf,
    Parallel,
    Reference,
    Return,
    Statement,
    Step,
    Template,
    Test,
)  # fmt: skip
from toolhand.parsing.plans.texts import PATH, path, reference

_WORDS: Final = {"true": True, "false": False, "null": None, "none": None, "nil": None}
_LOOP_WORDS: Final = frozenset(["FOR", "IN", "THEN", "LET", "EACH", "ARROW"])
_KINDS: Final = {
    "MORE": ">",
    "LESS": "<",
    "AT_LEAST": ">=",
    "AT_MOST": "<=",
    "OTHER": "!=",
    "IS": "==",
    "CONTAINS": "contains",
    "IN": "in",
    "NOT": "not",
}
_OPERATORS: Final = {
    "=": "==", "===": "==", "<>": "!=", "!==": "!=", "≥": ">=", "≤": "<=", "≠": "!=", "等于": "==", "不等于": "!=", "大于": ">",
    "小于": "<", "大于等于": ">=", "小于等于": "<=",
}  # fmt: skip


class Wrong(Exception):  # noqa: N818 - carries the key of a sentence
    """A line that the grammar takes and the language does not; `column` where it is known."""

    def __init__(self, key: str, column: int | None = None) -> None:
        super().__init__(key)
        self.column = column


class _Call:
    """A call as it stands in an expression, until it is a step of its own."""

    __slots__ = ("arguments", "name", "path")

    def __init__(self, name: str, arguments: dict[str | int, Any], path: tuple[str | int, ...]) -> None:
        self.name, self.arguments, self.path = name, arguments, path


class Builder:
    """Makes statements of the grammar's trees.

    Args:
        saved: the variables that exist so far; grows with every line.
    """

    def __init__(self, saved: set[str]) -> None:
        self.saved = saved
        self.line = Line(0)
        self._given = 0
        self._hidden = 0

    def head(self, tree: Any, line: Line) -> Head:
        """What a line says."""
        if line is not self.line:
            self.line, self._given = line, 0
        head: Head = getattr(self, f"_{tree.data}")(tree.children)
        if (
            head.kind in {"if", "elif", "else", "for"}
            and head.body is None
            and not line.text.rstrip().endswith((":", "then"))
        ):
            self._took("missing_colon")
        return head

    def _took(self, kind: str, before: Any = None, after: Any = None) -> None:
        if all(taken.kind != kind for taken in self.line.fixes):
            self.line.fixes.append(fix(kind, before=before, after=after))

    # ------------------------------------------------------------------ lines
    def _steps(self, children: list[Any]) -> Head:
        is_marked = getattr(children[0], "type", "") == "PARALLEL"
        groups = [
            self._step(child)
            for child in _paired([child for child in children if not hasattr(child, "type")])
        ]
        found = [statement for group in groups for statement in group]
        if not is_marked and len(groups) == 1:
            return Head("statements", body=tuple(found))
        steps = tuple(statement for statement in found if isinstance(statement, Step))
        if len(steps) < len(found):
            raise Wrong("one")
        return Head("statements", body=(Parallel(steps=steps, line=self.line.number),))

    def _steps_line(self, children: list[Any]) -> Head:
        steps = self.head(children[0], self.line).body or ()
        return Head("statements", body=(*steps, *(self._answer(children[1:]).body or ())))

    def _answer(self, children: list[Any]) -> Head:
        before: list[Statement] = []
        value = self._value(children[1], before) if len(children) > 1 else Literal(None)
        return Head("statements", body=(*before, Return(value=value, line=self.line.number)))

    def _if_line(self, children: list[Any]) -> Head:
        before: list[Statement] = []
        test = self._value(children[1], before)
        if children[0].type == "UNLESS":
            self._took("other_operator", before=str(children[0]), after="if not")
            test = Test("not", (test,))
        bodies = [self.head(child, self.line).body for child in children[2:] if hasattr(child, "data")]
        return Head("if", test=test, before=tuple(before), body=bodies[0] if bodies else None,
                    other=bodies[1] if len(bodies) > 1 else None)  # fmt: skip

    def _elif_line(self, children: list[Any]) -> Head:
        before: list[Statement] = []
        test = self._value(children[1], before)
        if before:
            raise Wrong("elif_call")
        bodies = [self.head(child, self.line).body for child in children[2:] if hasattr(child, "data")]
        return Head("elif", test=test, body=bodies[0] if bodies else None)

    def _else_line(self, children: list[Any]) -> Head:
        bodies = [self.head(child, self.line).body for child in children[1:] if hasattr(child, "data")]
        return Head("else", body=bodies[0] if bodies else None)

    def _for_line(self, children: list[Any]) -> Head:
        before: list[Statement] = []
        trees = [child for child in children if getattr(child, "type", "") not in _LOOP_WORDS]
        if any(getattr(child, "type", "") in {"EACH", "ARROW"} for child in children):
            trees[:2] = trees[1::-1]  # the list first, then the name
        name = self._target(trees[0])
        items = self._value(trees[1], before)
        self.saved.add(name)
        bodies = [self.head(child, self.line).body for child in trees[2:]]
        return Head("for", name=name, test=items, before=tuple(before), body=bodies[0] if bodies else None)

    def _parallel(self, _: list[Any]) -> Head:
        return Head("parallel")

    def _end(self, _: list[Any]) -> Head:
        return Head("end")

    def _nothing(self, _: list[Any]) -> Head:
        return Head("statements", body=())

    # ------------------------------------------------------------------ steps
    def _step(self, tree: Any) -> list[Statement]:
        children = list(tree.children)
        test = children.pop() if len(children) > 2 and getattr(children[-2], "type", "") == "IF" else None
        if test is not None:
            children.pop()
        found: list[Statement] = []
        if tree.data == "assigned":
            if getattr(children[0], "type", "") == "LET":
                children.pop(0)
            name, value = self._target(children[0]), self._any(children[2])
            if isinstance(value, _Call):
                self._took("assignment_for_arrow", before="=", after="->")
        else:
            value = self._any(children[0])
            name = self._name(children[-1]) if len(children) > 1 else ""
            arrow = children[1] if len(children) > 2 else ""
            if not isinstance(value, _Call) and not arrow:
                raise Wrong("words")
            if name and arrow != "->":
                self._took("other_arrow" if arrow else "missing_arrow", before=str(arrow) or None, after="->")
        if isinstance(value, _Call) and value.name == "print" and list(value.arguments) == [0]:
            self._took("printed")
            value = value.arguments[0]
            if not isinstance(value, _Call) and not name:
                return [Return(value=self._lifted(value, found), line=self.line.number)]
        found.append(self._made(value, name, found))
        if name:
            self.saved.add(name)
        if test is None:
            return found
        self._took("condition_behind")
        before: list[Statement] = []
        branch: tuple[Expression | None, tuple[Statement, ...]] = (self._value(test, before), tuple(found))
        return [*before, If(branches=(branch,), line=self.line.number)]

    def _made(self, value: Any, name: str, before: list[Statement]) -> Step:
        if isinstance(value, _Call) and not value.path:
            arguments = {key: self._lifted(argument, before) for key, argument in value.arguments.items()}
            return Step(
                tool=value.name, arguments=arguments, save_as=name, line=self.line.number, fixes=self._fixes()
            )
        lifted = self._lifted(value, before)
        return Step(value=lifted, save_as=name, line=self.line.number, fixes=self._fixes())

    def _fixes(self) -> tuple[Fix, ...]:
        """What was mended in the line since the last step of it."""
        given, self._given = self._given, len(self.line.fixes)
        return tuple(self.line.fixes[given:])

    def _lifted(self, value: Any, before: list[Statement]) -> Expression:
        """The expression with each call in it made a step before it."""
        match value:
            case _Call():
                self._took("nested_call")
                self._hidden += 1
                hidden = f"_{self.line.number}_{self._hidden}"
                plain = _Call(value.name, value.arguments, ())
                before.append(self._made(plain, hidden, before))
                return Reference(hidden, value.path)
            case ListOf(items=items):
                return ListOf(tuple(self._lifted(item, before) for item in items))
            case ObjectOf(fields=fields):
                return ObjectOf(tuple((key, self._lifted(item, before)) for key, item in fields))
            case Test(operator=operator, operands=operands):
                return Test(operator, tuple(self._lifted(part, before) for part in operands))
        found: Expression = value
        return found

    def _name(self, tree: Any) -> str:
        """The name behind an arrow; a result that the model made up instead is dropped."""
        if tree.data == "target":
            return self._target(tree)
        written = (
            texts.plain_text(str(tree.children[0]))
            if getattr(tree.children[0], "type", "") == "STRING"
            else ""
        )
        self._took("quoted_name" if written.isidentifier() else "invented_result", before=written or None)
        return written if written.isidentifier() else ""

    def _target(self, tree: Any) -> str:
        name = str(tree.children[0]).lstrip("$").strip("{}")
        if PATH.search(name) or "-" in name:
            raise Wrong("target")
        return name

    # ------------------------------------------------------------------ values
    def _value(self, tree: Any, before: list[Statement]) -> Expression:
        return self._lifted(self._any(tree), before)

    def _any(self, tree: Any) -> Any:
        if not hasattr(tree, "data"):
            return getattr(self, f"_{tree.type.lower()}")(str(tree))
        parts = tree.children
        match tree.data:
            case "call":
                call = self._call(parts)
                is_known = call.name in {"len", "str"} and list(call.arguments) == [0] and not call.path
                return (
                    self._plain_call(call) if is_known and isinstance(call.arguments[0], Reference) else call
                )
            case "list":
                return ListOf(tuple(self._any(part) for part in parts))
            case "object":
                return ObjectOf(
                    tuple((self._key(pair.children[0]), self._any(pair.children[1])) for pair in parts)
                )
            case "braced":
                self._took("braced_variable")
                return reference(str(parts[0]))
            case "joined":
                return self._joined([self._any(part) for part in parts])
            case "empty" | "full":
                value = self._any(parts[0])
                self._took("other_operator", before=str(parts[1]))
                return Test("not", (value,)) if tree.data == "empty" else value
            case "negated":
                return Test("not", (self._any(parts[1]),))
            case "either" | "both":
                return Test(
                    "or" if tree.data == "either" else "and", (self._any(parts[0]), self._any(parts[2]))
                )
        return self._compared(parts)

    def _call(self, parts: list[Any]) -> _Call:
        tokens = [part for part in parts if hasattr(part, "type")]
        named = next(token for token in tokens if token.type in {"WORD", "REFERENCE"})
        name = str(named)
        if named.type == "REFERENCE":
            name = name.strip("${}")
            if PATH.search(name):
                raise Wrong("method", named.column)
            self._took("marked_tool", before=str(named), after=name)
        tail = path(str(tokens[-1])) if tokens[-1].type == "TAIL" else ()
        arguments: dict[str | int, Any] = {}
        for position, part in enumerate(part for part in parts if not hasattr(part, "type")):
            if part.data == "named":
                key = self._key(part.children[0])
                if key in arguments:
                    raise Wrong("twice")
                arguments[key] = self._any(part.children[-1])
            else:
                arguments[position] = self._any(part.children[0])
                self._took("positional_argument")
        return _Call(name, arguments, tail)

    def _plain_call(self, call: _Call) -> Any:
        """Two functions of Python that say what the language has: the length of a result, and a result as text."""
        (value,) = call.arguments.values()
        self._took("python_function", before=call.name)
        return Reference(value.name, (*value.path, "length")) if call.name == "len" else value

    def _key(self, token: Any) -> str:
        return texts.plain_text(str(token)) if token.type == "STRING" else str(token).lstrip("$")

    def _compared(self, parts: list[Any]) -> Test:
        values = [self._any(part) for part in parts[::2]]
        tests = [self._comparison(tree, values[n], values[n + 1]) for n, tree in enumerate(parts[1::2])]
        return tests[0] if len(tests) == 1 else Test("and", tuple(tests))

    def _comparison(self, tree: Any, left: Any, right: Any) -> Test:
        said = [str(token).lower() for token in tree.children]
        kinds = [token.type for token in tree.children]
        words = [
            _KINDS.get(kind) or _OPERATORS.get(word, word) for kind, word in zip(kinds, said, strict=True)
        ]
        if words[-1] == "in":
            words = words[-2:] if "not" in words else words[-1:]  # `is in` is `in`
        if said not in (words, ["is", "not"]):
            self._took("other_operator", before=" ".join(said), after=" ".join(words))
        if words[-1] == "not":
            return Test("!=", (left, right))
        test = Test(words[-1], (left, right))
        return Test("not", (test,)) if words[0] == "not" else test

    def _joined(self, values: list[Any]) -> Template:
        """Texts put together with `+`, as in Python."""
        if not any(
            isinstance(value, Template) or (isinstance(value, Literal) and isinstance(value.value, str))
            for value in values
        ):
            raise Wrong("arithmetic")
        self._took("joined_texts")
        parts: list[str | Reference] = []
        for value in values:
            match value:
                case Template(parts=found):
                    parts += found
                case Reference():
                    parts.append(value)
                case Literal():
                    parts.append(str(value.value))
                case _:
                    raise Wrong("arithmetic")
        return Template(tuple(parts))

    def _reference(self, text: str) -> Reference:
        return reference(text)

    def _number(self, text: str) -> Literal:
        plain = text.replace("_", "")
        return Literal(float(plain) if set(plain) & set(".eE") else int(plain))

    def _word(self, text: str) -> Expression:
        if text.lower() in _WORDS:
            return Literal(_WORDS[text.lower()])
        if reference(text).name in self.saved:
            self._took("bare_variable", before=text, after=f"${text}")
            return reference(text)
        return Literal(text, is_bare=True)

    def _string(self, text: str) -> Expression:
        if text[0] in "fFrR":
            self._took("string_prefix", before=text[0])
        if texts.has_formula(text, self.saved):
            raise Wrong("arithmetic")
        found = texts.text(text, self.saved)
        if isinstance(found, Reference):
            self._took("quoted_variable", before=text, after=str(found))
        return found


def _paired(steps: list[Any]) -> list[Any]:
    """`a, b = f(), g()`, which the grammar takes for the steps `a`, `b = f()` and `g()`, as two assignments."""
    middle = next((place for place, step in enumerate(steps) if step.data == "assigned"), 0)
    names, others = steps[:middle], steps[middle + 1 :]
    alone = [step for step in (*names, *others) if step.data == "kept" and len(step.children) == 1]
    is_named = all(getattr(step.children[0], "type", "") in {"WORD", "REFERENCE"} for step in names)
    if not middle or len(names) != len(others) or len(alone) != len(names) + len(others) or not is_named:
        return steps
    tree, (last, sign, first) = type(steps[middle]), steps[middle].children[-3:]
    targets = [*(tree("target", step.children) for step in names), last]
    values = [first, *(step.children[0] for step in others)]
    return [tree("assigned", [target, sign, value]) for target, value in zip(targets, values, strict=True)]
