"""Sends messages as webhooks, with the same guarded and signed HTTP client as targets."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from cadenza.domain.access.key import OPERATOR
from cadenza.domain.channel import Notice
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import Dispatcher

Format = Literal["json", "slack"]
FORMATS: Mapping[str, Callable[[Notice], Mapping[str, Any]]] = {
    "json": lambda notice: notice.as_event(),
    "slack": lambda notice: notice.as_slack(),
}
TIMEOUT_MS = 10_000


def without_references(value: Json) -> Json:
    """The value with references to secrets made harmless: its texts may come from anybody."""
    if isinstance(value, str):
        return value.replace("${", "$ {")
    if isinstance(value, list):
        return [without_references(part) for part in value]
    if isinstance(value, dict):
        return {name: without_references(part) for name, part in value.items()}
    return value


class WebhookSender:
    """Posts messages to one address. Every attempt at one carries the same `webhook-id`."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: Clock,
        *,
        url: str,
        form: Format,
        signing: tuple[str, ...] = (),
        tenant_id: str = OPERATOR,
    ) -> None:
        self._dispatcher = dispatcher
        self._clock = clock
        self._write = FORMATS[form]
        self._target = HttpTarget(url, "POST", signing=signing)
        self._tenant_id = tenant_id

    async def send(self, notice: Notice, attempt: int) -> str | None:
        """Post it once; a 2xx status means that it arrived."""
        outcome = await self._dispatcher.execute(self._claim(notice, attempt))
        return None if outcome.status is RunStatus.SUCCESS else outcome.error or outcome.status.value

    def _claim(self, notice: Notice, attempt: int) -> Claim:
        name, now = notice.idempotency_key, self._clock.now()
        target = HttpTarget(
            self._target.url,
            self._target.method,
            body=without_references(dict(self._write(notice))),
            signing=self._target.signing,
        )
        policy = Policy(timeout_ms=TIMEOUT_MS)
        endpoint = Endpoint(id=name, name=name, tenant_id=self._tenant_id, target=target, policy=policy)
        return Claim(
            name, name, endpoint, notice.raised_at, now, attempt, Source.MANUAL, now, now, started_at=now
        )
