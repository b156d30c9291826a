"""Structured log lines through structlog."""

import logging
import sys
from contextlib import suppress
from threading import Lock
from typing import TextIO

import orjson
import structlog


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


class _Lines:
    """Writes lines; a closed pipe or a full disk loses them, and stops nothing else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = Lock()

    def msg(self, line: str) -> None:
        with self._lock, suppress(OSError, ValueError):  # ValueError is raised by a closed file.
            print(line, file=self._stream, flush=True)

    debug = info = warning = error = msg


def _to_json(facts: object, **_: object) -> str:
    return orjson.dumps(facts, default=str, option=orjson.OPT_UTC_Z).decode()
