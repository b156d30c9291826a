"""Channels: where messages for people are sent, and how an address is shown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.http_request import REFERENCE
from cadenza.domain.validation import check_text

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

        Of an address of Apprise the host may be a token, so it is not shown either. What would be longer
        than an address may be is not shown in parts.
        """
        references = [found.span() for found in REFERENCE.finditer(self.url)]
        shown, end = [], 0
        for begin, stop in [*references, (len(self.url), len(self.url))]:
            shown += [self._hidden(self.url[end:begin], first=end == 0), self.url[begin:stop]]
            end = stop
        text, scheme = "".join(shown), SCHEME.match(self.url)
        return text if len(text) <= LONGEST_ADDRESS else f"{scheme[0] if scheme else ''}{HIDDEN}"

    def _hidden(self, literal: str, *, first: bool) -> str:
        scheme = SCHEME.match(literal) if first else None
        visible = scheme[0] if scheme else ""
        rest = literal[len(visible) :]
        if visible.lower() in WEB and self.type is not ChannelType.APPRISE:
            host = BEHIND_HOST.split(rest, maxsplit=1)[0]
            if "@" not in host:
                visible, rest = visible + host, rest[len(host) :]
        return visible + WORD.sub(HIDDEN, rest)


class Mark(StrEnum):
    """How a service shows a message: by a colour or a sign."""

    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    FAILURE = "failure"


class Notice(Protocol):
    """A message for a channel, whatever it is about."""

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt, so that a receiver can tell that it has it."""
        ...

    @property
    def raised_at(self) -> datetime:
        """When there was cause for it."""
        ...

    @property
    def title(self) -> str:
        """A few words about what it is."""
        ...

    @property
    def text(self) -> str:
        """What it says."""
        ...

    @property
    def mark(self) -> Mark:
        """How it is shown."""
        ...

    def as_event(self) -> Mapping[str, Any]:
        """It as a JSON event."""
        ...

    def as_slack(self) -> Mapping[str, Any]:
        """It as a message for Slack and compatible services."""
        ...


class Recipient(Protocol):
    """Who has a channel: an alert route or a user."""

    @property
    def id(self) -> str:
        """The id of the route, or of the user's channel."""
        ...

    @property
    def tenant_id(self) -> str:
        """The tenant whose secrets the address may refer to."""
        ...

    @property
    def channel(self) -> Channel:
        """The channel."""
        ...


def same_address(before: Channel | None, url: str) -> str:
    """The stored address, if the given one is how it is shown: so what was read can be written back."""
    return before.url if before is not None and url == before.shown_url else url


def slack_text(text: str) -> str:
    """A text in which nothing is markup for Slack."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
