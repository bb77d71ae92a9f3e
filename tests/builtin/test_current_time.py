from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from tests.builtin.conftest import asking, refused
from toolhand.builtin.current_time import current_time_tool
from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.language import language_of

WINTER = dt.datetime(2026, 1, 31, 20, 30, 15, tzinfo=dt.UTC)
SUMMER = dt.datetime(2026, 7, 1, 20, 30, 15, tzinfo=dt.UTC)


def at(moment, zone):
    return asking(current_time_tool(lambda: moment))(timezone=zone)


def test_a_zone_moves_day_and_weekday():
    assert at(WINTER, "Asia/Shanghai") == {
        "timezone": "Asia/Shanghai",
        "time": "2026-02-01T04:30:15+08:00",
        "date": "2026-02-01",
        "weekday": "Sunday",
        "weekday_zh": "星期日",
        "utc_offset": "+08:00",
    }


def test_summer_time():
    assert at(WINTER, "America/New_York")["utc_offset"] == "-05:00"
    assert at(SUMMER, "America/New_York")["utc_offset"] == "-04:00"


@pytest.mark.parametrize(
    ("word", "zone"),
    [
        ("asia/shanghai", "Asia/Shanghai"),
        ("New York", "America/New_York"),
        ("America/New York", "America/New_York"),
        ("London", "Europe/London"),
        ("北京", "Asia/Shanghai"),
        ("北京时间", "Asia/Shanghai"),
        ("Asia/Beijing", "Asia/Shanghai"),
        ("Tokyo time", "Asia/Tokyo"),
        ("纽约", "America/New_York"),
    ],
)
def test_cities_are_understood(word, zone):
    assert at(WINTER, word)["timezone"] == zone


@pytest.mark.parametrize(
    ("offset", "expected"),
    [("+8", "+08:00"), ("UTC-3:30", "-03:30"), ("GMT+0530", "+05:30"), ("UTC", "+00:00")],
)
def test_offsets(offset, expected):
    assert at(WINTER, offset)["utc_offset"] == expected


def test_without_a_zone_it_is_local():
    tool = current_time_tool(lambda: WINTER, local_zone=ZoneInfo("Asia/Tokyo"))
    assert asking(tool)()["time"] == "2026-02-01T05:30:15+09:00"
    assert asking(tool)(timezone="  ")["timezone"] == "Asia/Tokyo"


def test_this_machines_zone_has_its_offset():
    here = WINTER.astimezone()
    assert at(WINTER, "")["time"] == here.isoformat(timespec="seconds")


@pytest.mark.parametrize(
    ("word", "close"),
    [("Europe/Lodnon", "Europe/London"), ("Bejing", "Asia/Shanghai"), ("Asia/Toyko", "Asia/Tokyo")],
)
def test_an_unknown_zone_names_close_ones(word, close):
    error = refused(at(WINTER, word))
    assert error.code == ErrorCode.INVALID_ARGUMENT
    assert close in error.sentence


@pytest.mark.parametrize("word", ["../../etc/passwd", "/etc/localtime", "xyzzy", "+99", "CST", "a\0b"])
def test_what_is_no_zone_is_refused(word):
    assert refused(at(WINTER, word)).hint


def test_it_follows_the_clock():
    moments = iter([WINTER, WINTER + dt.timedelta(seconds=1)])
    ask = asking(current_time_tool(lambda: next(moments)))
    assert [ask(timezone="UTC")["time"][-8:-6], ask(timezone="UTC")["time"][-8:-6]] == ["15", "16"]


@pytest.mark.parametrize("word", ["Bejing", "xyzzy", "+99"])
def test_a_run_in_chinese_is_told_in_chinese(word):
    with pytest.raises(ToolFailure) as caught:
        current_time_tool(lambda: WINTER)(timezone=word)
    told = caught.value.told("zh")
    assert language_of(told.message) == language_of(told.hint) == "zh"
