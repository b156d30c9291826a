"""Keys: taken back at once, and not to be guessed."""

import asyncio
from collections.abc import Callable

import pytest
from tests.surfaces.api_in_process import ApiInProcess

from cadenza.domain.access.key import Scope
from cadenza.surfaces.http.auth import MOST_CHECKS, MOST_FAILURES


async def test_a_key_that_was_taken_back_elsewhere_opens_nothing_from_then_on(api: ApiInProcess) -> None:
    assert (await api.ask("GET /v1/jobs")).status == 200
    key_id = (await api.key()).split("_")[1]
    await api.store.keys.remove_key("north", key_id)
    assert (await api.ask("GET /v1/jobs")).status == 401


async def test_a_key_that_is_taken_back_here_opens_nothing_from_then_on(api: ApiInProcess) -> None:
    assert (await api.ask("GET /v1/jobs", scope=Scope.READ)).status == 200
    key_id = (await api.key(scope=Scope.READ)).split("_")[1]
    assert (await api.ask(f"DELETE /v1/keys/{key_id}")).status == 204
    assert (await api.ask("GET /v1/jobs", scope=Scope.READ)).status == 401


async def test_another_tenant_cannot_take_a_key_back(api: ApiInProcess) -> None:
    key_id = (await api.key()).split("_")[1]
    assert (await api.ask(f"DELETE /v1/keys/{key_id}", by="south")).status == 404
    assert (await api.ask("GET /v1/jobs")).status == 200


async def test_a_key_ends_when_it_was_said_to(api: ApiInProcess) -> None:
    made = await api.ask("POST /v1/keys", {"name": "short", "expires_at": "2025-01-01T00:00:02Z"})
    short = {"authorization": f"Bearer {made.json()['key']}"}
    assert (await api.ask("GET /v1/jobs", **short)).status == 200
    api.clock.jump(2_000)
    assert (await api.ask("GET /v1/jobs", **short)).status == 401


@pytest.mark.parametrize(
    "change", [lambda key: key + "x", lambda key: key[:-1], str.lower, lambda key: key[4:]]
)
async def test_almost_the_key_is_not_the_key(api: ApiInProcess, change: Callable[[str], str]) -> None:
    await api.ask("GET /v1/jobs")
    wrong = change(await api.key())
    assert (await api.ask("GET /v1/jobs", authorization=f"Bearer {wrong}")).status == 401


@pytest.mark.parametrize("shown", ["bearer {}", "BEARER {}", "Bearer  {} "])
async def test_the_scheme_is_read_as_http_reads_it(api: ApiInProcess, shown: str) -> None:
    assert (await api.ask("GET /v1/jobs", authorization=shown.format(await api.key()))).status == 200


WRONG = [("authorization", "Bearer cad_wrong_key")]


async def guess(api: ApiInProcess, times: int = MOST_FAILURES) -> None:
    for _ in range(times):
        assert (await api.send("GET /v1/jobs", headers=WRONG)).status == 401


async def test_who_guesses_is_told_to_wait(api: ApiInProcess) -> None:
    await guess(api)
    answer = await api.send("GET /v1/jobs", headers=WRONG)
    assert (answer.status, answer.problem) == (429, "too-many-requests")
    assert 0 < int(answer.headers["retry-after"]) <= 61
    assert (await api.send("GET /v1/jobs", headers=WRONG, client="192.0.2.2")).status == 401
    api.clock.jump(60_000)
    assert (await api.send("GET /v1/jobs", headers=WRONG)).status == 401


async def test_a_right_key_is_never_refused_for_wrong_ones_of_the_same_address(api: ApiInProcess) -> None:
    await guess(api)
    assert (await api.send("GET /v1/jobs", headers=WRONG)).status == 429
    assert (await api.ask("GET /v1/jobs")).status == 200
    api.clock.jump(5_000)
    assert (await api.ask("GET /v1/jobs")).status == 200
    assert (await api.send("GET /v1/jobs", headers=WRONG)).status == 429


async def test_keys_of_an_address_that_guesses_are_looked_up_a_few_at_a_time(
    api: ApiInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up, at_a_time, most = api.store.keys.stored_key, 0, 0

    async def slow(key_id: str) -> object:
        nonlocal at_a_time, most
        at_a_time += 1
        most = max(most, at_a_time)
        await asyncio.sleep(0)
        at_a_time -= 1
        return await look_up(key_id)

    monkeypatch.setattr(api.store.keys, "stored_key", slow)
    await guess(api)
    right = await api.key()
    answers = await asyncio.gather(
        *(api.send("GET /v1/jobs", headers=WRONG) for _ in range(50)),
        api.send("GET /v1/jobs", headers=[("authorization", f"Bearer {right}")]),
    )
    assert [answer.status for answer in answers] == [429] * 50 + [200]
    assert most == MOST_CHECKS
    other = [api.send("GET /v1/jobs", headers=WRONG, client=f"192.0.2.{last}") for last in range(10, 20)]
    assert {answer.status for answer in await asyncio.gather(*other)} == {401}
    assert most == 10


async def test_no_key_is_no_guess(api: ApiInProcess) -> None:
    for _ in range(MOST_FAILURES + 1):
        assert (await api.ask("GET /v1/jobs", by=None)).status == 401
    assert (await api.ask("GET /v1/jobs")).status == 200


async def test_a_caller_may_ask_so_often_and_is_told_when_to_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = ApiInProcess(per_minute=60)
    for _ in range(10):
        assert (await api.ask("GET /v1/jobs")).status == 200
    answer = await api.ask("GET /v1/jobs")
    assert (answer.status, answer.problem) == (429, "too-many-requests")
    assert 1 <= int(answer.headers["retry-after"]) <= 10
    assert (await api.ask("GET /v1/jobs", by="south")).status == 200
    api.clock.jump(10_000)
    assert (await api.ask("GET /v1/jobs")).status == 200


async def test_whoever_makes_tokens_gets_no_further_than_their_tenant_may() -> None:
    api = ApiInProcess(per_minute=60, of_tenant_per_minute=180)
    await api.ask("PUT /v1/users/ada", {})
    made = [await api.ask("POST /v1/users/ada/token", {}) for _ in range(8)]
    by_token = [{"authorization": f"Bearer {one.json()['token']}"} for one in made]
    answers = [await api.ask("GET /v1/users/ada", by=None, **by) for by in by_token * 10]
    asked = 1 + len(made)
    assert [answer.status for answer in answers].count(200) == 30 - asked
    assert answers[-1].status == 429
    assert (await api.ask("GET /v1/jobs", by="south")).status == 200


async def test_pages_of_other_origins_may_ask_only_if_told() -> None:
    api = ApiInProcess(cors_origins=("https://app.example",))
    asked = {"origin": "https://app.example", "access_control_request_method": "POST"}
    allowed = await api.ask("OPTIONS /v1/jobs", by=None, **asked)
    assert allowed.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-credentials" not in allowed.headers
    refused = await api.ask("OPTIONS /v1/jobs", by=None, **(asked | {"origin": "https://evil.example"}))
    assert "access-control-allow-origin" not in refused.headers
    read = await api.ask("GET /v1/jobs", origin="https://app.example")
    assert read.headers["access-control-allow-origin"] == "https://app.example"
    closed = await ApiInProcess().ask("GET /v1/jobs", origin="https://app.example")
    assert "access-control-allow-origin" not in closed.headers
