"""A write under an idempotency key that a crash interrupts leaves all of it with its answer, or nothing."""

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.faults.statement_crashes import SQLITE, StatementCounter
from tests.postgres import TABLES, database_url, newest_databases
from tests.surfaces.api_in_process import AN_ENDPOINT, SEALING_KEY, ApiInProcess
from tests.surfaces.operation_requests import A_ROUTE, CHANNELS

from cadenza.adapters.access.secret_keys import ConfiguredKeys
from cadenza.adapters.access.stored_secrets import StoredSecrets
from cadenza.adapters.agents.offline.agent import OfflineAgent
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sql.access.secrets import SqlSealed
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.access.audit import AuditFilter
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.monitoring.condition import endpoint_condition
from cadenza.domain.scheduling.run import RunStatus
from cadenza.engine.agents.conversation import Conversations
from cadenza.engine.agents.turn_lock import TurnLock, TurnSettings
from cadenza.operations.agents.agent_tools import AgentTools
from cadenza.operations.table import OPERATIONS
from cadenza.testing.contracts.agents.agent_turns import an_agent_turn
from cadenza.testing.contracts.harness import Bench
from cadenza.testing.contracts.monitoring.conditions import apply, failed

__all__ = ["database_url", "newest_databases"]

MOST_STATEMENTS = 200
LOOKED_AT = sorted({*TABLES} - {"rates", "conversations"})
"""All but what is counted for each request, and whose turn it is in a conversation."""
A_RULE = {"job_id": "job", "name": "rule", "when": "true", "then": {"do": "run_now"}}
A_SCHEDULE = {"name": "tea", "prompt": "tea", "schedule_type": "one-shot", "user_id": "ada"}
A_SCHEDULE |= {"agent_id": "helper", "run_at": "2026-12-24T18:00:00Z"}
SAID = {"user_id": "ada", "text": "list my reminders"}
DAILY = {"user_id": "ada", "due_time": "07:00"}
APPLIED = {
    "version": 1,
    "jobs": [{"id": "applied", "name": "applied", "endpoints": [AN_ENDPOINT | {"id": "a1"}]}],
}
APPLIED_FILE = """
version: 1
jobs:
  - {id: in-a-file, name: in a file}
"""
CONDITION = "POST /v1/alerts/conditions/{condition}"
SETUP: tuple[tuple[str, Any], ...] = (
    ("POST /v1/jobs", {"id": "job", "name": "job"}),
    ("POST /v1/jobs/job/endpoints", AN_ENDPOINT),
    ("POST /v1/jobs/job/endpoints", AN_ENDPOINT | {"id": "deleted"}),
    ("DELETE /v1/endpoints/deleted", None),
    ("POST /v1/jobs/job/endpoints", AN_ENDPOINT | {"id": "backup", "target": {"kind": "heartbeat"}}),
    ("PUT /v1/users/ada", {"timezone": "Europe/Berlin"}),
    ("PUT /v1/agents/helper", {"name": "Helper"}),
    ("PUT /v1/agents/puller", {"name": "Puller", "runtime": "pull"}),
)
OF_TURNS = "POST /v1/agent-turns/"
REQUESTS: tuple[tuple[str, str, Any], ...] = (
    ("create_job", "POST /v1/jobs", {"name": "another"}),
    ("update_job", "PATCH /v1/jobs/job", {"description": "changed"}),
    ("pause_job", "POST /v1/jobs/job/pause", {}),
    ("resume_job", "POST /v1/jobs/job/resume", {}),
    ("create_endpoint", "POST /v1/jobs/job/endpoints", AN_ENDPOINT | {"id": "fresh", "labels": {"a": "b"}}),
    ("create_endpoint", "POST /v1/jobs/job/endpoints", AN_ENDPOINT | {"id": "deleted"}),
    ("update_endpoint", "PATCH /v1/endpoints/traffic", {"name": "renamed"}),
    ("restore_definition", "POST /v1/audit/{record}/restore", {}),
    ("propose_interval", "POST /v1/endpoints/traffic/tools/propose_interval", {"intervalMs": 5_000}),
    ("propose_next_time", "POST /v1/endpoints/traffic/tools/propose_next_time", {"nextRunInMs": 10}),
    ("pause_until", "POST /v1/endpoints/traffic/tools/pause_until", {"untilIso": "2027-01-01T00:00:00Z"}),
    ("pause_endpoints", "POST /v1/endpoints/pause", {"job_id": "job", "untilIso": "2027-02-01T00:00:00Z"}),
    ("resume_endpoints", "POST /v1/endpoints/resume", {"job_id": "job"}),
    ("clear_hints", "DELETE /v1/endpoints/traffic/hints", None),
    ("run_now", "POST /v1/endpoints/traffic/run-now", {}),
    ("reset_failures", "POST /v1/endpoints/traffic/reset-failures", {}),
    ("rerun", "POST /v1/runs/{run}/rerun", {}),
    ("cancel_run", "POST /v1/runs/{waiting}/cancel", {}),
    ("redrive_runs", "POST /v1/runs/redrive", {"endpoint_id": "traffic", "since": "2024-12-31T00:00:00Z"}),
    ("backfill", "POST /v1/endpoints/traffic/backfill", {"since": "2024-12-31T00:00:00Z", "limit": 2}),
    ("set_limit", "PUT /v1/limits/key/orders", {"max_in_flight": 5}),
    ("delete_limit", "DELETE /v1/limits/key/orders", None),
    ("put_calendar", "PUT /v1/calendars/may", {"dates": [{"first": "2025-05-01"}]}),
    ("put_programme", "PUT /v1/daily/programmes/evening", {"never_during": "may"}),
    ("update_job", "PATCH /v1/jobs/job", {"calendar": {"never_during": "may"}}),
    ("put_calendar", "PUT /v1/calendars/may", {"dates": [{"first": "2025-05-02"}]}),
    ("put_programme", "PUT /v1/daily/programmes/evening", {"weekdays": ["mon"]}),
    ("delete_programme", "DELETE /v1/daily/programmes/evening", None),
    ("update_job", "PATCH /v1/jobs/job", {"calendar": None}),
    ("delete_calendar", "DELETE /v1/calendars/may", None),
    ("acknowledge_condition", f"{CONDITION}/acknowledge", {"note": "seen"}),
    ("silence_condition", f"{CONDITION}/silence", {"minutes": 60}),
    ("unsilence_condition", f"{CONDITION}/unsilence", {}),
    ("create_alert_route", "POST /v1/alert-routes", A_ROUTE),
    ("update_alert_route", "PATCH /v1/alert-routes/team", {"enabled": False}),
    ("delete_alert_route", "DELETE /v1/alert-routes/team", None),
    ("create_heartbeat_token", "POST /v1/endpoints/backup/heartbeat-token", {}),
    ("create_rule", "POST /v1/rules", A_RULE | {"id": "rule"}),
    ("update_rule", "PATCH /v1/rules/rule", {"name": "renamed"}),
    ("delete_rule", "DELETE /v1/rules/rule", None),
    ("create_schedule", "POST /v1/schedules", A_SCHEDULE),
    (
        "send_message",
        "POST /v1/agents/helper/messages",
        SAID,
    ),
    ("update_schedule", "PATCH /v1/schedules/{schedule}", {"name": "renamed"}),
    ("pause_schedule", "POST /v1/schedules/{schedule}/pause", {}),
    ("snooze_schedule", "POST /v1/schedules/{schedule}/snooze", {"for_seconds": 86_400}),
    ("run_schedule", "POST /v1/schedules/{schedule}/run-now", {}),
    ("resume_schedule", "POST /v1/schedules/{schedule}/resume", {}),
    ("delete_schedule", "DELETE /v1/schedules/{schedule}", None),
    ("put_user", "PUT /v1/users/ada", {"timezone": "Europe/Rome"}),
    ("put_user_channels", "PUT /v1/users/ada/channels", CHANNELS),
    ("create_user_token", "POST /v1/users/ada/token", {}),
    ("put_agent", "PUT /v1/agents/helper", {"name": "Changed"}),
    ("renew_agent_turn", f"{OF_TURNS}{{answered}}/renew", {"lease_seconds": 60}),
    ("answer_agent_turn", f"{OF_TURNS}{{answered}}/answer", {"messages": ["Done."]}),
    ("give_back_agent_turn", f"{OF_TURNS}{{returned}}/give-back", {}),
    ("put_daily_user", "PUT /v1/daily/users/ada", {"due_time": "07:00"}),
    ("put_daily_users", "POST /v1/daily/users", {"users": [DAILY | {"user_id": "bob"}, DAILY]}),
    ("delete_daily_user", "DELETE /v1/daily/users/ada", None),
    ("apply_config", "POST /v1/apply", APPLIED),
    ("apply_config_file", "POST /v1/apply/file", {"text": APPLIED_FILE}),
    ("put_secret", "PUT /v1/secrets/PIN", {"value": "1234"}),
    ("delete_secret", "DELETE /v1/secrets/PIN", None),
    ("create_key", "POST /v1/keys", {"name": "new"}),
    ("delete_key", "DELETE /v1/keys/{key}", None),
    ("create_login_link", "POST /v1/login-links", {}),
    ("delete_agent", "DELETE /v1/agents/helper", None),
    ("delete_user", "DELETE /v1/users/ada", None),
    ("delete_endpoint", "DELETE /v1/endpoints/traffic", None),
    ("delete_job", "DELETE /v1/jobs/job", None),
    ("delete_job", "DELETE /v1/jobs/job", None),
)
"""The last is refused."""


