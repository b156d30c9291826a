"""What all stores see alike in users, agents and their turns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from cadenza.domain.conversation import Turn
from cadenza.domain.errors import NotFound
from cadenza.domain.people import Agent, AgentKey, User, UserKey
from cadenza.domain.run import Completion
from cadenza.domain.settle import Settled

Answer = TypeVar("Answer")
IsClosed = Callable[[Answer, str], bool]
"""Whether a run was closed, by what the work that closes runs has answered."""


def turns_of(completions: Sequence[Completion]) -> dict[str, Turn]:
    """The turns that runs left, by run id; nearly always there is none."""
    return {claim.run_id: outcome.turn for claim, outcome, _ in completions if outcome.turn is not None}


def spoken_to(turns: Mapping[str, Turn]) -> set[UserKey]:
    """The users to whom these turns may owe something."""
    return {turn.conversation.user for turn in turns.values()}


def in_all(answer: bool | None, _: str) -> bool:  # noqa: FBT001 - It is what the work answered.
    """Was a run closed by work that closes all of them, or says that it closes none?"""
    return answer is not False


def in_these(settled: Sequence[Settled | None], run_id: str) -> bool:
    """Was a run closed by work that answers what it closed?"""
    return any(one is not None and one.run.id == run_id for one in settled)


def still_as_old(user: User, before: User | None) -> User:
    """A user, new or changed; one that was there stays as old as it was."""
    return user if before is None else replace(user, created_at=before.created_at)


def still_the_agent(agent: Agent, before: Agent | None) -> Agent:
    """An agent, new or changed; one that was there stays as old as it was."""
    return agent if before is None else replace(agent, created_at=before.created_at)


def no_user(key: UserKey) -> NotFound:
    """There is none, or it belongs to another tenant."""
    return NotFound(f"There is no user {key.id}.")


def no_agent(key: AgentKey) -> NotFound:
    """There is none, or it belongs to another tenant."""
    return NotFound(f"There is no agent {key.id}.")
