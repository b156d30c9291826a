"""What must be true of everything that was owed: deliveries, answers and alerts."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from tests.simulation.whole_system.socket_clients import SocketClient

from cadenza.domain.agents.conversation import Message, Role
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.validation import iso

SETTLED_S = 15
"""What reached its user must be acknowledged so long after."""


def delivery_violations(deliveries: Sequence[Delivery], client: SocketClient, now_s: float) -> Iterator[str]:
    """Each is numbered without gaps, reached its user, and was called delivered no sooner."""
    if [one.seq for one in deliveries] != list(range(1, len(deliveries) + 1)):
        yield f"deliveries are numbered {[one.seq for one in deliveries]}"
    for one in deliveries:
        if client.received.get(one.seq) != one.id:
            said = "delivered" if one.delivered else "undelivered"
            yield f"delivery {one.seq} never reached its user, and is called {said}"
        elif not one.delivered and client.received_at[one.seq] < now_s - SETTLED_S:
            yield f"delivery {one.seq} reached its user, and is not called delivered"
    firings = Counter(one.firing for one in deliveries if one.firing is not None)
    yield from (f"firing {firing} is told {times} times" for firing, times in firings.items() if times > 1)


def firing_violations(
    schedule: Endpoint, runs: Sequence[Run], deliveries: Sequence[Delivery]
) -> Iterator[str]:
    """A schedule's user is told of each slot that ended well, and of no other."""
    told = {one.firing for one in deliveries if one.schedule_id == schedule.id}
    owed = set()
    for run in runs:
        firing = f"{run.tenant_id}:{run.endpoint_id}:{iso(run.slot)}"
        if run.verdict and run.status is RunStatus.SUCCESS:
            owed.add(firing)
        elif run.verdict and run.status in (RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.ABANDONED):
            owed.add(f"{firing}:failed")
    if told != owed:
        yield f"{schedule.id}: told of {sorted(map(str, told))}, owed {sorted(owed)}"


def answer_violations(messages: Sequence[Message], client: SocketClient) -> Iterator[str]:
    """Each message of a user is answered once, however often it was sent."""
    stored = Counter(message.text for message in messages if message.role is Role.USER)
    for key, text in client.texts.items():
        if stored[text] > 1 or (stored[text] == 0 and client.answered[key]):
            times = client.answered[key]
            yield f"message {key} is stored {stored[text]} times, and was answered {times} times"
        if not client.answered[key]:
            yield f"message {key} was never answered"


def alert_violations(
    stored: set[str],
    expected: Mapping[str, str],
    received: Counter[str],
    *,
    deleted: Collection[str],
    had_faults: bool,
    was_set_back: bool,
) -> Iterator[str]:
    """Each alert is raised with its run, and its receiver knows in the end how each endpoint fares.

    An alert that another one about its endpoint followed before it was sent need not be sent, nor an end
    whose beginning was not, nor one about an endpoint that was deleted. None is received twice, unless
    after a fault. Alerts are applied in the order of the moments at which they were raised: after a clock
    was set back an end may come before its beginning, which is told as no longer an alert then.
    """
    if stored != set(expected):
        missing, extra = sorted(set(expected) - stored), sorted(stored - set(expected))
        yield f"alerts: {missing} are missing, {extra} are too many"
    last = {endpoint_id: key for key, endpoint_id in expected.items()}
    told: dict[str, str] = {}
    for key, endpoint_id in expected.items():
        over = key.endswith(":over")
        begun = told.get(endpoint_id)
        owed = last[endpoint_id] == key and (begun or not over) and endpoint_id not in deleted
        if owed and was_set_back and over and received[f"{begun}:closed"]:
            continue
        if (owed and not received[key]) or (received[key] > 1 and not had_faults):
            yield f"alert {key} was received {received[key]} times"
        if received[key] and not over:
            told[endpoint_id] = key
        elif received[key]:
            told.pop(endpoint_id, None)
