"""Conditions, messages about them, routes, and channels of users: what stores and senders guarantee."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from cadenza.domain.agents.channels.channel_choice import ChannelDecision
from cadenza.domain.agents.channels.user_channels import UserChannel, UserChannels
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.users import UserKey
from cadenza.domain.channel import Notice, Recipient
from cadenza.domain.monitoring.alert import Alert, AlertKind
from cadenza.domain.monitoring.alert_message import AlertMessage, MessagePlan, Surroundings
from cadenza.domain.monitoring.alert_route import AlertRoute
from cadenza.domain.monitoring.condition import Condition, ConditionKey, ConditionState
from cadenza.ports.catalog import FIRST_PAGE, Page

AlertRule = Callable[[Condition | None, Alert], Condition]
"""The condition after an alert, given it before."""
MessageRule = Callable[[Sequence[Condition], Surroundings], MessagePlan]
ConditionChange = Callable[[Condition], Condition]
RouteChange = Callable[[AlertRoute], AlertRoute]
ChannelsChange = Callable[[UserChannels], UserChannels]
ChannelRule = Callable[["DueUser"], ChannelDecision]


class ConditionFilter(NamedTuple):
    """Which conditions are wanted; None is any."""

    state: ConditionState | None = None
    kind: AlertKind | None = None
    job_id: str | None = None
    endpoint_id: str | None = None


EVERY_CONDITION = ConditionFilter()


class Gathering(NamedTuple):
    """When it is decided about messages."""

    now: datetime
    together_until: datetime
    """What is due until then is decided with what is due now, if it is of the same job."""
    limit: int
    has_default: bool
    """Whether tenants without routes have a default one."""


class MessageToSend(NamedTuple):
    """A message to send, and the number of this attempt."""

    message: AlertMessage
    attempt: int


class ConditionStore(Protocol):
    """What alerts are about, each with a state."""

    async def apply_alerts(self, rule: AlertRule, *, limit: int, release_at: datetime) -> int:
        """Apply the oldest alerts that were not applied yet to their conditions; how many there were.

        The alerts and all that follows are one commit: each alert is applied once, in the order in which
        they were raised, whoever else does it. If a condition of an endpoint is resolved, those that wait
        for this endpoint are decided again at `release_at`.
        """
        ...

    async def plan_messages(self, rule: MessageRule, gathering: Gathering) -> int:
        """Decide about conditions whose moment has come, and store them with their messages in one commit.

        Of any number of concurrent callers, one decides about each. Returns how many were decided.
        """
        ...

    async def condition(self, key: ConditionKey) -> Condition:
        """The condition; NotFound if the tenant has none with this id."""
        ...

    async def conditions(
        self, tenant_id: str, *, wanted: ConditionFilter = EVERY_CONDITION, page: Page = FIRST_PAGE
    ) -> list[Condition]:
        """A tenant's conditions, the one that began last first; `after` is the id of the one before."""
        ...

    async def count_conditions(self, tenant_id: str) -> Mapping[ConditionState, int]:
        """How many conditions of a tenant are in each state, without those that are resolved."""
        ...

    async def amend_condition(
        self, key: ConditionKey, change: ConditionChange, *, release_at: datetime
    ) -> Condition:
        """Apply a change to the fresh condition; NotFound if there is none.

        While it is acknowledged or silenced then, messages about it alone that nobody accepted yet are
        dropped. If it is resolved by it, what waits for its endpoint is decided again at `release_at`.
        """
        ...

    async def open_conditions(self, *, after: ConditionKey | None, limit: int) -> list[Condition]:
        """Conditions of all tenants that are not resolved, in the order of their keys."""
        ...

    async def forget_conditions(self, before: datetime) -> None:
        """Delete those that began and were resolved earlier, except where a silence may still matter."""
        ...


class AlertMessageStore(Protocol):
    """Messages that are sent until they are accepted."""

    async def take_messages(
        self, *, now: datetime, until: datetime, limit: int, default: bool = True
    ) -> list[MessageToSend]:
        """Messages to send now, oldest first. No other caller gets them before `until`.

        Without `default`, those for the default route are left to others.

        What is about one condition alone comes after older messages to the same route about it.
        """
        ...

    async def settle_message(self, key: str, again_at: datetime | None) -> None:
        """Send it again at that moment, unless it was dropped; None drops it: it was sent or is given up."""
        ...

    async def forget_messages(self, before: datetime) -> None:
        """Drop those about alerts that were raised earlier."""
        ...


class AlertRouteStore(Protocol):
    """Which conditions go to which channel, by tenant."""

    async def add_route(self, route: AlertRoute, *, most: int) -> None:
        """Add a route; Conflict if the tenant has one with this id, LimitReached if it has too many."""
        ...

    async def route(self, tenant_id: str, route_id: str) -> AlertRoute:
        """The route; NotFound if the tenant has none with this id."""
        ...

    async def routes(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[AlertRoute]:
        """A tenant's routes, in the order of their ids."""
        ...

    async def amend_route(self, tenant_id: str, route_id: str, change: RouteChange) -> AlertRoute:
        """Apply a change to the fresh route; NotFound if there is none."""
        ...

    async def remove_route(self, tenant_id: str, route_id: str) -> None:
        """Delete a route with the messages that wait for it; NotFound if there is none."""
        ...


class ChannelSender(Protocol):
    """Sends messages to channels."""

    async def send(self, notice: Notice, to: Recipient, attempt: int) -> str | None:
        """Send it once, bounded in time; None if it was accepted, else the error, without secrets."""
        ...


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
