"""What is said of a PostgreSQL by its URL, and what rights it takes."""

from __future__ import annotations

import re

import pytest

from toolhand import Agent
from toolhand.core.errors import SettingsError, StoreError
from toolhand.policies.sharing import Taking
from toolhand.policies.sharing.postgres import PostgresState
from toolhand.sessions.postgres import PostgresStore
from toolhand.sessions.postgres_groups import text
from toolhand.testing import ScriptedModel


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://ann:geheim@db:5432/x", "postgresql://ann@db:5432/x"),
        ("postgresql://ann:ge@heim/geheim@db/x", "postgresql://ann@db/x"),
        ("postgresql://ann:ge#heim?heim[@db/x", "postgresql://ann@db/x"),
        ("postgresql://ann:geheim#db/x", "postgresql://ann"),
        ("postgresql://ann@/x?host=/run/geheim&password=ge@heim", "postgresql://ann@/x"),
        ("postgresql://db:5432,other:5433/x", "postgresql://db:5432,other:5433/x"),
        ("postgresql://[::1]:5432/x", "postgresql://[::1]:5432/x"),
    ],
)
def test_a_store_s_name_has_nothing_of_the_password(url, name):
    assert PostgresStore(url).name == name


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:geheim#1@db/x",
        "postgresql://ann:geheim?1@db/x",
        "postgresql://ann:geheim[1@db/x",
        "postgresql://ann:geheim@db:port/x",
        "postgresql://ann:geheim@db/x?sslmode=maybe",
    ],
)
async def test_a_url_that_cannot_be_read_is_said_at_once_and_without_its_password(url):
    store = PostgresStore(url)
    with pytest.raises(
        SettingsError, match="cannot be read: write postgresql://user:password@host"
    ) as raised:
        await store.list()
    assert "geheim" not in str(raised.value)


async def test_a_user_needs_no_right_to_make_tables_that_are_there(url):
    admin = PostgresStore(url)
    user = f"plain_{re.sub(r'[^a-z0-9]', '', url.partition('?')[0])}"
    theirs = re.sub(r"//[^@]*@", f"//{user}:@", url)
    name = url.partition("?")[0].rpartition("/")[2]

    async def run(statement):
        await admin.connected(lambda connection: connection.execute(statement))

    await run(f"CREATE ROLE {user} LOGIN; REVOKE CREATE ON DATABASE {name} FROM PUBLIC")
    try:
        await run(f"GRANT USAGE ON SCHEMA toolhand TO {user}")
        await run(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA toolhand TO {user}")
        plain = PostgresStore(theirs)
        assert (await Agent(ScriptedModel(["ok"]), store=plain).run("x", session="s")).output == "ok"
        await plain.close()
        await _counts_alone(
            theirs, True
        )  # there is no schema for what is counted together, and it may make none
        await _counts_alone(url, False)
        await run(f"GRANT USAGE ON SCHEMA toolhand_state TO {user}")
        await run(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA toolhand_state TO {user}")
        await _counts_alone(theirs, False)
        # A schema of one's own is as good, and without one it is said what is missing.
        await run(f"DROP SCHEMA toolhand CASCADE; CREATE SCHEMA toolhand AUTHORIZATION {user}")
        plain = PostgresStore(theirs)
        assert list(await plain.list()) == []
        await plain.close()
        await run("DROP SCHEMA toolhand CASCADE")
        with pytest.raises(
            StoreError, match="needs CREATE on the database, or a schema 'toolhand' of its own"
        ):
            await PostgresStore(theirs).list()
    finally:
        await run(f"DROP SCHEMA IF EXISTS toolhand_state CASCADE; DROP OWNED BY {user}; DROP ROLE {user}")
        await admin.close()


async def _counts_alone(url, expected):
    state = PostgresState(url, timeout=20)
    assert await state.take([Taking(key="k", count=5, seconds=60)]) == 0
    assert state.is_alone is expected
    await state.close()


def test_what_postgresql_s_texts_cannot_hold_is_left_out():
    assert [text(value) for value in ("a\0b", "中\ud800", 7, None)] == ["ab", "中\ufffd", 7, None]
