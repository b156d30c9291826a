"""Lanes: the users with a daily job, shared out to the processes that serve them."""

from collections.abc import Collection
from typing import Protocol


class LaneServer(Protocol):
    """Serves the users of lanes."""

    def serve(self, held: Collection[int], leaving: Collection[int] = ()) -> None:
        """Serve these lanes alone; what runs for those that are being left may end, all else is cut off."""
        ...

    def done_with(self, leaving: Collection[int]) -> Collection[int]:
        """Those of these lanes that can be given away: nothing of theirs is left to do."""
        ...


class Lanes(Protocol):
    """Of all processes on one database, one serves each lane at a time; with its process, it is free."""

    async def hold(self, server: LaneServer) -> None:
        """Hold a fair share of the lanes until cancelled, and say whenever it changes.

        A lane above the share is given away when its server is done with it; one that
        is lost is served no more as soon as that is known.
        """
        ...
