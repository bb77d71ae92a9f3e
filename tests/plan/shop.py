"""Tools with fixed results, which write down what was asked of them."""

from __future__ import annotations

from typing import Any, Literal

from toolhand import Tool, ToolFailure, Toolset, tool
from toolhand.policies.conditions import requires

WEATHER = {
    "北京": ("雨", 18),
    "上海": ("晴", 31),
    "广州": ("多云", 28),
    "Oslo": ("snow", -3),
    "Rome": ("sunny", 33),
}


def shop(ran: list[tuple[str, dict[str, Any]]]) -> Toolset:
    """A toolset whose calls are added to `ran`."""

    def note(name: str, /, **arguments: Any) -> None:
        ran.append((name, arguments))

    @tool
    def get_weather(city: str, day: str = "today") -> dict[str, Any]:
        """The weather of a city: condition, temperature, city."""
        note("get_weather", city=city, day=day)
        condition, temperature = WEATHER.get(city, ("fog", 10))
        return {
            "city": city,
            "condition": condition,
            "temperature": temperature,
            "hours": [{"at": 9, "rain": 0.2}],
        }

    @tool
    def list_orders(status: Literal["open", "shipped", "all"] = "all") -> list[dict[str, Any]]:
        """The orders, each with id, status, total."""
        note("list_orders", status=status)
        orders = [("A1", "open", 20.5), ("A2", "shipped", 99.0), ("A3", "open", 7.0)]
        return [{"id": i, "status": s, "total": t} for i, s, t in orders if status in (s, "all")]

    @tool(reveals="email")
    def find_user(name: str) -> dict[str, Any]:
        """A user by name."""
        note("find_user", name=name)
        return {"id": 7, "name": name, "email": f"{name.lower()}@example.com", "tags": ["vip", "new"]}

    @tool
    def judge_rain(report: str) -> str:
        """Whether a report speaks of rain: 有雨 or 无雨."""
        note("judge_rain", report=report)
        return "有雨" if "雨" in report else "无雨"

    @tool(effect="writes", undo="unsend")
    def send_message(to: str, text: str) -> dict[str, Any]:
        """Sends a message."""
        note("send_message", to=to, text=text)
        return {"message_id": 40 + sum(name == "send_message" for name, _ in ran)}

    @tool(effect="writes", aliases={"message": ["message_id"]})
    def unsend(message: int) -> str:
        """Takes a message back."""
        note("unsend", message=message)
        return "gone"

    @tool(effect="writes")
    def remind(message: str, after_minutes: int = 5) -> str:
        """Sets a reminder."""
        note("remind", message=message, after_minutes=after_minutes)
        return "ok"

    @tool
    def log_in(user: str = "me") -> str:
        """Opens the account."""
        note("log_in", user=user)
        return "token"

    @tool(effect="writes", before=requires("log_in"))
    def pay(order: str) -> dict[str, Any]:
        """Pays an order. log_in first."""
        note("pay", order=order)
        return {"paid": order}

    @tool(effect="writes")
    def break_down(reason: str = "") -> str:
        """Always fails."""
        note("break_down", reason=reason)
        raise ToolFailure("the machine is broken")

    @tool(effect="writes", permission="orders:delete")
    def delete_order(order: str) -> str:
        """Deletes an order."""
        note("delete_order", order=order)
        return "gone"

    @tool(effect="destroys", approval=True)
    def wipe(disk: str) -> str:
        """Wipes a disk."""
        note("wipe", disk=disk)
        return "wiped"

    @tool
    def weigh(grams: float, label: str = "") -> float:
        """Gives the weight back."""
        note("weigh", grams=grams, label=label)
        return grams

    found: list[Tool] = [get_weather, list_orders, find_user, judge_rain, send_message, unsend, remind, log_in, pay, break_down,
                         delete_order, wipe, weigh]  # fmt: skip
    return Toolset(found)
