"""Operations on the channels of users: what they show, refuse, record and send."""

import asyncio
from typing import Any

import pytest
from tests.operation_fixtures import EVERYTHING, ApplicationFixture, app

from cadenza.domain.access.key import Caller, OnBehalfOf, Scope
from cadenza.domain.agents.channels.user_channels import ChannelHealth, with_health
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import CadenzaError, InvalidRequest, NotAllowed, NotFound, TooOften
from cadenza.testing.clock import NEW_YEAR

__all__ = ["app"]
ADA = UserKey("default", "ada")
PHONE: dict[str, Any] = {"id": "phone", "type": "apprise", "url": "ntfy://t0psecret"}
HOOK: dict[str, Any] = {"id": "hook", "type": "webhook", "url": "https://hooks.example/in/${secret:PATH}"}
NIGHT = {"start": "22:00", "end": "07:00"}


@pytest.fixture(autouse=True)
async def ada(app: ApplicationFixture) -> None:
    await app.ask("put_user", user_id="ada", timezone="Europe/Berlin")


async def put(app: ApplicationFixture, *channels: dict[str, Any], **more: Any) -> Any:
    return await app.ask("put_user_channels", user_id="ada", channels=list(channels), **more)


async def as_user(app: ApplicationFixture, operation: str, **arguments: Any) -> Any:
    caller = Caller("default", frozenset({Scope.READ, Scope.WRITE}), "test", on_behalf_of=OnBehalfOf("ada"))
    view = await app.application.ask(operation, arguments, caller)
    return view.model_dump(mode="json")


async def test_channels_are_shown_in_order_without_what_may_be_secret(app: ApplicationFixture) -> None:
    await put(app, PHONE, HOOK | {"enabled": False}, quiet_hours=NIGHT)
    shown = await app.ask("get_user_channels", user_id="ada")
    health = {"failures": 0, "problem": None, "again_at": None}
    assert shown == {
        "user_id": "ada",
        "channels": [
            PHONE | {"url": "ntfy://***", "enabled": True} | health,
            HOOK | {"url": "https://hooks.example/***/${secret:PATH}", "enabled": False} | health,
        ],
        "quiet_hours": NIGHT,
    }


async def test_what_is_shown_can_be_written_back(app: ApplicationFixture) -> None:
    await put(app, PHONE, HOOK)
    shown = await app.ask("get_user_channels", user_id="ada")
    names = ("id", "type", "url", "enabled")
    await put(app, *({name: one[name] for name in names} for one in reversed(shown["channels"])))
    stored = await app.store.channels.channels(ADA)
    assert [one.channel.url for one in stored.channels] == [HOOK["url"], PHONE["url"]]


async def test_a_channel_that_refuses_says_why_until_it_is_changed(app: ApplicationFixture) -> None:
    await put(app, PHONE)
    health = ChannelHealth(3, NEW_YEAR, "answered 503")
    await app.store.channels.amend_channels(
        ADA, lambda before: with_health(before, "phone", health), now=NEW_YEAR, due_at=NEW_YEAR
    )
    (shown,) = (await app.ask("get_user_channels", user_id="ada"))["channels"]
    assert (shown["failures"], shown["problem"], shown["again_at"]) == (
        3,
        "answered 503",
        "2025-01-01T00:00:00Z",
    )
    (changed,) = (await put(app, PHONE | {"url": "ntfy://other"}))["channels"]
    assert changed["problem"] is None


