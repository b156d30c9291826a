"""What all stores see alike in users, agents and their turns."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from cadenza.domain.agents.conversation import Turn
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.domain.monitoring.alert import Raised
from cadenza.domain.scheduling.settle import Settled

Answer = TypeVar("Answer")
Closed = Callable[[Answer], Iterable[Settled | None]]
"""What work that closes runs has settled, by what it has answered."""


def turns_in(settled: Iterable[Settled | None]) -> list[Turn]:
    """The turns that runs left; nearly always there is none."""
    return [one.turn for one in settled if one is not None and one.turn is not None]


def raised_in(settled: Iterable[Settled | None]) -> list[Raised]:
    """The alerts that runs gave cause for; nearly always there is none."""
    return [one.raised for one in settled if one is not None and one.raised is not None]


def spoken_to(settled: Iterable[Settled | None]) -> set[UserKey]:
    """The users to whom these runs may owe something."""
    return {turn.conversation.user for turn in turns_in(settled)}


def still_as_old(user: User, before: User | None) -> User:
    """A user, new or changed; one that was there stays as old as it was."""
    return user if before is None else replace(user, created_at=before.created_at)


def still_the_agent(agent: Agent, before: Agent | None) -> Agent:
    """An agent, new or changed; one that was there stays as old as it was."""
    return agent if before is None else replace(agent, created_at=before.created_at)
