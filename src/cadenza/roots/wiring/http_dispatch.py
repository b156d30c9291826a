"""The HTTP dispatcher from settings. It loads the HTTP client, which most commands do not need."""

from cadenza.adapters.access.stored_secrets import StoredSecrets
from cadenza.adapters.dispatch.http.connections import HttpSettings
from cadenza.adapters.dispatch.http.dispatcher import HttpDispatcher
from cadenza.adapters.dispatch.http.ssrf_guard import SsrfGuard
from cadenza.domain.errors import InvalidRequest
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import Logger
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.secrets import target_secrets


def http_dispatcher(
    settings: Settings, stored: StoredSecrets, *, clock: Clock, log: Logger
) -> HttpDispatcher:
    """The dispatcher of HTTP targets, not opened yet."""
    return HttpDispatcher(
        secrets=target_secrets(settings, stored), clock=clock, settings=http_settings(settings), log=log
    )


def http_settings(settings: Settings) -> HttpSettings:
    """The HTTP settings; InvalidRequest, which names the setting, if the allowed targets are malformed."""
    http = HttpSettings(allow_private=settings.allow_private_targets, allow=settings.allow_targets)
    try:
        SsrfGuard(allow_private=http.allow_private, allow=http.allow)
    except InvalidRequest as problem:
        raise InvalidRequest(
            f"CADENZA_ALLOW_TARGETS is invalid: {problem.message}", "allow_targets"
        ) from None
    return http
