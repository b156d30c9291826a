"""Lanes where one process serves all daily users: whoever sits in the chair."""

import asyncio

from cadenza.domain.daily.rules import lanes
from cadenza.ports.daily import LaneServer
from cadenza.ports.leader import Chair


class ChairLanes:
    """All lanes, or none."""

    def __init__(self, chair: Chair, *, max_concurrency: int) -> None:
        self._chair = chair
        self._of = lanes(max_concurrency)

    async def hold(self, server: LaneServer) -> None:
        """Serve all when the chair is free."""

        async def serve() -> None:
            server.serve(range(self._of))
            await asyncio.Event().wait()

        try:
            await self._chair.hold(serve)
        finally:
            server.serve(())
