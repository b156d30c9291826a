"""Runs are listed while they are open, cancelled, run again, redriven and backfilled, asked for."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

import pytest
from tests.operation_fixtures import EVERYTHING, ApplicationFixture

from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.errors import CadenzaError, Conflict, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.requested_runs.queue import MOST_WAITING, RunRequest
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.domain.validation import iso
from cadenza.operations.scheduling.acting_on_runs.open_runs import OpenRunView
from cadenza.testing.contracts.harness import Bench

MINUTE, HOUR = 60_000, 3_600_000
PERSON, MODEL = "key:person", "mcp:key:person"


class Acted(ApplicationFixture):
    """An application with one endpoint, whose runs a test makes by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(self.store)
        self.bench.clock = self.clock

    async def start(self, name: str = "traffic", **fields: Any) -> None:
        await self.endpoint(name, start_now=True, **fields)

    async def runs(self) -> list[dict[str, Any]]:
        """Closed runs, newest first."""
        return list((await self.ask("list_runs"))["items"])

    async def open_runs(self, **wanted: Any) -> list[dict[str, Any]]:
        return list((await self.ask("list_open_runs", **wanted))["items"])

    async def ask_as(self, origin: str, operation: str, **arguments: Any) -> Any:
        view = await self.application.ask(operation, arguments, Caller("default", EVERYTHING, origin))
        return view.model_dump(mode="json")

    def ago(self, span_ms: float) -> str:
        return iso(self.clock.now() - timedelta(milliseconds=span_ms))


@pytest.fixture
async def app() -> Acted:
    acted = Acted()
    await acted.job()
    return acted


async def refused(kind: type[CadenzaError], asked: Awaitable[Any]) -> str:
    with pytest.raises(kind) as caught:
        await asked
    return caught.value.message


async def test_a_run_again_waits_runs_at_once_and_is_marked(app: Acted) -> None:
    await app.start()
    failed = await app.bench.run_once(RunStatus.FAILURE)
    answer = await app.ask("rerun", run_id=failed.id, reason="mended")
    assert (answer["endpoint_id"], answer["slot"], answer["status"]) == (
        "traffic",
        iso(failed.slot),
        "waiting",
    )
    (waiting,) = await app.open_runs()
    assert (waiting["id"], waiting["kind"], waiting["waiting"], waiting["attempt"]) == (
        answer["id"],
        "rerun",
        True,
        2,
    )
    again = await app.bench.claim_one()
    assert again.idempotency_key.endswith(iso(failed.slot))
    await app.bench.end(again)
    shown = [(run["kind"], run["status"], run["verdict"], run["attempt"]) for run in await app.runs()]
    assert shown == [("rerun", "success", False, 2), ("scheduled", "failure", True, 1)]
    assert await app.open_runs() == []


async def test_asking_twice_for_the_same_slot_is_one_run(app: Acted) -> None:
    await app.start()
    failed = await app.bench.run_once(RunStatus.FAILURE)
    first = await app.ask("rerun", run_id=failed.id)
    assert await app.ask("rerun", run_id=failed.id) == first
    assert len(await app.open_runs()) == 1
    await app.bench.end(await app.bench.claim_one())
    await app.ask("rerun", run_id=failed.id)
    assert [one["attempt"] for one in await app.open_runs()] == [3]


async def test_a_slot_that_goes_on_is_not_run_again(app: Acted) -> None:
    await app.start(policy={"max_attempts": 2})
    claim = await app.bench.claim_one()
    await refused(Conflict, app.ask("rerun", run_id=claim.run_id))
    await app.bench.end(claim, status=RunStatus.FAILURE)
    assert "no verdict yet" in await refused(Conflict, app.ask("rerun", run_id=claim.run_id))
    app.clock.jump(MINUTE)
    retried = await app.bench.claim_one()
    await refused(Conflict, app.ask("rerun", run_id=claim.run_id))
    await app.bench.end(retried)
    await app.ask("rerun", run_id=claim.run_id)
    assert [one["attempt"] for one in await app.open_runs()] == [3]


