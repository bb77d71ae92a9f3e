"""Builds a mail and hands it in, step by step, so that it is known whether it may have gone out."""

from __future__ import annotations

import mimetypes
import os
import smtplib
import ssl
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import localtime, make_msgid
from typing import Any, Final
from unicodedata import category

from toolhand.builtin._rooted import names_of, root_at
from toolhand.builtin._smtp import ADDRESS, Letter, MailSettings, Sent
from toolhand.builtin._web_words import failed
from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.language import Language

_MOST_ATTACHED: Final = 15_000_000
"""Bytes of all attachments together; servers take 20 to 25 MB, and encoding adds a third."""

_WORDS: Final[dict[str, dict[Language, tuple[str, str]]]] = {
    "address": {
        "en": (
            "'{address}' is not an e-mail address.",
            "Send each address alone, such as ann@example.com, without a name.",
        ),
        "zh": ("“{address}”不是电子邮件地址。", "每个地址单独填写，例如 ann@example.com，不带姓名。"),
    },
    "recipient": {
        "en": ("'{address}' must not be written to.", "Allowed: {allowed}."),
        "zh": ("不允许给“{address}”发邮件。", "允许：{allowed}。"),
    },
    "many": {
        "en": ("A mail may have at most {most} recipients, not {count}.", "Ask the user whom to leave out."),
        "zh": ("一封邮件最多 {most} 个收件人，而不是 {count} 个。", "请询问用户去掉哪些人。"),
    },
    "subject": {
        "en": ("The subject must be one line.", "Put the rest into the body."),
        "zh": ("主题只能有一行。", "其余内容请放在正文里。"),
    },
    "attachment": {
        "en": ("The attachments are larger than {most} MB together.", "Attach less."),
        "zh": ("附件总共超过 {most} MB。", "请减少附件。"),
    },
    "server": {
        "en": (
            "The mail was not sent: the mail server cannot be reached.",
            "Try again later, or tell the user.",
        ),
        "zh": ("邮件没有发出：无法连接邮件服务器。", "请稍后再试，或告知用户。"),
    },
    "security": {
        "en": (
            "The mail was not sent: the mail server's connection is not secure.",
            "Tell the user; calling again does not help.",
        ),
        "zh": ("邮件没有发出：与邮件服务器的连接不安全。", "请告知用户，重复调用没有用。"),
    },
    "login": {
        "en": (
            "The mail was not sent: the mail server does not accept the program's login.",
            "Tell the user; calling again does not help.",
        ),
        "zh": ("邮件没有发出：邮件服务器不接受程序的登录。", "请告知用户，重复调用没有用。"),
    },
    "refused": {
        "en": (
            "The mail was not sent: the mail server refused it ({reply}: {said}).",
            "Change what it complains about, or tell the user.",
        ),
        "zh": ("邮件没有发出：邮件服务器拒绝了它（{reply}：{said}）。", "请按其说明修改，或告知用户。"),
    },
    "unknown": {
        "en": (
            "The connection was lost while the mail was handed in: it may have been sent, or not.",
            "Do not send it again; tell the user.",
        ),
        "zh": ("提交邮件时连接中断：邮件可能已经发出，也可能没有。", "不要再次发送，请告知用户。"),
    },
}


