"""A call may count for less than its caller, and never for more."""

from typing import Any

import pytest
from tests.surfaces.api_in_process import Answered, ApiInProcess

EVERY_20_S: dict[str, Any] = {"intervalMs": 20_000, "ttlMinutes": 30}


async def with_endpoint(api: ApiInProcess) -> None:
    await api.ask("POST /v1/jobs", {"id": "shop", "name": "Shop"})
    target = {"kind": "http", "url": "https://example.com"}
    baseline = {"kind": "every", "interval_ms": 60_000}
    endpoint = {"id": "home", "name": "Home", "target": target, "baseline": baseline}
    assert (await api.ask("POST /v1/jobs/shop/endpoints", endpoint)).status == 201


async def propose(api: ApiInProcess, interval_ms: int, **headers: str) -> Answered:
    wanted = EVERY_20_S | {"intervalMs": interval_ms}
    return await api.ask("POST /v1/endpoints/home/tools/propose_interval", wanted, **headers)


async def interval_ms(api: ApiInProcess) -> int:
    endpoint = (await api.ask("GET /v1/endpoints/home")).json()
    return int(endpoint["interval_hint"]["interval_ms"])


@pytest.mark.parametrize("rank", ["rule", "llm", "learning"])
async def test_a_call_of_a_stated_lower_rank_does_not_replace_a_persons_hint(
    api: ApiInProcess, rank: str
) -> None:
    await with_endpoint(api)
    assert (await propose(api, 20_000)).status == 200
    answer = (await propose(api, 30_000, cadenza_rank=rank)).json()
    assert answer["applied"] is False
    assert "not applied, because" in answer["note"].lower()
    assert await interval_ms(api) == 20_000
    why = (await api.ask("GET /v1/endpoints/home/plan")).json()
    assert "not applied, because" in why["answer"].lower()


async def test_a_person_replaces_what_was_stated_to_be_lower(api: ApiInProcess) -> None:
    await with_endpoint(api)
    await propose(api, 30_000, cadenza_rank="rule")
    assert (await propose(api, 20_000)).json()["applied"] is True
    assert await interval_ms(api) == 20_000


async def test_after_a_person_hands_back_the_lower_rank_is_applied(api: ApiInProcess) -> None:
    await with_endpoint(api)
    await propose(api, 20_000)
    assert (await api.ask("DELETE /v1/endpoints/home/hints")).status == 200
    assert (await propose(api, 30_000, cadenza_rank="rule")).json()["applied"] is True
    assert await interval_ms(api) == 30_000


async def test_an_unknown_rank_is_refused(api: ApiInProcess) -> None:
    await with_endpoint(api)
    answer = await propose(api, 20_000, cadenza_rank="king")
    assert answer.status == 422
    assert answer.json()["detail"] == "Cadenza-Rank must be one of person, rule, llm, learning."


async def test_the_header_is_advertised_where_it_counts_and_nowhere_else(api: ApiInProcess) -> None:
    rank = {"$ref": "#/components/parameters/Rank"}
    paths = (await api.ask("GET /openapi.json")).json()["paths"]
    operations = [one for path in paths.values() for one in path.values()]
    advertised = {one["operationId"] for one in operations if rank in one["parameters"]}
    assert advertised == {
        "cancel_run",
        "propose_interval",
        "propose_next_time",
        "pause_until",
        "pause_endpoints",
        "resume_endpoints",
        "preview_steering",
        "clear_hints",
        "pause_job",
        "resume_job",
        "update_job",
        "apply_config",
        "apply_config_file",
    }


async def test_a_job_that_a_person_paused_stays_paused_for_a_lower_rank(api: ApiInProcess) -> None:
    await with_endpoint(api)
    await api.ask("POST /v1/jobs/shop/pause", {})
    answer = (await api.ask("POST /v1/jobs/shop/resume", {}, cadenza_rank="rule")).json()
    assert answer["active"] is False
    assert answer["note"].startswith("Not applied, because a pause of the job (person: key ")
    assert (await api.ask("POST /v1/jobs/shop/resume", {})).json()["active"] is True