async def test_what_failed_is_redriven_by_endpoint_job_and_label_oldest_first(app: Acted) -> None:
    for name, label in (("a", "web"), ("b", "api")):
        await app.start(name, labels={"team": label})
        for _ in range(2):
            await app.bench.run_once(RunStatus.FAILURE)
            app.clock.jump(MINUTE)
            await app.bench.run_once()
            app.clock.jump(MINUTE)
        await app.ask("update_endpoint", endpoint_id=name, enabled=False)
    since = app.ago(HOUR)
    places: list[tuple[dict[str, Any], int]] = [
        ({"job_id": "job"}, 4),
        ({"endpoint_id": "a"}, 2),
        ({"label": "team=api"}, 2),
    ]
    for wanted, count in places:
        tried = await app.ask("redrive_runs", since=since, dry_run=True, **wanted)
        assert (tried["matched"], tried["queued"], tried["complete"]) == (count, count, True)
    assert await app.open_runs() == []
    some = await app.ask("redrive_runs", since=since, job_id="job", limit=3)
    assert (some["matched"], some["queued"], some["complete"]) == (4, 3, False)
    assert [one["endpoint_id"] for one in some["items"]] == ["a", "a", "b"]
    rest = await app.ask("redrive_runs", since=since, job_id="job", limit=3)
    assert (rest["matched"], rest["queued"], rest["complete"]) == (1, 1, True)
    assert (await app.ask("redrive_runs", since=since, job_id="job"))["matched"] == 0


async def test_what_has_succeeded_since_is_not_redriven_and_what_failed_again_is(app: Acted) -> None:
    await app.start()
    await app.bench.run_once(RunStatus.FAILURE)
    since = app.ago(HOUR)
    for status, matched in ((RunStatus.FAILURE, 1), (RunStatus.SUCCESS, 0)):
        await app.ask("redrive_runs", since=since, endpoint_id="traffic")
        app.clock.jump(1_000)
        await app.bench.run_once(status)
        again = await app.ask("redrive_runs", since=since, endpoint_id="traffic", dry_run=True)
        assert again["matched"] == matched


async def test_a_redrive_names_one_place_that_is_there(app: Acted) -> None:
    await app.start()
    since = app.ago(HOUR)
    await refused(InvalidRequest, app.ask("redrive_runs", since=since))
    await refused(InvalidRequest, app.ask("redrive_runs", since=since, job_id="job", label="a=b"))
    await refused(NotFound, app.ask("redrive_runs", since=since, job_id="nowhere"))
    await refused(NotFound, app.ask("redrive_runs", since=since, endpoint_id="nowhere"))
    await refused(Conflict, app.ask("redrive_runs", since=since, job_id="agenda"))


async def test_a_redrive_has_a_range_of_time_and_verdicts_that_can_have_failed(app: Acted) -> None:
    await app.start()
    wanted: dict[str, Any] = {"endpoint_id": "traffic", "since": app.ago(HOUR)}
    words = await refused(InvalidRequest, app.ask("redrive_runs", **wanted, until=app.ago(2 * HOUR)))
    assert words == "since must be earlier than `until`."
    words = await refused(InvalidRequest, app.ask("redrive_runs", **wanted, status=["failure", "success"]))
    assert words == "What succeeded is not redriven: leave success out of status."


async def test_a_job_that_only_programs_declare_is_redriven(app: Acted) -> None:
    await app.bench.add("declared", job_id="embedded")
    await app.bench.run_once(RunStatus.FAILURE)
    tried = await app.ask("redrive_runs", job_id="embedded", since=app.ago(HOUR))
    assert tried["queued"] == 1


async def test_a_cron_line_is_backfilled_where_no_run_was(app: Acted) -> None:
    cron = {"kind": "cron", "expression": "0 * * * *"}
    await app.endpoint("hourly", baseline=cron)
    app.clock.jump(HOUR - app.clock.now().timestamp() * 1_000 % HOUR)
    await app.bench.run_once()
    app.clock.jump(MINUTE)
    since, until = app.ago(4 * HOUR), app.ago(0)
    tried = await app.ask("backfill", endpoint_id="hourly", since=since, dry_run=True)
    assert (tried["matched"], tried["queued"]) == (3, 3)
    assert await app.open_runs() == []
    some = await app.ask("backfill", endpoint_id="hourly", since=since, until=until, limit=2)
    assert (some["matched"], some["queued"], some["complete"]) == (3, 2, False)
    rest = await app.ask("backfill", endpoint_id="hourly", since=since)
    assert (rest["matched"], rest["queued"], rest["complete"]) == (1, 1, True)
    slots = []
    while claims := await app.bench.claim():
        slots += [iso(claim.slot) for claim in claims]
        await app.bench.end(*claims)
    assert slots == [one["slot"] for one in (*some["items"], *rest["items"])] == sorted(slots)
    assert (await app.ask("backfill", endpoint_id="hourly", since=since))["matched"] == 0
    kinds = {(run["kind"], run["verdict"]) for run in await app.runs()}
    assert kinds == {("scheduled", True), ("backfill", False)}


