"""The agent schedules of users: endpoints with a prompt target."""

from collections.abc import Callable, Sequence
from typing import Protocol

from cadenza.domain.agents.users import UserKey
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.ports.catalog import FIRST_PAGE, Page

Decide = Callable[[Sequence[Endpoint]], Endpoint]
"""What is kept, given the user's active schedules: one of them, or a new one; it may refuse by raising."""


class ScheduleStore(Protocol):
    """Schedules, found by the user to whom they belong."""

    async def add_schedule(self, user: UserKey, decide: Decide) -> Endpoint:
        """Keep the endpoint that is decided on, in one commit; one that is there already stays as it is.

        Decisions about one user happen one after the other. NotFound if there is no
        such user, Conflict if the new id is taken. A new one rings the bell.
        """
        ...

    async def schedules(
        self, user: UserKey, *, active_only: bool = True, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        """A user's schedules, in the order of their ids; those that are done or switched off if wanted.

        What was deleted is left out.
        """
        ...
