"""When a user's oldest undelivered message is sent to a channel, and to which."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from cadenza.domain.agents.channels.quiet_hours import quiet_until, zone_of
from cadenza.domain.agents.channels.user_channels import ChannelHealth, UserChannel, UserChannels
from cadenza.domain.agents.delivery import Delivery

SOCKET_FIRST = timedelta(seconds=30)
"""How long a message is left to the user's sockets, unless set otherwise."""
LEASE = timedelta(minutes=1)
"""For how long a message is claimed; longer than any attempt to send it takes."""
TRIES = 3
"""How often in a row a channel may refuse before the next one by preference has its turn."""
FIRST_RETRY, FIRST_REST = timedelta(seconds=5), timedelta(minutes=1)
LONGEST_REST = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSituation:
    """What decides about a user's oldest undelivered message."""

    now: datetime
    oldest: Delivery | None
    channels: UserChannels
    timezone: str | None = None
    socket_first: timedelta = SOCKET_FIRST


class ChannelDecision(NamedTuple):
    """When to look at the user again, and the channel that the message is sent to now, if any."""

    again_at: datetime | None
    channel: UserChannel | None = None


NOTHING_TO_SEND = ChannelDecision(None)


def choose_channel(situation: ChannelSituation) -> ChannelDecision:
    """Decide what is done about a user's oldest undelivered message.

    1. Without a message or a channel there is nothing to look at again.
    2. A young message is left to the user's sockets.
    3. In quiet hours it waits.
    4. The preferred channel that does not rest gets it, as soon as it may be tried again.
    5. If all rest, it waits for the first of them.
    """
    now, oldest = situation.now, situation.oldest
    enabled = [one for one in situation.channels.channels if one.enabled]
    if oldest is None or not enabled:
        return NOTHING_TO_SEND
    ripe_at = min(oldest.owed_at, now) + situation.socket_first
    if ripe_at > now:
        return ChannelDecision(ripe_at)
    quiet = situation.channels.quiet
    over_at = None if quiet is None else quiet_until(quiet, now, zone_of(situation.timezone))
    if over_at is not None:
        return ChannelDecision(over_at)
    waits = [(_free_at(situation, one), one) for one in enabled]
    usable = [wait for wait in waits if not _rests(situation, wait[1])]
    free_at, channel = usable[0] if usable else min(waits, key=lambda wait: wait[0])
    return ChannelDecision(free_at) if free_at > now else ChannelDecision(now + LEASE, channel)


def health_after_refusal(before: ChannelHealth | None, problem: str, now: datetime) -> ChannelHealth:
    """The health of a channel that refused once more."""
    failures = 1 if before is None else before.failures + 1
    return ChannelHealth(failures, now + retry_delay(failures), problem)


def retry_delay(failures: int) -> timedelta:
    """How long a channel is left alone after so many refusals in a row: it grows, up to an hour."""
    if failures < TRIES:
        return FIRST_RETRY * int(3 ** (failures - 1))
    return min(FIRST_REST * int(2 ** min(failures - TRIES, 10)), LONGEST_REST)


def _rests(situation: ChannelSituation, channel: UserChannel) -> bool:
    health = situation.channels.health.get(channel.id)
    return health is not None and health.failures >= TRIES and _free_at(situation, channel) > situation.now


def _free_at(situation: ChannelSituation, channel: UserChannel) -> datetime:
    """When a channel may be tried again; a clock that was set back makes that no later than a rest."""
    health = situation.channels.health.get(channel.id)
    return situation.now if health is None else min(health.again_at, situation.now + LONGEST_REST)
