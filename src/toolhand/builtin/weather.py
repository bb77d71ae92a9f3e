"""`get_weather`: the weather of a place now and on the next days, by Open-Meteo, which needs no key.

Source: https://open-meteo.com/en/docs; its codes of weather are those of WMO's table 4677. Free for uses that earn nothing; with
`OPEN_METEO_API_KEY` the customers' servers are asked.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from pydantic import Field

from toolhand.builtin._places import Place, find
from toolhand.builtin._reach import BY_HAND
from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.context import RunContext
from toolhand.core.language import Language, language_of
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

GEOCODING: Final = "https://geocoding-api.open-meteo.com"
FORECAST: Final = "https://api.open-meteo.com"
_CUSTOMERS: Final = "https://customer-"

_WEATHER: Final[Mapping[int, tuple[str, str]]] = {
    0: ("clear", "晴"), 1: ("mainly clear", "大部晴朗"), 2: ("partly cloudy", "多云"), 3: ("overcast", "阴"),
    45: ("fog", "雾"), 48: ("freezing fog", "冻雾"), 51: ("light drizzle", "小毛毛雨"), 53: ("drizzle", "毛毛雨"),
    55: ("heavy drizzle", "浓密毛毛雨"), 56: ("light freezing drizzle", "轻冻毛毛雨"), 57: ("freezing drizzle", "冻毛毛雨"),
    61: ("light rain", "小雨"), 63: ("rain", "中雨"), 65: ("heavy rain", "大雨"), 66: ("light freezing rain", "轻冻雨"),
    67: ("freezing rain", "冻雨"), 71: ("light snow", "小雪"), 73: ("snow", "中雪"), 75: ("heavy snow", "大雪"),
    77: ("snow grains", "米雪"), 80: ("light showers", "小阵雨"), 81: ("showers", "阵雨"), 82: ("violent showers", "强阵雨"),
    85: ("light snow showers", "小阵雪"), 86: ("heavy snow showers", "大阵雪"), 95: ("thunderstorm", "雷阵雨"),
    96: ("thunderstorm with hail", "雷阵雨伴有冰雹"), 99: ("thunderstorm with heavy hail", "雷阵雨伴有大冰雹"),
}  # fmt: skip
_DAYS: Final[Mapping[Language, tuple[str, ...]]] = {
    "en": ("today", "tomorrow", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "zh": ("今天", "明天", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
}
_NOW: Final = {
    "temperature": "temperature_2m", "feels_like": "apparent_temperature", "humidity_percent": "relative_humidity_2m",
    "precipitation_mm": "precipitation", "wind_kmh": "wind_speed_10m",
}  # fmt: skip
_DAY: Final = {
    "low": "temperature_2m_min", "high": "temperature_2m_max", "precipitation_mm": "precipitation_sum",
    "rain_chance_percent": "precipitation_probability_max", "wind_kmh": "wind_speed_10m_max",
}  # fmt: skip
"""Our name of a value → the service's."""


class Day(TypedDict):
    """The weather of a day."""

    date: str
    day: str
    weather: NotRequired[str]
    low: NotRequired[float]
    high: NotRequired[float]
    precipitation_mm: NotRequired[float]
    rain_chance_percent: NotRequired[float]
    wind_kmh: NotRequired[float]


class Now(TypedDict):
    """The weather at a moment, in the place's own time."""

    time: str
    weather: NotRequired[str]
    temperature: NotRequired[float]
    feels_like: NotRequired[float]
    humidity_percent: NotRequired[float]
    precipitation_mm: NotRequired[float]
    wind_kmh: NotRequired[float]


class Weather(TypedDict):
    """What `get_weather` gives; temperatures are in `unit`."""

    place: str
    timezone: str
    unit: str
    now: Now
    days: list[Day]


def offer(settings: BuiltinSettings) -> list[Tool]:
    """`get_weather`, where the internet is open."""
    web = settings.web
    return [] if web is None else [weather_tool(api_key=web.variables.get("OPEN_METEO_API_KEY", ""))]


