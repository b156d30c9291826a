"""The ends of the calendar, and digits of other scripts: each is refused with a sentence."""

import pytest
from tests.surfaces.api_in_process import ApiInProcess

AHEAD = {"name": "Pizza", "prompt": "take it out", "schedule_type": "one-shot", "user_id": "ada"}


@pytest.fixture
async def peopled(api: ApiInProcess) -> ApiInProcess:
    await api.create_endpoint()
    await api.ask("PUT /v1/users/ada", {"timezone": "Europe/Berlin"})
    await api.ask("PUT /v1/agents/helper", {"name": "Helper"})
    await api.ask("PUT /v1/daily/users/ada", {"due_time": "00:30"})
    return api


@pytest.mark.parametrize(
    "run_at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00"]
)
async def test_a_schedule_beyond_the_calendar_is_refused(peopled: ApiInProcess, run_at: str) -> None:
    answer = await peopled.ask("POST /v1/schedules", {**AHEAD, "agent_id": "helper", "run_at": run_at})
    assert (answer.status, answer.json()["errors"][0]["field"]) == (422, "run_at")


@pytest.mark.parametrize(
    "request_",
    [
        "GET /v1/daily/windows?date=9999-12-31",
        "GET /v1/daily/windows?date=0001-01-01",
        "GET /v1/daily/misses?date=9999-12-31",
        "GET /v1/daily/days/9999-12-31",
        "GET /v1/endpoints/traffic/timeline?until=0001-01-01T00:00:00Z",
    ],
)
async def test_the_last_day_of_the_calendar_is_no_bug(peopled: ApiInProcess, request_: str) -> None:
    answer = await peopled.ask(request_)
    assert answer.status in (200, 422), answer.body
    assert not peopled.log.events("warning")


@pytest.mark.parametrize("due_time", ["1\N{ARABIC-INDIC DIGIT TWO}:00", "00:0\N{FULLWIDTH DIGIT THREE}"])
async def test_a_due_time_is_written_with_plain_digits(api: ApiInProcess, due_time: str) -> None:
    answer = await api.ask("PUT /v1/daily/users/ada", {"due_time": due_time})
    assert (answer.status, answer.json()["errors"][0]["field"]) == (422, "due_time")
    many = await api.ask("POST /v1/daily/users", {"users": [{"user_id": "ada", "due_time": due_time}]})
    assert many.status == 422
