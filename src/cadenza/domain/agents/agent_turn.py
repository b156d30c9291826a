"""Turns that an agent outside of Cadenza answers: offered, leased to it, and answered once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.errors import Conflict, InvalidRequest, LimitReached
from cadenza.domain.json_values import Json, json_size
from cadenza.domain.validation import check_count, check_text, convert_to_utc

TOKEN = "turn_"  # noqa: S105 - What tokens of turns begin with.
MOST_MESSAGES = 20
LONGEST_MESSAGE = 16_000
MOST_CALLS = 50
LONGEST_ARGUMENTS = 65_536
MOST_TOKENS = 1_000_000_000
MOST_EARLIER_TOKENS = 20
TOO_LATE = "Nobody waits for an answer to this turn any more: it took too long."


class TurnState(StrEnum):
    """Whether a turn waits to be taken, is being answered, or is answered."""

    OFFERED = "offered"
    LEASED = "leased"
    ANSWERED = "answered"


class TurnCall(NamedTuple):
    """A call of a tool during a turn, and what became of it."""

    id: str
    tool: str
    arguments: Mapping[str, Json]
    done: bool = False
    result: Json = None
    refused: str | None = None


class AnswerCall(NamedTuple):
    """A call of a tool that comes with an answer."""

    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAnswer:
    """What the agent answers: messages for the user, and calls that are made before they are delivered."""

    messages: tuple[str, ...] = ()
    calls: tuple[AnswerCall, ...] = ()
    tokens: int = 0
    """What the answer cost; it counts against the user's budget."""

    def __post_init__(self) -> None:
        if len(self.messages) > MOST_MESSAGES:
            raise InvalidRequest(f"An answer may have {MOST_MESSAGES} messages.", "messages")
        for text in self.messages:
            check_text("messages", text, longest=LONGEST_MESSAGE)
        if len(self.calls) > MOST_CALLS:
            raise InvalidRequest(f"An answer may have {MOST_CALLS} calls.", "calls")
        for call in self.calls:
            _check_arguments(call.arguments)
        check_count("tokens", self.tokens, least=0, most=MOST_TOKENS)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTurn:
    """A turn as it waits for an agent's answer, the same for every attempt at it."""

    id: str
    conversation: ConversationKey
    payload: Json
    """What the agent reads; nothing once it is answered."""
    created_at: datetime
    expires_at: datetime
    """Until when a process waits for the answer; another attempt at the turn waits anew."""
    state: TurnState = TurnState.OFFERED
    token: str | None = None
    """The digest of the token that may answer."""
    earlier_tokens: tuple[str, ...] = ()
    """Digests of tokens that could have answered: with them one is told that it is too late."""
    lease_until: datetime | None = None
    attempts: int = 0
    """How often it was given to an agent."""
    calls: tuple[TurnCall, ...] = ()
    """The calls of the agent that has it now."""
    answer: TurnAnswer | None = None
    refused_answers: int = 0
    """How many answers came too late or were not the first."""

    def __post_init__(self) -> None:
        convert_to_utc(self, "created_at", "expires_at", "lease_until")

    def accepts(self, token: str) -> bool:
        """Whether a token was given out for this turn, now or earlier."""
        return token == self.token or token in self.earlier_tokens

    def takeable(self, now: datetime) -> bool:
        """Whether an agent may take it: somebody waits, and no lease protects it."""
        waits = self.state is not TurnState.ANSWERED and self.expires_at > now
        return waits and (self.lease_until is None or self.lease_until <= now)


def row_id(key: ConversationKey, turn_id: str) -> str:
    """The id of the stored turn: the same for every attempt, and of letters and digits."""
    return sha256("\n".join((*key, turn_id)).encode()).hexdigest()[:32]


def turn_token(turn_id: str, secret: str) -> str:
    """The token that answers a turn, of which only the digest is stored."""
    return f"{TOKEN}{turn_id}_{secret}"


def turn_of_token(token: str) -> str | None:
    """The turn that a token claims to be of; None if it is another kind of token."""
    turn_id, _, secret = token.removeprefix(TOKEN).partition("_")
    return turn_id if token.startswith(TOKEN) and turn_id and secret else None


def token_digest(token: str) -> str:
    """What is stored of a token."""
    return sha256(token.encode()).hexdigest()


def offer(turn: AgentTurn, before: AgentTurn | None) -> AgentTurn:
    """A turn that somebody waits for: one that is there already goes on, with a new end."""
    return turn if before is None else replace(before, expires_at=turn.expires_at)


def lease(turn: AgentTurn, *, token: str, until: datetime) -> AgentTurn:
    """Give the turn to an agent: another one that had it starts over, and what it called does not count."""
    if turn.state is TurnState.ANSWERED:
        raise Conflict("This turn is answered.")
    return replace(
        turn,
        state=TurnState.LEASED,
        token=token,
        earlier_tokens=_with_earlier(turn),
        lease_until=until,
        attempts=turn.attempts + 1,
        calls=(),
    )


