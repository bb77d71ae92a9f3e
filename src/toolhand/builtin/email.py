"""`send_email`: a mail by SMTP, after a person has agreed.

A header cannot be forged: addresses are matched whole, a subject holds no line end, and the message is built by the standard
library, whose policy refuses what is left. The sender is the program's. Source: RFC 5321, RFC 5322.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from toolhand.builtin._reach import BY_HAND
from toolhand.builtin._smtp import Letter, MailSettings, Sent
from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.context import RunContext
from toolhand.core.tools import Tool
from toolhand.tools.decorator import ToolOptions, tool

if TYPE_CHECKING:
    from toolhand.builtin._sending import Mailer

__all__ = ["MailSettings", "email_tool", "offer"]

_To = Annotated[list[str], Field(min_length=1, max_length=50, examples=[["ann@example.com"]])]
_Cc = Annotated[list[str], Field(max_length=50)]
_Subject = Annotated[str, Field(min_length=1, max_length=300)]
_Body = Annotated[str, Field(min_length=1, max_length=100_000)]
_Attachments = Annotated[list[str], Field(max_length=10)]

_ALIASES: Final = {
    "to": ["recipients", "收件人"],
    "subject": ["title", "主题"],
    "body": ["text", "content", "正文"],
}


def offer(settings: BuiltinSettings) -> list[Tool]:
    """`send_email`, where a mail server is given."""
    return [] if settings.mail is None else [email_tool(settings.mail)]


def email_tool(mail: MailSettings) -> Tool:
    """The tool `send_email`.

    Args:
        mail: the server, the sender, and who may be written to.

    Raises:
        SettingsError: when the folder for attachments is none.
    """
    from toolhand.builtin._sending import Mailer  # noqa: PLC0415 - loads libraries for mail and TLS

    options: ToolOptions = {
        "name": "send_email",
        "effect": "writes",
        "category": "mail",
        "user_visible": True,
        "reveals": ["email"],
        "approval": mail.approval,
        "timeout": 4 * mail.seconds + 10,
        "aliases": _ALIASES,
    }
    make = _without_files if mail.attachments is None else _with_files
    return make(Mailer(mail), options)


def _without_files(mailer: Mailer, options: ToolOptions) -> Tool:
    @tool(**options)
    def send_email(  # noqa: D417 - the context is not the model's
        to: _To, subject: _Subject, body: _Body, cc: _Cc | None = None, context: RunContext = BY_HAND
    ) -> Sent:
        """Sends an e-mail in plain text.

        发送一封纯文本电子邮件。

        Args:
            to: the addresses of those it is for, each alone, such as "ann@example.com". 收件人地址。
            subject: one line that says what it is about. 主题。
            body: the text. 正文。
            cc: addresses of those who get a copy. 抄送地址。

        Returns:
            Who it was sent to.
        """
        return mailer.send(Letter(to=to, cc=cc or (), subject=subject, body=body), context.language)

    return send_email


def _with_files(mailer: Mailer, options: ToolOptions) -> Tool:
    @tool(**options)
    def send_email(  # noqa: D417, PLR0917 - the context is not the model's; a model names its arguments
        to: _To,
        subject: _Subject,
        body: _Body,
        cc: _Cc | None = None,
        attachments: _Attachments | None = None,
        context: RunContext = BY_HAND,
    ) -> Sent:
        """Sends an e-mail in plain text, with files where there are some.

        发送一封纯文本电子邮件，可以带附件。

        Args:
            to: the addresses of those it is for, each alone, such as "ann@example.com". 收件人地址。
            subject: one line that says what it is about. 主题。
            body: the text. 正文。
            cc: addresses of those who get a copy. 抄送地址。
            attachments: files to attach, such as "reports/may.pdf". 附件路径。

        Returns:
            Who it was sent to.
        """
        letter = Letter(to=to, cc=cc or (), subject=subject, body=body, attachments=attachments or ())
        return mailer.send(letter, context.language)

    return send_email
