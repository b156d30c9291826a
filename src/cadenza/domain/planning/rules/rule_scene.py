"""An endpoint among its siblings, as rules see them and act on them."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from cadenza.domain.planning.rules.context import facts
from cadenza.domain.planning.rules.incidents import Decision, Memory, Sight, decide
from cadenza.domain.planning.rules.rule import Rule, Step
from cadenza.domain.planning.rules.steps import Call, already, calls
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run


class Scene:
    """What is known at one moment; who acts tells what became of an endpoint."""

    def __init__(
        self,
        now: datetime,
        endpoint: Endpoint,
        *,
        is_new: bool = False,
        recent: Sequence[Run] = (),
        siblings: Mapping[str, Endpoint] | None = None,
        latest: Mapping[str, Run] | None = None,
    ) -> None:
        self.now = now
        self.facts = facts(endpoint, now, is_new=is_new, recent=recent, siblings=siblings, latest=latest)
        self._own = endpoint.name
        self._endpoints = {**(siblings or {}), endpoint.name: endpoint}

    def meant(self, step: Step) -> Endpoint | None:
        """Whom a step is about, as it stands by now; None if there is nobody of that name."""
        return self._endpoints.get(step.endpoint or self._own)

    def became(self, endpoint: Endpoint) -> None:
        """An endpoint stands differently by now."""
        self._endpoints[endpoint.name] = endpoint

    def decide(self, rule: Rule, memory: Memory, *, holds: bool | None, trouble: str | None) -> Decision:
        """What a rule does, whose condition holds or not."""
        return decide(rule, Sight(self.now, holds, trouble), memory, done=self._done)

    def calls(self, rule: Rule, step: Step) -> list[tuple[Endpoint, Call]]:
        """The tools that a step calls, and on whom; none if there is nobody of that name."""
        endpoint = self.meant(step)
        if endpoint is None:
            return []
        return [(endpoint, call) for call in calls(step, endpoint, rule=rule, now=self.now)]

    def _done(self, step: Step) -> bool:
        endpoint = self.meant(step)
        return endpoint is not None and already(step, endpoint, self.now)
