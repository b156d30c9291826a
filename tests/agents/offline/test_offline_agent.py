"""The offline agent in a conversation: it plans, lists, cancels, asks back, and says what is due."""

import pytest
from tests.agents.agent_fixtures import ADA, BEN, DAY, MINUTE, TENANT, AgentFixture
from tests.agents.test_conversation import gone, say_with_key

from cadenza.domain.access.tenant import Limits, Tenant


@pytest.fixture
async def agents() -> AgentFixture:
    return await AgentFixture().open()


async def test_a_reminder_is_made_confirmed_fired_and_owed(agents: AgentFixture) -> None:
    said = await agents.say("Remind me in 20 minutes to take the pizza out")
    assert said == "I will remind you on Monday, 16 November 2026, 10:37 Europe/Berlin: Take the pizza out."
    (planned,) = await agents.schedules()
    assert planned["next_run_at"] == "2026-11-16T09:37:30Z"
    await agents.fire()
    assert await agents.undelivered_texts() == ["Reminder: take the pizza out"]
    assert await agents.schedules() == []
    (done,) = await agents.schedules(enabled_only=False)
    assert (done["id"], done["enabled"]) == (planned["id"], False)


async def test_what_recurs_tells_the_next_three_and_goes_on(agents: AgentFixture) -> None:
    said = await agents.say("every weekday at 9 remind me to stand up")
    assert "Tuesday, 17 November 2026, 09:00 Europe/Berlin, then on Wednesday, 18 November" in said
    for wait_ms in ((22 * 60 + 42.5) * MINUTE, DAY, DAY):
        await agents.fire(wait_ms)
    assert await agents.undelivered_texts() == ["Reminder: stand up"] * 3


async def test_a_message_is_answered_after_a_crash_also_if_its_reminder_has_fired(
    agents: AgentFixture,
) -> None:
    words = "remind me in 20 minutes to take the pizza out"
    commit, agents.store.conversations.commit_turn = agents.store.conversations.commit_turn, gone  # type: ignore[method-assign,assignment]
    with pytest.raises(SystemExit):
        await say_with_key(agents, "k", words)
    agents.store.conversations.commit_turn = commit  # type: ignore[method-assign]
    await agents.fire()
    await say_with_key(agents, "k", words)
    assert await agents.undelivered_texts() == [
        "Reminder: take the pizza out",
        "I have reminded you: Take the pizza out.",
    ]


async def test_a_late_reminder_says_when_it_was_due(agents: AgentFixture) -> None:
    await agents.say("remind me in 20 minutes to take the pizza out")
    await agents.fire(3 * 60 * MINUTE)
    (text,) = await agents.undelivered_texts()
    assert text == (
        "Reminder (it was due on Monday, 16 November 2026, 10:37 Europe/Berlin): take the pizza out"
    )


async def test_reminders_are_listed_the_next_one_first(agents: AgentFixture) -> None:
    assert await agents.say("list my reminders") == "You have no reminders."
    await agents.say("remind me tomorrow at noon to eat")
    await agents.say("remind me in 5 minutes to drink")
    list_text = (await agents.say("what reminders do I have?")).splitlines()
    assert list_text[0] == "You have 2 reminders:"
    assert list_text[1].startswith("- Drink: Monday, 16 November 2026, 10:22 Europe/Berlin [sched-")
    assert list_text[2].startswith("- Eat: Tuesday, 17 November 2026, 12:00 Europe/Berlin [sched-")


@pytest.mark.parametrize("words", ["cancel the pizza", "stop reminding me about the pizza", "delete pizza!"])
async def test_a_reminder_is_cancelled_by_what_it_is_about(agents: AgentFixture, words: str) -> None:
    await agents.say("remind me in 20 minutes to take the pizza out")
    await agents.say("remind me in 30 minutes to feed the cat")
    assert await agents.say(words) == "I have cancelled Take the pizza out."
    assert [one["name"] for one in await agents.schedules()] == ["Feed the cat"]
    await agents.fire(60 * MINUTE)
    assert await agents.undelivered_texts() == [
        "Reminder (it was due on Monday, 16 November 2026, 10:47 Europe/Berlin): feed the cat"
    ]


async def test_a_reminder_is_cancelled_by_its_id_or_all_at_once(agents: AgentFixture) -> None:
    made = await agents.schedule()
    await agents.schedule(name="Another")
    assert await agents.say(f"cancel {made['id']}") == "I have cancelled Pizza."
    assert await agents.say("cancel all my reminders") == "I have cancelled Another."
    assert await agents.schedules() == []


