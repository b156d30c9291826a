"""Sends messages to channels: webhooks and Slack by the guarded client, others by Apprise."""

import re
from collections.abc import Awaitable, Callable
from typing import Protocol

from cadenza.adapters.telemetry.webhook_channel import Format, WebhookSender
from cadenza.domain.channel import HIDDEN, ChannelType, Notice, Recipient
from cadenza.domain.errors import InvalidRequest, NotFound, Unavailable
from cadenza.domain.http_request import REFERENCE
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.secrets import SecretResolver

SHORTEST_HIDDEN = 4
FORMS: dict[ChannelType, Format] = {ChannelType.WEBHOOK: "json", ChannelType.SLACK: "slack"}


class AddressSender(Protocol):
    """Sends one message to one address of a library; None if it was accepted, else why not."""

    def __call__(self, url: str, notice: Notice, /) -> Awaitable[str | None]: ...


class GuardedChannels:
    """Puts the secrets into a channel's address, and sends a message there once.

    What it answers when that fails holds neither a secret nor the address.
    """

    def __init__(
        self,
        *,
        dispatcher: Dispatcher,
        secrets: SecretResolver,
        clock: Clock,
        send_by_apprise: AddressSender,
    ) -> None:
        self._dispatcher = dispatcher
        self._secrets = secrets
        self._clock = clock
        self._send_by_apprise = send_by_apprise

    async def send(self, notice: Notice, to: Recipient, attempt: int) -> str | None:
        """Send it once, bounded in time."""
        try:
            url, revealed = await self._address(to)
        except (NotFound, Unavailable) as problem:
            return problem.message
        if to.channel.type is ChannelType.APPRISE:
            problem_text = await self._send_by_apprise(url, notice)
        else:
            problem_text = await self._post(notice, to, url, attempt)
        return None if problem_text is None else _masked(problem_text, [url, *revealed])

    async def _post(self, notice: Notice, to: Recipient, url: str, attempt: int) -> str | None:
        try:
            sender = WebhookSender(
                self._dispatcher,
                self._clock,
                url=url,
                form=FORMS[to.channel.type],
                tenant_id=to.tenant_id,
            )
        except InvalidRequest:
            return "the address of the channel, with its secrets put in, is not an http or https URL"
        return await sender.send(notice, attempt)

    async def _address(self, to: Recipient) -> tuple[str, list[str]]:
        """The address with its secrets, and these."""
        url, values = to.channel.url, {}
        for reference in dict.fromkeys(REFERENCE.findall(url)):
            values[reference] = await self._secrets.reveal(to.tenant_id, reference)
        return REFERENCE.sub(_put_in(values), url), list(values.values())


def _put_in(values: dict[str, str]) -> Callable[[re.Match[str]], str]:
    return lambda found: values[found[1]]


def _masked(text: str, secrets: list[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_HIDDEN:
            text = text.replace(secret, HIDDEN)
    return text
