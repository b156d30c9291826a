"""A write that is sent twice under one key is carried out once."""

import asyncio
from functools import partial

import pytest
from tests.surfaces.api_in_process import AN_ENDPOINT, Answered, ApiInProcess

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.memory.scheduling.catalog import MemoryCatalog
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.endpoint import Job
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.engine.retention import RetentionLoop
from cadenza.ports.scheduling import Retention

A_JOB = {"name": "job"}


async def jobs(api: ApiInProcess) -> int:
    return len((await api.ask("GET /v1/jobs")).json()["items"])


async def test_the_same_request_gets_the_same_answer(api: ApiInProcess) -> None:
    first = await api.ask("POST /v1/jobs", A_JOB, idempotency_key="k1")
    again = await api.ask("POST /v1/jobs", A_JOB, idempotency_key="k1")
    assert (first.status, again.status) == (201, 201)
    assert again.body == first.body
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["content-type"] == "application/json"
    assert await jobs(api) == 1


async def test_another_key_is_another_request(api: ApiInProcess) -> None:
    for key in ("k1", "k2"):
        assert (await api.ask("POST /v1/jobs", A_JOB, idempotency_key=key)).status == 201
    assert await jobs(api) == 2


@pytest.mark.parametrize(
    ("request_line", "body"),
    [("POST /v1/jobs", {"name": "other"}), ("POST /v1/keys", A_JOB), ("POST /v1/jobs/job/pause", None)],
)
async def test_the_same_key_for_another_request_is_refused(
    api: ApiInProcess, request_line: str, body: object
) -> None:
    await api.ask("POST /v1/jobs", A_JOB, idempotency_key="k1")
    answer = await api.ask(request_line, body, idempotency_key="k1")
    assert (answer.status, answer.problem) == (422, "invalid-request")
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"


async def test_keys_of_tenants_are_their_own(api: ApiInProcess) -> None:
    for tenant in ("north", "south"):
        answer = await api.ask("POST /v1/jobs", A_JOB, by=tenant, idempotency_key="k1")
        assert answer.status == 201
        assert "idempotency-replayed" not in answer.headers


async def test_a_refusal_is_repeated_too(api: ApiInProcess) -> None:
    first = await api.ask("DELETE /v1/jobs/none", idempotency_key="k1")
    await api.ask("POST /v1/jobs", {"name": "none", "id": "none"})
    again = await api.ask("DELETE /v1/jobs/none", idempotency_key="k1")
    assert (first.status, again.status) == (404, 404)
    assert again.body == first.body
    assert again.problem == "not-found"


async def test_an_answer_without_a_body_is_repeated(api: ApiInProcess) -> None:
    await api.create_endpoint()
    for replayed in (None, "true"):
        answer = await api.ask("DELETE /v1/endpoints/traffic", idempotency_key="k1")
        assert (answer.status, answer.body) == (204, b"")
        assert answer.headers.get("idempotency-replayed") == replayed


@pytest.mark.parametrize("problem", [Unavailable("Away."), RuntimeError("bug")])
async def test_a_failure_of_ours_is_not_kept(
    api: ApiInProcess, problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: object) -> None:
        raise problem

    with monkeypatch.context() as broken:
        broken.setattr(api.store.catalog, "add_job", fail)
        assert (await api.ask("POST /v1/jobs", A_JOB, idempotency_key="k1")).status in (500, 503)
    answer = await api.ask("POST /v1/jobs", A_JOB, idempotency_key="k1")
    assert answer.status == 201
    assert "idempotency-replayed" not in answer.headers


