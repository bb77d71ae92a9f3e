"""From a function to its schema and back to its arguments."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import functools
import warnings
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict, Union

import pytest
from pydantic import BaseModel, Field

from toolhand import Injected, RunContext, Tool, ToolError, Toolset, tool
from toolhand.core.errors import ToolDefinitionError
from toolhand.tools.signature import ToolWarning


def run(made: Tool, **arguments: Any) -> Any:
    result = Toolset([made]).call_sync(made.name, arguments)
    assert result.error is None, result.error
    return result.data


class Item(BaseModel):
    sku: str
    count: int = 1


@dataclasses.dataclass
class Address:
    city: str
    postcode: str = "000000"


class Level(enum.Enum):
    LOW = "低"
    HIGH = "高"


class Options(TypedDict):
    id: str
    memo: NotRequired[str]


class Tree(BaseModel):
    value: str
    children: list[Tree] = []


def test_only_parameters_without_a_default_are_required():
    @tool
    def book(room: str, hours: int = 2, *, note: str = "无") -> str:
        """订会议室。"""
        return f"{room}/{hours}/{note}"

    assert book.parameters["required"] == ["room"]
    assert book.properties["hours"] == {"type": "integer", "default": 2}
    assert book.properties["note"] == {"type": "string", "default": "无"}
    assert run(book, room="A1") == "A1/2/无"


GOOGLE = """Find books.

    Args:
        title: Words of the title.

    Keyword Args:
        limit: Most rows
            to give back.

    Returns:
        The books.
    """
NUMPY = """Find books.

    Parameters
    ----------
    title : str
        Words of the title.

    Other Parameters
    ----------------
    limit : int
        Most rows to give back.

    Returns
    -------
    list
        The books.
    """
SPHINX = """Find books.

    :param title: Words of the title.
    :type title: str
    :param int limit: Most rows to give back.
    :returns: The books.
    """
CHINESE = """Find books.

    入参：
        title： Words of the title.
        limit (int): Most rows to give back.

    返回：The books.
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX, CHINESE])
def test_every_docstring_style_describes_the_parameters(docstring):
    def find(title: str, *, limit: int = 5) -> list[str]: ...

    find.__doc__ = docstring
    made = tool(find)
    assert made.properties["title"] == {"type": "string", "description": "Words of the title."}
    assert made.properties["limit"]["description"] == "Most rows to give back."
    assert made.description == "Find books.\nReturns: The books."


def test_types_come_from_the_docstring_where_there_are_no_annotations():
    def find(title, limit=5, day=None): ...

    find.__doc__ = SPHINX + "    :type day: date\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToolWarning)
        made = tool(find)
    assert made.properties["title"]["type"] == "string"
    assert made.properties["limit"]["type"] == "integer"


def test_types_come_from_the_defaults_where_there_is_nothing_else():
    def issues(repo, state="open", per_page=10, archived=False, score=0.5, labels=("a",)):
        return f"{repo}:{state}:{per_page}:{archived}:{labels}"

    with pytest.warns(ToolWarning, match="'repo'.*no type"):
        made = tool(issues)
    types = {name: schema.get("type") for name, schema in made.properties.items()}
    assert types == {
        "repo": None,
        "state": "string",
        "per_page": "integer",
        "archived": "boolean",
        "score": "number",
        "labels": "array",
    }
    assert run(made, repo="r", per_page="5", archived="false") == "r:open:5:False:('a',)"


def test_a_docstring_entry_for_no_parameter_is_warned_of():
    def area(width: float) -> float:
        """Area.

        Args:
            width: Width.
            unit: gone since last year.
        """
        return width

    with pytest.warns(ToolWarning, match="'unit'"):
        made = tool(area)
    assert list(made.properties) == ["width"]


def test_rich_types_arrive_as_instances():
    @tool
    def order(
        first: Item, rest: list[Item], to: Address, level: Level, day: dt.date, options: Options
    ) -> str:
        """下单。"""
        return f"{first!r} {type(rest[0]).__name__} {to.postcode} {level.name} {day.year} {sorted(options)}"

    got = run(
        order,
        first={"sku": "a"},
        rest=[{"sku": "b", "count": "2"}],
        to={"city": "宁波"},
        level="高",
        day="2026-03-05",
        options={"id": "7"},
    )
    assert got == "Item(sku='a', count=1) Item 000000 HIGH 2026 ['id']"


def test_choices_and_unions():
    @tool
    def pick(size: Literal["大", "小"], level: Level, reference: Union[int, str] = 0) -> str:  # noqa: UP007
        """选。"""
        return f"{size}{level.value}{reference!r}"

    assert pick.properties["size"]["enum"] == ["大", "小"]
    assert pick.properties["level"]["enum"] == ["低", "高"]
    assert run(pick, size="大", level="低", reference="007") == "大低'007'"
    assert run(pick, size="大", level="低", reference=7) == "大低7"


