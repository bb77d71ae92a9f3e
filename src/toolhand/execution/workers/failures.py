"""How a call in a worker process can fail, apart from what the tool itself raises."""

from __future__ import annotations


class ProcessLostError(RuntimeError):
    """A process is missing that was needed before the tool could start: it could not be had, or has ended."""


class WorkerEndedError(RuntimeError):
    """A worker's process ended in the middle of a call."""


class ToolRaisedError(RuntimeError):
    """What a tool raised in another process: its type and text, its traceback as a note.

    Args:
        text: type and text.
        fault: what it means, as it was judged there (`toolhand.execution.faults.Fault`).
    """

    def __init__(self, text: str, fault: object) -> None:
        super().__init__(text)
        self.fault = fault


class FrameTooLargeError(ValueError):
    """A value has more bytes as JSON than may cross."""
