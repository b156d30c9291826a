"""What is recorded when a job raises: its error class, one line, and its traceback."""

import json
from enum import StrEnum
from itertools import dropwhile
from traceback import TracebackException
from types import TracebackType

from cadenza.domain.validation import LONGEST_TEXT

LONGEST_TRACEBACK = 8_000
MOST_FRAMES = 50
"""The innermost frames of each exception are recorded."""
LONGEST_FRAME = 1_000
BEGINNING = 2_000
"""How much of a traceback that is too long is kept from its beginning; the rest is from its end."""
OWN_MODULES = "cadenza."


class ErrorClass(StrEnum):
    """The kind of error of a failed job, as telemetry has it; a timeout is always `unknown`."""

    REQ = "req"
    """A request failed, or got no usable answer."""
    LLM = "llm"
    """A model failed."""
    PARSE = "parse"
    """An answer could not be read."""
    UNKNOWN = "unknown"


class JobFailed(Exception):
    """Raised by a function to fail with an error class of its choice."""

    def __init__(self, message: str, error_class: ErrorClass | str = ErrorClass.UNKNOWN) -> None:
        super().__init__(message)
        self.error_class = ErrorClass(error_class)


KINDS: tuple[tuple[tuple[type[BaseException], ...], ErrorClass], ...] = (
    ((json.JSONDecodeError, UnicodeError), ErrorClass.PARSE),
    ((TimeoutError,), ErrorClass.UNKNOWN),
    ((OSError,), ErrorClass.REQ),
)


def error_class_of(problem: BaseException) -> ErrorClass:
    """The error class of an exception."""
    if isinstance(problem, JobFailed):
        return problem.error_class
    return next((word for kinds, word in KINDS if isinstance(problem, kinds)), ErrorClass.UNKNOWN)


def error_text(problem: BaseException) -> str:
    """An exception as one bounded text that every store accepts."""
    kind = type(problem).__name__
    try:
        text = f"{kind}: {problem}" if str(problem) else kind
    except Exception:  # noqa: BLE001 - its own __str__ may raise
        text = kind
    return _storable(text[:LONGEST_TEXT])


def traceback_text(problem: BaseException) -> str:
    """The traceback of an exception, from the job's own code on: bounded, and without values of variables."""
    described = TracebackException(
        type(problem), problem, _from_job(problem.__traceback__), limit=-MOST_FRAMES, compact=True
    )
    text = _storable("".join(_shortened(part) for part in described.format()).rstrip())
    if len(text) <= LONGEST_TRACEBACK:
        return text
    end = LONGEST_TRACEBACK - BEGINNING
    left_out = f"\n[{len(text) - LONGEST_TRACEBACK} characters are left out]\n"
    return f"{text[:BEGINNING]}{left_out}{text[-end:]}"


def _from_job(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames that led to the job; all of it, if there is no other code in it."""
    entries = [] if trace is None else [trace]
    while entries and (following := entries[-1].tb_next) is not None:
        entries.append(following)
    return next(dropwhile(_is_own, entries), trace)


def _is_own(entry: TracebackType) -> bool:
    return str(entry.tb_frame.f_globals.get("__name__")).startswith(OWN_MODULES)


def _shortened(part: str) -> str:
    return part if len(part) <= LONGEST_FRAME else f"{part[:LONGEST_FRAME]}...\n"


def _storable(text: str) -> str:
    return text.encode(errors="replace").decode().replace("\0", "?")
