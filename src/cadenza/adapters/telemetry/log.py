"""Structured log lines: through structlog, or through the logging of the program around us."""

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import TextIO

import orjson
import structlog
from structlog.typing import EventDict

from cadenza.domain.text_patterns import visible
from cadenza.ports.telemetry import Logger


class StructuredLog:
    """One line for each event: a text, and its facts as fields."""

    def __init__(
        self, *, level: int = logging.INFO, stream: TextIO | None = None, as_json: bool = False
    ) -> None:
        self._level = level
        stream = stream or sys.stderr
        render: structlog.typing.Processor = (
            structlog.processors.JSONRenderer(serializer=_to_json)
            if as_json
            else structlog.dev.ConsoleRenderer(colors=stream.isatty())
        )
        self._log: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
            _Lines(stream),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                *([] if as_json else [_as_visible]),
                render,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(level),
        )

    @property
    def verbose(self) -> bool:
        """Whether debug lines are wanted."""
        return self._level <= logging.DEBUG

    def debug(self, event: str, **facts: object) -> None:
        """A detail, off by default."""
        self._log.debug(event, **facts)

    def info(self, event: str, **facts: object) -> None:
        """What an operator wants to know in normal operation."""
        self._log.info(event, **facts)

    def warning(self, event: str, **facts: object) -> None:
        """What an operator should look at."""
        self._log.warning(event, **facts)

    def error(self, event: str, **facts: object) -> None:
        """What has stopped working and does not come back by itself."""
        self._log.error(event, **facts)


class ProgramLog:
    """The log inside a program that brings its own logging.

    Where the program has configured Python's `logging`, lines go to its logger `cadenza`, with the
    program's levels and handlers: facts stand in the text, and as `facts` on the record. Otherwise
    they go to the log that is given. It is looked at for each line, as programs may configure late.
    """

    def __init__(self, otherwise: Logger) -> None:
        self._otherwise = otherwise
        self._logger = logging.getLogger("cadenza")

    @property
    def verbose(self) -> bool:
        """Whether debug lines are wanted."""
        configured = self._logger.hasHandlers()
        return self._logger.isEnabledFor(logging.DEBUG) if configured else self._otherwise.verbose

    def debug(self, event: str, **facts: object) -> None:
        """A detail, off by default."""
        self._write(logging.DEBUG, self._otherwise.debug, event, facts)

    def info(self, event: str, **facts: object) -> None:
        """What an operator wants to know in normal operation."""
        self._write(logging.INFO, self._otherwise.info, event, facts)

    def warning(self, event: str, **facts: object) -> None:
        """What an operator should look at."""
        self._write(logging.WARNING, self._otherwise.warning, event, facts)

    def error(self, event: str, **facts: object) -> None:
        """What has stopped working and does not come back by itself."""
        self._write(logging.ERROR, self._otherwise.error, event, facts)

    def _write(
        self, level: int, otherwise: Callable[..., None], event: str, facts: dict[str, object]
    ) -> None:
        if not self._logger.hasHandlers():
            otherwise(event, **facts)
        elif self._logger.isEnabledFor(level):
            self._logger.log(level, _as_text(event, **facts), extra={"facts": facts}, stacklevel=3)


def _as_text(event: str, *, traceback: object = None, **facts: object) -> str:
    """An event with its facts on one line; a traceback has lines of its own."""
    words = [f"{name}={fact}" for name, fact in facts.items() if fact is not None]
    line = visible(" ".join([event, *words]), lines=False)
    return line if traceback is None else f"{line}\n{visible(str(traceback))}"


class _Lines:
    """Writes lines; a closed pipe or a full disk loses them, and stops nothing else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = Lock()

    def msg(self, line: str) -> None:
        with self._lock, suppress(OSError, ValueError):  # ValueError is raised by a closed file.
            print(line, file=self._stream, flush=True)

    debug = info = warning = error = msg


def _as_visible(_: object, __: str, facts: EventDict) -> EventDict:
    """Escape what would steer a terminal; a traceback is printed below its line, and keeps its own lines."""
    traceback = facts.pop("traceback", None)
    facts["event"] = visible(str(facts["event"]), lines=False)
    for name, fact in facts.items():
        if isinstance(fact, str) and not fact.isprintable():
            facts[name] = _Quoted(fact)
    return facts if traceback is None else {**facts, "exception": visible(str(traceback))}


class _Quoted:
    """A text with control characters, which the console shows as Python writes it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return repr(self._text)


def _to_json(facts: object, **_: object) -> str:
    return visible(orjson.dumps(facts, default=str, option=orjson.OPT_UTC_Z).decode())
