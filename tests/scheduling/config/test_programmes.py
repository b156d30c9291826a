"""Daily programmes in a configuration file."""

from typing import Any

import pytest
from tests.operation_fixtures import ApplicationFixture
from tests.scheduling.calendars.stored_calendars import put_calendar

from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.scheduling.calendars.definition import WEEKDAYS, CalendarParts, WeeklyHours

ALWAYS = CalendarParts(weekly=(WeeklyHours(WEEKDAYS, "00:00", "24:00"),))
EVENING: dict[str, Any] = {
    "id": "evening",
    "target": "https://example.com/evening",
    "window_minutes": 30,
    "weekdays": ["fri", "mon"],
}


async def apply(app: ApplicationFixture, *programmes: dict[str, Any], **options: Any) -> Any:
    return await app.ask("apply_config", version=1, programmes=list(programmes), **options)


def changes(applied: Any) -> list[tuple[str, str, str]]:
    return [(one["action"], one["kind"], one["id"]) for one in applied["changes"]]


async def test_programmes_are_made_changed_and_left_alone(app: ApplicationFixture) -> None:
    tried = await apply(app, EVENING, dry_run=True)
    assert changes(tried) == [("create", "programme", "evening")]
    assert [one["id"] for one in (await app.ask("list_programmes"))["items"]] == ["daily"]
    assert changes(await apply(app, EVENING)) == changes(tried)
    made = await app.ask("get_programme", programme_id="evening")
    assert (made["window_minutes"], made["weekdays"], made["target"]["method"]) == (
        30,
        ["mon", "fri"],
        "POST",
    )
    again = await apply(app, EVENING)
    assert (again["changes"], again["counts"]["unchanged"]) == ([], 1)
    changed = await apply(app, EVENING | {"weekdays": ["sun"]})
    assert changed["changes"] == [
        {
            "action": "update",
            "kind": "programme",
            "id": "evening",
            "fields": [{"field": "weekdays", "before": ["mon", "fri"], "after": ["sun"]}],
        }
    ]
    assert (await app.ask("apply_config", version=1))["changes"] == []


async def test_what_is_not_named_is_pruned_if_asked_and_not_in_use(app: ApplicationFixture) -> None:
    await apply(app, EVENING, {"id": "daily", "window_minutes": 90})
    assert changes(await apply(app, {"id": "daily"})) == [("update", "programme", "daily")]
    pruned = await apply(app, EVENING, prune=True)
    assert changes(pruned) == [("delete", "programme", "daily")]
    await app.ask("put_daily_user", user_id="ada", due_time="19:00", programme="evening")
    with pytest.raises(Conflict, match="Users are enrolled in the programme evening"):
        await apply(app, prune=True)
    await app.ask("delete_daily_user", user_id="ada", programme="evening")
    assert changes(await apply(app, prune=True)) == [("delete", "programme", "evening")]
    (daily,) = (await app.ask("list_programmes"))["items"]
    assert daily["stored"] is False


async def test_an_export_applied_unchanged_changes_nothing(app: ApplicationFixture) -> None:
    await apply(app, EVENING)
    exported = await app.ask("export_config")
    applied = await app.ask("apply_config", **exported)
    assert (applied["changes"], applied["counts"]["unchanged"]) == ([], 1)
    text = (await app.ask("export_config_file"))["text"]
    assert "programmes:\n- id: evening\n  target: https://example.com/evening\n" in text
    applied = await app.ask("apply_config_file", text=text, prune=True)
    assert applied["changes"] == []


@pytest.mark.parametrize(
    ("wrong", "line", "field"),
    [
        ("programmes:\n- id: evening\n  weekdays: [monday]\n", 4, "programmes.0.weekdays.0"),
        ("programmes:\n- id: a\n- id: a\n", 3, "programmes.0.id"),
        (
            "programmes:\n- id: a\n  target: {kind: http, url: 'https://a.example', body: x}\n",
            4,
            "programmes.0.target.body",
        ),
        (
            "programmes:\n- id: a\n  target: {kind: prompt, agent_id: nobody, prompt: Hi}\n",
            4,
            "programmes.0.target.agent_id",
        ),
    ],
)
async def test_a_wrong_programme_is_named_with_its_line(
    app: ApplicationFixture, wrong: str, line: int, field: str
) -> None:
    with pytest.raises(InvalidRequest) as problem:
        await app.ask("apply_config_file", text=f"version: 1\n{wrong}")
    fault = problem.value.faults[0]
    assert (fault.field, f"line {line}: " in fault.message) == (field, True), fault
    assert [one["id"] for one in (await app.ask("list_programmes"))["items"]] == ["daily"]


async def test_a_programme_names_calendars_that_there_are(app: ApplicationFixture) -> None:
    with pytest.raises(InvalidRequest, match="There is no calendar office") as problem:
        await apply(app, EVENING | {"only_during": "office"})
    assert problem.value.field == "programmes.0.only_during"
    with pytest.raises(InvalidRequest, match="There is no calendar office"):
        await app.ask("put_programme", programme_id="evening", never_during="office")
    await put_calendar(app.store, "office", now=app.clock.now())
    assert changes(await apply(app, {"id": "evening", "only_during": "office"})) == [
        ("create", "programme", "evening")
    ]
    made = await app.ask("get_programme", programme_id="evening")
    assert (made["only_during"], made["never_during"]) == ("office", None)
    assert (await apply(app, {"id": "evening", "only_during": "office"}))["changes"] == []
    user = await app.ask("put_daily_user", user_id="ada", due_time="20:00", programme="evening")
    assert user["next_served"] is None
    await put_calendar(app.store, "office", ALWAYS, now=app.clock.now())
    user = await app.ask("get_daily_user", user_id="ada", programme="evening")
    assert user["next_served"]["date"] == user["next_date"]
