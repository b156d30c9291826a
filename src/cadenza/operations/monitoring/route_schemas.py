"""JSON models of what an alert route matches and where it leads, and a route without its address."""

from typing import Annotated, Any, Self

from pydantic import Field

from cadenza.domain.channel import LONGEST_ADDRESS, Channel, ChannelType, same_address
from cadenza.domain.monitoring.alert import AlertKind, Severity
from cadenza.domain.monitoring.alert_route import MOST_MATCHED, AlertRoute, RouteMatch
from cadenza.operations.documented_models import Shape
from cadenza.operations.fields import Id, Labels

Listing = Field(max_length=MOST_MATCHED)


class MatchShape(Shape):
    """Which conditions: all that fit each of these; what is left out fits every one."""

    labels: Labels = {}
    """All of these labels of the endpoint."""
    job_ids: Annotated[list[Id], Listing] = []
    kinds: Annotated[list[AlertKind], Listing] = []
    severities: Annotated[list[Severity], Listing] = []

    def to_domain(self) -> RouteMatch:
        """The match itself."""
        return RouteMatch(dict(self.labels), tuple(self.job_ids), tuple(self.kinds), tuple(self.severities))

    @classmethod
    def of(cls, match: RouteMatch) -> Self:
        """The model of a match."""
        return cls(
            labels=dict(match.labels),
            job_ids=list(match.job_ids),
            kinds=list(match.kinds),
            severities=list(match.severities),
        )


class ChannelShape(Shape):
    """Where messages go. `${secret:NAME}` in the address stands for a secret.

    The address is never shown in full: `***` stands for what is hidden, and means, where it is written
    back as it was shown, that it stays.
    """

    type: ChannelType
    url: Annotated[str, Field(strict=True, min_length=1, max_length=LONGEST_ADDRESS)]

    def to_domain(self, before: Channel | None = None) -> Channel:
        """The channel; an address as it is shown means the one that is stored."""
        return Channel(self.type, same_address(before, self.url))

    @classmethod
    def of(cls, channel: Channel) -> Self:
        """The model of a channel, with its address as it is shown."""
        return cls(type=channel.type, url=channel.shown_url)


def route_definition(route: AlertRoute) -> dict[str, Any]:
    """A route as the audit and a file have it."""
    return {
        "name": route.name,
        "enabled": route.enabled,
        "match": MatchShape.of(route.match).model_dump(mode="json"),
        "channel": ChannelShape.of(route.channel).model_dump(mode="json"),
    }
