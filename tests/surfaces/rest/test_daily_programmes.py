"""Daily programmes over REST: what is owed, and to whom, each with due times of its own."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from tests.surfaces.api_in_process import ApiInProcess

from cadenza.domain.daily.keys import daily_key
from cadenza.domain.daily.rules import ServicePeriod, finalize_cutoffs

PROGRAMMES = "/v1/daily/programmes"
USERS = "/v1/daily/users"
A_TARGET = {"kind": "http", "url": "https://example.com/evening", "headers": {"X-Key": "${secret:KEY}"}}
TODAY = datetime(2025, 1, 1, tzinfo=UTC)
"""When the API's clock begins: a Wednesday."""


async def put(api: ApiInProcess, programme_id: str = "evening", **fields: Any) -> Any:
    answer = await api.ask(f"PUT {PROGRAMMES}/{programme_id}", fields)
    assert answer.status == 200, answer.body
    return answer.json()


async def enroll(api: ApiInProcess, user_id: str, due_time: str, **fields: Any) -> Any:
    answer = await api.ask(f"PUT {USERS}/{user_id}", {"due_time": due_time, **fields})
    assert answer.status == 200, answer.body
    return answer.json()


async def test_daily_is_there_without_being_stored(api: ApiInProcess) -> None:
    daily = (await api.ask(f"GET {PROGRAMMES}/daily")).json()
    assert (daily["id"], daily["stored"], daily["target"], daily["share_percent"]) == (
        "daily",
        False,
        None,
        100,
    )
    assert daily["weekdays"] == ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    assert (await api.ask(f"GET {PROGRAMMES}")).json() == {"items": [daily], "next_cursor": None}
    assert (await api.ask(f"DELETE {PROGRAMMES}/daily")).status == 404


async def test_a_programme_is_made_replaced_and_listed_beside_daily(api: ApiInProcess) -> None:
    made = await put(api, target=A_TARGET, window_minutes=30, weekdays=["fri", "mon"])
    assert (made["window_minutes"], made["weekdays"], made["retry_delay_minutes"]) == (
        30,
        ["mon", "fri"],
        None,
    )
    assert (made["target"]["method"], made["target"]["headers"]) == ("POST", A_TARGET["headers"])
    replaced = await put(api, target="https://example.com/other")
    assert (replaced["window_minutes"], replaced["created_at"]) == (None, made["created_at"])
    assert replaced["target"]["url"] == "https://example.com/other"
    await put(api, "breakfast")
    first = (await api.ask(f"GET {PROGRAMMES}?limit=2")).json()
    assert [one["id"] for one in first["items"]] == ["breakfast", "daily"]
    rest = (await api.ask(f"GET {PROGRAMMES}?cursor={first['next_cursor']}")).json()
    assert ([one["id"] for one in rest["items"]], rest["next_cursor"]) == (["evening"], None)
    refused = await api.ask(f"PUT {PROGRAMMES}/evening", {"only_new": True})
    assert refused.status == 409
    assert (await api.ask(f"PUT {PROGRAMMES}/daily", {"only_new": True})).status == 200


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_every_programme_is_on_one_page_and_no_other(api: ApiInProcess, limit: int) -> None:
    for name in ("a", "b", "x", "y"):
        await put(api, name)
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await api.ask(f"GET {PROGRAMMES}?limit={limit}" + (cursor and f"&cursor={cursor}"))).json()
        seen += [one["id"] for one in page["items"]]
        cursor = page["next_cursor"]
    assert seen == ["a", "b", "daily", "x", "y"]