async def test_what_the_schedule_still_has_to_run_is_not_backfilled(app: Acted) -> None:
    await app.endpoint("hourly", baseline={"kind": "cron", "expression": "0 * * * *"})
    due_at = (await app.ask("get_endpoint", endpoint_id="hourly"))["next_run_at"]
    app.clock.jump(3 * HOUR)
    answer = await app.ask("backfill", endpoint_id="hourly", since=app.ago(6 * HOUR))
    assert answer["queued"] == 4
    assert max(one["slot"] for one in answer["items"]) < due_at


async def test_an_interval_is_backfilled_where_no_run_came_near(app: Acted) -> None:
    await app.start(baseline={"kind": "every", "interval_ms": MINUTE})
    app.clock.jump(20_000)
    await app.bench.run_once()
    answer = await app.ask("backfill", endpoint_id="traffic", since=app.ago(4 * MINUTE))
    assert answer["queued"] == 3


async def test_a_backfill_is_of_the_past_of_one_at_a_time_and_of_a_schedule(app: Acted) -> None:
    await app.start()
    ahead = iso(app.clock.now() + timedelta(hours=1))
    await refused(InvalidRequest, app.ask("backfill", endpoint_id="traffic", since=ahead))
    asked = app.ask("backfill", endpoint_id="traffic", since=app.ago(HOUR), concurrency=2)
    assert "never runs twice at a time" in await refused(InvalidRequest, asked)
    await app.endpoint("single", baseline={"kind": "once", "at": ahead})
    await refused(InvalidRequest, app.ask("backfill", endpoint_id="single", since=app.ago(HOUR)))


@pytest.mark.parametrize("baseline", ["interval", "cron"])
async def test_a_backfill_begins_where_its_slots_have_ids(app: Acted, baseline: str) -> None:
    yearly: dict[str, Any] = {"baseline": {"kind": "cron", "expression": "0 0 1 1 *"}}
    await app.endpoint("old", **(yearly if baseline == "cron" else {}))
    for since in ("0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z"):
        message = await refused(InvalidRequest, app.ask("backfill", endpoint_id="old", since=since))
        assert "not before 1970" in message
    await app.ask("backfill", endpoint_id="old", since="1970-01-01T00:00:00Z", limit=1)
    (waiting,) = await app.open_runs()
    assert (await app.ask("cancel_run", run_id=waiting["id"]))["status"] == "cancelled"


async def test_other_requests_go_on_while_the_slots_of_a_long_backfill_are_counted(app: Acted) -> None:
    await app.endpoint("minutely", baseline={"kind": "cron", "expression": "* * * * *"})
    since = iso(app.clock.now() - timedelta(days=10))
    asked = asyncio.create_task(app.ask("backfill", endpoint_id="minutely", since=since, dry_run=True))
    turns = 0
    while not asked.done():
        await asyncio.sleep(0)
        turns += 1
    assert (await asked)["matched"] == 14_400
    assert turns > 100


async def test_an_endpoint_takes_so_many_requests_and_says_that_it_is_full(app: Acted) -> None:
    await app.start(baseline={"kind": "every", "interval_ms": 1_000})
    failed = await app.bench.run_once(RunStatus.FAILURE)
    since = app.ago(HOUR)
    taken = [await app.ask("backfill", endpoint_id="traffic", since=since, limit=500) for _ in range(3)]
    assert [one["queued"] for one in taken] == [500, MOST_WAITING - 500, 0]
    assert [one["complete"] for one in taken] == [False, False, False]
    assert "let them run first" in await refused(Conflict, app.ask("rerun", run_id=failed.id))


async def test_open_runs_come_in_pages_and_by_endpoint_and_job(app: Acted) -> None:
    for name in ("a", "b"):
        await app.start(name)
    (claim, _) = await app.bench.claim()
    for name in ("a", "b"):
        await app.ask("backfill", endpoint_id=name, since=app.ago(5 * MINUTE), limit=3)
    everything = await app.open_runs()
    assert [(one["endpoint_id"], one["waiting"]) for one in everything] == [
        (name, waiting) for name in ("a", "b") for waiting in (False, True, True, True)
    ]
    assert everything[0]["id"] == claim.run_id
    seen, cursor = [], None
    while True:
        page = await app.ask("list_open_runs", limit=3, **({"cursor": cursor} if cursor else {}))
        seen += page["items"]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == everything
    assert await app.open_runs(endpoint_id="b") == everything[4:]
    assert await app.open_runs(job_id="other") == []
    assert (await app.ask("list_open_runs", by="another"))["items"] == []
    await refused(InvalidRequest, app.ask("list_open_runs", cursor="nonsense"))