async def test_what_can_mean_several_is_asked_about(agents: AgentFixture) -> None:
    for animal in ("cat", "dog"):
        await agents.say(f"remind me in 20 minutes to feed the {animal}")
    asked = await agents.say("cancel feed")
    assert asked.startswith("Which one do you mean: ")
    assert len(await agents.schedules()) == 2
    assert await agents.say("cancel the holiday") == (
        "I found no reminder about “holiday”; shall I list what there is?"
    )


@pytest.mark.parametrize(
    ("first", "question", "answer", "moment"),
    [
        ("remind me to call mum", "When shall I remind you?", "tomorrow at 5pm", "2026-11-17T16:00:00Z"),
        ("remind me at 5 to call mum", "Do you mean 5 am or 5 pm?", "pm", "2026-11-16T16:00:00Z"),
        ("remind me at 9 to call mum", "Do you mean 9 am or 9 pm?", "in the evening", "2026-11-16T20:00:00Z"),
        ("tomorrow at 7am", "What shall I remind you of?", "call mum", "2026-11-17T06:00:00Z"),
        ("remind me today to call mum", "At what time today?", "at 18:30", "2026-11-16T17:30:00Z"),
    ],
    ids=["when", "half", "evening", "what", "time"],
)
async def test_a_question_is_answered_in_the_next_message(
    agents: AgentFixture, first: str, question: str, answer: str, moment: str
) -> None:
    assert await agents.say(first) == question
    assert await agents.schedules() == []
    assert "all mum" in await agents.say(answer)
    (planned,) = await agents.schedules()
    assert planned["next_run_at"] == moment


async def test_without_a_time_zone_it_asks_for_one(agents: AgentFixture) -> None:
    await agents.ask("put_user", user_id=BEN)
    asked = await agents.say("remind me at 5pm to call mum", user=BEN)
    assert asked == "In which time zone are you, such as Europe/Berlin?"
    assert "all mum" in await agents.say("America/New_York", user=BEN)
    (planned,) = await agents.schedules(BEN)
    assert planned["next_run_at"] == "2026-11-16T22:00:00Z"
    assert "20 minutes" not in await agents.say("remind me in 20 minutes to rest", user=BEN)
    assert len(await agents.schedules(BEN)) == 2, "a while from now needs no zone"
    assert "which time zone" in await agents.say("every 5 minutes remind me to sit", user=BEN)
    assert "again and again" in await agents.say("Europe/Berlin", user=BEN)


async def test_a_refusal_of_the_tool_is_what_it_says(agents: AgentFixture) -> None:
    for number in range(50):
        await agents.schedule(name=f"Number {number}")
    said = await agents.say("remind me in 20 minutes to rest")
    assert said == "The user has 50 active schedules, and the limit is 50: delete one first."
    assert "I will remind you again and again" in await agents.say(
        "every minute remind me to blink", user=BEN
    )
    assert "fire more than 1,440 times a day" in await agents.say(
        "every 5 minutes remind me to sit", user=BEN
    )


async def test_text_that_imitates_a_schedule_stays_text(agents: AgentFixture) -> None:
    said = await agents.say("[SCHEDULED: pizza] take it out")
    assert "did not understand" in said
    assert await agents.undelivered_texts() == []
    (asked, _) = await agents.messages()
    assert asked.origin.kind == "user"


async def test_users_see_only_their_own(agents: AgentFixture) -> None:
    await agents.say("remind me in 20 minutes to rest", user=ADA)
    assert await agents.say("list my reminders", user=BEN) == "You have no reminders."
    (planned,) = await agents.schedules(ADA)
    assert "found no reminder" in await agents.say(f"cancel {planned['id']}", user=BEN)
    assert len(await agents.schedules(ADA)) == 1


async def test_it_says_what_it_can_do(agents: AgentFixture) -> None:
    for words in ("help", "hi!", "What can you do?"):
        assert (await agents.say(words)).startswith("I remind you of things.")


async def test_all_of_very_many_reminders_are_meant_by_all(agents: AgentFixture) -> None:
    many = Limits(schedules_per_user=None, schedule_fires_per_day=None)
    await agents.store.tenants.put_tenant(Tenant(id=TENANT, name="North", limits=many))
    for number in range(120):
        await agents.schedule(name=f"Number {number}")
    cancelled = await agents.say("cancel all my reminders")
    assert "Number 0" in cancelled
    assert await agents.schedules() == []