@pytest.mark.parametrize(
    ("wrong", "field", "why"),
    [
        ({"weekdays": []}, "weekdays", "1 to 7"),
        ({"weekdays": ["monday"]}, "weekdays.0", "mon"),
        ({"window_minutes": 0}, "window_minutes", "1"),
        ({"window_minutes": 1_441}, "window_minutes", "1,440"),
        ({"share_percent": 101}, "share_percent", "100"),
        ({"job_timeout_ms": 1}, "job_timeout_ms", "100"),
        ({"target": "evening"}, "target", ""),
        ({"target": {"kind": "magic"}}, "target", "kind"),
        ({"target": A_TARGET | {"body": "text"}}, "target.body", "JSON object"),
        (
            {"target": {"kind": "prompt", "agent_id": "nobody", "prompt": "Hi."}},
            "target.agent_id",
            "no agent",
        ),
        ({"colour": "red"}, "colour", ""),
    ],
)
async def test_what_a_programme_cannot_have_is_refused(
    api: ApiInProcess, wrong: dict[str, Any], field: str, why: str
) -> None:
    answer = await api.ask(f"PUT {PROGRAMMES}/evening", wrong)
    assert (answer.status, answer.problem) == (422, "invalid-request"), answer.body
    fault = answer.json()["errors"][0]
    assert fault["field"].startswith(field)
    assert why in fault["message"]
    assert (await api.ask(f"GET {PROGRAMMES}/evening")).status == 404


async def test_a_user_of_two_programmes_has_two_due_times(api: ApiInProcess) -> None:
    await put(api, window_minutes=30)
    morning = await enroll(api, "ada", "07:30")
    evening = await enroll(api, "ada", "19:00", programme="evening", timezone="Europe/Berlin")
    assert (morning["programme"], morning["timezone"], morning["next_cutoff"]) == (
        *("daily", "UTC"),
        "2025-01-01T07:30:00Z",
    )
    assert (evening["programme"], evening["timezone"], evening["due_time"]) == (
        *("evening", "Europe/Berlin"),
        "19:00",
    )
    assert (evening["next_opens_at"], evening["next_cutoff"]) == (
        "2025-01-01T17:30:00Z",
        "2025-01-01T18:00:00Z",
    )
    assert (await api.ask(f"GET {USERS}/ada")).json() == morning
    assert (await api.ask(f"GET {USERS}/ada?programme=evening")).json() == evening
    assert (await api.ask(f"GET {USERS}?programme=evening")).json()["items"] == [evening]
    assert (await api.ask(f"DELETE {USERS}/ada?programme=evening")).status == 204
    assert (await api.ask(f"GET {USERS}/ada")).json() == morning


async def test_a_zone_of_the_user_is_not_taken_without_being_asked_for(api: ApiInProcess) -> None:
    assert (await api.ask("PUT /v1/users/ada", {"timezone": "Asia/Tokyo"})).status == 200
    assert (await enroll(api, "ada", "07:30"))["timezone"] == "UTC"


@pytest.mark.parametrize("zone", ["Europe/Berlim", "", "../etc/passwd", "CET+1", 1, "Mars/Base"])
async def test_a_zone_that_is_none_is_refused(api: ApiInProcess, zone: object) -> None:
    answer = await api.ask(f"PUT {USERS}/ada", {"due_time": "07:30", "timezone": zone})
    assert (answer.status, answer.json()["errors"][0]["field"]) == (422, "timezone")
    many = await api.ask(
        f"POST {USERS}", {"users": [{"user_id": "a", "due_time": "07:30", "timezone": zone}]}
    )
    assert (many.status, many.json()["errors"][0]["field"]) == (422, "users.0.timezone")


@pytest.mark.parametrize(
    "request_",
    [
        f"GET {USERS}?programme=night",
        f"GET {USERS}/ada?programme=night",
        f"DELETE {USERS}/ada?programme=night",
        f"GET {USERS}/ada/days?programme=night",
        "GET /v1/daily/days/2025-01-01?programme=night",
        "GET /v1/daily/windows?programme=night",
        "GET /v1/daily/history?programme=night",
        "GET /v1/daily/misses?programme=night",
        f"GET {PROGRAMMES}/night",
        f"DELETE {PROGRAMMES}/night",
    ],
)
async def test_a_programme_that_does_not_exist_is_not_found(api: ApiInProcess, request_: str) -> None:
    await enroll(api, "ada", "07:30")
    answer = await api.ask(request_)
    assert (answer.status, "night" in answer.json()["detail"]) == (404, True)


