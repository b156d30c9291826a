"""Settling that cannot fail: an endpoint that no plan can be made for is paused, and costs no other."""

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Completion
from cadenza.domain.scheduling.settle import Settled, settle, unplannable
from cadenza.domain.validation import LONGEST_TEXT
from cadenza.engine.worker.endpoint_alerts import RaiseFor
from cadenza.ports.clock import Clock
from cadenza.ports.cron import Cron
from cadenza.ports.log import Logger


class Settler:
    """Settles an endpoint by the rules, at the present moment."""

    def __init__(self, *, clock: Clock, cron: Cron, log: Logger, alerts: RaiseFor | None = None) -> None:
        self._clock = clock
        self._cron = cron
        self._log = log
        self._alerts = alerts

    def __call__(self, endpoint: Endpoint, completion: Completion) -> Settled:
        """The endpoint after its run, and what people are told of it."""
        settled, before = self._settled(endpoint, completion), endpoint.failure_count
        if self._alerts is None or settled.endpoint.failure_count == before:
            return settled
        return settled._replace(raised=self._alerts(settled, before))

    def _settled(self, endpoint: Endpoint, completion: Completion) -> Settled:
        try:
            return settle(endpoint, completion, now=self._clock.now(), cron=self._cron)
        except Exception as problem:  # noqa: BLE001 - one that cannot be planned must not block its batch
            facts = {"endpoint_id": endpoint.id, "run_id": completion.claim.run_id, "problem": repr(problem)}
            self._log.warning("an endpoint cannot be planned and is paused", **facts)
            return unplannable(endpoint, completion, f"it cannot be planned: {problem}"[:LONGEST_TEXT])
