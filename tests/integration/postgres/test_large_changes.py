"""A change of many endpoints is worked out beside the event loop, and written in batches."""

import threading
from collections.abc import Callable
from typing import TypeVar

from tests.integration.postgres.postgres_fixtures import a_store

from cadenza.adapters.stores.sql import large_results
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.catalog import EVERY_ENDPOINT, BulkChange, BulkScope, BulkState, Page
from cadenza.testing import an_endpoint

COUNT = large_results.BATCH + large_results.MANY + 1
Given = TypeVar("Given")
Result = TypeVar("Result")


class Watched:
    """Notes in which threads a rule is asked."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def watch(self, rule: Callable[[Given], Result]) -> Callable[[Given], Result]:
        def asked(given: Given) -> Result:
            self.threads.add(threading.get_ident())
            return rule(given)

        return asked


def add_many(_: BulkState) -> BulkChange:
    return BulkChange(
        endpoints=[ChangedEndpoint(an_endpoint(f"e{number:05}", job_id="job")) for number in range(COUNT)]
    )


def rename(current: BulkState) -> BulkChange:
    return BulkChange(
        endpoints=[ChangedEndpoint(evolve(one, name="renamed")) for one in current.endpoints.values()]
    )


def fail(endpoint: Endpoint) -> ChangedEndpoint:
    return ChangedEndpoint(evolve(endpoint, failure_count=7))


async def test_the_event_loop_does_not_work_out_what_many_endpoints_become(database_url: str) -> None:
    watched, scope = Watched(), BulkScope(frozenset({"job"}))
    async with a_store(database_url) as store:
        await store.catalog.change_in_bulk("default", scope, watched.watch(add_many))
        await store.catalog.change_in_bulk("default", scope, watched.watch(rename))
        await store.catalog.amend_all("default", watched.watch(fail), wanted=EVERY_ENDPOINT, page=Page(COUNT))
        found = await store.catalog.find("default", page=Page(COUNT + 1))
    assert watched.threads
    assert threading.get_ident() not in watched.threads
    assert len(found) == COUNT
    assert {(one.name, one.failure_count) for one in found} == {("renamed", 7)}


async def test_one_endpoint_is_changed_without_a_switch_of_threads(database_url: str) -> None:
    watched = Watched()
    async with a_store(database_url) as store:
        await store.endpoints.add(an_endpoint("only"))
        await store.catalog.amend_all("default", watched.watch(fail), wanted=EVERY_ENDPOINT)
    assert watched.threads == {threading.get_ident()}
