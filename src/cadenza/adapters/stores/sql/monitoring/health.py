"""Whether changes can be committed: what was refused lately, and a change that tries it."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from cadenza.domain.errors import NotWritable

if TYPE_CHECKING:  # It has refused changes itself.
    from cadenza.adapters.stores.sql.database import Database

COUNTS_S = 5.0
"""Longer than a worker waits before it tries again what was refused."""
CHANGE = """
INSERT INTO rates AS r ("window", subject, drawn) VALUES (0, '', 0)
ON CONFLICT ("window", subject) DO UPDATE SET drawn = 1 - r.drawn
"""
"""A row of no rate window, which goes with the old ones."""


class RefusedChanges:
    """The last change that the database had no room for or refused to take, for some seconds."""

    def __init__(self) -> None:
        self._last: tuple[float, str] | None = None

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note a change that is refused in here."""
        try:
            yield
        except NotWritable as problem:
            self._last = (monotonic(), problem.message)
            raise

    def check(self) -> None:
        """NotWritable if a change was refused a moment ago."""
        if self._last is not None and monotonic() - self._last[0] < COUNTS_S:
            raise NotWritable(self._last[1])


class SqlHealth:
    """Tries a small change. It may find room where others did not, so what they were told counts as well."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    async def check(self) -> None:
        self._database.refused_changes.check()
        await self._database.ask(CHANGE)