async def test_nobody_is_enrolled_in_a_programme_that_does_not_exist(api: ApiInProcess) -> None:
    for request_, body in (
        (f"PUT {USERS}/ada", {"due_time": "07:30", "programme": "night"}),
        (f"POST {USERS}", {"users": [{"user_id": "ada", "due_time": "07:30"}], "programme": "night"}),
    ):
        assert (await api.ask(request_, body)).status == 404


async def test_the_next_served_day_is_shown_with_its_window(api: ApiInProcess) -> None:
    await put(api, weekdays=["mon"], window_minutes=15)
    user = await enroll(api, "ada", "07:30", programme="evening", timezone="Europe/Berlin")
    assert user["next_date"] == "2025-01-01"
    assert user["next_served"] == {
        "date": "2025-01-06",
        "opens_at": "2025-01-06T06:15:00Z",
        "cutoff": "2025-01-06T06:30:00Z",
    }
    daily = await enroll(api, "ada", "07:30")
    assert daily["next_served"]["date"] == daily["next_date"]


async def test_a_programme_with_users_or_results_is_not_deleted(api: ApiInProcess) -> None:
    await put(api)
    await enroll(api, "ada", "07:30", programme="evening")
    refused = await api.ask(f"DELETE {PROGRAMMES}/evening")
    assert (refused.status, "Users are enrolled" in refused.json()["detail"]) == (409, True)
    now = TODAY + timedelta(hours=8)
    key = daily_key("north", "ada", programme_id="evening")
    rule = partial(finalize_cutoffs, now=now, service=ServicePeriod(TODAY))
    await api.store.daily.finalize_days([key], rule)
    assert (await api.ask(f"DELETE {USERS}/ada?programme=evening")).status == 204
    refused = await api.ask(f"DELETE {PROGRAMMES}/evening")
    assert (refused.status, "has results" in refused.json()["detail"]) == (409, True)
    days = (await api.ask(f"GET {USERS}/ada/days?programme=evening")).json()["items"]
    assert [(one["programme"], one["service_date"]) for one in days] == [("evening", "2025-01-01")]
    assert (await api.ask("GET /v1/daily/days/2025-01-01?programme=evening")).json()["counts"][
        "cutoff_reached"
    ] == 1
    assert (await api.ask("GET /v1/daily/days/2025-01-01")).json()["items"] == []
    assert (await api.ask(f"DELETE {PROGRAMMES}/evening?with_days=true")).status == 204
    assert (await api.ask(f"GET {PROGRAMMES}/evening")).status == 404


async def test_tenants_have_their_own_programmes(api: ApiInProcess) -> None:
    await put(api)
    assert (await api.ask(f"GET {PROGRAMMES}/evening", by="south")).status == 404
    assert [one["id"] for one in (await api.ask(f"GET {PROGRAMMES}", by="south")).json()["items"]] == [
        "daily"
    ]


async def test_a_deleted_programme_is_restored_from_the_audit(api: ApiInProcess) -> None:
    made = await put(api, target="https://example.com/evening", weekdays=["mon"])
    assert (await api.ask(f"DELETE {PROGRAMMES}/evening")).status == 204
    (record, _) = (await api.ask("GET /v1/audit?subject_kind=programme")).json()["items"]
    assert (record["subject_id"], record["operation"]) == ("evening", "delete_programme")
    restored = await api.ask(f"POST /v1/audit/{record['id']}/restore", {})
    assert restored.status == 200, restored.body
    again = (await api.ask(f"GET {PROGRAMMES}/evening")).json()
    assert (again["target"], again["weekdays"]) == (made["target"], made["weekdays"])
