"""`get_weather` against a server that speaks Open-Meteo's protocol as published: names in one language's index, the same fields."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from tests.builtin.web.places import Server
from toolhand import Toolset
from toolhand.builtin.weather import weather_tool
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode


def entry(zh, en, region, country, code, latitude, longitude, population, feature):
    return {
        "names": {"zh": zh, "en": en},
        "latitude": latitude, "longitude": longitude, "country_code": code, "feature_code": feature, "population": population,
        "admin1": dict(zip(("zh", "en"), region, strict=True)), "country": dict(zip(("zh", "en"), country, strict=True)),
    }  # fmt: skip


CN, US = ("中国", "China"), ("美国", "United States")
WORLD = [
    entry("北京", "Beijing", ("北京市", "Beijing"), CN, "CN", 39.9, 116.4, 18_960_744, "PPLC"),
    entry("长沙", "Changsha", ("湖南省", "Hunan"), CN, "CN", 28.2, 112.97, 3_093_980, "PPLA"),
    entry("长沙", "Changsha", ("广东省", "Guangdong"), CN, "CN", 22.3, 112.6, 51_000, "PPL"),
    entry("朝阳", "Chaoyang", ("北京市", "Beijing"), CN, "CN", 39.92, 116.44, 3_642_000, "PPLA3"),
    entry("朝阳", "Chaoyang", ("辽宁省", "Liaoning"), CN, "CN", 41.57, 120.45, 2_800_000, "PPLA2"),
    entry("巴黎", "Paris", ("法兰西岛", "Île-de-France"), ("法国", "France"), "FR", 48.85, 2.35, 2_138_551, "PPLC"),
    entry("巴黎", "Paris", ("德克萨斯州", "Texas"), US, "US", 33.66, -95.55, 24_782, "PPLA2"),
    entry("斯普林菲尔德", "Springfield", ("密苏里州", "Missouri"), US, "US", 37.2, -93.3, 166_810, "PPLA2"),
    entry("斯普林菲尔德", "Springfield", ("马萨诸塞州", "Massachusetts"), US, "US", 42.1, -72.59, 155_929, "PPLA2"),
    entry("斯普林菲尔德", "Springfield", ("伊利诺伊州", "Illinois"), US, "US", 39.8, -89.64, 114_394, "PPLA"),
    entry("哥伦布", "Columbus", ("俄亥俄州", "Ohio"), US, "US", 39.96, -83.0, 905_748, "PPLA"),
    entry("哥伦布", "Columbus", ("佐治亚州", "Georgia"), US, "US", 32.46, -84.99, 200_579, "PPLA2"),
    entry("三亚", "Sanya", ("海南省", "Hainan"), CN, "CN", 18.24, 109.5, 0, "PPLA2"),
]  # fmt: skip


class OpenMeteo(Server):
    """Speaks the two services' protocol."""

    def __init__(self) -> None:
        super().__init__("127.0.0.1")
        self.on("/v1/search", self._search)
        self.on("/v1/forecast", self._forecast)
        self.queries: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _search(self, request: web.Request) -> web.Response:
        language, name = request.query["language"], request.query["name"]
        found = [
            {
                **one,
                "name": one["names"][language],
                "admin1": one["admin1"][language],
                "country": one["country"][language],
            }
            for one in WORLD
            if one["names"][language].casefold() == name.casefold()
        ]
        for one in found:
            del one["names"]
        return web.json_response({"generationtime_ms": 0.5, **({"results": found} if found else {})})

    async def _forecast(self, request: web.Request) -> web.Response:
        query = dict(request.query)
        self.queries.append(query)
        days = int(query["forecast_days"])
        dates = [f"2025-03-{8 + n:02d}" for n in range(days)]
        columns: dict[str, list[Any]] = {
            name: [1.5 + n for n in range(days)] for name in query["daily"].split(",")
        }
        columns["weather_code"] = [61 + 0 * n for n in range(days)]
        columns["precipitation_probability_max"] = [None for n in range(days)]
        current: dict[str, Any] = dict.fromkeys(query["current"].split(","), 20.5)
        return web.json_response({
            "latitude": 1, "longitude": 2, "timezone": "Asia/Shanghai",
            "current": {"time": "2025-03-08T09:15", "interval": 900, **current, "weather_code": 2},
            "daily": {"time": dates, **columns},
        })  # fmt: skip


@pytest.fixture
async def service():
    server = OpenMeteo()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def ask(service):
    toolset = Toolset([weather_tool(geocoding=service.url, forecast=service.url)])

    async def call(place: str, language: str = "en", **more):
        return await toolset.call(
            "get_weather", {"place": place, **more}, context=RunContext(language=language)
        )

    return call


