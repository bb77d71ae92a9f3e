"""`send_email` through a real SMTP server, and what somebody tries who wants more than one mail to one person."""

from __future__ import annotations

import asyncio
import email
import socket
import ssl
import threading
from email import policy
from typing import Any

import pytest
import trustme
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

from toolhand import Toolset
from toolhand.builtin.email import MailSettings, email_tool
from toolhand.core.approvals import PENDING
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError

# The server's library does not count TLS that was there from the start.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS:UserWarning")


class Post:
    """A server's memory: every mail with its envelope."""

    def __init__(self) -> None:
        self.mails = []
        self.refuses: dict[str, str] = {}
        self.says_to_data = ""

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        if address in self.refuses:
            return self.refuses[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if self.says_to_data:
            return self.says_to_data
        self.mails.append(
            (
                envelope.mail_from,
                list(envelope.rcpt_tos),
                email.message_from_bytes(envelope.content, policy=policy.default),
            )
        )
        return "250 OK"


async def started(post: Post, context: ssl.SSLContext | None = None, **options: Any) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: SMTP(post, loop=loop, **options), "127.0.0.1", 0, ssl=context)


def port_of(server: asyncio.Server) -> int:
    return server.sockets[0].getsockname()[1]


@pytest.fixture
def post():
    return Post()


@pytest.fixture
async def server(post):
    server = await started(post)
    yield server
    server.close()


@pytest.fixture
def settings(server):
    def made(**more):
        return MailSettings(
            host="127.0.0.1",
            port=port_of(server),
            security="none",
            sender="bot@firm.example",
            approval=False,
            seconds=20,
            **more,
        )

    return made


def asking(mail: MailSettings):
    toolset = Toolset([email_tool(mail)])

    async def call(language: str = "en", **arguments):
        given = {"to": ["ann@firm.example"], "subject": "Hello", "body": "Text.", **arguments}
        return await toolset.call("send_email", given, context=RunContext(language=language))

    return call


async def test_a_mail(post, settings):
    result = await asking(settings())(
        to=["ann@firm.example", "Bob@Firm.example"], cc=["bob@firm.example", "eva@例子.example"], subject="  报价：茶叶\u3000第二季度 👩‍👩‍👧 ",
        body="你好，\n\n.价格是 30 元。\r\n第二行\r结束\n",
    )  # fmt: skip
    assert result.ok, result.error
    assert result.data["sent_to"] == ["ann@firm.example", "bob@firm.example", "eva@xn--fsqu00a.example"]
    ((sender, recipients, mail),) = post.mails
    assert sender == "bot@firm.example"
    assert recipients == ["ann@firm.example", "bob@firm.example", "eva@xn--fsqu00a.example"]
    assert mail["From"] == "bot@firm.example"
    assert mail["To"] == "ann@firm.example, Bob@Firm.example"
    assert mail["Cc"] == "bob@firm.example, eva@xn--fsqu00a.example"
    assert mail["Subject"] == "报价：茶叶 第二季度 👩‍👩‍👧"
    assert mail["Message-ID"] == result.data["message_id"]
    assert mail["Date"]
    assert ".价格是 30 元。\n第二行" in mail.get_content().replace("\r\n", "\n")


async def test_a_person_agrees_first(post, settings, server):
    tool = email_tool(
        MailSettings(host="127.0.0.1", port=port_of(server), security="none", sender="bot@firm.example")
    )
    assert tool.rules.approval
    assert tool.rules.effect == "writes"
    result = await Toolset([tool]).call("send_email", {"to": ["a@b.example"], "subject": "x", "body": "y"})
    assert result.error.code is ErrorCode.APPROVAL_REQUIRED
    assert PENDING in result.notes
    assert post.mails == []