class Mailer:
    """Sends mail by one server. Safe in any thread: each mail has a connection of its own.

    Args:
        mail: the settings.

    Raises:
        SettingsError: when the folder for attachments is none.
    """

    def __init__(self, mail: MailSettings) -> None:
        self._mail = mail
        self._root = None if mail.attachments is None else root_at(mail.attachments)

    def send(self, letter: Letter, language: Language) -> Sent:
        """Sends a mail.

        Args:
            letter: what and to whom.
            language: of what the model is told when it fails.

        Raises:
            ToolFailure: when it may not be sent, or was not, or nobody knows.
        """
        to, cc = self._checked(letter.to, language), self._checked(letter.cc, language)
        recipients = list({address.lower(): address for address in (*to, *cc)}.values())
        most = self._mail.most_recipients
        if len(recipients) > most:
            raise failed(
                _WORDS["many"][language], ErrorCode.INVALID_ARGUMENT, most=most, count=len(recipients)
            )
        message = self._message(to, cc, _subject(letter.subject, language), letter.body)
        self._attach(message, letter.attachments, language)
        refused = self._hand_in(message, recipients, language)
        sent = Sent(
            sent_to=[address for address in recipients if address not in refused],
            message_id=str(message["Message-ID"]),
        )
        if refused:
            sent["refused"] = dict(refused)
        return sent

    def _checked(self, addresses: Sequence[str], language: Language) -> list[str]:
        found = []
        for written in addresses:
            address = _plain(written)
            if address is None:
                raise failed(_WORDS["address"][language], ErrorCode.INVALID_ARGUMENT, address=written[:120])
            if not self._may_get(address):
                allowed = ", ".join(self._mail.recipients)
                raise failed(
                    _WORDS["recipient"][language], ErrorCode.NOT_PERMITTED, address=address, allowed=allowed
                )
            found.append(address)
        return found

    def _may_get(self, address: str) -> bool:
        address = address.lower()
        allowed = [one.lower() for one in self._mail.recipients]
        return not allowed or any(
            address == one or (one.startswith("@") and address.endswith(one)) for one in allowed
        )

    def _message(self, to: Sequence[str], cc: Sequence[str], subject: str, body: str) -> EmailMessage:
        message = EmailMessage(policy=SMTP)
        message["From"] = Address(addr_spec=self._mail.sender)
        message["To"] = [Address(addr_spec=address) for address in to]
        if cc:
            message["Cc"] = [Address(addr_spec=address) for address in cc]
        message["Subject"] = subject
        message["Date"] = localtime()
        message["Message-ID"] = make_msgid(domain=self._mail.sender.rpartition("@")[2])
        # Base64 where it is not ASCII: no server has to take 8-bit lines then.
        message.set_content(body.replace("\0", ""), cte=None if body.isascii() else "base64")
        return message

    def _attach(self, message: EmailMessage, paths: Sequence[str], language: Language) -> None:
        left = _MOST_ATTACHED
        for path in paths if self._root is not None else ():
            names = names_of(path)
            with os.fdopen(self._root.open_file(names), "rb") as file:  # type: ignore[union-attr]
                content = file.read(left + 1)
            left -= len(content)
            if left < 0:
                raise failed(
                    _WORDS["attachment"][language],
                    ErrorCode.INVALID_ARGUMENT,
                    most=_MOST_ATTACHED // 1_000_000,
                )
            kind, packing = mimetypes.guess_type(names[-1])
            main, _, sub = (kind if kind and not packing else "application/octet-stream").partition("/")
            name = "".join(character if character.isprintable() else "_" for character in names[-1])
            message.add_attachment(content, maintype=main, subtype=sub, filename=name)

    def _hand_in(
        self, message: EmailMessage, recipients: Sequence[str], language: Language
    ) -> Mapping[str, str]:
        """Hands a mail in; gives back who was not taken, and why."""
        server = self._connected(language)
        try:
            refused = self._announce(server, recipients, language)
            try:
                code, said = server.data(message.as_bytes())
            except smtplib.SMTPDataError as error:  # it said no before it was sent anything
                raise _refusal(error.smtp_code, error.smtp_error, language) from None
            except (OSError, smtplib.SMTPException):
                raise failed(_WORDS["unknown"][language], ErrorCode.OUTCOME_UNKNOWN) from None
            if code != 250:
                raise _refusal(code, said, language)
            return refused
        finally:
            with suppress(OSError, smtplib.SMTPException):
                server.quit()
            server.close()

    def _connected(self, language: Language) -> smtplib.SMTP:
        mail = self._mail
        context = ssl.create_default_context()
        try:
            if mail.security == "tls":
                server: smtplib.SMTP = smtplib.SMTP_SSL(
                    mail.host, mail.at_port, timeout=mail.seconds, context=context
                )
            else:
                server = smtplib.SMTP(mail.host, mail.at_port, timeout=mail.seconds)
        except ssl.SSLError:
            raise failed(_WORDS["security"][language], ErrorCode.UPSTREAM) from None
        except (OSError, smtplib.SMTPException):
            raise failed(_WORDS["server"][language], ErrorCode.NETWORK, retryable=True) from None
        try:
            if mail.security == "starttls":
                server.starttls(context=context)
            if mail.username:
                _log_in(server, mail)
        except (ssl.SSLError, smtplib.SMTPNotSupportedError):
            server.close()
            raise failed(_WORDS["security"][language], ErrorCode.UPSTREAM) from None
        except smtplib.SMTPAuthenticationError:
            server.close()
            raise failed(_WORDS["login"][language], ErrorCode.UPSTREAM) from None
        except (OSError, smtplib.SMTPException):
            server.close()
            raise failed(_WORDS["server"][language], ErrorCode.NETWORK, retryable=True) from None
        return server

    def _announce(
        self, server: smtplib.SMTP, recipients: Sequence[str], language: Language
    ) -> Mapping[str, str]:
        """Names the sender and the recipients; one who is refused does not keep the others from it."""
        refused: dict[str, str] = {}
        try:
            server.ehlo_or_helo_if_needed()
            code, said = server.mail(self._mail.sender)
            for address in recipients if code == 250 else ():
                code, said = server.rcpt(address)
                if code not in (250, 251):
                    refused[address] = f"{code} {_said(said)}"
        except (OSError, smtplib.SMTPException):
            raise failed(_WORDS["server"][language], ErrorCode.NETWORK, retryable=True) from None
        if len(refused) == len(recipients) or (code not in (250, 251) and not refused):
            raise _refusal(code, said, language)
        return refused


def _log_in(server: smtplib.SMTP, mail: MailSettings) -> None:
    if f"{mail.username}{mail.password}".isascii():
        server.login(mail.username, mail.password)
        return
    # The library knows ASCII alone; the protocol has UTF-8 (RFC 4616).
    server.ehlo_or_helo_if_needed()
    secret = b64encode(f"\0{mail.username}\0{mail.password}".encode()).decode()
    code, said = server.docmd("AUTH", f"PLAIN {secret}")
    if code != 235:
        raise smtplib.SMTPAuthenticationError(code, said)


def _plain(written: str) -> str | None:
    """An address with its domain in ASCII, or None where it is none, or more than one."""
    address = written.strip()
    if not address.isascii():
        local, at, domain = address.rpartition("@")
        try:
            address = f"{local}{at}{domain.encode('idna').decode('ascii')}"
        except UnicodeError:
            return None
    return address if len(address) <= 254 and ADDRESS.fullmatch(address) else None


def _subject(text: str, language: Language) -> str:
    """A subject that is one line. Every kind of blank is one; line ends and control characters are none."""
    text = "".join(" " if category(one) == "Zs" else one for one in text.strip())
    if any(category(one) in ("Cc", "Zl", "Zp", "Cs") for one in text):
        raise failed(_WORDS["subject"][language], ErrorCode.INVALID_ARGUMENT)
    return text


def _refusal(code: int, said: Any, language: Language) -> ToolFailure:
    return failed(
        _WORDS["refused"][language],
        ErrorCode.UPSTREAM,
        reply=code,
        said=_said(said),
        retryable=400 <= code < 500,
    )


def _said(said: Any) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return " ".join(text.split())[:200]
