"""The offline agent changes reminders that there are, by their words or as the one mentioned last."""

import pytest
from tests.agents.agent_fixtures import DAY, MINUTE, MONDAY, ZONE, AgentFixture

from cadenza.domain.scheduling.baseline import Cron


@pytest.fixture
async def agents() -> AgentFixture:
    return await AgentFixture().open()


async def planned(agents: AgentFixture, *texts: str) -> None:
    for text in texts:
        await agents.say(text)


PIZZA = "remind me in 20 minutes to take the pizza out"
DAILY = "every day at 9am remind me to stretch"


@pytest.mark.parametrize(
    "said",
    ["snooze it for an hour", "Snooze it an hour", "put it off by 1 hour", "postpone that until 11:37"],
)
async def test_what_has_fired_is_snoozed(agents: AgentFixture, said: str) -> None:
    await planned(agents, DAILY, PIZZA)
    await agents.fire()
    answer = await agents.say(said)
    assert answer == (
        "I will remind you again on Monday, 16 November 2026, 11:37 Europe/Berlin: Take the pizza out."
    )
    name = next(one["id"] for one in await agents.schedules() if one["pause_reason"] == "snoozed")
    why = await agents.ask("explain_schedule", schedule_id=name)
    assert why["by"] == "person: user ada", "the agent did what its user asked for"
    assert len(await agents.fire(60 * MINUTE)) == 1
    assert (await agents.undelivered_texts())[-1].endswith("take the pizza out")


async def test_it_is_the_one_that_was_mentioned_last(agents: AgentFixture) -> None:
    await planned(agents, DAILY, PIZZA)
    assert await agents.say("pause it") == "I have paused Take the pizza out until you resume it."
    assert await agents.say("pause the stretching") == (
        "I found no reminder about “stretching”; shall I list what there is?"
    )
    assert (await agents.say("pause stretch for two days")).startswith(
        "I have paused Stretch until Wednesday, "
    )
    assert (await agents.say("resume it")).startswith("Stretch goes on: next on Tuesday, 17 November 2026")
    assert {one["name"]: one["paused"] for one in await agents.schedules()} == {
        "Stretch": False,
        "Take the pizza out": True,
    }
    assert "Take the pizza out: paused" in await agents.say("list my reminders")
    assert (await agents.say("rename it to Oven")).startswith("Which one do you mean: ")


async def test_a_reminder_is_renamed_moved_and_run(agents: AgentFixture) -> None:
    await planned(agents, PIZZA)
    assert await agents.say("rename it to “Oven”") == "It is called Oven now."
    assert await agents.say("move it to 6pm") == (
        "I have moved Oven: next on Monday, 16 November 2026, 18:00 Europe/Berlin."
    )
    assert await agents.say("run the oven reminder now") == "Oven runs now."
    assert len(await agents.fire(0)) == 1
    assert (await agents.say("change it to every weekday at 8am")).startswith(
        "I have moved Oven: next on Tue"
    )
    (one,) = await agents.schedules()
    assert (await agents.endpoint(one["id"])).baseline == Cron("0 8 * * 1-5", ZONE)
    assert await agents.say("move it to 6pm") == "Oven repeats; to when, such as every weekday at 6 pm?"
    assert (
        await agents.say("move it to in 3 hours")
    ) == "Oven repeats; to when, such as every weekday at 6 pm?"


async def test_what_is_missing_is_asked_for_and_put_in(agents: AgentFixture) -> None:
    await planned(agents, PIZZA, "remind me in 30 minutes to order pizza")
    assert (
        await agents.say("snooze the pizza for 2 hours")
        == "Which one do you mean: "
        + ", ".join(f"{one['name']} [{one['id']}]" for one in await agents.schedules())
        + "?"
    )
    first = min(await agents.schedules(), key=lambda one: one["next_run_at"])
    assert "12:17 Europe/Berlin: Take the pizza out." in await agents.say(first["id"])
    assert await agents.say(f"snooze {first['id']}") == "For how long shall I snooze it?"
    assert "13:17 Europe/Berlin: Take the pizza out." in await agents.say("3 hours")


async def test_what_cannot_be_done_is_said(agents: AgentFixture) -> None:
    assert await agents.say("snooze it for an hour") == "Which reminder shall I snooze?"
    await planned(agents, "remind me tomorrow at 9am to call Ada")
    assert "which is later: move it with" in await agents.say("snooze it for an hour")
    await agents.say("pause it")
    assert "cannot run now (paused until resumed)" in await agents.say("run it now")


@pytest.mark.parametrize(
    "said", ["move the car tomorrow at 8am", "pause the film at 9pm", "delay the parcel tomorrow at 10am"]
)
async def test_what_is_no_reminder_that_there_is_becomes_one(agents: AgentFixture, said: str) -> None:
    assert (await agents.say(said)).startswith("I will remind you on ")
    (one,) = await agents.schedules()
    assert one["name"].lower() == said.partition(" at ")[0].removesuffix(" tomorrow")


async def test_a_reminder_of_another_user_is_not_meant(agents: AgentFixture) -> None:
    await agents.say(PIZZA, user="ben")
    assert await agents.say("snooze it for an hour") == "Which reminder shall I snooze?"
    assert await agents.fire(DAY)
    assert agents.clock.now() > MONDAY
