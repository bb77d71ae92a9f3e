"""The sessions of a store for people and programs that look after them: to list, read, export, search, undo and remove."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TextIO, TypeAlias

from toolhand.core.approvals import Decision, PendingCall
from toolhand.core.errors import SessionError
from toolhand.core.jsonable import jsonable, result_text
from toolhand.core.language import Language, say
from toolhand.core.messages import Message, Note, Text, ToolResult
from toolhand.sessions import codec
from toolhand.sessions.entries import Hit, State, Summary
from toolhand.sessions.reading import Living, Stretch, add_entry, may_be_first
from toolhand.sessions.session import refusal
from toolhand.sessions.store import SessionStore
from toolhand.sessions.stored import PAGE, StoredSession

Form: TypeAlias = Literal["jsonl", "openai"]
"""How a session is written out: each message as a JSON object on a line of its own, in Toolhand's words or in OpenAI's."""


class Archive:
    """What can be done with the sessions of a store beside running in them.

    Where a method takes a `user`, it refuses sessions of others; None is a program that may see everybody's.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: SessionStore) -> None:
        self.store = store

    async def sessions(self, *, user: str | None = None, page: int = 200) -> AsyncIterator[Summary]:
        """Every session, the last used first, read in pages.

        Args:
            user: whose.
            page: how many are read at once.
        """
        last: Summary | None = None
        while found := await self.store.list(owner=user, before=last, limit=page):
            for summary in found:
                yield summary
            last = found[-1]

    async def summary(self, session_id: str, *, user: str | None = None) -> Summary:
        """What a list says of a session.

        Raises:
            SessionError: when there is none of that name, or it is another user's.
        """
        found = await self.store.find(session_id)
        if found is None:
            raise SessionError(
                say(
                    f"there is no session '{session_id}' in the store {self.store.name}",
                    f"存储 {self.store.name} 里没有会话“{session_id}”",
                )
            )
        if user is not None and found.owner != user:
            raise SessionError(refusal(session_id, user))
        return found

    async def standing(self, summary: Summary) -> Summary:
        """The same with how its last run stands, and with what a run that died could not note: its messages and title.

        It reads the end of the session's log.
        """
        session = StoredSession(summary.id, self.store)
        await session.load()
        open_calls = tuple(call.id for call in session.unanswered)
        state: State = "unfinished" if session.is_under_way else "finished"
        is_started = any(session.ledger.of(call_id).started for call_id in open_calls)
        was_noted = bool(session.ledger.waiting)  # not in a log of before that was done
        if session.waiting or (open_calls and not is_started and not was_noted):
            state = "waiting"
        return replace(
            summary,
            messages=session.count,
            title=summary.title or session.title,
            state=state,
            open_calls=open_calls,
        )

    async def messages(self, session_id: str, *, user: str | None = None) -> list[Message]:
        """Everything that was said.

        Raises:
            SessionError: when there is none of that name, or it is another user's.
        """
        await self.summary(session_id, user=user)
        session = StoredSession(session_id, self.store)
        await session.load()
        while await session.load_older():
            pass
        return session.recent()

    async def each_message(
        self, session_id: str, *, user: str | None = None, last: int | None = None
    ) -> AsyncIterator[Message]:
        """Everything that was said as of now, page by page: of a long session only a little is in memory at a time.

        Args:
            session_id: the session.
            user: who asks.
            last: only so many messages, the newest.

        Raises:
            SessionError: when there is none of that name, or it is another user's.
        """
        await self.summary(session_id, user=user)
        living, first, count, page = Living(), 1, 0, await self.store.read(session_id, limit=PAGE)
        end = page[-1].seq + 1 if page else 1
        while page:
            for entry in living.backwards(page):
                count += entry.kind == "message"
                first = entry.seq
                if last is not None and count >= last and may_be_first(entry):
                    page = []
                    break
            page = page and await self.store.read(session_id, before=page[0].seq, limit=PAGE)
        left_out = 0 if last is None else max(0, count - last)
        found, results = Stretch(), dict[str, ToolResult]()
        for start in range(first, end, PAGE):
            stop = min(end, start + PAGE)
            for entry in living.forwards(await self.store.read(session_id, before=stop, limit=stop - start)):
                add_entry(found, entry, results)
            for message in found.messages[left_out:]:
                yield message
            left_out = max(0, left_out - len(found.messages))
            found.messages.clear()
            found.seqs.clear()

    async def export(
        self, session_id: str, file: TextIO, form: Form = "jsonl", *, user: str | None = None
    ) -> int:
        """Writes a session out, a message a line.

        Args:
            session_id: the session.
            file: where to.
            form: in whose words.
            user: who asks.

        Returns:
            how many lines.

        Raises:
            SessionError: when there is none of that name, or it is another user's.
        """
        count = 0
        async for message in self.each_message(session_id, user=user):
            for line in openai_messages([message]) if form == "openai" else [codec.message_json(message)]:
                file.write(codec.written(line) + "\n")
                count += 1
        return count

    async def search(
        self, text: str, *, user: str | None = None, session_id: str | None = None, limit: int = 20
    ) -> Sequence[Hit]:
        """Messages with these words in them, the newest first; see `SessionStore.search`."""
        return await self.store.search(text, owner=user, session_id=session_id, limit=limit)

    async def undo(self, session_id: str, *, user: str | None = None) -> str:
        """Takes the last message of the user back, with all that came of it; gives the user's words.

        Raises:
            SessionError: when there is none of that name, it is another user's, or there is nothing to undo.
        """
        found = await self.summary(session_id, user=user)
        session = StoredSession(session_id, self.store, user=found.owner)
        async with session.held():
            return await session.undo()

    async def waiting(self, session_id: str, *, user: str | None = None) -> tuple[PendingCall, ...]:
        """The calls that wait for a person's decision now.

        Raises:
            SessionError: when there is none of that name, or it is another user's.
        """
        await self.summary(session_id, user=user)
        session = StoredSession(session_id, self.store)
        await session.load()
        return session.waiting

    async def decide(
        self, session_id: str, decisions: Mapping[str, Decision], *, user: str | None = None
    ) -> None:
        """Writes down what a person decided about calls that wait; it counts when their run is gone on with (`Agent.resume`).

        Args:
            session_id: the session.
            decisions: by approval id.
            user: who asks.

        Raises:
            SessionError: when there is none of that name, it is another user's, in use for too long, or no such call waits.
        """
        found = await self.summary(session_id, user=user)
        session = StoredSession(session_id, self.store, user=found.owner)
        async with session.held():
            if unknown := decisions.keys() - {call.approval_id for call in session.waiting}:
                raise SessionError(
                    say(
                        f"no call waits in the session '{session_id}' under {', '.join(sorted(unknown))}: it was decided, "
                        "or its run has gone on",
                        f"会话“{session_id}”中没有等待的调用 {'、'.join(sorted(unknown))}：已经决定过，或运行已经继续",
                    )
                )
            session.note_decided(decisions)

    async def remove(self, session_id: str, *, user: str | None = None) -> None:
        """Removes a session for good, once no run has it. What the audit says of it stays.

        Raises:
            SessionError: when there is none of that name, it is another user's, or in use for too long.
        """
        found = await self.summary(session_id, user=user)
        session = StoredSession(session_id, self.store, user=found.owner)
        async with session.held():
            await session.remove()


def openai_messages(messages: Sequence[Message], language: Language = "en") -> list[dict[str, Any]]:
    """A history in OpenAI's words, for programs that read those.

    Args:
        messages: the history.
        language: of the words that stand for a result without any.

    Source: https://platform.openai.com/docs/api-reference/chat.
    """
    found: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "tool":
            found.extend(
                {
                    "role": "tool",
                    "tool_call_id": result.call_id,
                    "content": result_text(result, language),
                }
                for result in message.results
            )
            continue
        text = "\n".join(part.text for part in message.parts if isinstance(part, Text | Note))
        line: dict[str, Any] = {"role": message.role, "content": text}
        if message.calls:
            line["content"] = text or None
            line["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": json.dumps(jsonable(call.arguments), ensure_ascii=False),
                    },
                }
                for call in message.calls
            ]
        found.append(line)
    return found