async def test_what_waits_is_cancelled_with_who_and_why(app: Acted) -> None:
    await app.start()
    await app.bench.run_once()
    await app.ask("backfill", endpoint_id="traffic", since=app.ago(3 * MINUTE), limit=2)
    first, second = await app.open_runs()
    answer = await app.ask_as(PERSON, "cancel_run", run_id=first["id"], reason="not needed")
    assert answer == {"run_id": first["id"], "status": "cancelled"}
    assert [one["id"] for one in await app.open_runs()] == [second["id"]]
    (cancelled, _) = sorted(await app.runs(), key=lambda run: run["kind"])
    assert (cancelled["status"], cancelled["kind"], cancelled["verdict"], cancelled["reason"]) == (
        "cancelled",
        "backfill",
        False,
        "cancelled by person: key person: not needed",
    )
    await refused(Conflict, app.ask("cancel_run", run_id=first["id"]))


async def test_what_runs_is_asked_to_end_and_asking_again_changes_nothing(app: Acted) -> None:
    await app.start()
    claim = await app.bench.claim_one()
    for reason in ("first", "second"):
        answer = await app.ask_as(PERSON, "cancel_run", run_id=claim.run_id, reason=reason)
        assert answer["status"] == "cancelling"
    assert [one["cancelling"] for one in await app.open_runs()] == [True]
    await app.bench.end(claim, status=RunStatus.CANCELLED)
    (run,) = await app.runs()
    assert (run["status"], run["verdict"]) == ("cancelled", True)
    assert run["reason"] == "cancelled by person: key person: first"
    message = await refused(Conflict, app.ask("cancel_run", run_id=claim.run_id))
    assert "has ended" in message


async def test_a_requested_run_that_was_claimed_is_cancelled_by_either_id(app: Acted) -> None:
    await app.start()
    failed = await app.bench.run_once(RunStatus.FAILURE)
    waiting = (await app.ask("rerun", run_id=failed.id))["id"]
    claim = await app.bench.claim_one()
    assert (await app.ask("cancel_run", run_id=waiting))["status"] == "cancelling"
    await app.bench.end(claim, status=RunStatus.CANCELLED)
    assert await app.open_runs() == []
    assert await app.bench.claim() == []


async def test_a_requested_run_that_was_claimed_but_has_not_begun_never_begins_when_it_is_cancelled(
    app: Acted,
) -> None:
    await app.start()
    failed = await app.bench.run_once(RunStatus.FAILURE)
    await app.ask("update_endpoint", endpoint_id="traffic", guard={"min_interval_ms": MINUTE})
    waiting = (await app.ask("rerun", run_id=failed.id))["id"]
    claim = await app.bench.claim_one(within_ms=HOUR)
    assert claim.started_at is None
    assert (await app.ask("cancel_run", run_id=waiting))["status"] == "cancelled"
    app.clock.jump(HOUR)
    assert await app.bench.start(claim) == [None]
    assert (await app.runs())[0]["status"] == "cancelled"


