"""What is owed to users, as a store keeps it until they have it."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Protocol

from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.users import UserKey

Ring = Callable[[], None]


class DeliveryStore(Protocol):
    """Messages with a number of their user's own.

    Numbers have no gaps and become visible in their order: who has read up to one
    will never find an earlier one.
    """

    async def deliveries(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int, now: datetime
    ) -> list[Delivery]:
        """The user's messages with numbers after one, in their order; what expired is left out."""
        ...

    async def owed(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int, now: datetime
    ) -> list[Delivery]:
        """Those of them that are not delivered yet."""
        ...

    async def owed_firings(self, user: UserKey, now: datetime) -> int:
        """How many different things fired whose messages are still owed."""
        ...

    async def acknowledge(self, user: UserKey, upto: int) -> int:
        """Everything up to a number is delivered; how many messages were not before."""
        ...

    async def last_seqs(self, users: Collection[UserKey]) -> Mapping[UserKey, int]:
        """The number of each user's last message, 0 if there was none; users that are gone are left out."""
        ...

    def on_owed(self, user: UserKey, ring: Ring) -> Ring:
        """Call whenever something new is owed to the user, by any process that can be heard.

        The answer ends it. A call may be lost, so whoever waits for it also looks now and then.
        """
        ...

    async def forget_deliveries(self, *, delivered_before: datetime, now: datetime) -> int:
        """Forget messages that were owed earlier and are delivered, and those that expired; how many."""
        ...
