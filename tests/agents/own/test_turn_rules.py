"""The rules of turns, whatever is done with them in whatever order."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.agents.agent_turn import (
    MOST_CALLS,
    AgentTurn,
    TurnAnswer,
    TurnCall,
    TurnState,
    give_back,
    give_up,
    lease,
    offer,
    read_answer,
    renew,
    request_call,
    row_id,
    settle_call,
    take_answer,
    token_digest,
    turn_of_token,
    turn_token,
    write_answer,
)
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.users import Agent, Runtime, agent_target
from cadenza.domain.errors import CadenzaError, Conflict, InvalidRequest, LimitReached
from cadenza.domain.json_values import Json
from cadenza.testing.clock import NEW_YEAR

WAIT, LEASE = timedelta(seconds=85), timedelta(seconds=10)
TURN = AgentTurn(
    id="turn",
    conversation=ConversationKey("north", "ada", "helper"),
    payload={},
    created_at=NEW_YEAR,
    expires_at=NEW_YEAR + WAIT,
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["lease", "renew", "back", "answer", "up", "offer"]),
        st.sampled_from(["a", "b"]),
        st.integers(0, 60),
    ),
    max_size=12,
)


@given(STEPS)
def test_a_turn_is_answered_at_most_once_and_by_whoever_has_it(steps: list[tuple[str, str, int]]) -> None:
    turn, now, holder = TURN, NEW_YEAR, None
    answers: list[str] = []
    for what, token, later in steps:
        now += timedelta(seconds=later)
        before = turn
        if what == "lease" and not before.takeable(now):
            continue
        try:
            turn = _changed(before, what, token, now)
        except CadenzaError:
            assert turn is before
            continue
        if what == "answer":
            assert (holder, before.state) == (token, TurnState.LEASED)
            assert before.expires_at > now
            answers.append(token)
        if turn.state is TurnState.LEASED and what == "lease":
            holder = token
    assert len(answers) <= 1
    assert (turn.state is TurnState.ANSWERED) == bool(answers)
    assert turn.answer == (TurnAnswer(messages=(answers[0],)) if answers else None)


def _changed(turn: AgentTurn, what: str, token: str, now: datetime) -> AgentTurn:
    match what:
        case "lease":
            return lease(turn, token=token, until=now + LEASE)
        case "renew":
            return renew(turn, token=token, now=now, until=now + LEASE)
        case "back":
            return give_back(turn, token=token, now=now)
        case "answer":
            return take_answer(turn, token=token, answer=TurnAnswer(messages=(token,)), now=now)
        case "up":
            return give_up(turn, now)
        case _:
            return offer(_waiting_until(now + WAIT), turn)


def _waiting_until(end: Any) -> AgentTurn:
    return AgentTurn(
        id=TURN.id, conversation=TURN.conversation, payload={}, created_at=NEW_YEAR, expires_at=end
    )


def test_what_was_called_under_an_earlier_lease_does_not_count() -> None:
    first = lease(TURN, token="a", until=NEW_YEAR)
    called = request_call(first, TurnCall("one", "tool", {}), token="a", now=NEW_YEAR)
    again = request_call(called, TurnCall("one", "tool", {}), token="a", now=NEW_YEAR)
    assert again == called
    second = lease(called, token="b", until=NEW_YEAR + LEASE)
    assert (second.calls, second.attempts, second.earlier_tokens) == ((), 2, ("a",))
    assert second.accepts("a")
    assert settle_call(second, TurnCall("one", "tool", {}, done=True)) == second
    assert settle_call(called, TurnCall("one", "tool", {}, done=True)).calls[0].done


def test_a_turn_takes_so_many_calls_and_no_more() -> None:
    turn = lease(TURN, token="a", until=NEW_YEAR + LEASE)
    for number in range(MOST_CALLS):
        turn = request_call(turn, TurnCall(f"{number}", "tool", {}), token="a", now=NEW_YEAR)
    with pytest.raises(LimitReached):
        request_call(turn, TurnCall("more", "tool", {}), token="a", now=NEW_YEAR)


def test_who_could_not_send_a_turn_gives_it_up_unless_it_was_sent_again() -> None:
    turn = lease(TURN, token="a", until=NEW_YEAR + WAIT)
    assert give_up(turn, NEW_YEAR, "b") == turn
    assert give_up(turn, NEW_YEAR) == turn, "another process waits longer"
    ended = give_up(turn, NEW_YEAR, "a")
    assert (ended.state, ended.token, ended.expires_at) == (TurnState.OFFERED, None, NEW_YEAR)
    with pytest.raises(Conflict):
        take_answer(ended, token="a", answer=TurnAnswer(), now=NEW_YEAR)
    with pytest.raises(Conflict, match="is answered"):
        lease(take_answer(turn, token="a", answer=TurnAnswer(), now=NEW_YEAR), token="b", until=NEW_YEAR)


def test_a_token_names_its_turn_and_is_stored_as_a_digest() -> None:
    token = turn_token("0f3a", "secret_with_more")
    assert turn_of_token(token) == "0f3a"
    assert "secret" not in token_digest(token)
    for other in ("cad_0f3a_secret", "turn_0f3a_", "turn__secret", "turn_"):
        assert turn_of_token(other) is None
    assert row_id(TURN.conversation, "x") != row_id(TURN.conversation, "y")


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"other": 1},
        {"messages": [None]},
        {"messages": ["x"] * 21},
        {"messages": ["x" * 16_001]},
        {"calls": [{"tool": "x", "arguments": []}]},
        {"calls": [{"tool": "x", "more": 1}]},
        {"calls": [{"tool": "x"}] * 51},
        {"calls": [{"tool": "x", "arguments": {"long": "x" * 70_000}}]},
        {"tokens": True},
    ],
)
def test_what_is_no_answer_is_refused(document: Any) -> None:
    with pytest.raises(InvalidRequest):
        read_answer(document)


def test_an_answer_comes_back_as_it_was() -> None:
    document: Json = {"messages": ["a", ""], "calls": [{"tool": "x", "arguments": {"y": [1]}}], "tokens": 3}
    assert write_answer(read_answer(document)) == document
    assert read_answer({}) == TurnAnswer()


@pytest.mark.parametrize(
    ("fields", "at_fault"),
    [
        ({"runtime": Runtime.HTTP}, "target"),
        ({"runtime": Runtime.PULL, "target": agent_target("https://a.example", {}, [])}, "target"),
        ({"target": agent_target("https://a.example", {}, [])}, "target"),
        ({"runtime": Runtime.PULL, "model": "offline"}, "model"),
    ],
)
def test_an_agent_has_what_its_runtime_needs_and_nothing_else(fields: Any, at_fault: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        Agent(id="helper", name="Helper", **fields)
    assert refusal.value.field == at_fault
