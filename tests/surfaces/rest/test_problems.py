"""What callers are told when something goes wrong: what to do, and nothing of the inside."""

import pytest
from tests.surfaces.api_in_process import A_TARGET, EVERY_MINUTE, ApiInProcess

from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.errors import Unavailable
from cadenza.surfaces.http.problems import KINDS


class Broken:
    """A part of the API that raises."""

    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    async def job(self, *_: object) -> None:
        raise self._problem


def break_jobs(api: ApiInProcess, problem: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api.store.catalog, "job", Broken(problem).job)


async def test_a_bug_is_told_without_its_inside(api: ApiInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    break_jobs(api, RuntimeError("the password is hunter2"), monkeypatch)
    answer = await api.ask("GET /v1/jobs/job", x_request_id="abc-1")
    assert (answer.status, answer.problem) == (500, "unexpected")
    assert b"hunter2" not in answer.body
    assert b"Traceback" not in answer.body
    assert answer.json()["request_id"] == "abc-1"
    (line,) = [line for line in api.log.lines if line.event == "a request failed unexpectedly"]
    assert line.facts["request_id"] == "abc-1"
    assert "hunter2" in str(line.facts["trace"])


async def test_a_store_that_is_away_is_unavailable(
    api: ApiInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_jobs(api, Unavailable("The database does not answer."), monkeypatch)
    answer = await api.ask("GET /v1/jobs/job")
    assert (answer.status, answer.problem) == (503, "unavailable")
    assert answer.json()["detail"] == "The database does not answer."


async def test_a_wrong_method_is_told_which_are_right(api: ApiInProcess) -> None:
    answer = await api.ask("PUT /v1/jobs/job")
    assert (answer.status, answer.problem) == (405, "method-not-allowed")
    assert answer.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, PATCH"


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/endpoints/traffic/hints"])
async def test_options_tells_what_can_be_done(api: ApiInProcess, path: str) -> None:
    answer = await api.ask(f"OPTIONS {path}", by=None)
    assert (answer.status, answer.body) == (204, b"")
    assert {"GET", "HEAD", "OPTIONS"} < set(answer.headers["allow"].split(", "))
    assert "access-control-allow-origin" not in answer.headers


async def test_head_is_get_without_its_body(api: ApiInProcess) -> None:
    await api.create_endpoint()
    got = await api.ask("GET /v1/jobs/job", x_request_id="same")
    head = await api.ask("HEAD /v1/jobs/job", x_request_id="same")
    assert (head.status, head.headers, head.body) == (200, got.headers, b"")
    missing = await api.ask("HEAD /v1/jobs/none")
    assert (missing.status, missing.body) == (404, b"")


@pytest.mark.parametrize("given", ["abc", "A-1.b_2:c", "x" * 64])
async def test_a_request_keeps_the_id_that_it_came_with(api: ApiInProcess, given: str) -> None:
    answer = await api.ask("GET /v1/jobs/none", x_request_id=given)
    assert answer.headers["x-request-id"] == given
    assert answer.json()["request_id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "<b>", 'a"b', "caf\xe9", "a\tb"])
async def test_an_id_that_is_none_is_replaced(api: ApiInProcess, given: str) -> None:
    answer = await api.ask("GET /v1/jobs/none", x_request_id=given)
    assert answer.headers["x-request-id"].isalnum()
    assert answer.headers["x-request-id"] == answer.json()["request_id"]


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
async def test_every_type_of_problem_can_be_looked_up(api: ApiInProcess, kind: object) -> None:
    answer = await api.ask(f"GET {kind.type}", by=None)  # type: ignore[attr-defined]
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain")


async def test_a_caller_who_leaves_is_no_bug(api: ApiInProcess) -> None:
    key = await api.key()
    sent: list[object] = []

    async def gone() -> dict[str, object]:
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/v1/jobs", "raw_path": b"/v1/jobs", "query_string": b"",
        "headers": [(b"authorization", f"Bearer {key}".encode()), (b"content-type", b"application/json")],
        "client": None,
    }  # fmt: skip
    await api.app(scope, gone, send)
    assert sent == []
    assert api.log.events("warning") == []


async def test_a_limit_is_titled_as_a_limit(api: ApiInProcess) -> None:
    await api.store.tenants.put_tenant(Tenant(id="north", name="north", limits=Limits(endpoints=0)))
    await api.ask("POST /v1/jobs", {"id": "job", "name": "job"}, by="north")
    body = {"name": "new", "target": A_TARGET, "baseline": EVERY_MINUTE}
    answer = await api.ask("POST /v1/jobs/job/endpoints", body, by="north")
    assert (answer.status, answer.problem, answer.json()["title"]) == (
        403,
        "limit-reached",
        "A limit is reached",
    )


async def test_who_tries_a_target_too_often_is_told_to_wait() -> None:
    api = ApiInProcess()
    await api.create_endpoint()
    answers = [await api.ask("POST /v1/endpoints/traffic/test") for _ in range(20)]
    assert [answer.status for answer in answers] == [200] * 5 + [429] * 15
    assert answers[-1].problem == "too-many-requests"
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 10
    assert len(api.dispatcher.executed) == 5
