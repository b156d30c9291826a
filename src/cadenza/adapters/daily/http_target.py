"""Daily runs that send an HTTP request, by the same guarded dispatcher as endpoints."""

from dataclasses import replace
from datetime import date, time

from cadenza.domain.daily.keys import DAILY
from cadenza.domain.daily.user import DONE, DailyRunResult
from cadenza.domain.daily.window import cutoff
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.ids import Ids


class DailyClaim(Claim):
    """A claim for one run of a user's day; its endpoint is named by the programme."""

    @property
    def idempotency_key(self) -> str:
        """The same for every run of one day, and of no other programme."""
        of_user = f"{self.endpoint.id}:{self.slot.date().isoformat()}"
        return of_user if self.endpoint.name == DAILY else f"{self.endpoint.name}:{of_user}"


class HttpTargetRunner:
    """Sends one request for each run, with tenant, user, service date and programme in its JSON body."""

    def __init__(
        self,
        target: HttpTarget,
        *,
        dispatcher: Dispatcher,
        clock: Clock,
        ids: Ids,
        timeout_ms: int,
        programme_id: str = DAILY,
    ) -> None:
        if target.body is not None and not isinstance(target.body, dict):
            raise InvalidRequest("The body of a daily job must be a JSON object.", "body")
        self._target = target
        self._dispatcher = dispatcher
        self._clock = clock
        self._ids = ids
        self._programme_id = programme_id
        self._policy = Policy(timeout_ms=timeout_ms)

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> DailyRunResult:
        """Send the request once; every run of one day carries the same idempotency key."""
        outcome = await self._dispatcher.execute(self._claim(user_id, service_date, tenant_id=tenant_id))
        return DONE if outcome.status is RunStatus.SUCCESS else _failed(outcome)

    def _claim(self, user_id: str, service_date: date, *, tenant_id: str) -> Claim:
        given = self._target.body if isinstance(self._target.body, dict) else {}
        added = {
            "tenant_id": tenant_id,
            "user_id": user_id,
            "service_date": service_date.isoformat(),
            "programme": self._programme_id,
        }
        target = replace(self._target, body={**given, **added})
        now, id_ = self._clock.now(), self._ids.new()
        return DailyClaim(
            run_id=id_,
            token=id_,
            endpoint=Endpoint(
                id=user_id,
                name=self._programme_id,
                tenant_id=tenant_id,
                target=target,
                policy=self._policy,
            ),
            slot=cutoff(time(), service_date),
            due_at=now,
            attempt=1,
            source=Source.FIRST,
            claimed_at=now,
            lease_until=now,
            started_at=now,
        )


def _failed(outcome: Outcome) -> DailyRunResult:
    error, timed_out = outcome.error or outcome.status.value, outcome.status is RunStatus.TIMEOUT
    return DailyRunResult(error, outcome.error_class, timed_out=timed_out)
