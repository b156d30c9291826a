"""Every request with an idempotency key is carried out once, however often it is sent."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.simulation.whole_system.actions import RUN_KINDS, Request
from tests.simulation.whole_system.connections import CommitChecks, StoreCall

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.steer import HintRecord
from cadenza.ports.access import IdempotentReply


class RequestChecks:
    """Counts the commits that carried out each request."""

    def __init__(self, checks: CommitChecks) -> None:
        self._checks = checks
        self.execute_within = checks.execute_within
        self.carried_out: Counter[str] = Counter()
        """How often each key's request was carried out."""

    def execute(self, call: StoreCall) -> Any:
        """Execute a call, and count it if it carries out a request."""
        if call.name != "idempotency.keep_reply":
            return self._checks.execute(call)
        was_asked = False

        async def answer() -> IdempotentReply:
            nonlocal was_asked
            was_asked = True
            reply: IdempotentReply = await call.named["answer"]()
            return reply

        result = self._checks.execute(call._replace(named={**call.named, "answer": answer}))
        self.carried_out[call.arguments[1]] += was_asked
        return result


def request_violations(
    requests: Sequence[Request],
    carried_out: Mapping[str, int],
    *,
    endpoints: Sequence[Endpoint],
    history: Mapping[str, Sequence[HintRecord]],
) -> Iterator[str]:
    """Each is answered, was carried out in one commit, and left its traces once; none if it was refused."""
    made = Counter(endpoint.name for endpoint in endpoints)
    names = {endpoint.id: endpoint.name for endpoint in endpoints}
    steered = Counter((endpoint_id, line.reason) for endpoint_id, lines in history.items() for line in lines)
    for request in requests:
        name = f"{request.key} ({request.action})"
        if request.answer is None:
            yield f"{name} was never answered"
        elif carried_out.get(request.key) != 1:
            yield f"{name} was carried out {carried_out.get(request.key, 0)} times"
        traces = int(request.has_succeeded)
        if request.action == "create_endpoint":
            traces = made[request.key]
        elif "reason" in request.arguments and request.action not in RUN_KINDS:
            traces = steered[request.arguments["endpoint_id"], request.key]
        if traces != request.has_succeeded:
            yield f"{name} left {traces} traces, and was answered with {request.answer}"
        if request.made and names.get(request.made) != request.key:
            yield f"{name} was told that it made {request.made}, which it did not"