async def test_a_page_of_open_runs_is_made_of_no_more_than_it_shows(
    app: Acted, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[str]()
    make = OpenRunView.of_request

    def counted(one: RunRequest, endpoint: Endpoint) -> OpenRunView:
        made.append(endpoint.id)
        return make(one, endpoint)

    monkeypatch.setattr(OpenRunView, "of_request", counted)
    for name in ("a", "b"):
        await app.start(name)
        await app.ask("backfill", endpoint_id=name, since=app.ago(30 * MINUTE), limit=20)
    assert len(await app.open_runs(limit=2)) == 2
    assert made == ["a"] * 3


async def test_a_model_does_not_cancel_what_a_person_planned_or_asked_for(app: Acted) -> None:
    await app.start()
    claim = await app.bench.claim_one()
    message = await refused(NotAllowed, app.ask_as(MODEL, "cancel_run", run_id=claim.run_id))
    assert "ask a person" in message
    await app.bench.end(claim, status=RunStatus.FAILURE)
    waiting = (await app.ask_as(PERSON, "rerun", run_id=claim.run_id))["id"]
    await refused(NotAllowed, app.ask_as(MODEL, "cancel_run", run_id=waiting))
    again = await app.bench.claim_one()
    await refused(NotAllowed, app.ask_as(MODEL, "cancel_run", run_id=again.run_id))
    assert await app.store.endpoints.to_cancel([again]) == set()


async def test_a_model_cancels_what_a_model_asked_for(app: Acted) -> None:
    await app.start()
    failed = await app.bench.run_once(RunStatus.FAILURE)
    waiting = (await app.ask_as(MODEL, "rerun", run_id=failed.id))["id"]
    assert (await app.ask_as(MODEL, "cancel_run", run_id=waiting))["status"] == "cancelled"
    await app.ask_as(MODEL, "propose_next_time", endpoint_id="traffic", nextRunInMs=0)
    claim = await app.bench.claim_one()
    assert (await app.ask_as(MODEL, "cancel_run", run_id=claim.run_id))["status"] == "cancelling"


async def test_a_schedule_of_a_user_is_reached_by_none_of_them(app: Acted) -> None:
    target, line = PromptTarget("ada", "helper", "look up"), Cron("* * * * *")
    await app.bench.add("sched-1", target=target, baseline=line, job_id="agenda")
    run = await app.bench.run_once(RunStatus.FAILURE)
    await refused(Conflict, app.ask("rerun", run_id=run.id))
    await refused(Conflict, app.ask("backfill", endpoint_id="sched-1", since=app.ago(HOUR)))
    await refused(Conflict, app.ask("redrive_runs", endpoint_id="sched-1", since=app.ago(HOUR)))
    app.clock.jump(MINUTE)
    claim = await app.bench.claim_one()
    await refused(Conflict, app.ask("cancel_run", run_id=claim.run_id))


async def test_heartbeats_are_run_by_their_sender(app: Acted) -> None:
    target = {"kind": "heartbeat", "grace_ms": 1_000}
    await app.endpoint("backup", target=target)
    await refused(Conflict, app.ask("backfill", endpoint_id="backup", since=app.ago(HOUR)))
    await refused(Conflict, app.ask("redrive_runs", endpoint_id="backup", since=app.ago(HOUR)))


async def test_another_tenant_sees_and_reaches_nothing(app: Acted) -> None:
    await app.start()
    failed = await app.bench.run_once(RunStatus.FAILURE)
    waiting = (await app.ask("rerun", run_id=failed.id))["id"]
    since = app.ago(HOUR)
    for asked in (
        app.ask("rerun", by="another", run_id=failed.id),
        app.ask("cancel_run", by="another", run_id=waiting),
        app.ask("cancel_run", by="another", run_id=failed.id),
        app.ask("backfill", by="another", endpoint_id="traffic", since=since),
        app.ask("redrive_runs", by="another", endpoint_id="traffic", since=since),
    ):
        await refused(NotFound, asked)
    assert len(await app.open_runs()) == 1


async def test_acting_on_runs_takes_the_scope_to_steer(app: Acted) -> None:
    await app.start()
    failed = await app.bench.run_once(RunStatus.FAILURE)
    reading = frozenset({Scope.READ})
    for operation in ("rerun", "cancel_run"):
        await refused(NotAllowed, app.ask(operation, holding=reading, run_id=failed.id))
    assert (await app.ask("list_open_runs", holding=reading))["items"] == []


async def test_a_deleted_endpoint_runs_nothing_that_was_asked_for(app: Acted) -> None:
    await app.start()
    failed = await app.bench.run_once(RunStatus.FAILURE)
    await app.ask("rerun", run_id=failed.id)
    await app.ask("delete_endpoint", endpoint_id="traffic")
    assert await app.bench.claim() == []
    assert [run["reason"] for run in await app.runs() if run["kind"] == "rerun"] == [
        "its endpoint was deleted"
    ]
    await refused(NotFound, app.ask("rerun", run_id=failed.id))


async def test_a_dry_run_leaves_no_audit_record_and_the_others_do(app: Acted) -> None:
    await app.start()
    failed = await app.bench.run_once(RunStatus.FAILURE)
    given: dict[str, Any] = {"endpoint_id": "traffic", "since": app.ago(HOUR)}
    before = len((await app.ask("list_audit"))["items"])
    for operation in ("redrive_runs", "backfill"):
        await app.ask(operation, dry_run=True, **given)
    assert len((await app.ask("list_audit"))["items"]) == before
    await app.ask("rerun", run_id=failed.id, reason="mended")
    await app.ask("backfill", **given)
    newest, second = (await app.ask("list_audit"))["items"][:2]
    assert (newest["operation"], newest["subject_id"]) == ("backfill", "traffic")
    assert (second["operation"], second["subject_id"], second["reason"]) == ("rerun", failed.id, "mended")