@pytest.mark.parametrize(
    ("channels", "quiet", "field"),
    [
        ([PHONE, PHONE], None, "channels"),
        ([PHONE | {"url": "no address"}], None, "channels.url"),
        ([PHONE | {"url": "ntfy://***"}], None, "channels.url"),
        ([PHONE], {"start": "22:00", "end": "22:00"}, "quiet_hours"),
        ([PHONE], {"start": "24:00", "end": "07:00"}, "quiet_hours.start"),
        ([PHONE | {"id": "not an id"}], None, "channels.0.id"),
        ([PHONE | {"id": f"c{number}"} for number in range(11)], None, "channels"),
    ],
)
async def test_what_cannot_be_a_channel_is_refused_with_its_field(
    app: ApplicationFixture, channels: list[dict[str, Any]], quiet: Any, field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await put(app, *channels, quiet_hours=quiet)
    assert refused.value.faults[0].field == field
    assert (await app.ask("get_user_channels", user_id="ada"))["channels"] == []


async def test_a_user_has_a_say_about_their_own_channels_alone(app: ApplicationFixture) -> None:
    await app.ask("put_user", user_id="bert")
    await as_user(app, "put_user_channels", user_id="ada", channels=[PHONE])
    assert (await as_user(app, "get_user_channels", user_id="ada"))["channels"][0]["id"] == "phone"
    assert (await as_user(app, "test_user_channel", user_id="ada", channel_id="phone"))["accepted"]
    for operation, more in (
        ("get_user_channels", {}),
        ("put_user_channels", {"channels": []}),
        ("test_user_channel", {"channel_id": "phone"}),
    ):
        with pytest.raises(NotFound):
            await as_user(app, operation, user_id="bert", **more)


async def test_a_user_cannot_have_a_secret_of_the_tenant_sent_anywhere(app: ApplicationFixture) -> None:
    stolen = HOOK | {"url": "https://evil.example/${secret:PATH}"}
    with pytest.raises(NotAllowed):
        await as_user(app, "put_user_channels", user_id="ada", channels=[stolen])
    await put(app, HOOK)
    with pytest.raises(NotAllowed):
        await as_user(app, "put_user_channels", user_id="ada", channels=[stolen])
    (kept,) = (await as_user(app, "get_user_channels", user_id="ada"))["channels"]
    same = {name: kept[name] for name in ("id", "type", "url")}
    await as_user(app, "put_user_channels", user_id="ada", channels=[PHONE, same])
    stored = await app.store.channels.channels(ADA)
    assert [one.channel.url for one in stored.channels] == [PHONE["url"], HOOK["url"]]


async def test_a_test_message_says_whether_it_was_accepted_and_not_too_often(app: ApplicationFixture) -> None:
    await put(app, PHONE)
    about: dict[str, Any] = {"user_id": "ada", "channel_id": "phone"}
    assert await app.ask("test_user_channel", **about) == {"accepted": True, "problem": None}
    assert app.channels.sent == [("phone", "This is a test of the channel phone.")]
    app.channels.problem = "answered 503"
    assert await app.ask("test_user_channel", **about) == {"accepted": False, "problem": "answered 503"}
    refused = await asyncio.gather(
        *(app.ask("test_user_channel", **about) for _ in range(20)), return_exceptions=True
    )
    assert any(isinstance(one, TooOften) for one in refused)
    with pytest.raises(NotFound):
        await app.ask("test_user_channel", user_id="ada", channel_id="none")


async def test_changes_are_recorded_without_addresses(app: ApplicationFixture) -> None:
    await put(app, PHONE, quiet_hours=NIGHT)
    await app.ask("test_user_channel", user_id="ada", channel_id="phone")
    records = (await app.ask("list_audit"))["items"]
    assert [one["operation"] for one in records[:2]] == ["test_user_channel", "put_user_channels"]
    assert {one["subject_kind"] for one in records[:2]} == {"user_channels"}
    assert "t0psecret" not in repr(records)


async def test_another_tenant_finds_no_such_user(app: ApplicationFixture) -> None:
    for operation, more in (("get_user_channels", {}), ("put_user_channels", {"channels": [PHONE]})):
        with pytest.raises(CadenzaError) as refused:
            await app.ask(operation, by="south", holding=EVERYTHING, user_id="ada", **more)
        assert isinstance(refused.value, NotFound)