async def test_what_was_called_is_told_also_if_it_cannot_be_noted(
    api: ApiInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise Unavailable("Away.")

    await api.create_endpoint()
    monkeypatch.setattr(api.store.idempotency, "keep_reply", away)
    assert (await api.ask("POST /v1/endpoints/traffic/test", {}, idempotency_key="k1")).status == 200


class Slow(MemoryCatalog):
    """Takes its time with jobs."""

    def __init__(self, tables: MemoryTables) -> None:
        super().__init__(tables)
        self.go_on = asyncio.Event()

    async def add_job(self, job: Job) -> None:
        await self.go_on.wait()
        await super().add_job(job)


async def test_of_many_at_once_one_is_carried_out(api: ApiInProcess) -> None:
    store = MemoryStore(api.application.dependencies.ids)
    store.catalog = slow = Slow(store.tables)
    api = ApiInProcess(store)
    await api.key()
    asking = [asyncio.create_task(api.ask("POST /v1/jobs", A_JOB, idempotency_key="k1")) for _ in range(20)]
    await asyncio.sleep(0)
    slow.go_on.set()
    answers = await asyncio.gather(*asking)
    assert {(answer.status, answer.body) for answer in answers} == {(201, answers[0].body)}
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 19
    assert await jobs(api) == 1


async def test_a_trial_is_not_begun_again_while_it_goes_on(api: ApiInProcess) -> None:
    """What calls out may take its time: who asks again is told to wait."""
    await api.create_endpoint()
    called, go_on = asyncio.Event(), asyncio.Event()

    async def hang(_: Claim) -> Outcome:
        called.set()
        await go_on.wait()
        return Outcome(RunStatus.SUCCESS)

    api.dispatcher.on("traffic", hang)
    trial = partial(api.ask, "POST /v1/endpoints/traffic/test", {}, idempotency_key="k1")
    first = asyncio.create_task(trial())
    await called.wait()
    for seconds in (0, 10):
        api.clock.jump(seconds * 1_000)
        answer = await trial()
        assert (answer.status, answer.problem) == (409, "conflict")
        assert int(answer.headers["retry-after"]) >= 1
        assert f"it is carried out anew in {120 - seconds} s" in answer.json()["detail"]
    go_on.set()
    done = await first
    assert done.status == 200
    again = await trial()
    assert (again.body, again.headers["idempotency-replayed"]) == (done.body, "true")
    assert len(api.dispatcher.executed) == 1


async def test_a_trial_that_a_crash_left_behind_is_carried_out_after_two_minutes(api: ApiInProcess) -> None:
    await api.create_endpoint()
    trial = partial(api.ask, "POST /v1/endpoints/traffic/test", {}, idempotency_key="k1")
    await trial()
    ((place, reply),) = api.store.tables.replies.items()  # type: ignore[attr-defined]
    api.store.tables.replies[place] = reply._replace(status=None, body=b"")  # type: ignore[attr-defined]
    assert (await trial()).status == 409
    api.clock.jump(121_000)
    assert (await trial()).status == 200


async def test_answers_are_kept_for_a_day(api: ApiInProcess) -> None:
    await api.ask("POST /v1/jobs", A_JOB, idempotency_key="k1")
    upkeep = RetentionLoop(store=api.store, clock=api.clock, log=api.log, retention=Retention())
    api.clock.jump(24 * 3_600_000)
    await upkeep.delete_old()
    assert "idempotency-replayed" in (await api.ask("POST /v1/jobs", A_JOB, idempotency_key="k1")).headers
    api.clock.jump(1)
    await upkeep.delete_old()
    answer = await api.ask("POST /v1/jobs", A_JOB, idempotency_key="k1")
    assert "idempotency-replayed" not in answer.headers


async def test_the_secret_of_a_new_key_is_kept_nowhere(api: ApiInProcess) -> None:
    made = await api.ask("POST /v1/keys", {"name": "new"}, idempotency_key="k1")
    assert made.status == 201
    secret = made.json()["key"]
    again = await api.ask("POST /v1/keys", {"name": "new"}, idempotency_key="k1")
    assert (again.status, again.problem) == (409, "conflict")
    assert again.headers["idempotency-replayed"] == "true"
    kept = repr(api.store.tables.replies)  # type: ignore[attr-defined]
    assert secret not in kept
    assert secret.rsplit("_", 1)[1] not in kept


async def test_what_is_kept_of_a_secret_cannot_be_guessed_from(api: ApiInProcess) -> None:
    """The fingerprint is made with the caller's key: short secrets do not give themselves away."""
    for tenant in ("north", "south"):
        put = await api.ask("PUT /v1/secrets/PIN", {"value": "1234"}, by=tenant, idempotency_key="k1")
        assert put.status == 204
    first, second = (reply.fingerprint for reply in api.store.tables.replies.values())  # type: ignore[attr-defined]
    assert first != second


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "caf\xe9", "a\x7f"])
async def test_a_key_that_is_none_is_refused(api: ApiInProcess, key: str) -> None:
    answer = await api.ask("POST /v1/jobs", A_JOB, idempotency_key=key)
    assert (answer.status, answer.problem) == (422, "invalid-request")
    assert await jobs(api) == 0


async def test_a_read_has_no_use_for_a_key(api: ApiInProcess) -> None:
    await api.create_endpoint()
    first = await api.ask("GET /v1/endpoints/traffic", idempotency_key="k1")
    await api.ask("PATCH /v1/endpoints/traffic", {"name": "other"})
    again = await api.ask("GET /v1/endpoints/traffic", idempotency_key="k1")
    assert (first.json()["name"], again.json()["name"]) == (AN_ENDPOINT["name"], "other")


async def say_hello(api: ApiInProcess, token: str) -> Answered:
    said = {"text": "list my reminders"}
    bearer = f"Bearer {token}"
    return await api.ask(
        "POST /v1/agents/helper/messages", said, by=None, authorization=bearer, idempotency_key="k1"
    )


async def test_keys_of_users_are_their_own_and_go_with_them(api: ApiInProcess) -> None:
    await api.ask("PUT /v1/agents/helper", {"name": "Helper"})
    tokens = {}
    for user in ("ada", "bob"):
        await api.ask(f"PUT /v1/users/{user}", {})
        made = await api.ask(f"POST /v1/users/{user}/token", {}, idempotency_key="k1")
        tokens[user] = made.json()["token"]
    for user in ("ada", "bob"):
        answer = await say_hello(api, tokens[user])
        assert answer.status == 422, "the tenant has used this key for a request about this user"
    for user in ("ada", "bob"):
        await api.ask(f"DELETE /v1/users/{user}")
        await api.ask(f"PUT /v1/users/{user}", {})
        made = await api.ask(f"POST /v1/users/{user}/token", {})
        tokens[user] = made.json()["token"]
    assert api.store.tables.replies == {}  # type: ignore[attr-defined]
    answers = [await say_hello(api, tokens[user]) for user in ("ada", "bob", "ada")]
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert [answer.headers.get("idempotency-replayed") for answer in answers] == [None, None, "true"]