def renew(turn: AgentTurn, *, token: str, now: datetime, until: datetime) -> AgentTurn:
    """Keep the turn for longer; Conflict if another agent has it or nobody waits."""
    _must_have(turn, token, now)
    return replace(turn, lease_until=max(until, turn.lease_until or until))


def give_back(turn: AgentTurn, *, token: str, now: datetime) -> AgentTurn:
    """Let another agent take it at once."""
    _must_have(turn, token, now)
    return _without_lease(turn)


def take_answer(turn: AgentTurn, *, token: str, answer: TurnAnswer, now: datetime) -> AgentTurn:
    """Answer the turn; Conflict if it is answered, another agent has it, or nobody waits."""
    _must_have(turn, token, now)
    return replace(turn, state=TurnState.ANSWERED, answer=answer, payload=None, lease_until=None)


def count_refused_answer(turn: AgentTurn) -> AgentTurn:
    """Record that an answer was refused."""
    return replace(turn, refused_answers=turn.refused_answers + 1)


def request_call(turn: AgentTurn, call: TurnCall, *, token: str, now: datetime) -> AgentTurn:
    """Ask for a call of a tool; one with the same id is the same call."""
    _must_have(turn, token, now)
    if any(one.id == call.id for one in turn.calls):
        return turn
    if len(turn.calls) >= MOST_CALLS:
        raise LimitReached(f"A turn may have {MOST_CALLS} calls: answer now.")
    _check_arguments(call.arguments)
    return replace(turn, calls=(*turn.calls, call))


def settle_call(turn: AgentTurn, call: TurnCall) -> AgentTurn:
    """Write what became of a call, if its agent still has the turn."""
    return replace(turn, calls=tuple(call if one.id == call.id else one for one in turn.calls))


def give_up(turn: AgentTurn, now: datetime, token: str | None = None) -> AgentTurn:
    """Wait no longer: an answer that was not given by now is refused.

    Who waits to its end gives it up then, unless another process waits longer; who could not send it
    gives it up at once, unless another token was sent meanwhile.
    """
    over = turn.expires_at <= now if token is None else turn.token == token
    if turn.state is TurnState.ANSWERED or not over:
        return turn
    return replace(_without_lease(turn), expires_at=min(now, turn.expires_at))


def read_answer(document: Json) -> TurnAnswer:
    """The answer of a JSON document; InvalidRequest if it is none."""
    if not isinstance(document, dict) or document.keys() - {"messages", "calls", "tokens"}:
        raise InvalidRequest("An answer is an object with messages, calls and tokens.", "messages")
    return TurnAnswer(
        messages=tuple(_listed("messages", document)),
        calls=tuple(_read_call(one) for one in _listed("calls", document)),
        tokens=check_count("tokens", document.get("tokens", 0), least=0, most=MOST_TOKENS),
    )


def write_answer(answer: TurnAnswer) -> dict[str, Json]:
    """The JSON form of an answer."""
    calls: list[Json] = [{"tool": one.tool, "arguments": dict(one.arguments)} for one in answer.calls]
    return {"messages": list(answer.messages), "calls": calls, "tokens": answer.tokens}


def _read_call(document: Json) -> AnswerCall:
    known = isinstance(document, dict) and not document.keys() - {"tool", "arguments"}
    tool = document.get("tool") if isinstance(document, dict) else None
    arguments = document.get("arguments", {}) if isinstance(document, dict) else None
    if not known or not isinstance(tool, str) or not isinstance(arguments, dict):
        raise InvalidRequest("A call has a tool, and arguments that are an object.", "calls")
    return AnswerCall(tool, arguments)


def _listed(name: str, document: Mapping[str, Json]) -> list[Any]:
    found = document.get(name, [])
    if not isinstance(found, list):
        raise InvalidRequest(f"{name} must be a list.", name)
    return found


def _check_arguments(arguments: Mapping[str, Json]) -> None:
    if json_size("arguments", dict(arguments)) > LONGEST_ARGUMENTS:
        raise InvalidRequest(f"Arguments may have {LONGEST_ARGUMENTS:,} bytes.", "arguments")


def _must_have(turn: AgentTurn, token: str, now: datetime) -> None:
    """Conflict unless this token may answer now; a lease that ran out and that nobody took still may."""
    if turn.state is TurnState.ANSWERED:
        raise Conflict("This turn is answered: an answer counts once.")
    if turn.token != token or turn.state is not TurnState.LEASED:
        raise Conflict("This turn is not yours any more: your lease ran out, or you gave it back.")
    if turn.expires_at <= now:
        raise Conflict(TOO_LATE)


def _without_lease(turn: AgentTurn) -> AgentTurn:
    return replace(
        turn,
        state=TurnState.OFFERED,
        token=None,
        earlier_tokens=_with_earlier(turn),
        lease_until=None,
        calls=(),
    )


def _with_earlier(turn: AgentTurn) -> tuple[str, ...]:
    if turn.token is None:
        return turn.earlier_tokens
    return (*turn.earlier_tokens, turn.token)[-MOST_EARLIER_TOKENS:]
