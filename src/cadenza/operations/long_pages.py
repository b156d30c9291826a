"""Pages of what may be long: read some at a time, and ended before they take too much time and memory."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

import orjson

from cadenza.operations.fields import split_page
from cadenza.ports.catalog import Page

PART = 100
"""So many are read at once, which is a whole page for most callers."""
LONGEST_PAGE = 1 << 18
"""A page has at most so many bytes, whatever its limit is, unless its only item has more."""
LONGEST_READ = 1 << 22
"""The same where what is long is read, and not shown."""


class Listable(Protocol):
    """What is listed in the order of its ids."""

    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=Listable)
Part = tuple[Sequence[Item], str | None]
"""Some items, and after which id to go on; None if there are no more."""


def size_of(value: Any) -> int:
    """How many bytes a value has as JSON."""
    return 0 if value is None else len(orjson.dumps(value, default=str))


def one_more(read: Callable[[Page], Awaitable[list[Item]]]) -> Callable[[Page], Awaitable[Part[Item]]]:
    """Read parts with a function that does not tell whether there are more, by asking for one more."""

    async def read_part(page: Page) -> Part[Item]:
        items, more = split_page(await read(page._replace(limit=page.limit + 1)), page.limit)
        return items, items[-1].id if more else None

    return read_part


async def read_page(
    read: Callable[[Page], Awaitable[Part[Item]]],
    page: Page,
    size: Callable[[Item], int],
    *,
    longest: int = LONGEST_PAGE,
) -> tuple[list[Item], str | None]:
    """The items of a page, and after which id the next one begins; None if it is the last.

    It may hold less than its limit and yet not be the last: if it gets too long, or if a part has
    fewer items than were asked for.
    """
    items: list[Item] = []
    length, after = 0, page.after
    while len(items) < page.limit:
        asked = min(PART, page.limit - len(items))
        found, after = await read(Page(asked, after))
        for item in found:
            length += size(item)
            if items and length > longest:
                return items, items[-1].id
            items.append(item)
        if after is None or len(found) < asked:
            break
    return items, after
