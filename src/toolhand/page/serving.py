"""The page's routes: each reads what it shows and hands it to its view."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from toolhand.core.errors import SessionError, SettingsError, StoreError, ToolhandError
from toolhand.durable.rows import RunRow
from toolhand.evals import Store as Evaluations
from toolhand.evals import against
from toolhand.evals.report.html import style
from toolhand.evals.results import Evaluation
from toolhand.observability.defaults import VARIABLE
from toolhand.observability.drift import DriftLog, DriftRecord, counted
from toolhand.observability.excerpts import PLAIN
from toolhand.page.deciding import Deciding, NotDecided
from toolhand.page.forms import short
from toolhand.page.frame import Around, link
from toolhand.page.guarding import COOKIE, Guard, Refused, local_address
from toolhand.page.live import Live
from toolhand.page.looking import Looking
from toolhand.page.settings import PageSettings
from toolhand.page.views.approvals import approvals_page
from toolhand.page.views.drift import drift_page
from toolhand.page.views.evaluations import evaluation_page, evaluations_page
from toolhand.page.views.login import login_page, message_page
from toolhand.page.views.run import run_page
from toolhand.page.views.session import session_page
from toolhand.page.views.sessions import sessions_page
from toolhand.sessions.entries import Summary

_KINDS: Final = {
    "page.css": "text/css",
    "report.css": "text/css",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_DONE: Final = ("decided", "noted", "going_on", "worker_goes_on")
"""What may be said about what was just done."""

_MOST_DRIFT: Final = 50
_MOST_PATTERNS: Final = 40
_MOST_NAME: Final = 60
_MOST_SAID: Final = 500


def page_routes(settings: PageSettings) -> list[BaseRoute]:
    """The page as routes for a Starlette application. They answer for every address that no route before them does.

    Args:
        settings: what it shows and who may see it.
    """
    pages = _Pages(settings)
    routes = [
        Route("/", pages.sessions),
        Route("/session", pages.session),
        Route("/run", pages.run),
        Route("/approvals", pages.approvals),
        Route("/drift", pages.drift),
        Route("/evaluations", pages.evaluations),
        Route("/evaluation", pages.evaluation),
        Route("/live", pages.live),
        Route("/decide", pages.decide, methods=["POST"]),
        Route("/go-on", pages.go_on, methods=["POST"]),
        Route("/login", pages.login, methods=["GET", "POST"]),
        Route("/logout", pages.logout, methods=["POST"]),
        Route("/assets/{name}", _asset),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={
            404: pages.not_found,
            SessionError: pages.not_found,
            StoreError: pages.failed,
            SettingsError: pages.failed,
            Refused: pages.refused,
        },
    )
    return [Mount("/", app=Guard(app, settings))]


class _Pages:
    """The handlers, and what they share."""

    def __init__(self, settings: PageSettings) -> None:
        self._settings = settings
        self._looking = Looking(settings.store)
        self._deciding = Deciding(self._looking, settings.resume, settings.knows)
        self._live = Live(settings.stopping)

    async def sessions(self, request: Request) -> Response:
        around, query = _around(request), request.query_params
        text, user = query.get("q", "").strip(), query.get("user", "").strip() or None
        before = _cursor(query.get("after"), query.get("at"))
        mark = await self._looking.mark()
        hits = await self._looking.search(text, user=user) if text else None
        listed = [] if text else await self._looking.sessions(user=user, before=before)
        live = "" if text or before else link("/live", since=mark)
        return HTMLResponse(
            sessions_page(around, listed, hits, text=text, user=user, is_first=before is None, live=live)
        )

    async def session(self, request: Request) -> Response:
        around, session_id = _around(request), request.query_params.get("id", "")
        if (found := _number(request.query_params.get("seq"))) > 0:
            start = await self._looking.start_of(session_id, found)
            return RedirectResponse(link("/run", id=session_id, seq=start), 303)
        before, mark = _number(request.query_params.get("before")), await self._looking.mark(session_id)
        seen = await self._looking.session(session_id, before=before)
        told, is_bad = self._told(session_id, seen.submitted, request, around)
        page = session_page(
            around,
            seen,
            now=time.time(),
            live="" if before else link("/live", id=session_id, since=mark),
            can_go_on=self._deciding.can_go_on(session_id, seen.submitted),
            told=told,
            failed=is_bad,
        )
        return HTMLResponse(page)

    async def run(self, request: Request) -> Response:
        around, session_id = _around(request), request.query_params.get("id", "")
        mark = await self._looking.mark(session_id)
        summary, run, submitted = await self._looking.run(
            session_id, _number(request.query_params.get("seq"))
        )
        told, is_bad = self._told(session_id, submitted, request, around)
        page = run_page(
            around,
            summary,
            run,
            now=time.time(),
            live=link("/live", id=session_id, since=mark),
            can_go_on=self._deciding.can_go_on(session_id, submitted),
            told=told,
            failed=is_bad,
        )
        return HTMLResponse(page)

    def _told(
        self, session_id: str, submitted: RunRow | None, request: Request, around: Around
    ) -> tuple[str, bool]:
        """What is said about what was just done, and whether it went wrong."""
        if failure := self._deciding.failure(session_id, submitted):
            return around.word("resume_failed", failure), True
        key = request.query_params.get("done", "")
        return (around.word(key), False) if key in _DONE else ("", False)

    async def approvals(self, request: Request) -> Response:
        around, mark = _around(request), await self._looking.mark()
        return await self._approvals(around, mark)

    async def _approvals(
        self, around: Around, mark: str, *, problem: str = "", status: int = 200
    ) -> Response:
        waiting = await self._looking.waiting()
        live = link("/live", since=mark)
        return HTMLResponse(
            approvals_page(around, waiting, live=live, told=problem, failed=bool(problem)), status
        )

    async def decide(self, request: Request) -> Response:
        fields = await _guard(request).form(request)
        session_id = fields.get("session", "")

        async def work(around: Around) -> str:
            return await self._deciding.decide(fields, around)

        return await self._done(request, session_id, work)

    async def go_on(self, request: Request) -> Response:
        fields = await _guard(request).form(request)
        session_id = fields.get("session", "")

        async def work(around: Around) -> str:
            return await self._deciding.go_on(session_id, around)

        return await self._done(request, session_id, work)

    async def _done(
        self, request: Request, session_id: str, work: Callable[[Around], Awaitable[str]]
    ) -> Response:
        """Does it and shows the run; where it cannot be, says why over what still waits."""
        around = _around(request)
        try:
            done = await work(around)
        except SessionError:
            problem = around.word("gone")
        except NotDecided as refused:
            problem = str(refused)
        except ToolhandError as error:
            problem = around.word("resume_failed", PLAIN.exception(error, _MOST_SAID))
        else:
            seen = await self._looking.session(session_id)
            return RedirectResponse(link("/run", id=session_id, seq=seen.runs[-1].seq, done=done), 303)
        return await self._approvals(around, await self._looking.mark(), problem=problem, status=409)

    async def drift(self, request: Request) -> Response:
        path = _drift_path(self._settings)
        mark = _file_mark(path)
        patterns, newest = await asyncio.to_thread(_drift_of, path)
        return HTMLResponse(
            drift_page(_around(request), patterns, newest, link("/live", of="drift", since=mark))
        )

    async def evaluations(self, request: Request) -> Response:
        store = Evaluations(self._settings.evaluations)
        mark = _file_mark(store.path)
        heads = await asyncio.to_thread(_heads_of, store)
        live = link("/live", of="evaluations", since=mark)
        return HTMLResponse(evaluations_page(_around(request), heads, live))

    async def evaluation(self, request: Request) -> Response:
        store, query = Evaluations(self._settings.evaluations), request.query_params
        name, other = query.get("id", ""), query.get("with", "")

        def made() -> str:
            evaluation = store.load(name)
            comparisons = against(evaluation, store.load(other)) if other else []
            others = [
                one for one in store.heads() if one.suite == evaluation.suite and one.id != evaluation.id
            ]
            return evaluation_page(_around(request), evaluation, comparisons, others, other)

        if not store.path.exists():
            raise SessionError(name)
        return HTMLResponse(await asyncio.to_thread(made))

    async def live(self, request: Request) -> Response:
        query = request.query_params
        session_id, kind = query.get("id", ""), query.get("of", "")

        async def mark() -> str:
            if kind == "drift":
                return _file_mark(_drift_path(self._settings))
            if kind == "evaluations":
                return _file_mark(Evaluations(self._settings.evaluations).path)
            return await self._looking.mark(session_id)

        return self._live.response(mark, query.get("since", ""))

    async def login(self, request: Request) -> Response:
        around, guard = _around(request), _guard(request)
        if request.method == "GET":
            wanted = request.query_params.get("wanted", "/")
            if guard.who(request) is not None:
                return RedirectResponse(local_address(wanted), 303)
            return HTMLResponse(login_page(around, wanted=wanted))
        fields = await guard.form(request)
        wanted, is_right = local_address(fields.get("wanted", "/")), guard.is_token(fields.get("token", ""))
        if not is_right:
            problem = around.word("too_often" if is_right is None else "wrong_token")
            status = 429 if is_right is None else 403
            return HTMLResponse(login_page(around, wanted=wanted, problem=problem), status)
        response = RedirectResponse(wanted, 303)
        name = short(fields.get("name", ""), _MOST_NAME) or around.word("nobody")
        guard.log_in(response, name, is_secure=request.url.scheme == "https")
        return response

    async def logout(self, request: Request) -> Response:
        await _guard(request).form(request)
        response = RedirectResponse("/login", 303)
        response.delete_cookie(COOKIE)
        return response

    async def not_found(self, request: Request, error: Exception) -> Response:
        del error
        around = _around(request)
        return HTMLResponse(
            message_page(around, around.word("not_found"), around.word("not_found_words")), 404
        )

    async def refused(self, request: Request, error: Exception) -> Response:
        del error
        around = _around(request)
        return HTMLResponse(message_page(around, around.word("refused"), around.word("refused_words")), 403)

    async def failed(self, request: Request, error: Exception) -> Response:
        around = _around(request)
        return HTMLResponse(
            message_page(around, around.word("failed"), PLAIN.exception(error, _MOST_SAID)), 503
        )


def _guard(request: Request) -> Guard:
    guard: Guard = request.state.guard
    return guard


def _around(request: Request) -> Around:
    return _guard(request).around(request)


def _number(text: str | None) -> int:
    """A number of an address; 0 where it is none."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 16 else 0