def weather_tool(*, geocoding: str = "", forecast: str = "", api_key: str = "") -> Tool:
    """The tool `get_weather`.

    Args:
        geocoding: the address of the service that knows places; Open-Meteo's by default.
        forecast: the same for the weather.
        api_key: of a customer of Open-Meteo, or "".
    """
    if api_key:
        geocoding = geocoding or GEOCODING.replace("https://", _CUSTOMERS)
        forecast = forecast or FORECAST.replace("https://", _CUSTOMERS)
    service = _OpenMeteo(geocoding or GEOCODING, forecast or FORECAST, api_key)

    @tool(
        effect="reads",
        idempotent=True,
        category="weather",
        untrusted=True,
        timeout=60,
        aliases={"place": ["city", "location", "城市", "地点"]},
    )
    async def get_weather(  # noqa: D417 - the context is not the model's
        place: Annotated[
            str, Field(min_length=1, max_length=100, examples=["Paris", "北京", "Springfield, Illinois"])
        ],
        days: Annotated[int, Field(ge=1, le=14)] = 3,
        unit: Literal["celsius", "fahrenheit"] = "celsius",
        context: RunContext = BY_HAND,
    ) -> Weather:
        """The weather of a place now and on the next days.

        查询某地现在和未来几天的天气。

        Args:
            place: a city or town, with its region or country where the name alone is not clear. 城市或地点。
            days: how many days, today is the first. 天数，今天算第一天。
            unit: of temperatures. 温度单位。

        Returns:
            The place, and for now and each day the weather, temperatures, rain and wind.
        """
        found = await find(
            place, lambda name, spelt: service.places(name, spelt, context.language), context.language
        )
        answer = await service.weather(found, days, unit, context.language)
        return _told(found, answer, unit, language_of(place))

    return get_weather


class _OpenMeteo:
    def __init__(self, geocoding: str, forecast: str, api_key: str) -> None:
        self._geocoding = f"{geocoding.rstrip('/')}/v1/search"
        self._forecast = f"{forecast.rstrip('/')}/v1/forecast"
        self._key = {"apikey": api_key} if api_key else {}

    async def places(self, name: str, spelt: Language, language: Language) -> Any:
        query = {"name": name, "count": "20", "language": spelt, "format": "json", **self._key}
        return await _ask(self._geocoding, query, language)

    async def weather(self, place: Place, days: int, unit: str, language: Language) -> Any:
        query = {
            "latitude": str(place.latitude),
            "longitude": str(place.longitude),
            "current": ",".join(("weather_code", *_NOW.values())),
            "daily": ",".join(("weather_code", *_DAY.values())),
            "forecast_days": str(days),
            "timezone": "auto",
            "temperature_unit": unit,
            **self._key,
        }
        return await _ask(self._forecast, query, language)


async def _ask(address: str, query: Mapping[str, str], language: Language) -> Any:
    from toolhand.builtin._json_service import ask_json  # noqa: PLC0415 - loads a network library

    return await ask_json(address, query=query, language=language)


def _told(place: Place, answer: Any, unit: str, language: Language) -> Weather:
    """The service's answer in the tool's own words; only numbers, dates and the place's names are taken over."""
    answer = answer if isinstance(answer, Mapping) else {}
    current, daily = _mapping(answer.get("current")), _mapping(answer.get("daily"))
    time = str(current.get("time", ""))[:16]
    dates = daily.get("time")
    now = Now(time=time)
    _fill(now, current, _NOW, language)
    days = [
        _day(date, number, daily, language)
        for number, date in enumerate(dates if isinstance(dates, list) else ())
    ]
    return Weather(
        place=place.full_name,
        timezone=str(answer.get("timezone", ""))[:40],
        unit=f"°{unit[0].upper()}",
        now=now,
        days=days,
    )


def _day(date: Any, number: int, daily: Mapping[str, Any], language: Language) -> Day:
    values = {
        key: column[number]
        for key, column in daily.items()
        if isinstance(column, Sequence) and number < len(column)
    }
    names = _DAYS[language]
    try:
        name = names[number] if number < 2 else names[2 + dt.date.fromisoformat(str(date)).weekday()]
    except ValueError:
        name = ""
    day = Day(date=str(date)[:10], day=name)
    _fill(day, values, _DAY, language)
    return day


def _fill(entry: Any, values: Mapping[str, Any], names: Mapping[str, str], language: Language) -> None:
    code = values.get("weather_code")
    if isinstance(code, int | float) and int(code) in _WEATHER:
        entry["weather"] = _WEATHER[int(code)][language == "zh"]
    for ours, theirs in names.items():
        value = values.get(theirs)
        if isinstance(value, int | float) and not isinstance(value, bool):
            entry[ours] = value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