async def test_the_weather_of_a_place(ask, service):
    result = await ask("北京", days=4)
    assert result.data == {
        "place": "北京, 北京市, 中国", "timezone": "Asia/Shanghai", "unit": "°C",
        "now": {
            "time": "2025-03-08T09:15", "weather": "多云", "temperature": 20.5, "feels_like": 20.5, "humidity_percent": 20.5,
            "precipitation_mm": 20.5, "wind_kmh": 20.5,
        },
        "days": [
            {"date": f"2025-03-{8 + n:02d}", "day": day, "weather": "小雨", "low": 1.5 + n, "high": 1.5 + n, "precipitation_mm": 1.5 + n,
             "wind_kmh": 1.5 + n}
            for n, day in enumerate(["今天", "明天", "星期一", "星期二"])
        ],
    }  # fmt: skip
    assert result.untrusted
    assert service.queries[0]["latitude"] == "39.9"
    assert service.queries[0]["timezone"] == "auto"


async def test_in_english_and_fahrenheit(ask, service):
    result = await ask("paris", days=1, unit="fahrenheit")
    assert result.data["place"] == "Paris, Île-de-France, France"
    assert result.data["unit"] == "°F"
    assert result.data["now"]["weather"] == "partly cloudy"
    assert result.data["days"][0]["day"] == "today"
    assert service.queries[0]["temperature_unit"] == "fahrenheit"


@pytest.mark.parametrize(
    ("place", "latitude"),
    [
        ("长沙", 28.2), ("长沙市", 28.2), ("湖南长沙市", None), ("湖南省长沙市", 28.2), ("北京市朝阳区", 39.92), ("辽宁省朝阳市", 41.57),
        ("朝阳，辽宁", 41.57), ("Springfield, Illinois", 39.8), ("Springfield, IL", 39.8), ("Springfield, IL, USA", 39.8),
        ("Springfield, Missouri, United States", 37.2), ("Paris, Texas", 33.66), ("Paris, US", 33.66), ("Columbus, GA", 32.46),
        ("Columbus, Georgia", 32.46), ("三亚市", 18.24), ("中国三亚", 18.24), ("39.9, 116.4", 39.9), ("-33.8,151.2", -33.8),
        ("CHANGSHA", 28.2),
    ],
)  # fmt: skip
async def test_names_that_mean_one_place(place, latitude, ask, service):
    result = await ask(place)
    if latitude is None:  # no border between the two: the user has to say it otherwise
        assert result.error.code is ErrorCode.INVALID_ARGUMENT
    else:
        assert result.ok, result.error
        assert float(service.queries[0]["latitude"]) == latitude


@pytest.mark.parametrize(
    ("place", "language", "choices"),
    [
        ("Springfield", "en", ["Springfield, Missouri, United States", "Springfield, Massachusetts, United States",
                               "Springfield, Illinois, United States"]),
        ("朝阳", "zh", ["朝阳, 北京市, 中国", "朝阳, 辽宁省, 中国"]),
        ("Springfield, US", "en", ["Springfield, Illinois, United States"]),
    ],
)  # fmt: skip
async def test_names_that_mean_several_are_answered_with_choices_that_work(place, language, choices, ask):
    error = (await ask(place, language)).error
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert error.retryable
    for choice in choices:
        assert choice in error.hint
        assert (await ask(choice)).data["place"] == choice


@pytest.mark.parametrize(
    ("place", "language", "word"), [("Nowhereville", "en", "no place named"), ("无此地", "zh", "没有找到")]
)
async def test_a_place_that_is_none(place, language, word, ask):
    assert word in (await ask(place, language)).error.message


@pytest.mark.parametrize(
    "answer",
    [
        {"results": "x"},
        {"results": [{"name": "P"}]},
        {"results": [None, 3]},
        [],
        {"results": [{"name": 3, "latitude": "x", "longitude": 1}]},
    ],
)
async def test_an_answer_that_is_none_is_no_place(answer, ask, service):
    async def odd(request):
        return web.json_response(answer)

    service.on("/v1/search", odd)
    assert (await ask("Paris")).error.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"status": 500}, ErrorCode.UPSTREAM), ({"status": 429}, ErrorCode.RATE_LIMITED), ({"text": "<html>"}, ErrorCode.UPSTREAM),
        ({"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}, ErrorCode.UPSTREAM),
    ],
)  # fmt: skip
async def test_a_service_that_fails(answer, code, ask, service):
    service.on("/v1/search", answer)
    assert (await ask("Paris")).error.code is code


async def test_odd_weather_is_left_out_and_strangers_words_do_not_pass(ask, service):
    async def odd(request):
        return web.json_response({
            "timezone": "x" * 500, "current": {"time": "now", "temperature_2m": "obey", "weather_code": 4_000},
            "daily": {"time": ["2025-03-08", "x"], "temperature_2m_max": [True, 3], "weather_code": 7},
        })  # fmt: skip

    service.on("/v1/forecast", odd)
    found = (await ask("Paris")).data
    assert found["now"] == {"time": "now"}
    assert found["days"] == [
        {"date": "2025-03-08", "day": "today"},
        {"date": "x", "day": "tomorrow", "high": 3},
    ]
    assert len(found["timezone"]) == 40


async def test_customers_have_a_key_that_no_model_sees(service):
    tool = weather_tool(geocoding=service.url, forecast=service.url, api_key="geheim-1234")
    result = await Toolset([tool]).call("get_weather", {"place": "Paris"})
    assert all(request.query["apikey"] == "geheim-1234" for request in service.requests)
    assert "geheim" not in repr(result)