FORGED_SUBJECTS = [
    "x\r\nBcc: evil@x.test", "x\nBcc: evil@x.test", "x\rBcc: evil@x.test", "x\r\n\r\nbody", "x\0y", "x\x0bBcc: e@x.test", "x\x0cy", "x\x85y",
    "x\u2028Bcc: evil@x.test", "x\u2029y", "x\x1by", "x\x7fy",
]  # fmt: skip


@pytest.mark.parametrize("subject", FORGED_SUBJECTS)
async def test_no_subject_makes_a_header(subject, post, settings):
    error = (await asking(settings())(subject=subject)).error
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert "one line" in error.message
    assert post.mails == []


FORGED_ADDRESSES = [
    "a@firm.example\r\nBcc: evil@x.test", "a@firm.example\nRCPT TO:<evil@x.test>", "a@firm.example, evil@x.test", "a@firm.example;evil@x.test",
    "a@firm.example evil@x.test", "Ann <a@firm.example>", "<a@firm.example>", "a@firm.example>\r\nDATA\r\n", '"a b"@firm.example',
    '"a\r\nBcc: e@x.test"@firm.example', "a@firm.example\0@x.test", "@evil.test:a@firm.example", "a%evil.test@firm.example@x", "a@b@c.example",
    "a", "@firm.example", "a@", "a@localhost", "a@[127.0.0.1]", "a@-x.example", "a..b@firm.example", ".a@firm.example", "a@firm..example",
    "ä@firm.example", "a@fi rm.example", "a(comment)@firm.example", f"{'a' * 65}@firm.example", "a@" + "b" * 300 + ".example",
    "a@firm.example ORCPT=rfc822;x", "undisclosed:a@firm.example;",
]  # fmt: skip


@pytest.mark.parametrize("field", ["to", "cc"])
@pytest.mark.parametrize("address", FORGED_ADDRESSES)
async def test_no_address_is_more_than_one(field, address, post, settings):
    error = (await asking(settings())(**{field: [address]})).error
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert post.mails == []


@pytest.mark.parametrize(
    "body",
    [
        "x\r\n.\r\nMAIL FROM:<evil@x.test>\r\n",
        "x\n.\nQUIT\n",
        "\r\n.\r\n",
        "..\r\n.",
        "Bcc: evil@x.test",
        "x\r.\ry\0",
    ],
)
async def test_no_body_ends_the_mail_or_begins_another(body, post, settings):
    assert (await asking(settings())(body=body)).ok
    ((_, recipients, mail),) = post.mails
    assert recipients == ["ann@firm.example"]
    assert mail["Bcc"] is None
    plain = body.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    assert mail.get_content().replace("\r\n", "\n").replace("\r", "\n").strip("\n") == plain


async def test_only_those_who_may_be_written_to(post, settings):
    call = asking(settings(recipients=("boss@other.example", "@firm.example")))
    assert (await call(to=["Ann@FIRM.example", "boss@other.example"])).ok
    for address in (
        "evil@x.test",
        "ann@evilfirm.example",
        "ann@firm.example.evil.test",
        "x@other.example",
        "ann@sub.firm.example",
    ):
        error = (await call(to=["ann@firm.example"], cc=[address])).error
        assert error.code is ErrorCode.NOT_PERMITTED
        assert "@firm.example" in error.hint
    assert len(post.mails) == 1


async def test_not_too_many_at_once(post, settings):
    call = asking(settings(most_recipients=2))
    assert (await call(to=["a@b.example", "b@b.example", "A@b.example"])).ok  # one of them twice
    error = (await call("zh", to=["a@b.example", "b@b.example"], cc=["c@b.example"])).error
    assert "最多 2 个收件人" in error.message
    assert len(post.mails) == 1


async def test_some_refused_are_told_and_all_refused_is_a_failure(post, settings):
    post.refuses = {"gone@firm.example": "550 no such user"}
    result = await asking(settings())(to=["gone@firm.example", "ann@firm.example"])
    assert result.data["sent_to"] == ["ann@firm.example"]
    assert result.data["refused"] == {"gone@firm.example": "550 no such user"}
    error = (await asking(settings())(to=["gone@firm.example"])).error
    assert error.code is ErrorCode.UPSTREAM
    assert "550: no such user" in error.message
    assert not error.retryable
    assert len(post.mails) == 1