class InterruptedApi:
    """An API on a database, and how to interrupt its requests."""

    def __init__(self, url: str, counter: StatementCounter) -> None:
        self.store = counter.store(url, TimeOrderedIds())
        self.api = ApiInProcess(self.store)
        self._url = url
        self._counter = counter
        self._step = 1 if url.startswith(SQLITE) else 3
        self._places: dict[str, str] = {}
        self._tokens: dict[str, str] = {}
        self._keys = (f"k{number}" for number in count())
        application = self.api.application
        given = application.dependencies
        locks = TurnLock(
            store=self.store.conversations,
            clock=SystemClock(),
            ids=given.ids,
            settings=TurnSettings(lease_ms=1),
        )
        application.dependencies = replace(
            given,
            secrets=StoredSecrets(SqlSealed(self.store.database), ConfiguredKeys(SEALING_KEY)),
            conversations=Conversations(
                store=self.store,
                runtime=OfflineAgent(),
                tools=AgentTools(application),
                turn_lock=locks,
                clock=self.api.clock,
                ids=given.ids,
            ),
        )

    async def prepare(self) -> None:
        for request, body in SETUP:
            assert (await self.api.ask(request, body)).status < 300, request
        bench = Bench(self.store)
        bench.clock = self.api.clock
        self.api.clock.jump(60_000)
        self._places["run"] = (await bench.run_once(RunStatus.FAILURE)).id
        await apply(self.store, failed("traffic", tenant_id="north"))
        for name in ("answered", "returned"):
            await self._take_turn(name)

    async def _take_turn(self, name: str) -> None:
        now, conversation = self.api.clock.now(), ConversationKey("north", "ada", "puller")
        turn = an_agent_turn(name, conversation, created_at=now, expires_at=now + timedelta(hours=1))
        await self.store.agent_turns.offer_turn(turn)
        taken = (await self.api.ask(f"{OF_TURNS}take", {"agent_id": "puller"})).json()["taken"]
        self._places[name] = taken["id"]
        self._tokens[taken["id"]] = taken["token"]
        self._places["condition"] = endpoint_condition("north", "traffic").id

    async def interrupt(self, name: str, request: str, body: Any) -> int:
        """Interrupt a request before each of its statements, then let it through; how many there were."""
        request = request.format(**self._places)
        if request.startswith(OF_TURNS):
            turn_id = request.removeprefix(OF_TURNS).partition("/")[0]
            body = body | {"turn_token": self._tokens[turn_id]}
        for statement in range(0, MOST_STATEMENTS, self._step):
            before, key = await self.content(), next(self._keys)
            with self._counter.crashing_at(statement):
                answer = await self.api.ask(request, body, idempotency_key=key)
                crashed = self._counter.crashed and answer.status >= 500
            if not crashed:
                break
            assert await self.content() == before, f"{name} after {statement} statements"
        else:
            pytest.fail(f"{name} never came to its end")
        assert answer.status < 500, answer.body
        await self._repeat(request, body, key, answer)
        await self._remember(name, answer)
        return statement

    async def _repeat(self, request: str, body: Any, key: str, first: Any) -> None:
        done = await self.content()
        again = await self.api.ask(request, body, idempotency_key=key)
        assert again.headers.get("idempotency-replayed") == "true", (request, first, again)
        holds_secret = request.endswith(("/keys", "token", "/login-links"))
        assert (again.status, again.body) == (first.status, first.body) or (
            holds_secret and again.status == 409
        )
        assert await self.content() == done, "it was carried out once"

    async def _remember(self, name: str, answer: Any) -> None:
        if name == "update_endpoint":
            (changed,) = await self.store.audit.records("north", wanted=AuditFilter(operation=name))
            self._places["record"] = changed.id
        if name == "rerun":
            self._places["waiting"] = answer.json()["id"]
        if name in ("create_key", "create_schedule"):
            self._places[name.removeprefix("create_")] = answer.json()["id"]

    async def content(self) -> Any:
        """All that is in the tables."""
        if self._url.startswith(SQLITE):
            connection = sqlite3.connect(self._url.removeprefix(SQLITE))
            try:
                return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in LOOKED_AT}
            finally:
                connection.close()
        digests = [f"SELECT '{one}', count(*), sum(hashtext(t::text)) FROM {one} AS t" for one in LOOKED_AT]
        return [tuple(row) for row in await self.store.database.read(" UNION ALL ".join(digests))]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"{SQLITE}{tmp_path / 'cadenza.db'}"
    return str(request.getfixturevalue("database_url"))


@pytest.fixture
async def interrupted(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InterruptedApi]:
    await migrate(url)
    interrupted = InterruptedApi(url, StatementCounter(monkeypatch))
    yield interrupted
    await interrupted.store.close()


async def test_a_crash_at_any_statement_of_any_write_leaves_all_of_it_or_nothing(
    interrupted: InterruptedApi,
) -> None:
    await interrupted.prepare()
    statements = {}
    for name, request, body in REQUESTS:
        statements[name] = await interrupted.interrupt(name, request, body)
    sent_meanwhile = {"test_endpoint", "test_target", "test_alert_route", "test_user_channel"}
    sent_meanwhile |= {"take_agent_turn", "call_agent_turn_tool"}  # They wait for others, too.
    of_tenants = {one.name for one in OPERATIONS if one.writes and one.route and not one.operator}
    assert statements.keys() == of_tenants - sent_meanwhile
    assert min(statements.values()) >= 4, "each was interrupted before, in and after its writes"
