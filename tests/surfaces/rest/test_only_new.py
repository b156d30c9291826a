"""Requests that may create something, and must not replace what has its name."""

import pytest
from tests.surfaces.api_in_process import ApiInProcess

PUTS = {
    "PUT /v1/users/one": {"timezone": "UTC"},
    "PUT /v1/agents/one": {"name": "One"},
    "PUT /v1/daily/users/one": {"due_time": "07:30"},
    "PUT /v1/secrets/one": {"value": "very secret"},
    "PUT /v1/limits/key/one": {"max_in_flight": 5},
}


@pytest.mark.parametrize(("request_", "body"), PUTS.items(), ids=PUTS)
async def test_only_new_refuses_to_replace_what_is_there(
    api: ApiInProcess, request_: str, body: dict[str, object]
) -> None:
    wanted = body | {"only_new": True}
    assert (await api.ask(request_, wanted)).status in (200, 204)
    again = await api.ask(request_, wanted)
    assert (again.status, again.problem) == (409, "conflict")
    assert again.json()["detail"].startswith("There is a")
    assert (await api.ask(request_, body)).status in (200, 204), "without it, one replaces the other"


async def test_what_was_not_replaced_is_as_it_was(api: ApiInProcess) -> None:
    await api.ask("PUT /v1/agents/one", {"name": "One", "instructions": "Be brief."})
    await api.ask("PUT /v1/agents/one", {"name": "Two", "only_new": True})
    assert (await api.ask("GET /v1/agents/one")).json()["instructions"] == "Be brief."
