"""Users with a daily job over REST: enrolled, listed, and told about day by day."""

from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from tests.surfaces.api_in_process import ApiInProcess

from cadenza.domain.daily.keys import daily_key
from cadenza.domain.daily.rules import ServicePeriod, finalize_cutoffs, finalize_success

USERS = "/v1/daily/users"
TODAY = datetime(2025, 1, 1, tzinfo=UTC)
"""When the API's clock begins."""


async def put(api: ApiInProcess, user_id: str, due_time: str, **by: Any) -> Any:
    answer = await api.ask(f"PUT {USERS}/{user_id}", {"due_time": due_time}, **by)
    assert answer.status == 200, answer.body
    return answer.json()


async def test_a_user_is_enrolled_for_the_next_window_and_can_be_moved(api: ApiInProcess) -> None:
    api.clock.jump(timedelta(hours=7) / timedelta(milliseconds=1))
    made = await put(api, "ada", "07:30")
    assert (made["next_date"], made["due_time"]) == ("2025-01-01", "07:30")
    assert (made["next_opens_at"], made["next_cutoff"]) == ("2025-01-01T06:30:00Z", "2025-01-01T07:30:00Z")
    moved = await put(api, "ada", "09:00")
    assert (moved["due_time"], moved["next_cutoff"]) == ("09:00", "2025-01-01T07:30:00Z")
    assert moved["changes"] == [{"from_date": "2025-01-02", "due_time": "09:00", "timezone": "UTC"}]
    assert (await api.ask(f"GET {USERS}/ada")).json() == moved


@pytest.mark.parametrize("wrong", ["7:30", "24:00", "07:60", "07:30:00", "", 730, None])
async def test_a_due_time_that_is_none_is_refused(api: ApiInProcess, wrong: object) -> None:
    answer = await api.ask(f"PUT {USERS}/ada", {"due_time": wrong})
    assert (answer.status, answer.problem) == (422, "invalid-request")
    fault = {"field": "due_time", "message": "due_time must be HH:MM, such as 07:30."}
    assert answer.json()["errors"] == [fault]


async def test_many_are_enrolled_at_once_or_none(api: ApiInProcess) -> None:
    wanted = [{"user_id": f"user-{n}", "due_time": "07:30"} for n in range(3)]
    wrong = [*wanted, {"user_id": "user-3", "due_time": "25:00"}]
    assert (await api.ask(f"POST {USERS}", {"users": wrong})).status == 422
    assert (await api.ask(f"GET {USERS}")).json()["items"] == []
    again = {"user_id": "user-0", "due_time": "08:00"}
    answer = await api.ask(f"POST {USERS}", {"users": [*wanted, again]})
    assert (answer.status, answer.json()) == (200, {"kept": 3})
    page = (await api.ask(f"GET {USERS}?limit=2")).json()
    assert [(one["user_id"], one["due_time"]) for one in page["items"]] == [
        ("user-0", "08:00"),
        ("user-1", "07:30"),
    ]
    rest = (await api.ask(f"GET {USERS}?cursor={page['next_cursor']}")).json()
    assert ([one["user_id"] for one in rest["items"]], rest["next_cursor"]) == (["user-2"], None)


async def served(api: ApiInProcess) -> date:
    """Three users, of whom one succeeds, one is cut off, and one is cut off when nobody is there."""
    for name in ("a", "b", "c"):
        await put(api, name, "07:30")
    keys = [daily_key("north", name) for name in ("a", "b", "c")]
    day, cutoff = TODAY.date(), TODAY + timedelta(hours=7, minutes=30)
    rule = partial(finalize_success, day=day, returned_at=cutoff - timedelta(minutes=1))
    await api.store.daily.finalize_days(keys[:1], rule)
    await api.store.daily.finalize_days(
        keys[1:2], partial(finalize_cutoffs, now=cutoff, service=ServicePeriod(TODAY))
    )
    later = cutoff + timedelta(hours=1)
    await api.store.daily.finalize_days(
        keys[2:], partial(finalize_cutoffs, now=later, service=ServicePeriod(later))
    )
    return day


async def test_a_day_is_told_with_its_verdicts_and_counts(api: ApiInProcess) -> None:
    day = await served(api)
    page = (await api.ask(f"GET /v1/daily/days/{day}?limit=2")).json()
    assert page["counts"] == {"success": 1, "cutoff_reached": 2, "late": 1, "in_gaps": 0}
    assert [(one["user_id"], one["status"]) for one in page["items"]] == [
        ("a", "success"),
        ("b", "cutoff_reached"),
    ]
    rest = (await api.ask(f"GET /v1/daily/days/{day}?cursor={page['next_cursor']}")).json()
    assert rest["counts"] is None
    assert [(one["user_id"], one["late"], one["cause"]) for one in rest["items"]] == [("c", True, "down")]
    empty = (await api.ask("GET /v1/daily/days/2025-02-01")).json()
    assert (empty["items"], empty["counts"]["success"]) == ([], 0)
    assert (await api.ask("GET /v1/daily/days/tomorrow")).status == 422


async def test_verdicts_outlive_their_user_unless_they_are_to_be_forgotten(api: ApiInProcess) -> None:
    day = await served(api)
    assert (await api.ask(f"DELETE {USERS}/a")).status == 204
    assert (await api.ask(f"GET {USERS}/a")).status == 404
    days = (await api.ask(f"GET {USERS}/a/days")).json()
    assert [(one["service_date"], one["status"]) for one in days["items"]] == [(str(day), "success")]
    assert (await api.ask(f"DELETE {USERS}/b?with_days=true")).status == 204
    assert (await api.ask(f"GET {USERS}/b/days")).status == 404
    assert (await api.ask(f"DELETE {USERS}/b")).status == 404


async def test_gaps_are_told(api: ApiInProcess) -> None:
    await put(api, "ada", "07:30")
    now = TODAY + timedelta(days=20)
    await api.store.daily.finalize_days(
        [daily_key("north", "ada")], partial(finalize_cutoffs, now=now, service=ServicePeriod(now))
    )
    days = (await api.ask(f"GET {USERS}/ada/days")).json()
    assert (len(days["items"]), [gap["from_date"] for gap in days["gaps"]]) == (7, ["2025-01-01"])
