"""Operations on the channels of users: where messages go that no socket took, and when nothing goes there."""

from datetime import datetime, time
from math import ceil
from typing import Annotated, Any, Self

from pydantic import Field

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.channels.channel_choice import SOCKET_FIRST
from cadenza.domain.agents.channels.quiet_hours import QuietHours
from cadenza.domain.agents.channels.user_channels import (
    MOST_CHANNELS,
    UserChannel,
    UserChannels,
    UserNotice,
    with_channels,
)
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import NotAllowed, NotFound, TooOften, Unavailable
from cadenza.domain.http_request import REFERENCE
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.text_patterns import A_TIME_OF_DAY
from cadenza.operations.agents.schedules import user_of
from cadenza.operations.agents.users_agents import OneUser
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import Shape, part
from cadenza.operations.fields import Flag, Id
from cadenza.operations.monitoring.alert_routes import RouteTestView
from cadenza.operations.monitoring.route_schemas import ChannelShape
from cadenza.operations.operation import View, operation

TimeOfDay = Annotated[str, Field(strict=True, pattern=A_TIME_OF_DAY)]


class QuietHoursShape(Shape):
    """From when until when nothing is sent: `HH:MM` in the user's time zone, also over midnight."""

    start: TimeOfDay
    end: TimeOfDay

    def to_domain(self) -> QuietHours:
        """The quiet hours themselves."""
        return QuietHours(time.fromisoformat(self.start), time.fromisoformat(self.end))

    @classmethod
    def of(cls, quiet: QuietHours) -> Self:
        """The model of quiet hours."""
        return cls(start=f"{quiet.start:%H:%M}", end=f"{quiet.end:%H:%M}")


class UserChannelShape(ChannelShape):
    """One channel of a user, with an id of its own among theirs.

    `${secret:NAME}` in the address stands for a secret. The address is never shown in full: `***` stands
    for what is hidden, and means, where it is written back as it was shown, that it stays.
    """

    id: Id
    enabled: Flag = True


class PutUserChannels(OneUser):
    """All channels of a user, the preferred one first; what is left out is not set."""

    channels: Annotated[list[UserChannelShape], Field(max_length=MOST_CHANNELS)]
    quiet_hours: QuietHoursShape | None = None
    """When nothing is sent, in the time zone of the user, or else in UTC."""


class OneUserChannel(OneUser):
    """The channel that is meant."""

    channel_id: Id


class UserChannelView(UserChannelShape):
    """A channel, and whether it refuses."""

    failures: int = 0
    """How often in a row it refused a message."""
    problem: str | None = None
    """Why it refused the last one."""
    again_at: datetime | None = None
    """When it is tried again at the earliest."""


class UserChannelsView(View):
    """The channels of a user, the preferred one first."""

    user_id: str
    channels: list[UserChannelView]
    quiet_hours: QuietHoursShape | None

    @classmethod
    def of(cls, user: UserKey, channels: UserChannels) -> Self:
        """The view of a user's channels."""
        return cls(
            user_id=user.id,
            channels=[_view(channels, one) for one in channels.channels],
            quiet_hours=None if channels.quiet is None else QuietHoursShape.of(channels.quiet),
        )


def _view(channels: UserChannels, one: UserChannel) -> UserChannelView:
    health = channels.health.get(one.id)
    return UserChannelView(
        id=one.id,
        type=one.channel.type,
        url=one.channel.shown_url,
        enabled=one.enabled,
        **({} if health is None else health._asdict()),
    )


@operation("GET /v1/users/{user_id}/channels", Scope.READ, user=True)
async def get_user_channels(context: RequestContext, command: OneUser) -> UserChannelsView:
    """Show the channels of a user: where messages go that none of their sockets took."""
    user = user_of(context, command.user_id)
    return UserChannelsView.of(user, await context.store.channels.channels(user))


@operation("PUT /v1/users/{user_id}/channels", Scope.WRITE, user=True)
async def put_user_channels(context: RequestContext, command: PutUserChannels) -> UserChannelsView:
    """Replace the channels of a user, the preferred one first, and their quiet hours.

    A message that no socket of the user acknowledges is sent to the first channel that accepts it. With a
    user's own token, addresses cannot refer to secrets of the tenant, unless they stay as they are.
    """
    user = user_of(context, command.user_id)
    quiet = command.quiet_hours
    hours = None if quiet is None else part("quiet_hours", quiet.to_domain)

    def change(before: UserChannels) -> UserChannels:
        channels = part("channels", lambda: [_channel(context, before, one) for one in command.channels])
        after = part("channels", lambda: with_channels(before, tuple(channels), hours))
        noted = {"before": _definition(before), "after": _definition(after)}
        context.trail.note("user_channels", user.id, **noted)
        return after

    now = context.dependencies.clock.now()
    changed = await context.store.channels.amend_channels(user, change, now=now, due_at=now + SOCKET_FIRST)
    return UserChannelsView.of(user, changed)


@operation("POST /v1/users/{user_id}/channels/{channel_id}/test", Scope.WRITE, user=True, calls_out=True)
async def test_user_channel(context: RequestContext, command: OneUserChannel) -> RouteTestView:
    """Send a test message to a channel of a user, once, and say whether it was accepted."""
    user, given = user_of(context, command.user_id), context.dependencies
    channel = (await context.store.channels.channels(user)).channel(command.channel_id)
    if channel is None:
        raise NotFound(f"Channel {command.channel_id} not found.")
    if given.channels is None:
        raise Unavailable("This process sends no messages.")
    wait = await given.take_trial(EndpointKey(user.tenant_id, f"user-channel:{user.id}:{channel.id}"))
    if wait is not None:
        raise TooOften(f"{channel.id} was tried too often just now; wait a while.", max(1, ceil(wait)))
    context.trail.note("user_channels", user.id)
    notice = UserNotice(
        message_id=f"test-{given.ids.new()}",
        raised_at=given.system_now(),
        title="Test",
        text=f"This is a test of the channel {channel.id}.",
        facts={"user_id": user.id, "test": True},
    )
    problem = await given.channels.send(notice, channel, 1)
    return RouteTestView(accepted=problem is None, problem=problem)


def _channel(context: RequestContext, before: UserChannels, shape: UserChannelShape) -> UserChannel:
    """The channel of a shape; a user cannot have a secret of the tenant sent where they want."""
    stored = before.channel(shape.id)
    channel = shape.to_domain(None if stored is None else stored.channel)
    unchanged = stored is not None and stored.channel == channel
    if context.caller.on_behalf_of is not None and REFERENCE.search(channel.url) and not unchanged:
        raise NotAllowed(f"The address of {shape.id} holds a secret: only a key of the tenant may set it.")
    return UserChannel(id=shape.id, tenant_id=context.tenant_id, channel=channel, enabled=shape.enabled)


def _definition(channels: UserChannels) -> dict[str, Any]:
    """Channels as the audit has them: their addresses are not shown in full."""
    shapes = [
        UserChannelShape(
            id=one.id, type=one.channel.type, url=one.channel.shown_url, enabled=one.enabled
        ).model_dump(mode="json")
        for one in channels.channels
    ]
    quiet = None if channels.quiet is None else QuietHoursShape.of(channels.quiet).model_dump()
    return {"channels": shapes, "quiet_hours": quiet}


USER_CHANNELS = (get_user_channels, put_user_channels, test_user_channel)
