"""`current_time`: what time it is, here or in a time zone. Zones come from the IANA database that the system or tzdata holds."""

from __future__ import annotations

import datetime as dt
import difflib
import os
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, TypedDict
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field

from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

_WEEKDAYS: Final = (
    ("Monday", "星期一"),
    ("Tuesday", "星期二"),
    ("Wednesday", "星期三"),
    ("Thursday", "星期四"),
    ("Friday", "星期五"),
    ("Saturday", "星期六"),
    ("Sunday", "星期日"),
)

# Cities that people name and the IANA database does not, and Chinese names. IANA's own cities need no entry.
_ZONE_OF_CITY: Final = {
    "Asia/Shanghai": "beijing|china|shenzhen|guangzhou|hangzhou|chengdu|wuhan|nanjing|xian|北京|上海|中国|深圳|广州|杭州"
    "|成都|武汉|南京|西安|天津|重庆|苏州",
    "Asia/Hong_Kong": "香港",
    "Asia/Macau": "澳门",
    "Asia/Taipei": "台北|台湾",
    "Asia/Tokyo": "japan|osaka|kyoto|东京|日本|大阪|京都",
    "Asia/Seoul": "korea|首尔|韩国",
    "Asia/Singapore": "新加坡",
    "Asia/Bangkok": "曼谷|泰国",
    "Asia/Kolkata": "india|mumbai|delhi|new delhi|bangalore|孟买|新德里|印度",
    "Asia/Dubai": "迪拜",
    "Europe/Moscow": "莫斯科",
    "Europe/London": "uk|england|伦敦|英国",
    "Europe/Paris": "france|巴黎|法国",
    "Europe/Berlin": "germany|munich|frankfurt|hamburg|柏林|德国|慕尼黑|法兰克福",
    "Europe/Madrid": "spain|barcelona|马德里|西班牙",
    "Europe/Rome": "italy|milan|罗马|意大利|米兰",
    "Europe/Amsterdam": "阿姆斯特丹|荷兰",
    "Europe/Zurich": "switzerland|geneva|苏黎世|日内瓦|瑞士",
    "America/New_York": "nyc|boston|washington|washington dc|miami|纽约|波士顿|华盛顿|迈阿密",
    "America/Chicago": "houston|dallas|芝加哥|休斯敦",
    "America/Los_Angeles": "la|san francisco|seattle|silicon valley|洛杉矶|旧金山|西雅图|硅谷",
    "America/Toronto": "多伦多",
    "America/Vancouver": "温哥华",
    "America/Sao_Paulo": "圣保罗",
    "Australia/Sydney": "悉尼",
    "Australia/Melbourne": "墨尔本",
    "Pacific/Auckland": "奥克兰|新西兰",
    "Africa/Cairo": "开罗|埃及",
}
_OFFSET: Final = re.compile(r"(?:utc|gmt)?\s*([+-])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)
_MAX_NAME_LENGTH: Final = 80
_SUFFIX: Final = re.compile(r"(?:时间|时区|市|\s+time(?:\s*zone)?)$", re.IGNORECASE)


class Now(TypedDict):
    """A moment in a time zone."""

    timezone: str
    time: str
    date: str
    weekday: str
    weekday_zh: str
    utc_offset: str


def offer(settings: BuiltinSettings) -> list[Tool]:
    """`current_time`, always."""
    return [current_time_tool(settings.now)]


def current_time_tool(now: Callable[[], dt.datetime], *, local_zone: dt.tzinfo | None = None) -> Tool:
    """The tool `current_time`.

    Args:
        now: gives the present as an aware datetime.
        local_zone: what an empty time zone means; this machine's own by default.
    """

    @tool(effect="reads", idempotent=False, category="time", timeout=10)
    def current_time(
        timezone: Annotated[
            str, Field(max_length=_MAX_NAME_LENGTH, examples=["Asia/Shanghai", "UTC", "+08:00"])
        ] = "",
    ) -> Now:
        """The date, time and weekday of now.

        查询现在的日期、时间、星期几。

        Args:
            timezone: IANA name such as "Asia/Shanghai" or "America/New_York"; leave it out for local time. 时区，不填为本地时间。

        Returns:
            The time (ISO 8601), the date, the weekday in English and Chinese, the UTC offset.
        """
        return _described(now(), _zone(timezone) if timezone.strip() else local_zone or _local_zone())

    return current_time


def _described(moment: dt.datetime, zone: dt.tzinfo | None) -> Now:
    here = moment.astimezone(zone)
    english, chinese = _WEEKDAYS[here.weekday()]
    offset = here.strftime("%z")
    offset = f"{offset[:3]}:{offset[3:5]}"
    return Now(
        timezone=getattr(here.tzinfo, "key", None) or f"UTC{offset}",
        time=here.isoformat(timespec="seconds"),
        date=here.date().isoformat(),
        weekday=english,
        weekday_zh=chinese,
        utc_offset=offset,
    )


def _zone(name: str) -> dt.tzinfo:
    offset = _OFFSET.fullmatch(name.strip())
    if offset:
        return _fixed_zone(offset)
    folded = _folded(_SUFFIX.sub("", name.strip()))
    if folded in ("utc", "gmt", "z"):
        return dt.UTC
    zones = _zones_by_name()
    if not zones:
        raise ToolFailure(
            "This machine has no time zone database.",
            code=ErrorCode.EXECUTION,
            hint="Send an offset such as '+08:00' as the timezone.",
            chinese=("这台机器没有时区数据库。", "请用 '+08:00' 这样的偏移量作为时区。"),
        )
    found = zones.get(folded) or zones.get(folded.rpartition("/")[2]) or ()
    if len(found) == 1:
        return ZoneInfo(found[0])
    close = found or _close_zones(folded, zones)
    raise ToolFailure(
        f"'{name.strip()}' {'is more than one' if found else 'is not a known'} time zone.",
        code=ErrorCode.INVALID_ARGUMENT,
        retryable=True,
        hint=f"Did you mean {', '.join(close)}?"
        if close
        else "Send an IANA name such as 'Asia/Shanghai' or 'Europe/London'.",
        details={"close": list(close)},
        chinese=(
            f"“{name.strip()}”{'对应多个时区' if found else '不是已知的时区'}。",
            f"是不是 {'、'.join(close)}？"
            if close
            else "请给出 IANA 名称，例如 'Asia/Shanghai' 或 'Europe/London'。",
        ),
    )


def _fixed_zone(offset: re.Match[str]) -> dt.tzinfo:
    hours, minutes = int(offset[2]), int(offset[3] or 0)
    if hours > 14 or minutes > 59:
        raise ToolFailure(
            f"'{offset[0]}' is not a UTC offset.",
            code=ErrorCode.INVALID_ARGUMENT,
            retryable=True,
            hint="Offsets go from -12:00 to +14:00.",
            chinese=(f"“{offset[0]}”不是 UTC 偏移量。", "偏移量在 -12:00 到 +14:00 之间。"),
        )
    delta = dt.timedelta(hours=hours, minutes=minutes)
    return dt.timezone(-delta if offset[1] == "-" else delta)


def _folded(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name).strip().casefold()


@lru_cache(maxsize=1)
def _zones_by_name() -> dict[str, tuple[str, ...]]:
    """IANA names by their folded full name, by their last part ("new york") and by the cities above."""
    available = available_timezones() - {"localtime", "posixrules", "Factory"}
    found: dict[str, tuple[str, ...]] = {}
    # Whole names and their regions' cities; "US/Pacific", "Etc/…" and the like are old links and would only make doubt.
    regions = (
        "Africa/",
        "America/",
        "Antarctica/",
        "Asia/",
        "Atlantic/",
        "Australia/",
        "Europe/",
        "Indian/",
        "Pacific/",
    )
    for name in sorted(available):
        if name.startswith(regions):
            last = _folded(name.rpartition("/")[2])
            found[last] = (*found.get(last, ()), name)
    found = {last: _without_links(names) for last, names in found.items()}
    for zone, cities in _ZONE_OF_CITY.items():
        if zone in available:
            found.update(dict.fromkeys(cities.split("|"), (zone,)))
    for name in available:
        found[_folded(name)] = (name,)
    return found


def _without_links(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names without old spellings: "America/Louisville" beside "America/Kentucky/Louisville" is one place."""
    moment = dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 7, 1, tzinfo=dt.UTC)
    if (
        len(names) == 1
        or len({tuple(m.astimezone(ZoneInfo(name)).utcoffset() for m in moment) for name in names}) > 1
    ):
        return names
    return names[:1]


def _close_zones(folded: str, zones: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    city = folded.rpartition("/")[2]
    close = difflib.get_close_matches(folded, zones, n=5, cutoff=0.72) + difflib.get_close_matches(
        city, zones, n=5, cutoff=0.72
    )
    return tuple(dict.fromkeys(zone for name in close for zone in zones[name]))[:5]


def _local_zone() -> dt.tzinfo | None:
    """This machine's zone by name where the system tells it, else None: the plain offset."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name:
        name = Path("/etc/localtime").resolve().as_posix().partition("zoneinfo/")[2]
    return ZoneInfo(name) if name in available_timezones() else None
