"""Lists that are fetched over as many pages as are wanted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.argument_parsing import whole_number
from cadenza.surfaces.cli.connection import OperationClient
from cadenza.surfaces.cli.output.terminal import Progress, counting

DEFAULT_LIMIT = 100
PAGE = 500


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Paging:
    """How much of a list."""

    limit: Annotated[
        int | None,
        Parameter(converter=whole_number, help="How many, at most; 100 if neither this nor --all is given."),
    ] = None
    all: Annotated[bool, Parameter(help="Go on to the end of the list.")] = False
    cursor: Annotated[str | None, Parameter(help="Begin behind this `next_cursor`.")] = None

    def most(self) -> int | None:
        """The most items to fetch; None for all."""
        if self.limit is not None and self.limit < 1:
            raise InvalidRequest("--limit must be at least 1.", "--limit")
        return DEFAULT_LIMIT if self.limit is None and not self.all else self.limit


FIRST_PAGE = Paging()


async def fetch_pages(
    client: OperationClient, operation: str, given: Mapping[str, Any], *, paging: Paging
) -> dict[str, Any]:
    """Fetch as many pages as are wanted, and join them."""
    with counting(f"{operation.replace('_', ' ')}…", shown=paging.all) as progress:
        return await _fetch_pages(client, operation, given, paging=paging, progress=progress)


async def _fetch_pages(
    client: OperationClient, operation: str, given: Mapping[str, Any], *, paging: Paging, progress: Progress
) -> dict[str, Any]:
    most, cursor = paging.most(), paging.cursor
    items: list[Any] = []
    while True:
        wanted = PAGE if most is None else min(PAGE, most - len(items))
        begin = {} if cursor is None else {"cursor": cursor}
        page = await client.ask(operation, {**given, **begin, "limit": wanted})
        items += page["items"]
        cursor = page["next_cursor"]
        progress(len(items))
        if cursor is None or len(items) == most:
            return {"items": items, "next_cursor": cursor}
