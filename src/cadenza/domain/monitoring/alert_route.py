"""Alert routes: which conditions go to which channel, and how a channel's address is shown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlsplit

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.http_request import REFERENCE
from cadenza.domain.monitoring.alert import AlertKind, Severity
from cadenza.domain.monitoring.condition import Condition
from cadenza.domain.validation import check_labels, check_text, convert_to_utc, has_labels

MOST_ROUTES = 100
MOST_MATCHED = 100
LONGEST_ADDRESS = 2_048
HIDDEN = "***"
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
WEB = ("http://", "https://")
BEHIND_HOST = re.compile(r"[/?#\\]")
WORD = re.compile(r"[^/:@?&=,;#]+")


class ChannelType(StrEnum):
    """How messages are sent."""

    WEBHOOK = "webhook"
    """A JSON event, posted to the address."""
    SLACK = "slack"
    """A message for Slack and servers that take its messages."""
    APPRISE = "apprise"
    """An address of the library Apprise: mail, Telegram, PagerDuty, ntfy and many more."""


@dataclass(frozen=True, slots=True)
class Channel:
    """Where messages are sent. The address may hold references to secrets of the tenant."""

    type: ChannelType
    url: str

    def __post_init__(self) -> None:
        check_text("url", self.url, longest=LONGEST_ADDRESS)
        if any(sign.isspace() or not sign.isprintable() for sign in self.url):
            raise InvalidRequest("The address of a channel holds no spaces.", "url")
        if HIDDEN in self.url:
            raise InvalidRequest(
                f"The address of a channel is written out, or as ${{secret:NAME}}; {HIDDEN} stands for what"
                " is not shown.",
                "url",
            )
        if REFERENCE.match(self.url):
            return
        if self.type is not ChannelType.APPRISE and not self.url.lower().startswith(WEB):
            raise InvalidRequest("The address of a channel begins with https:// or http://.", "url")
        if not SCHEME.match(self.url):
            raise InvalidRequest("The address of a channel begins with a scheme such as mailto://.", "url")

    @property
    def shown_url(self) -> str:
        """The address without anything that could be secret: its scheme, its host and its references.

        Of an address of Apprise the host may be a token, so it is not shown either.
        """
        references = [found.span() for found in REFERENCE.finditer(self.url)]
        shown, end = [], 0
        for begin, stop in [*references, (len(self.url), len(self.url))]:
            shown += [self._hidden(self.url[end:begin], first=end == 0), self.url[begin:stop]]
            end = stop
        return "".join(shown)

    def _hidden(self, literal: str, *, first: bool) -> str:
        scheme = SCHEME.match(literal) if first else None
        visible = scheme[0] if scheme else ""
        rest = literal[len(visible) :]
        if visible.lower() in WEB and self.type is not ChannelType.APPRISE:
            host = BEHIND_HOST.split(rest, maxsplit=1)[0]
            if "@" not in host:
                visible, rest = visible + host, rest[len(host) :]
        return visible + WORD.sub(HIDDEN, rest)


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """Which conditions a route is for: all that fit each of these; what is empty fits every one."""

    labels: Mapping[str, str] = field(default_factory=dict)
    job_ids: tuple[str, ...] = ()
    kinds: tuple[AlertKind, ...] = ()
    severities: tuple[Severity, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", check_labels(self.labels))
        for name, kind in (("job_ids", str), ("kinds", AlertKind), ("severities", Severity)):
            listed = tuple(getattr(self, name))
            if len(listed) > MOST_MATCHED:
                raise InvalidRequest(f"{name} has at most {MOST_MATCHED} entries.", name)
            object.__setattr__(self, name, tuple(map(kind, listed)))

    def fits(self, condition: Condition) -> bool:
        """Is the route for this condition?"""
        return (
            has_labels(condition.labels, self.labels)
            and (not self.job_ids or condition.job_id in self.job_ids)
            and (not self.kinds or condition.kind in self.kinds)
            and (not self.severities or condition.severity in self.severities)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRoute:
    """Sends the conditions that it matches to one channel."""

    id: str
    name: str
    channel: Channel
    match: RouteMatch = RouteMatch()
    tenant_id: str = "default"
    enabled: bool = True
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        convert_to_utc(self, "created_at")

    def takes(self, condition: Condition) -> bool:
        """Does a message about this condition go here?"""
        return self.enabled and condition.tenant_id == self.tenant_id and self.match.fits(condition)


def same_address(before: Channel | None, url: str) -> str:
    """The stored address, if the given one is how it is shown: so what was read can be written back."""
    return before.url if before is not None and url == before.shown_url else url


def host_of(url: str) -> str:
    """The scheme and host of an address, for messages about it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}"
