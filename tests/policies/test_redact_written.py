"""Secrets in HTML tables, in commands, in lists under plural names, and parted by characters that nobody sees."""

from __future__ import annotations

import random

import pytest

from tests.timing import cpu_seconds
from toolhand.policies.redaction import personal
from toolhand.policies.redaction.walk import redacted, redacted_text

SECRETS = ("hunter2xyz", "correct-horse", "klmnopqrstuvwx1234", "IOSFODNN7EXAMPLE")


@pytest.mark.parametrize(
    "text",
    [
        "<table><tr><th>name</th><th>password</th></tr><tr><td>ann</td><td>hunter2xyz</td></tr></table>",
        "<TABLE>\n<THEAD><TR><TH>用户</TH><TH>密码</TH></TR></THEAD><TBODY><TR><TD>ann</TD><TD>hunter2xyz</TD></TR></TABLE>",
        "<table><tr><td>user</td><td>api key</td><td>city</td></tr><tr><td>a</td><td><b>hunter2xyz</b></td><td>x</td></tr>",
        "<table><tr><th colspan=2>who</th><th>pwd</th></tr><tr><td>a</td><td>b</td><td>hunter2xyz</td></tr></table>",
        "<tr><th>Password:</th><td>hunter2xyz</td></tr>",
        "<tr><td>Password</td><td>hunter2xyz</td></tr>",
        "<dl><dt>password</dt><dd>hunter2xyz</dd></dl>",
        "<table><tr><th>password</th></tr><tr><td>hunter2xyz",
        "curl -u ann:hunter2xyz https://x.test",
        "$ curl -s -L --user 'ann:hunter2xyz' https://x.test",
        "curl --proxy-user=ann:hunter2xyz https://x.test",
        "curl https://x.test \\\n  -uann:hunter2xyz",
        "/usr/bin/curl -su ann:hunter2xyz x.test",
        "mysql -u root -phunter2xyz shop",
        "mysqldump -p'hunter2xyz' shop > a.sql",
        "sshpass -p hunter2xyz ssh ann@x",
        "redis-cli -a hunter2xyz ping",
        "docker login -u ann -p hunter2xyz registry.test",
        "PGPASSWORD=hunter2xyz psql shop",
        '{"passwords": ["hunter2xyz", "correct-horse"], "n": 2}',
        '{"secrets": {"db": "hunter2xyz", "mail": "correct-horse"}}',
        "api_keys = ['hunter2xyz', 'correct-horse']",
        '{\\"passwords\\": [\\"hunter2xyz\\"]}',
        "sk-proj-abcdefghij\u200bklmnopqrstuvwx1234",
        "pass\u200bword: hunter2xyz",
        "password:\u2060 hunter2xyz",
        "AKIA\u00adIOSFODNN7EXAMPLE",
        "\ufeffpassword\u200d=hunter2xyz",
    ],
)
def test_the_secret_goes_and_the_rest_stays(text):
    shown = redacted_text(text)
    assert not any(secret in shown for secret in SECRETS), shown
    assert "[masked:secret]" in shown
    assert redacted_text(shown) == shown
    for word in ("ann", "x.test", "psql", "shop", "who", "city", "curl", "root", "ping"):
        assert (word in shown) == (word in text)


@pytest.mark.parametrize(
    "number", ["1380\u200b0138000", "138\u00ad0013\u00ad8000", "1\u200b3\u200b8\u200b00138000"]
)
def test_a_number_that_is_parted_unseen_is_masked(number):
    assert redacted_text(f"call {number} now") == "call [masked:phone:8000] now"


@pytest.mark.parametrize(
    "text",
    [
        "<table><tr><th>name</th><th>token count</th></tr><tr><td>ann</td><td>123456789</td></tr></table>",
        "<table><tr><th>password</th><th>city</th><th>age</th></tr></table>",
        "<tr><th>Password policy</th><td>at least 12 characters</td></tr>",
        "<td>Password</td><td>must be changed</td>",
        "<table><tr><td>key</td><td>Enter</td></tr></table>",
        "curl -o out.txt https://x.test:8080/a", "curl -u ann https://x.test", "curl -u $USER:$PASS https://x.test",
        "curl -u <user>:<password> https://x.test", "mysql -P 3306 -u root -p shop", "the curl of -p is 0",
        '{"tokens": 1234, "max_tokens": 512, "tokens_used": [1, 2]}', '{"tokens": ["the", "cat"]}', "prompt_tokens=77",
        '{"keys": ["id", "name", "created_at_2024"]}', '{"passwords": []}', '{"secrets": {"note": null}}',
        "a family 👨\u200d👩\u200d👧 and a heart ❤️ for 12345678", "می\u200cخواهم", "ps -p 1234",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text):
    assert redacted_text(text) == text


def test_declared_names_count_in_html_tables_too():
    text = (
        "<table><tr><th>Name</th><th>Home Town</th></tr><tr><td>ann</td><td>Lower Slaughter</td></tr></table>"
    )
    shown = redacted(text, sensitive={"home_town"})
    assert "Slaughter" not in shown
    assert "ann" in shown
    assert "Slaughter" in redacted_text(text)


def test_the_names_of_fields_may_be_parted_unseen_too():
    assert redacted({"pass\u200bword": "hunter2xyz"}) == {"pass\u200bword": "[masked:secret]"}
    assert redacted({"passwords": ["hunter2xyz"], "tokens": 3}) == {
        "passwords": ["[masked:secret]"],
        "tokens": 3,
    }


def test_a_long_html_table_is_masked_to_its_end():
    rows = "".join(f"<tr><td>u{n}</td><td>hunter2xyz</td></tr>\n" for n in range(8_000))
    shown = redacted_text(f"<table><tr><th>user</th><th>password</th></tr>\n{rows}</table>")
    assert "hunter2xyz" not in shown
    assert shown.count("[masked:secret]") == 8_000


@pytest.mark.parametrize(
    "part",
    [
        "<td>", "<td>password</td>", "<tr><th>password</th><td>", "curl -u ", "curl ", "mysql -p -p", '"passwords": ["', "secrets {",
        "1 - ", "1-", "12345678901 ", "pass\u200bword ", "<table><tr>", "sshpass -p -p ", "\\\n",
    ],
)  # fmt: skip
def test_time_grows_with_length(part):
    short, long = part * (20_000 // len(part)), part * (160_000 // len(part))
    assert cpu_seconds(lambda: redacted_text(long)) < 40 * max(
        cpu_seconds(lambda: redacted_text(short)), 0.005
    )


@pytest.mark.parametrize("pattern", ["_RESIDENT_ID", "_OLD_RESIDENT_ID", "_MOBILE", "_CARD"])
def test_the_quick_way_to_a_number_finds_what_the_slow_one_finds(pattern):
    rng, looked_for = random.Random(pattern), getattr(personal, pattern)
    parts = ("110101199003074530", "13800138000", "+86 139-1234-5678", "0086", "(86)", "6222020200112233445", "4111 1111 1111 1111",
             "x", "X", " ", "-", "--", "1", "2026-01-02", "00", "86)", "，", "电话", ".", "6217-000012345678901",
             "110101 19900307 4530", "139 1234 5678")  # fmt: skip
    for _ in range(5_000):
        text = "".join(rng.choices(parts, k=rng.randrange(1, 9)))
        quick = [match.span() for match in personal._in_numbers(looked_for, text)]
        assert quick == [match.span() for match in looked_for.finditer(text)], text
