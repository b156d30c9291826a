"""Lists in pages, by keyset: a cursor names the last item of the page before."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from cadenza.operations.fields import Cursor, Limit
from cadenza.operations.operation import Command, View
from cadenza.ports.catalog import Page

Item = TypeVar("Item")


class Paged(Command):
    """A part of a list."""

    limit: Limit = 100
    """How many, at most."""
    cursor: Cursor | None = None
    """The `next_cursor` of the page before."""

    def page(self) -> Page:
        """The page to read: one item more than the limit, to see whether there is a next page."""
        return Page(self.limit + 1, self.cursor)


class Listed(View, Generic[Item]):
    """A page of a list."""

    items: list[Item]
    next_cursor: str | None = None
    """Where the next page begins; null at the end."""


def split_page(found: Sequence[Item], limit: int) -> tuple[list[Item], bool]:
    """The items of the page, and whether there is a next one."""
    return list(found[:limit]), len(found) > limit
