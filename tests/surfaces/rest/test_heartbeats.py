"""Heartbeats over REST: the token is the key, and workers make runs of what senders say."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.api_in_process import ApiInProcess
from tests.surfaces.rest.test_up import settings
from tests.surfaces.server_process import UP, Caller, running

__all__ = ["settings"]
MOST_TRIES = 300


async def a_token(api: ApiInProcess, tenant_id: str = "north") -> str:
    answer = await api.ask("POST /v1/endpoints/backup/heartbeat-token", by=tenant_id)
    assert answer.status == 201
    return str(answer.json()["token"])


@pytest.fixture
async def backup(api: ApiInProcess) -> ApiInProcess:
    await api.create_endpoint()
    await api.create_heartbeat()
    return api


async def test_a_sender_needs_its_token_and_no_key(backup: ApiInProcess) -> None:
    token = await a_token(backup)
    for path in ("", "/start", "/success", "/fail"):
        answer = await backup.ask(f"POST /v1/heartbeats/{token}{path}", by=None)
        assert (answer.status, answer.json()) == (202, {"accepted": True})


async def test_wrong_signals_tokens_and_methods_are_refused(backup: ApiInProcess) -> None:
    token = await a_token(backup)
    wrong = {
        f"POST /v1/heartbeats/{token}/often": 422,
        f"POST /v1/heartbeats/{token}x": 404,
        "POST /v1/heartbeats/hb_": 404,
        f"GET /v1/heartbeats/{token}": 405,
    }
    answers = {request: (await backup.ask(request, by=None)).status for request in wrong}
    assert answers == wrong


async def test_a_new_token_ends_the_one_before_and_a_deleted_endpoint_all(backup: ApiInProcess) -> None:
    old, new = await a_token(backup), await a_token(backup)
    assert (await backup.ask(f"POST /v1/heartbeats/{old}", by=None)).status == 404
    assert (await backup.ask("DELETE /v1/endpoints/backup", by="north")).status == 204
    assert (await backup.ask(f"POST /v1/heartbeats/{new}", by=None)).status == 404


async def test_only_what_waits_for_heartbeats_has_a_token(backup: ApiInProcess) -> None:
    assert (await backup.ask("POST /v1/endpoints/traffic/heartbeat-token", by="north")).status == 409
    assert (await backup.ask("POST /v1/endpoints/backup/heartbeat-token", by="south")).status == 404


async def test_while_paused_nothing_is_stored(backup: ApiInProcess) -> None:
    token = await a_token(backup)
    pause = {"untilIso": "2999-01-01T00:00:00Z"}
    assert (await backup.ask("POST /v1/endpoints/backup/tools/pause_until", pause, by="north")).status == 200
    answer = await backup.ask(f"POST /v1/heartbeats/{token}", by=None)
    assert answer.json() == {"accepted": False}


async def test_it_is_neither_tried_nor_run_by_hand(backup: ApiInProcess) -> None:
    for path in ("test", "run-now"):
        assert (await backup.ask(f"POST /v1/endpoints/backup/{path}", by="north")).status == 409


async def test_signals_become_runs_and_what_is_missing_a_failure(
    settings: dict[str, str], tmp_path: Path
) -> None:
    with running(tmp_path, UP, **settings) as program:
        async with program.caller() as caller:
            await caller.ask("POST /v1/jobs", {"id": "job", "name": "job"})
            endpoint = {
                "id": "backup",
                "name": "backup",
                "target": {"kind": "heartbeat", "grace_ms": 1_000},
                "baseline": {"kind": "every", "interval_ms": 2_000},
            }
            assert (await caller.ask("POST /v1/jobs/job/endpoints", endpoint)).status == 201
            made = await caller.ask("POST /v1/endpoints/backup/heartbeat-token")
            path = made.json()["path"]
            assert (await caller.ask(f"POST {path}/start")).status == 202
            assert (await caller.ask(f"POST {path}")).status == 202
            success = await first(caller, "success")
            assert success["source"] == "heartbeat"
            assert (await caller.ask(f"POST {path}/fail")).status == 202
            failed = await first(caller, "failure")
            assert failed["error"] == "its sender reported a failure"
            missing = await first(caller, "failure", source="baseline-interval")
            assert missing["error"].startswith("no heartbeat by ")


async def first(caller: Caller, status: str, **wanted: Any) -> dict[str, Any]:
    """The first run of this kind, as soon as it is there."""
    runs: list[dict[str, Any]] = []
    for _ in range(MOST_TRIES):
        runs = (await caller.ask("GET /v1/endpoints/backup/runs")).json()["items"]
        found = [one for one in runs if {"status": status, **wanted}.items() <= one.items()]
        if found:
            return dict(found[-1])
        await asyncio.sleep(0.1)
    raise AssertionError(f"no run is {status}: {runs}")