def test_optional_parameters_are_shown_without_null_noise():
    @tool
    def find(text: str, limit: Optional[int] = None, tag: str | None = None, loose: str = None) -> str:  # noqa: RUF013, UP045
        """Find."""
        return f"{limit}|{tag}|{loose}"

    assert find.properties["limit"] == {"type": "integer"}
    assert find.properties["tag"] == {"type": "string"}
    assert find.properties["loose"] == {"type": "string"}
    assert run(find, text="x", limit=None) == "None|None|None"


def test_field_constraints_are_in_the_schema_and_enforced():
    @tool
    def rate(
        stars: Annotated[int, Field(ge=1, le=5, description="how good", examples=[4])],
        code: str = Field("A1", pattern="^[A-Z][0-9]$"),
    ) -> str:
        """Rate."""
        return f"{stars}{code}"

    assert rate.properties["stars"] == {
        "type": "integer", "minimum": 1, "maximum": 5, "description": "how good", "examples": [4],
    }  # fmt: skip
    assert rate.properties["code"] == {"type": "string", "pattern": "^[A-Z][0-9]$", "default": "A1"}
    assert run(rate, stars=5) == "5A1"
    error = Toolset([rate]).call_sync("rate", {"stars": 9}).error
    assert error is not None
    assert error.code == "invalid_argument"
    assert "stars" in error.message


def test_every_legal_parameter_name_works():
    @tool
    def odd(
        model_dump: bool, model_config: str, schema: str, json: str, copy: int, _private: str, self_: str
    ) -> str:
        """古怪的参数名。"""
        return f"{model_dump}{model_config}{schema}{json}{copy}{_private}{self_}"

    got = run(odd, model_dump=True, model_config="c", schema="s", json="j", copy=1, _private="p", self_="f")
    assert got == "Truecsj1pf"


class Shop:
    name = "小店"

    @tool
    def greet(self, who: str) -> str:
        """招呼客人。"""
        return f"{self.name}:{who}"

    @tool
    @classmethod
    def kind(cls, x: int) -> str:
        """类别。"""
        return f"{cls.__name__}{x}"

    @classmethod
    @tool
    def kind_inside(cls, x: int) -> str:
        """类别。"""
        return f"{cls.__name__}{x}"

    @tool
    @staticmethod
    def double(x: int) -> int:
        """Double."""
        return 2 * x

    def plain(self, x: int) -> str:
        """Plain."""
        return f"{self.name}{x}"


@pytest.mark.parametrize(
    ("made", "arguments", "expected"),
    [
        (Shop().greet, {"who": "李雷"}, "小店:李雷"),
        (Shop.kind, {"x": 3}, "Shop3"),
        (Shop().kind, {"x": 3}, "Shop3"),
        (tool(Shop.kind_inside), {"x": 4}, "Shop4"),
        (Shop.double, {"x": 4}, 8),
        (Shop().double, {"x": 4}, 8),
        (tool(Shop().plain), {"x": 5}, "小店5"),
    ],
)
def test_methods_have_the_right_receiver_and_no_self(made, arguments, expected):
    assert list(made.properties) == list(arguments)
    assert run(made, **arguments) == expected


def test_a_decorated_function_can_still_be_called():
    @tool
    def double(x: int) -> int:
        """Double."""
        return 2 * x

    assert double(4) == 8
    assert double.__name__ == "double"


def test_a_type_that_is_local_to_a_function_is_found():
    class Point(BaseModel):
        x: int
        y: int = 0

    @tool
    def move(to: Point) -> str:
        """移动。"""
        return f"{type(to).__name__}({to.x},{to.y})"

    assert run(move, to={"x": 3}) == "Point(3,0)"


def test_a_type_that_is_local_to_a_function_of_the_package_is_found():
    code = """
from __future__ import annotations
from toolhand.tools.decorator import tool

def offer():
    Steps = int

    @tool
    def walk(steps: Steps) -> str:
        '''Walks.'''
        return "there"

    return walk
"""
    namespace = {"__name__": "toolhand.builtin.walking"}
    exec(compile(code, "walking", "exec"), namespace)
    assert namespace["offer"]().properties["steps"]["type"] == "integer"


def test_partials_hide_what_is_bound():
    def send(to: str, sender: str, text: str = "hi") -> str:
        """Send."""
        return f"{sender}->{to}:{text}"

    made = tool(functools.partial(send, sender="me"))
    assert made.name == "send"
    assert list(made.properties) == ["to", "text"]
    assert run(made, to="you") == "me->you:hi"


def test_callable_objects_are_tools():
    class Adder:
        """Adds."""

        def __call__(self, a: int, b: int = 1) -> int:
            """Adds two numbers."""
            return a + b

    made = tool(Adder())
    assert made.name == "Adder"
    assert made.description == "Adds two numbers."
    assert run(made, a=2) == 3


