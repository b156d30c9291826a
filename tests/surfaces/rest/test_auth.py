"""Keys: remembered for a few seconds, taken back at once, and not to be guessed."""

from collections.abc import Callable

import pytest
from tests.surfaces.api_in_process import ApiInProcess

from cadenza.domain.access.key import Scope
from cadenza.surfaces.http.auth import MOST_FAILURES


class Counted:
    """Counts how often a key is looked up."""

    def __init__(self, api: ApiInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        look_up = api.store.keys.stored_key

        async def counted(key_id: str) -> object:
            self.times += 1
            return await look_up(key_id)

        monkeypatch.setattr(api.store.keys, "stored_key", counted)


async def test_a_key_is_looked_up_once_in_a_few_seconds(
    api: ApiInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = Counted(api, monkeypatch)
    for _ in range(10):
        assert (await api.ask("GET /v1/jobs")).status == 200
    assert looked_up.times == 1
    api.clock.jump(5_000)
    assert (await api.ask("GET /v1/jobs")).status == 200
    assert looked_up.times == 2


async def test_a_key_that_was_taken_back_elsewhere_is_not_remembered_longer(api: ApiInProcess) -> None:
    assert (await api.ask("GET /v1/jobs")).status == 200
    key_id = (await api.key()).split("_")[1]
    await api.store.keys.remove_key("north", key_id)
    api.clock.jump(4_999)
    assert (await api.ask("GET /v1/jobs")).status == 200
    api.clock.jump(1)
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


async def test_who_guesses_is_not_listened_to_for_a_while(
    api: ApiInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = Counted(api, monkeypatch)
    wrong = [("authorization", "Bearer cad_wrong_key")]
    for _ in range(MOST_FAILURES):
        assert (await api.send("GET /v1/jobs", headers=wrong)).status == 401
    answer = await api.send("GET /v1/jobs", headers=wrong)
    assert (answer.status, answer.problem) == (429, "too-many-requests")
    assert 0 < int(answer.headers["retry-after"]) <= 61
    assert looked_up.times == MOST_FAILURES
    assert (await api.send("GET /v1/jobs", headers=wrong, client="192.0.2.2")).status == 401
    api.clock.jump(60_000)
    assert (await api.send("GET /v1/jobs", headers=wrong)).status == 401


async def test_who_is_known_is_let_in_beside_one_who_guesses(api: ApiInProcess) -> None:
    assert (await api.ask("GET /v1/jobs")).status == 200
    for _ in range(MOST_FAILURES):
        await api.send("GET /v1/jobs", headers=[("authorization", "Bearer cad_wrong_key")])
    assert (await api.ask("GET /v1/jobs")).status == 200


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
