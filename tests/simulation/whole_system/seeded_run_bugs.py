"""Bugs in how runs are cancelled and requested, put into the product on purpose."""

from typing import Any

from pytest import MonkeyPatch  # noqa: PT013 - the only name of it
from tests.simulation.whole_system.fault_plan import Fault
from tests.simulation.whole_system.scenario import Scenario
from tests.simulation.whole_system.seeded_bug import SeededBug

from cadenza.domain.scheduling import due, settle, steer
from cadenza.domain.scheduling.requested_runs import cancelling, ending, waiting
from cadenza.domain.scheduling.requested_runs.queue import RequestQueue


def _deleted_endpoint_keeps_requests(patch: MonkeyPatch) -> None:
    patch.setattr(steer, "without_requests", lambda endpoint, *_: (endpoint, ()))


def _given_up_request_is_forgotten(patch: MonkeyPatch) -> None:
    def forget(queue: RequestQueue, completion: Any) -> Any:
        return ending._without(queue, completion.claim, queue.since)

    patch.setattr(ending, "_still_waiting", forget)


def _served_request_stays(patch: MonkeyPatch) -> None:
    patch.setattr(ending, "_without", lambda queue, _, now: RequestQueue(queue.waiting, now))


def _cancelled_slot_goes_on(patch: MonkeyPatch) -> None:
    patch.setattr(settle, "is_cancelled", lambda *_: False)


def _model_cancels_anything(patch: MonkeyPatch) -> None:
    patch.setattr(cancelling, "_check_rank", lambda *_: None)


def _pause_ignored_by_requests(patch: MonkeyPatch) -> None:
    def opens_at(endpoint: Any) -> Any:
        return None if endpoint.requested is None or endpoint.archived else endpoint.requested.since

    patch.setattr(waiting, "request_opens_at", opens_at)
    patch.setattr(due, "request_opens_at", opens_at)


def _acts(one: Scenario) -> bool:
    return one.acts_on_runs


def _acts_and_dies(one: Scenario) -> bool:
    return one.acts_on_runs and Fault.KILL in one.faults


RUN_BUGS = (
    SeededBug("a deleted endpoint keeps its requested runs", _deleted_endpoint_keeps_requests, _acts),
    SeededBug(
        "a requested run is forgotten when its worker dies",
        _given_up_request_is_forgotten,
        _acts_and_dies,
        seed=116,
    ),
    SeededBug("a requested run that ended comes again", _served_request_stays, _acts, in_every_store=True),
    SeededBug("the slot of a cancelled run goes on", _cancelled_slot_goes_on, _acts, in_every_store=True),
    SeededBug("a model cancels what a person asked for", _model_cancels_anything, _acts, seed=36),
    SeededBug("a requested run does not wait for the end of a pause", _pause_ignored_by_requests, _acts),
)