def _cursor(session_id: str | None, at: str | None) -> Summary | None:
    """The last session of the part of the list before."""
    if not session_id or not at:
        return None
    try:
        return Summary(id=session_id, owner="", updated=float(at))
    except ValueError:
        return None


def _drift_path(settings: PageSettings) -> Path:
    named = os.environ.get(VARIABLE, "").strip()
    return settings.drift_log or Path(named or os.devnull).expanduser()


def _drift_of(path: Path) -> tuple[list[tuple[str, str, int]], list[DriftRecord]]:
    if not path.is_file():
        return [], []
    newest: deque[DriftRecord] = deque(maxlen=_MOST_DRIFT)

    def each() -> Iterator[DriftRecord]:
        for record in DriftLog(path, keep_days=None).records():
            newest.append(record)
            yield record

    patterns = counted(each())[:_MOST_PATTERNS]
    return patterns, list(newest)[::-1]


def _heads_of(store: Evaluations) -> list[tuple[Evaluation, int, int]]:
    if not store.path.exists():
        return []
    found = []
    for head in store.heads():
        counts = store.counts(head.id)
        found.append((head, sum(counts.values()), counts.get("passed", 0)))
    return found


def _file_mark(path: Path) -> str:
    """A word that changes when a file does, or the journal beside it."""
    told = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        try:
            status = file.stat()
        except OSError:
            continue
        told.append(f"{status.st_mtime_ns:x}-{status.st_size:x}")
    return ".".join(told)


@cache
def _content(name: str) -> bytes:
    return (
        style().encode()
        if name == "report.css"
        else files("toolhand.page").joinpath("assets", name).read_bytes()
    )


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _KINDS:
        return PlainTextResponse("There is no such file.\n", 404)
    content = _content(name)
    mark = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"etag": mark, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == mark:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_KINDS[name], headers=headers)
