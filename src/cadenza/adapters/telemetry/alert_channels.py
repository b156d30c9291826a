"""Sends messages to the channels of routes: webhooks and Slack by the guarded client, others by Apprise."""

import re
from collections.abc import Awaitable, Callable
from typing import Protocol

from cadenza.adapters.telemetry.alert_webhook import Format, WebhookSender
from cadenza.domain.errors import InvalidRequest, NotFound, Unavailable
from cadenza.domain.http_request import REFERENCE
from cadenza.domain.monitoring.alert import Alert
from cadenza.domain.monitoring.alert_message import AlertMessage
from cadenza.domain.monitoring.alert_route import HIDDEN, AlertRoute, ChannelType
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.secrets import SecretResolver

SHORTEST_HIDDEN = 4
FORMS: dict[ChannelType, Format] = {ChannelType.WEBHOOK: "json", ChannelType.SLACK: "slack"}


class AddressSender(Protocol):
    """Sends one alert to one address of a library; None if it was accepted, else why not."""

    def __call__(self, url: str, alert: Alert) -> Awaitable[str | None]: ...


class RouteChannels:
    """Puts the secrets into a route's address, and sends a message there once.

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

    async def send(self, message: AlertMessage, route: AlertRoute, attempt: int) -> str | None:
        """Send it once, bounded in time."""
        try:
            url, revealed = await self._address(route)
        except (NotFound, Unavailable) as problem:
            return problem.message
        if route.channel.type is ChannelType.APPRISE:
            problem_text = await self._send_by_apprise(url, message.alert)
        else:
            problem_text = await self._post(message, route, url, attempt)
        return None if problem_text is None else _masked(problem_text, [url, *revealed])

    async def _post(self, message: AlertMessage, route: AlertRoute, url: str, attempt: int) -> str | None:
        try:
            sender = WebhookSender(
                self._dispatcher,
                self._clock,
                url=url,
                form=FORMS[route.channel.type],
                tenant_id=route.tenant_id,
            )
        except InvalidRequest:
            return "the address of the route, with its secrets put in, is not an http or https URL"
        return await sender.send(message.alert, attempt)

    async def _address(self, route: AlertRoute) -> tuple[str, list[str]]:
        """The address with its secrets, and these."""
        url, values = route.channel.url, {}
        for reference in dict.fromkeys(REFERENCE.findall(url)):
            values[reference] = await self._secrets.reveal(route.tenant_id, reference)
        return REFERENCE.sub(_put_in(values), url), list(values.values())


def _put_in(values: dict[str, str]) -> Callable[[re.Match[str]], str]:
    return lambda found: values[found[1]]


def _masked(text: str, secrets: list[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_HIDDEN:
            text = text.replace(secret, HIDDEN)
    return text