@pytest.mark.parametrize(("said", "retryable"), [("554 looks like spam", False), ("451 try later", True)])
async def test_a_mail_that_is_refused(said, retryable, post, settings):
    post.says_to_data = said
    error = (await asking(settings())()).error
    assert error.code is ErrorCode.UPSTREAM
    assert error.retryable is retryable
    assert said[4:] in error.message


async def test_a_server_that_is_not_there(settings):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        mail = MailSettings(
            host="127.0.0.1",
            port=closed.getsockname()[1],
            security="none",
            sender="a@b.example",
            approval=False,
        )
        error = (await asking(mail)()).error
    assert error.code is ErrorCode.NETWORK
    assert "was not sent" in error.message


async def test_a_connection_lost_after_the_text_is_an_unknown_outcome():
    """A server of a few lines, as no real one can be told to die at just that place."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb") as lines:
            lines.write(b"220 x\r\n")
            lines.flush()
            while line := lines.readline():
                if line == b".\r\n":
                    return
                if line[:4].upper() in (b"EHLO", b"MAIL", b"RCPT", b"DATA"):
                    lines.write(b"354 go\r\n" if line[:4].upper() == b"DATA" else b"250 OK\r\n")
                    lines.flush()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    mail = MailSettings(
        host="127.0.0.1",
        port=listener.getsockname()[1],
        security="none",
        sender="a@b.example",
        approval=False,
        seconds=20,
    )
    error = (await asking(mail)()).error
    assert error.code is ErrorCode.OUTCOME_UNKNOWN
    assert "Do not send it again" in error.hint
    assert not error.retryable
    thread.join(20)
    listener.close()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "报告 1.txt").write_text("内容")
    (tmp_path / "out" / "a.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "secret.txt").write_text("geheim")
    (tmp_path / "out" / "link.txt").symlink_to(tmp_path / "secret.txt")
    return tmp_path


async def test_attachments_come_from_their_folder_alone(post, settings, folder):
    call = asking(settings(attachments=folder / "out"))
    assert (await call(attachments=["报告 1.txt", "a.pdf"])).ok
    files = {
        part.get_filename(): part.get_payload(decode=True) for part in post.mails[0][2].iter_attachments()
    }
    assert files == {"报告 1.txt": "内容".encode(), "a.pdf": b"%PDF-1.4"}
    for path in (
        "../secret.txt",
        str(folder / "secret.txt"),
        "link.txt",
        "none.txt",
        ".",
        "/etc/passwd",
        "a.pdf\0.txt",
    ):
        assert not (await call(attachments=[path])).ok, path
    assert len(post.mails) == 1


async def test_without_a_folder_there_are_no_attachments(post, settings):
    assert "attachments" not in email_tool(settings()).properties
    await asking(settings())(attachments=["/etc/passwd"])
    assert all(not list(mail.iter_attachments()) for _, _, mail in post.mails)


async def test_attachments_are_not_too_large(post, settings, folder):
    with (folder / "out" / "big.bin").open("wb") as file:
        file.truncate(15_000_001)
    error = (await asking(settings(attachments=folder / "out"))(attachments=["big.bin"])).error
    assert "15 MB" in error.message
    assert post.mails == []


class Guarded:
    """A server with TLS and a login."""

    def __init__(self, post: Post, server: asyncio.Server) -> None:
        self.post = post
        self.server = server


@pytest.fixture(params=["tls", "starttls"])
async def guarded(request, monkeypatch, tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))

    def check(server, session, envelope, mechanism, facts):
        is_right = isinstance(facts, LoginPassword) and (facts.login, facts.password) == (
            b"bot",
            "p@ss:wörd".encode(),
        )
        return AuthResult(success=is_right, handled=False)

    options = {"authenticator": check, "auth_required": True}
    if request.param == "tls":
        server = await started(post := Post(), context, auth_require_tls=False, **options)
    else:
        server = await started(post := Post(), tls_context=context, require_starttls=True, **options)
    yield request.param, Guarded(post, server)
    server.close()


@pytest.mark.parametrize(("password", "is_right"), [("p@ss:wörd", True), ("wrong", False)])
async def test_tls_and_login(password, is_right, guarded):
    security, server = guarded
    mail = MailSettings(
        host="localhost", port=port_of(server.server), security=security, sender="bot@firm.example", username="bot", password=password,
        approval=False, seconds=20,
    )  # fmt: skip
    result = await asking(mail)()
    assert password not in repr(result) + repr(mail)
    if is_right:
        assert result.ok, result.error
        assert len(server.post.mails) == 1
    else:
        assert "login" in result.error.message
        assert server.post.mails == []


async def test_a_certificate_of_nobody_is_refused(guarded, monkeypatch):
    security, server = guarded
    monkeypatch.delenv("SSL_CERT_FILE")
    mail = MailSettings(
        host="localhost", port=port_of(server.server), security=security, sender="bot@firm.example", username="bot", password="x",
        approval=False, seconds=20,
    )  # fmt: skip
    assert "not secure" in (await asking(mail)()).error.message
    assert server.post.mails == []


async def test_a_server_without_starttls_gets_nothing(post, server):
    mail = MailSettings(
        host="127.0.0.1", port=port_of(server), security="starttls", sender="bot@firm.example", approval=False
    )
    assert "not secure" in (await asking(mail)()).error.message
    assert post.mails == []


def test_settings_from_the_environment():
    mail = MailSettings.from_environment({
        "TOOLHAND_SMTP_URL": "smtps://bot%40firm.example:p%40ss%3Aw@smtp.firm.example", "TOOLHAND_MAIL_FROM": "bot@firm.example",
        "TOOLHAND_MAIL_TO": "@firm.example, boss@other.example",
    })  # fmt: skip
    assert (mail.host, mail.at_port, mail.security) == ("smtp.firm.example", 465, "tls")
    assert (mail.username, mail.password) == ("bot@firm.example", "p@ss:w")
    assert mail.recipients == ("@firm.example", "boss@other.example")
    assert MailSettings(host="h", sender="a@b.example").at_port == 587


@pytest.mark.parametrize(
    ("variables", "word"),
    [
        ({}, "TOOLHAND_SMTP_URL"), ({"TOOLHAND_SMTP_URL": "smtps://h"}, "TOOLHAND_MAIL_FROM"),
        ({"TOOLHAND_SMTP_URL": "http://u:geheim@h", "TOOLHAND_MAIL_FROM": "a@b.example"}, "begins with"),
        ({"TOOLHAND_SMTP_URL": "smtps://u:geheim@h:x", "TOOLHAND_MAIL_FROM": "a@b.example"}, "cannot be read"),
        ({"TOOLHAND_SMTP_URL": "smtps://h", "TOOLHAND_MAIL_FROM": "nobody"}, "is not an address"),
        ({"TOOLHAND_SMTP_URL": "smtps://h", "TOOLHAND_MAIL_FROM": "a@b.example\r\nBcc: x@y.example"}, "is not an address"),
        ({"TOOLHAND_SMTP_URL": "smtps://h", "TOOLHAND_MAIL_FROM": "a@b.example", "TOOLHAND_MAIL_TO": "firm"}, "nor a domain"),
        ({"TOOLHAND_SMTP_URL": "smtp+plain://u:geheim@mail.example", "TOOLHAND_MAIL_FROM": "a@b.example"}, "unencrypted"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(variables, word):
    with pytest.raises(SettingsError, match=word) as caught:
        MailSettings.from_environment(variables)
    assert "geheim" not in str(caught.value)
