"""Audit records: added with what they are about, listed newest first, found by filters, and forgotten."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from cadenza.domain.access.audit import Actor, AuditFilter, AuditOutcome, AuditRecord, FieldChange
from cadenza.domain.access.key import Surface
from cadenza.domain.errors import Conflict, NotFound
from cadenza.domain.scheduling.endpoint import Job
from cadenza.ports.catalog import Page
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Contract

ADA = Actor("key:ada", "Ada's key", Surface.DASHBOARD)
HOUR = timedelta(hours=1)


def a_record(id_: str, **fields: Any) -> AuditRecord:
    """A record of an endpoint's change."""
    usual: dict[str, Any] = {
        "tenant_id": "north",
        "at": NEW_YEAR,
        "actor": ADA,
        "operation": "update_endpoint",
        "subject_kind": "endpoint",
        "subject_id": "web",
    }
    return AuditRecord(id=id_, **usual | fields)


FULL = a_record(
    "full",
    at=NEW_YEAR.replace(microsecond=123_456),
    reason="too often \0 ü",
    outcome=AuditOutcome.REFUSED,
    changes=(FieldChange("baseline.interval_ms", 1, None), FieldChange("labels", {}, ["ü", {"a": None}])),
    definition={"name": "Web", "target": {"url": "https://example.com"}},
)
SEVERAL = (
    a_record("1", at=NEW_YEAR + 2 * HOUR, operation="delete_endpoint", subject_id="api"),
    a_record("2", actor=Actor("cli", None, Surface.CLI)),
    a_record("3", subject_kind="job"),
    a_record("4", at=NEW_YEAR + HOUR, subject_id=None),
    a_record("5", tenant_id="south"),
)


class AuditContract(Contract):
    """`change_with_records`, `add_records`, `records`, `record` and `forget_records`."""

    async def test_a_record_comes_back_as_it_was(self, store: Store) -> None:
        least = a_record("least", subject_id=None, actor=ADA._replace(name=None))
        await store.audit.add_records([FULL, least])
        kept = await store.audit.record("north", "full")
        assert kept.reason in ("too often \0 ü", "too often \N{REPLACEMENT CHARACTER} ü")
        assert (kept.changes, kept.definition, kept.actor, kept.outcome, kept.at) == (
            FULL.changes,
            FULL.definition,
            ADA,
            AuditOutcome.REFUSED,
            FULL.at,
        )
        assert await store.audit.record("north", "least") == least

    async def test_a_tenant_reads_its_own_records_alone(self, store: Store) -> None:
        await store.audit.add_records(SEVERAL)
        assert [one.id for one in await store.audit.records("south")] == ["5"]
        assert "5" not in [one.id for one in await store.audit.records("north")]
        with pytest.raises(NotFound):
            await store.audit.record("north", "5")

    async def test_records_are_listed_newest_first_in_pages(self, store: Store) -> None:
        await store.audit.add_records(SEVERAL)
        assert [one.id for one in await store.audit.records("north")] == ["1", "4", "3", "2"]
        listed, after = [], None
        while page := await store.audit.records("north", page=Page(1, after)):
            listed.append(page[0].id)
            after = page[0].id
        assert listed == ["1", "4", "3", "2"]
        assert await store.audit.records("north", page=Page(9, "5")) == []

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (AuditFilter(who="key:ada"), ["1", "4", "3"]),
            (AuditFilter(who="Ada's key"), ["1", "4", "3"]),
            (AuditFilter(surface="cli"), ["2"]),
            (AuditFilter(operation="delete_endpoint"), ["1"]),
            (AuditFilter(subject_kind="endpoint"), ["1", "4", "2"]),
            (AuditFilter(subject_id="web"), ["3", "2"]),
            (AuditFilter(subject_kind="endpoint", subject_id="web"), ["2"]),
            (AuditFilter(since=NEW_YEAR + HOUR), ["1", "4"]),
            (AuditFilter(until=NEW_YEAR + HOUR), ["3", "2"]),
            (AuditFilter(since=NEW_YEAR, until=NEW_YEAR + 2 * HOUR, subject_kind="endpoint"), ["4", "2"]),
            (AuditFilter(who="nobody"), []),
        ],
        ids=str,
    )
    async def test_filters_are_combined(self, store: Store, wanted: AuditFilter, found: list[str]) -> None:
        await store.audit.add_records(SEVERAL)
        assert [one.id for one in await store.audit.records("north", wanted=wanted)] == found
        assert [one.id for one in SEVERAL if one.tenant_id == "north" and wanted.matches(one)] == sorted(
            found
        )
        rest = await store.audit.records("north", wanted=wanted, page=Page(9, found[0] if found else None))
        assert [one.id for one in rest] == found[1:]

    async def test_a_change_and_its_records_are_one_commit(self, store: Store) -> None:
        async def work() -> tuple[str, Sequence[AuditRecord]]:
            await store.catalog.add_job(Job(id="job", name="job", tenant_id="north"))
            return "done", [a_record("1"), a_record("2")]

        assert await store.audit.change_with_records(work) == "done"
        assert (await store.catalog.job("north", "job")).id == "job"
        assert [one.id for one in await store.audit.records("north")] == ["2", "1"]

    async def test_a_change_that_is_refused_leaves_no_record(self, store: Store) -> None:
        await store.catalog.add_job(Job(id="job", name="job", tenant_id="north"))

        async def work() -> tuple[str, Sequence[AuditRecord]]:
            await store.catalog.add_job(Job(id="job", name="job", tenant_id="north"))
            return "done", [a_record("1")]

        with pytest.raises(Conflict):
            await store.audit.change_with_records(work)
        assert await store.audit.records("north") == []

    async def test_old_records_of_all_tenants_are_forgotten(self, store: Store) -> None:
        await store.audit.add_records(SEVERAL)
        assert await store.audit.forget_records(NEW_YEAR + HOUR) == 3
        assert [one.id for one in await store.audit.records("north")] == ["1", "4"]
        assert await store.audit.records("south") == []
        assert await store.audit.forget_records(NEW_YEAR + HOUR) == 0

    async def test_many_records_are_added_at_once(self, store: Store) -> None:
        await store.audit.add_records([a_record(f"{number:04}") for number in range(1_201)])
        assert len(await store.audit.records("north", page=Page(5_000))) == 1_201
