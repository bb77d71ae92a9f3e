"""Who may see the page, and what no other site may do with it.

Without a token it answers only to names of this machine, as a website could have its own name lead here (DNS rebinding). With
one a person logs in and gets a cookie that is signed and that no script can read. What changes something is a form sent by
POST, from this page's own origin, with a stamp that only this page holds. No other page may frame it, and it loads nothing
from elsewhere.

Source: OWASP cheat sheets on cross-site request forgery and content security policy; Fetch Metadata (W3C).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections import deque
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolhand.core.language import Language
from toolhand.page.frame import Around, link
from toolhand.page.settings import PageSettings

COOKIE: Final = "toolhand_page"
LANGUAGE: Final = "toolhand_lang"
LOGGED_IN_SECONDS: Final = 12 * 3600
MOST_BODY: Final = 1024 * 1024
MOST_TRIES: Final = 20
"""How many wrong tokens a minute, from all sides together, are looked at."""

_YEAR_SECONDS: Final = 365 * 86_400
_OPEN: Final = ("/login", "/assets/")
_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none a browser would not say where a form came from
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Refused(Exception):  # noqa: N818 - the end of a request, not a fault
    """A form that this page did not make."""


class Guard:
    """Stands around the page's routes.

    Args:
        app: the routes.
        settings: who may see them.
    """

    def __init__(self, app: ASGIApp, settings: PageSettings) -> None:
        self._app, self._settings = app, settings
        self._key = hashlib.sha256(b"toolhand page\0" + (settings.token.encode() or settings.secret)).digest()
        self._wrong: deque[float] = deque(maxlen=MOST_TRIES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or lets the routes do it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        request = Request(scope, receive)
        answer = self._answer(request)
        await (self._app if answer is None else answer)(scope, receive, sent)

    def _answer(self, request: Request) -> Response | None:
        """What is said before any route is asked; None where the route shall answer."""
        hosts = self._settings.hosts
        if hosts and _name_of(request.headers.get("host", "")) not in hosts:
            return PlainTextResponse("This host name is not one of this server's.\n", 421)
        if request.method not in ("GET", "HEAD") and not _is_own(request):
            return PlainTextResponse("This form was sent from another site.\n", 403)
        if (wanted := request.query_params.get("lang")) in ("en", "zh") and request.method == "GET":
            return _in_language(request, wanted)
        request.state.guard = self
        if self.who(request) is None and not request.url.path.startswith(_OPEN):
            if request.method == "GET" and request.headers.get("accept", "").find("text/html") >= 0:
                return RedirectResponse(link("/login", wanted=_path(request)), 303)
            return PlainTextResponse("Log in first.\n", 401)
        return None

    # who

    def who(self, request: Request) -> str | None:
        """The person's name; "" where nobody has to log in, None where they have to."""
        if not self._settings.token:
            return ""
        name, _, rest = request.cookies.get(COOKIE, "").partition(".")
        until, _, mark = rest.partition(".")
        if not hmac.compare_digest(mark.encode(), self._mark("who", name, until).encode()):
            return None
        if not until.isdecimal() or int(until) < time.time():
            return None
        return base64.urlsafe_b64decode(name.encode()).decode("utf-8", "replace")

    def log_in(self, response: Response, name: str, *, is_secure: bool) -> None:
        """Gives a person the cookie."""
        told = base64.urlsafe_b64encode(name.encode("utf-8", "replace")).decode()
        until = str(int(time.time()) + LOGGED_IN_SECONDS)
        value = f"{told}.{until}.{self._mark('who', told, until)}"
        response.set_cookie(
            COOKIE, value, max_age=LOGGED_IN_SECONDS, httponly=True, samesite="lax", secure=is_secure
        )

    def is_token(self, sent: str) -> bool | None:
        """Whether it is the token; None where so many were wrong that this one is not looked at."""
        now = time.monotonic()
        if len(self._wrong) == MOST_TRIES and now - self._wrong[0] < 60:
            return None
        is_right = hmac.compare_digest(sent.encode("utf-8", "replace"), self._settings.token.encode())
        if not is_right:
            self._wrong.append(now)
        return is_right

    def _mark(self, *words: str) -> str:
        return hmac.new(self._key, "\0".join(words).encode(), hashlib.sha256).hexdigest()

    # forms

    def stamp(self, request: Request) -> str:
        """What this person's forms carry."""
        return hmac.new(
            self._settings.secret, request.cookies.get(COOKIE, "").encode("utf-8", "replace"), hashlib.sha256
        ).hexdigest()

    async def form(self, request: Request) -> dict[str, str]:
        """The fields of a form that this page made.

        Raises:
            Refused: when it did not, or the form is too long.
        """
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BODY:
                raise Refused
        try:
            fields = dict(
                parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20, errors="replace")
            )
        except ValueError:
            raise Refused from None
        if not hmac.compare_digest(fields.get("stamp", "").encode(), self.stamp(request).encode()):
            raise Refused
        return fields

    def around(self, request: Request) -> Around:
        """What a page has to know of its request."""
        return Around(
            language=language_of(request),
            path=_path(request),
            who=self.who(request) or "",
            stamp=self.stamp(request),
        )


def language_of(request: Request) -> Language:
    """The language that a person has chosen, or else their browser's."""
    chosen = request.cookies.get(LANGUAGE)
    if chosen in ("en", "zh"):
        return "zh" if chosen == "zh" else "en"
    for part in request.headers.get("accept-language", "").lower().split(","):
        tag = part.partition(";")[0].strip()[:2]
        if tag in ("en", "zh"):
            return "zh" if tag == "zh" else "en"
    return "en"


def local_address(path: str) -> str:
    """An address of this page's own, as it was asked for before logging in; "/" for any other."""
    is_own = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_own and not urlsplit(path).netloc else "/"


def _name_of(host: str) -> str:
    """A host without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].lower()


def _is_own(request: Request) -> bool:
    """Whether a browser says that the request came from this page; programs that are no browsers say nothing."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()


def _path(request: Request) -> str:
    query = [(name, value) for name, value in request.query_params.multi_items() if name != "lang"]
    return link(request.url.path, **dict(query))


def _in_language(request: Request, language: str) -> Response:
    response = RedirectResponse(local_address(_path(request)), 303)
    response.set_cookie(LANGUAGE, language, max_age=_YEAR_SECONDS, samesite="lax", httponly=True)
    return response
