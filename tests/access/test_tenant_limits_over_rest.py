"""Limits of tenants over REST: the operator sets them, and nobody their own."""

import pytest
from tests.surfaces.api_in_process import ApiInProcess

from cadenza.domain.access.key import Scope

LIMITS = "PUT /v1/tenants/north/limits"


@pytest.fixture
def api() -> ApiInProcess:
    return ApiInProcess()


async def test_the_operator_sets_the_limits_of_a_tenant(api: ApiInProcess) -> None:
    answer = await api.ask(LIMITS, {"endpoints": 5, "schedules_per_user": None}, by="default")
    assert (answer.status, answer.json()["endpoints"]) == (200, 5)
    limits = (await api.ask("GET /v1/usage", by="north")).json()["limits"]
    assert (limits["endpoints"], limits["schedules_per_user"], limits["runs_per_month"]) == (5, None, None)
    (record,) = (await api.ask("GET /v1/audit?operation=set_limits", by="north")).json()["items"]
    assert record["subject_id"] == "north"


@pytest.mark.parametrize(
    ("by", "scope"), [("north", Scope.ADMIN), ("south", Scope.ADMIN), ("default", Scope.WRITE)]
)
async def test_who_is_not_the_operator_sets_none(api: ApiInProcess, by: str, scope: Scope) -> None:
    refused = await api.ask(LIMITS, {"endpoints": 5_000}, by=by, scope=scope)
    assert (refused.status, refused.problem) == (403, "not-allowed")
    assert (await api.ask("GET /v1/usage", by="north")).json()["limits"]["endpoints"] is None


async def test_the_token_of_a_user_of_the_operator_sets_none(api: ApiInProcess) -> None:
    await api.ask("PUT /v1/users/ada", {}, by="default")
    token = (await api.ask("POST /v1/users/ada/token", {}, by="default")).json()["token"]
    refused = await api.ask(LIMITS, {"endpoints": 5_000}, by=None, authorization=f"Bearer {token}")
    assert refused.status == 403


@pytest.mark.parametrize("wrong", [{"endpoints": -1}, {"min_interval_ms": 0}, {"colour": "red"}])
async def test_what_is_no_limit_is_refused(api: ApiInProcess, wrong: dict[str, object]) -> None:
    assert (await api.ask(LIMITS, wrong, by="default")).status == 422
