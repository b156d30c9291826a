"""Requests are read strictly: what could be read in two ways is refused."""

import pytest
from tests.surfaces.api_in_process import AN_ENDPOINT, ApiInProcess

from cadenza.surfaces.http.request import LARGEST_BODY, MOST_VALUES


async def test_texts_of_a_query_become_what_fields_are_made_of(api: ApiInProcess) -> None:
    await api.create_endpoint()
    page = (await api.ask("GET /v1/endpoints?limit=1")).json()
    assert [one["id"] for one in page["items"]] == ["traffic"]
    assert (
        await api.ask("GET /v1/runs?status=success&status=failure&since=2024-01-01T00:00:00Z")
    ).status == 200


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=abc", "limit"),
        ("limit=1.0", "limit"),
        ("limit=+1", "limit"),
        ("limit=%20" + "1", "limit"),
        ("limit=" + "9" * 30, "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=2", "limit"),
        ("cursor=a&cursor=b", "cursor"),
        ("cursor=%00", "cursor"),
        ("cursor=", "cursor"),
        ("job_id=..", "job_id"),
        ("Limit=1", "Limit"),
    ],
)
async def test_a_query_that_makes_no_sense_names_its_field(api: ApiInProcess, query: str, field: str) -> None:
    answer = await api.ask(f"GET /v1/endpoints?{query}")
    assert (answer.status, answer.problem) == (422, "invalid-request")
    assert [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("query", ["cursor=%ff", "x=%c3%28", "&".join(f"a{n}=1" for n in range(200))])
async def test_a_query_that_cannot_be_read_is_bad(api: ApiInProcess, query: str) -> None:
    answer = await api.ask(f"GET /v1/endpoints?{query}")
    assert (answer.status, answer.problem) == (400, "bad-request")


async def test_all_fields_at_fault_are_named_at_once(api: ApiInProcess) -> None:
    await api.create_endpoint()
    wrong = {"name": "", "target": {"kind": "http", "url": "ftp://x"}, "baseline": {"kind": "every"}}
    answer = await api.ask("POST /v1/jobs/job/endpoints", wrong)
    assert {error["field"] for error in answer.json()["errors"]} == {
        "name",
        "target.url",
        "baseline.interval_ms",
    }


@pytest.mark.parametrize("value", [True, "60000", 60000.5, None, 2**70, -1])
async def test_a_number_is_a_number(api: ApiInProcess, value: object) -> None:
    await api.create_endpoint()
    answer = await api.ask("POST /v1/endpoints/traffic/tools/propose_interval", {"intervalMs": value})
    assert answer.status == 422
    assert answer.json()["errors"][0]["field"] == "intervalMs"


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_has_a_largest_size(api: ApiInProcess, declared: bool) -> None:  # noqa: FBT001 - a parameter
    key = await api.key()
    headers = [("authorization", f"Bearer {key}"), ("content-type", "application/json")]
    part = b" " * (LARGEST_BODY // 4)
    if declared:
        headers.append(("content-length", str(LARGEST_BODY + 1)))
    answer = await api.send("POST /v1/jobs", [part] * 5, headers)
    assert (answer.status, answer.problem) == (413, "too-large")
    assert answer.headers["connection"] == "close"
    fits = b'{"name": "x"}'.rjust(LARGEST_BODY)
    assert (await api.ask("POST /v1/jobs", fits)).status == 201


async def test_a_body_in_parts_is_one_body(api: ApiInProcess) -> None:
    key = await api.key()
    headers = [("authorization", f"Bearer {key}"), ("content-type", "Application/JSON; charset=UTF-8")]
    answer = await api.send("POST /v1/jobs", [b'{"na', b"", b'me": "caf\xc3', b'\xa9"}'], headers)
    assert answer.status == 201
    assert answer.json()["name"] == "café"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("header", [{"content_length": "2"}, {"transfer_encoding": "chunked"}])
async def test_what_takes_no_body_gets_none(api: ApiInProcess, method: str, header: dict[str, str]) -> None:
    await api.create_endpoint()
    answer = await api.ask(f"{method} /v1/endpoints/traffic", **header)
    assert (answer.status, answer.problem) == (400, "bad-request")
    assert (await api.ask(f"{method} /v1/endpoints/traffic", content_length="0")).status in (200, 204)


@pytest.mark.parametrize("header", ["authorization", "content-type", "content-length", "idempotency-key"])
async def test_a_header_that_stands_there_twice_is_refused(api: ApiInProcess, header: str) -> None:
    given = {
        "authorization": f"Bearer {await api.key()}",
        "content-type": "application/json",
        "content-length": "13",
        "idempotency-key": "once",
    }
    twice = [*given.items(), (header, given[header])]
    answer = await api.send("POST /v1/jobs", [b'{"name": "x"}'], twice)
    assert (answer.status, answer.problem) == (400, "bad-request")
    assert header in answer.json()["detail"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/jobs/job%2Fpause",
        "/v1/jobs/job%2fendpoints",
        "/v1/endpoints/..%2Fjobs",
        "/v1/endpoints/%00",
        "/v1/endpoints/traffic%0a",
        "/v1/endpoints/" + "a" * 129,
    ],
)
async def test_an_id_is_one_part_of_a_path(api: ApiInProcess, path: str) -> None:
    """An escaped slash leads to no other operation."""
    await api.create_endpoint()
    for method in ("GET", "POST"):
        answer = await api.ask(f"{method} {path}")
        assert answer.status in (404, 405, 422)
    job = (await api.ask("GET /v1/jobs/job")).json()
    assert job["active"]


@pytest.mark.parametrize("path", ["/v1/jobs/", "/v1//jobs", "/v1/jobs//pause", "/V1/jobs", "/v1", "/v1/%ff"])
async def test_a_path_that_leads_nowhere_is_not_found(api: ApiInProcess, path: str) -> None:
    answer = await api.ask(f"GET {path}")
    assert (answer.status, answer.problem) == (404, "not-found")


async def test_an_endpoint_may_be_called_like_a_verb(api: ApiInProcess) -> None:
    await api.create_endpoint()
    made = await api.ask("POST /v1/jobs/job/endpoints", AN_ENDPOINT | {"id": "pause"})
    assert made.status == 201
    assert (await api.ask("GET /v1/endpoints/pause")).json()["id"] == "pause"


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "'; DROP TABLE endpoints; --",
        "${secret:KEY} {{7*7}} %s %n",
        "\u202egnp.exe \U0001f600 日本語",
        '"quoted" \\ back',
    ],
)
async def test_hostile_text_stays_text(api: ApiInProcess, text: str) -> None:
    await api.create_endpoint()
    made = await api.ask("POST /v1/jobs", {"id": "hostile", "name": text, "description": text})
    assert made.status == 201
    found = await api.ask("GET /v1/jobs/hostile")
    assert (found.json()["name"], found.json()["description"]) == (text, text)
    steered = await api.ask(
        "POST /v1/endpoints/traffic/tools/propose_interval", {"intervalMs": 30_000, "reason": text}
    )
    assert steered.status == 200
    hints = await api.ask("GET /v1/endpoints/traffic/hints")
    assert hints.json()["items"][0]["reason"] == text


@pytest.mark.parametrize("depth", [200, 2_000, 100_000])
async def test_a_deep_body_is_refused_and_breaks_nothing(api: ApiInProcess, depth: int) -> None:
    await api.create_endpoint()
    deep = b'{"target": {"kind": "http", "url": "https://example.com", "body": %s}}' % (
        b"[" * depth + b"]" * depth
    )
    answer = await api.ask("PATCH /v1/endpoints/traffic", deep)
    assert answer.status == (400 if 1_000 <= depth <= MOST_VALUES else 413)
    assert (await api.ask("GET /v1/endpoints/traffic")).status == 200
