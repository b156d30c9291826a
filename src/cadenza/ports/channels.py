"""Channels of users: what their store guarantees, so that a message is shown once."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, Protocol

from cadenza.domain.agents.channel_choice import ChannelDecision
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.user_channels import UserChannel, UserChannels
from cadenza.domain.agents.users import UserKey

ChannelsChange = Callable[[UserChannels], UserChannels]
ChannelRule = Callable[["DueUser"], ChannelDecision]


class DueUser(NamedTuple):
    """A user whose moment has come."""

    channels: UserChannels
    timezone: str | None
    oldest: Delivery | None
    """Their oldest undelivered message that has words; None if there is none."""


class ChannelSend(NamedTuple):
    """A message that is claimed for a channel."""

    delivery: Delivery
    channel: UserChannel
    attempt: int
    """How often the channel refused in a row, and once more."""
    token: str
    until: datetime
    """When the claim ends."""


class SocketReservation(NamedTuple):
    """Whether a socket may be sent the messages of its user."""

    uses_channels: bool
    """Whether the user ever set channels."""
    sending_until: datetime | None = None
    """A channel may be sending the oldest one until then; None if none is."""


class TakenSends(NamedTuple):
    """How many users were looked at, and what is to be sent."""

    looked_at: int
    sends: list[ChannelSend]


class ChannelStore(Protocol):
    """Channels of users, and claims of their undelivered messages.

    A user comes due with an undelivered message, and stays so until a decision finds nothing to send.
    """

    async def channels(self, user: UserKey) -> UserChannels:
        """The user's channels, none if none were set; NotFound if there is no such user."""
        ...

    async def amend_channels(
        self, user: UserKey, change: ChannelsChange, *, now: datetime, due_at: datetime
    ) -> UserChannels:
        """Apply a change to the fresh channels; NotFound if there is no such user.

        The user comes due at `due_at`, or when the claim ends that is in force now.
        """
        ...

    async def take_sends(self, rule: ChannelRule, *, now: datetime, token: str, limit: int) -> TakenSends:
        """Decide about users whose moment has come, the longest due first, and claim what is to be sent.

        Of any number of concurrent callers, one decides about each user. A claim is committed before this
        returns; until it ends or is settled, nothing else is claimed of its user.
        """
        ...

    async def settle_send(
        self, send: ChannelSend, change: ChannelsChange, *, now: datetime, accepted: bool
    ) -> None:
        """Record what came of a claim, in one commit.

        What was accepted is delivered, unless it was before, and no socket is sent it any more, even if the
        claim ended meanwhile. If it did not, the channels are changed, and their user is due again.
        """
        ...
