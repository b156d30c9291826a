"""The channels of a user: where messages go that no socket took, in the order of preference."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from cadenza.domain.agents.channels.quiet_hours import QuietHours
from cadenza.domain.agents.delivery import Delivery, Subtitle
from cadenza.domain.channel import Channel, Mark, slack_text
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import check_id, iso

MOST_CHANNELS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class UserChannel:
    """One channel of a user; the tenant is the one whose secrets its address may refer to."""

    id: str
    tenant_id: str
    channel: Channel
    enabled: bool = True

    def __post_init__(self) -> None:
        check_id("id", self.id)


class ChannelHealth(NamedTuple):
    """A channel that refused the last messages."""

    failures: int
    """How often in a row."""
    again_at: datetime
    """Before this it is not tried again."""
    problem: str
    """Why it refused last, without secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserChannels:
    """All channels of a user, the preferred one first."""

    channels: tuple[UserChannel, ...] = ()
    quiet: QuietHours | None = None
    """When nothing is sent, in the user's time zone."""
    health: Mapping[str, ChannelHealth] = field(default_factory=dict)
    """The channels that refuse, by their ids."""

    def __post_init__(self) -> None:
        if len(self.channels) > MOST_CHANNELS:
            raise InvalidRequest(f"A user has at most {MOST_CHANNELS} channels.", "channels")
        if len({one.id for one in self.channels}) < len(self.channels):
            raise InvalidRequest("Each channel of a user has an id of its own.", "channels")

    def channel(self, channel_id: str) -> UserChannel | None:
        """The channel with an id; None if there is none."""
        return next((one for one in self.channels if one.id == channel_id), None)


NO_CHANNELS = UserChannels()


def with_channels(
    before: UserChannels, channels: tuple[UserChannel, ...], quiet: QuietHours | None
) -> UserChannels:
    """Other channels and quiet hours; what changed in a channel lets it be tried at once."""
    same = {one.id for one in channels if one == before.channel(one.id)}
    health = {id_: health for id_, health in before.health.items() if id_ in same}
    return UserChannels(channels=channels, quiet=quiet, health=health)


def with_health(before: UserChannels, channel_id: str, health: ChannelHealth | None) -> UserChannels:
    """The same channels after one refused, or with None accepted; one that is gone has no health."""
    others = {id_: one for id_, one in before.health.items() if id_ != channel_id}
    if health is not None and before.channel(channel_id) is not None:
        others[channel_id] = health
    return replace(before, health=others)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserNotice:
    """A message of an agent, as channels send it."""

    message_id: str
    raised_at: datetime
    title: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt, on every channel."""
        return f"message-{self.message_id}"

    @property
    def mark(self) -> Mark:
        """How a service shows it."""
        return Mark.INFO

    def as_event(self) -> dict[str, Any]:
        """The message as a JSON event."""
        data = {"id": self.message_id, "text": self.text, **self.facts}
        return {"type": "cadenza.message", "timestamp": iso(self.raised_at), "data": data}

    def as_slack(self) -> dict[str, Any]:
        """The message as one for Slack and compatible services."""
        return {"text": slack_text(self.text)}


def notice_of(delivery: Delivery) -> UserNotice:
    """What a channel is sent of a delivery, which has words."""
    assert isinstance(delivery.message, Subtitle), "only words are sent to channels"
    names = ("user_id", "seq", "agent_id", "schedule_id")
    return UserNotice(
        message_id=delivery.id,
        raised_at=delivery.owed_at,
        title=delivery.agent_id,
        text=delivery.message.text,
        facts={name: getattr(delivery, name) for name in names},
    )