async def test_async_functions_are_tools():
    @tool
    async def wait(x: int) -> int:
        """Wait."""
        return x + 1

    assert (await Toolset([wait]).call("wait", {"x": 1})).data == 2


def test_variadic_and_positional_parameters():
    @tool
    def collect(first: int, /, *rest: int, **options: str) -> str:
        """Collect."""
        return f"{first}{rest}{options}"

    assert collect.properties["rest"]["type"] == "array"
    assert collect.parameters["additionalProperties"] == {"type": "string"}
    assert run(collect, first=1, rest=[2, 3], color="red") == "1(2, 3){'color': 'red'}"


def test_injected_parameters_are_hidden_and_cannot_be_sent():
    @tool
    def recall(
        text: str, user_id: Injected("user_id"), context: RunContext, key: Annotated[str, Injected("key")]
    ) -> str:
        """Recall."""
        return f"{user_id}|{context.user}|{key}"

    assert list(recall.properties) == ["text"]
    result = Toolset([recall]).call_sync("recall", {"text": "x", "user_id": "乙"}, user="甲", key="k")
    assert result.data == "甲|甲|k"


def test_a_default_that_is_injected_is_hidden_too():
    @tool
    def recall(text: str, user_id: str = Injected("user_id"), context: RunContext | None = None) -> str:
        """Recall."""
        return f"{user_id}|{context and context.user}"

    assert list(recall.properties) == ["text"]
    result = Toolset([recall]).call_sync("recall", {"text": "x", "user_id": "乙"}, user="甲")
    assert result.data == "甲|甲"


def test_a_tool_without_parameters_has_an_explicit_empty_object():
    @tool
    def now() -> str:
        """Now."""
        return "now"

    assert now.parameters == {"type": "object", "properties": {}, "required": []}


def test_a_recursive_type_keeps_its_definition():
    @tool
    def grow(tree: Tree) -> int:
        """Grow."""
        return len(tree.children)

    assert grow.properties["tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert "Tree" in grow.parameters["$defs"]
    assert run(grow, tree={"value": "a", "children": [{"value": "b", "children": []}]}) == 1


def test_a_mutable_default_is_not_shared():
    @tool
    def add(a: int, options: dict[str, int] = {"c": 0}) -> int:  # noqa: B006
        """算。格式 {a}+{b}。"""
        return a + options.get("c", 0)

    assert add.properties["options"]["default"] == {"c": 0}
    assert [run(add, a=2), run(add, a=2, options={"c": 5}), run(add, a=2)] == [2, 7, 2]


class Socket:
    """Nothing that JSON could describe."""


def test_what_cannot_be_described_is_refused_with_its_name():
    def send(to: str, socket: Socket) -> str: ...

    with pytest.raises(ToolDefinitionError, match="'socket' of tool 'send'.*Socket"):
        tool(send)


def test_an_unknown_type_name_is_refused_with_the_cure():
    def send(to: "Elsewhere") -> str: ...  # noqa: F821, UP037

    with pytest.raises(ToolDefinitionError, match="'Elsewhere'.*before the decorator"):
        tool(send)


@pytest.mark.parametrize("nothing", [3, "text", None])
def test_what_is_not_a_function_is_refused(nothing):
    with pytest.raises(ToolDefinitionError):
        Toolset([nothing]) if nothing is not None else tool(object())


def test_a_lambda_needs_a_name():
    with pytest.raises(ToolDefinitionError, match="lambda"):
        tool(lambda x: x)


def test_aliases_of_parameters():
    @tool(aliases={"city": ["城市", "地点"]})
    def weather(city: str) -> str:
        """Weather."""
        return city

    assert run(weather, 地点="三亚") == "三亚"
    with pytest.raises(ToolDefinitionError, match="'town'"):
        tool(aliases={"town": ["x"]})(weather.function)


def test_an_error_says_what_is_missing():
    @tool
    def pay(amount: int, to: str) -> str:
        """Pay."""
        return ""

    error = Toolset([pay]).call_sync("pay", {}).error
    assert isinstance(error, ToolError)
    assert error.code == "missing_argument"
    assert "amount" in error.message
    assert "to" in error.message


def test_an_enum_member_may_be_named_and_its_names_are_not_sent_out():
    @tool
    def set_level(level: Level) -> str:
        """Set."""
        return level.value

    assert run(set_level, level="HIGH") == "高"
    sent = Toolset([set_level]).schemas("openai")[0]["function"]["parameters"]
    assert sent["properties"]["level"] == {"enum": ["低", "高"], "type": "string"}


async def test_spoken_dates_are_read_against_the_clock():
    @tool
    def remind(day: dt.date) -> str:
        """Remind."""
        return day.isoformat()

    assert (await Toolset([remind]).call("remind", {"day": "明天"})).data == (
        dt.date.today() + dt.timedelta(days=1)
    ).isoformat()
