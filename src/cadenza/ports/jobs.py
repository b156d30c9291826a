"""What is done for each user once a day."""

from datetime import date
from typing import Protocol

from cadenza.domain.daily.user import JobResult


class JobRunner(Protocol):
    """Carries out daily jobs."""

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> JobResult:
        """Do a user's job once, and come back when it has really ended.

        There are no retries within: whoever calls tries again. What goes wrong is a
        result; an exception is one of class `unknown`. A job that is cancelled ends as
        soon as it can, and no sooner does this return.
        """
        ...
